"""Functions in C of what a language has no operator for: bits, halves, integral parts, a fused multiply-add.

``SUPPORT`` has each by name: the names of those that it calls, and its text, in which ``FUNCTION`` stands for what begins
a function of the text's own. They call no library, so that no version of one can reach the bits, and compilers can
vectorise loops that call them.
"""

from __future__ import annotations

_BITS = """\
FUNCTION {to} ogive_{name}({of} from) {{
    {to} result;
    memcpy(&result, &from, sizeof result);
    return result;
}}
"""

#: Infinities, NaN and all numbers from 2**23 (2**52) on are integers here.
_ROUNDED = """\
FUNCTION {kind} ogive_{name}_{letter}({kind} x) {{
#if defined(__GNUC__) && (defined(__SSE4_1__) || defined(__aarch64__)) /* an instruction */
    return __builtin_{name}{s}(x);
#else
    const {kind} size = ogive_fabs_{letter}(x), near = (size + {magic}) - {magic};
    {body}
    return size < {magic} ? whole : x;
#endif
}}
"""

_BODIES = {
    "rint": "const {kind} whole = ogive_copysign_{letter}(near, x);",
    "trunc": "const {kind} whole = ogive_copysign_{letter}(near - (size < near ? {one} : {zero}), x);",
    "floor": (
        "const {kind} rounded = ogive_copysign_{letter}(near, x);\n"
        "    const {kind} whole = ogive_copysign_{letter}(rounded - (x < rounded ? {one} : {zero}), x);"
    ),
    "ceil": (
        "const {kind} rounded = ogive_copysign_{letter}(near, x);\n"
        "    const {kind} whole = ogive_copysign_{letter}(rounded + (rounded < x ? {one} : {zero}), x);"
    ),
}

_SIGNS = """\
FUNCTION {kind} ogive_fabs_{letter}({kind} x) {{
    return ogive_{word}_of_bits(ogive_bits_of_{word}(x) & 0x7f{rest}{suffix});
}}
"""

_COPYSIGN = """\
FUNCTION {kind} ogive_copysign_{letter}({kind} size, {kind} sign) {{
    const {bits} mask = 0x80{zeros}{suffix};
    return ogive_{word}_of_bits((ogive_bits_of_{word}(size) & ~mask) | (ogive_bits_of_{word}(sign) & mask));
}}
"""

#: gcc's own function calls the C library for its error number, unless -fno-math-errno forbids it.
_SQRT = """\
FUNCTION {kind} ogive_sqrt_{letter}({kind} x) {{
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(x);
#elif defined(__NO_MATH_ERRNO__)
    return __builtin_sqrt{s}(x);
#elif defined(__x86_64__)
    {kind} root;
    __asm__("sqrts{letter_of_x86} %1, %0" : "=x"(root) : "x"(x));
    return root;
#elif defined(__aarch64__)
    {kind} root;
    __asm__("fsqrt %{letter_of_arm}0, %{letter_of_arm}1" : "=w"(root) : "w"(x));
    return root;
#elif defined(__GNUC__)
    return __builtin_sqrt{s}(x);
#else
    return sqrt{s}(x);
#endif
}}
"""

#: x * 2**n for an integral n, rounded once: the last factor takes as much as it can, so what the others leave is exact or
#: zero or infinite. Adding the large number leaves n + bias in the last bits, and keeps the order of all n.
_SCALE = """\
FUNCTION {kind} ogive_scale_{letter}({kind} x, {kind} n) {{
    const {signed} zero = ({signed})ogive_bits_of_{word}({magic});
    {signed} whole = ({signed})ogive_bits_of_{word}(n + {magic});
    whole = whole < zero - {most} ? zero - {most} : whole;
    whole = zero + {most} < whole ? zero + {most} : whole;
    {signed} last = whole < zero - {low} ? zero - {low} : whole;
    last = zero + {high} < last ? zero + {high} : last;
    const {bits} rest = ({bits})(whole - last + 2 * {high}), part = rest >> 1;
    const {kind} first = x * ogive_{word}_of_bits(part << {shift}) * ogive_{word}_of_bits((rest - part) << {shift});
    return first * ogive_{word}_of_bits(({bits})last << {shift});
}}
"""

#: Processors that fuse; the others compute it from sums and products.
_HAS_FMA = """\
#if defined(__FMA__) || defined(__aarch64__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA)
#define OGIVE_HAS_FMA 1
#elif defined(__riscv_flen) && __riscv_flen >= 64
#define OGIVE_HAS_FMA 1
#elif defined(_M_ARM64) || (defined(_MSC_VER) && defined(__AVX2__))
#define OGIVE_HAS_FMA 1
#else
#define OGIVE_HAS_FMA 0
#endif
#if defined(__GNUC__)
#define OGIVE_FMA(name, a, b, c) __builtin_##name(a, b, c)
#else
#define OGIVE_FMA(name, a, b, c) name(a, b, c)
#endif
"""

_TO_ODD = """\
/* The total, or its neighbour with an odd last bit on the side of what is lost, if anything is. */
FUNCTION double ogive_to_odd(double total, double lost) {
    const uint64_t bits = ogive_bits_of_double(total);
    const uint64_t towards = ((bits ^ ogive_bits_of_double(lost)) >> 63) != 0 ? (uint64_t)0 - 1u : 1u;
    return (lost < 0.0 || lost > 0.0) && (bits & 1u) == 0 ? ogive_double_of_bits(bits + towards) : total;
}
"""

_TWO_SUM = """\
/* A sum; what rounding lost of it. */
FUNCTION double ogive_lost(double a, double b, double sum) {
    const double t = sum - a;
    return (a - (sum - t)) + (b - t);
}
"""

_FMA_F = """\
/* a * b + c, rounded once: the product is exact in double, and a sum rounded to odd is rounded again as if once. */
FUNCTION float ogive_fma_f(float a, float b, float c) {
#if OGIVE_HAS_FMA
    return OGIVE_FMA(fmaf, a, b, c);
#else
    const double product = (double)a * (double)b, sum = product + (double)c;
    return (float)ogive_to_odd(sum, ogive_lost(product, (double)c, sum));
#endif
}
"""

#: Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE Transactions on Computers 57 (2008):
#: the product as an exact sum of two, and c, with one rounding. Where something on the way might overflow or be too small, and for
#: infinities and NaN, it does the same with the numbers between 1 and 2, and puts the exponent back.
_FMA_D = """\
#if !OGIVE_HAS_FMA
/* What rounding lost of a product, by Dekker. */
static double ogive_product_lost(double a, double b, double product) {
    const double a_split = a * 134217729.0, b_split = b * 134217729.0;
    const double a_high = a_split - (a_split - a), a_low = a - a_high;
    const double b_high = b_split - (b_split - b), b_low = b - b_high;
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
}

/* The first of two numbers whose sum, rounded, is that of all three, rounded; `rest` is the second. */
static double ogive_three(double high, double low, double c, double *rest) {
    const double t = c + low, t_lost = ogive_lost(c, low, t);
    const double v = high + t, v_lost = ogive_lost(high, t, v);
    const double sum = t_lost + v_lost;
    *rest = ogive_to_odd(sum, ogive_lost(t_lost, v_lost, sum));
    return v;
}

static double ogive_power_of_two(int64_t exponent) {
    return ogive_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* The number between 1 and 2, and its exponent. */
static double ogive_normal(double x, int64_t *exponent) {
    const int small = ogive_fabs_d(x) < 0x1p-1022;
    const uint64_t bits = ogive_bits_of_double(small ? x * 0x1p64 : x);
    *exponent = (int64_t)((bits >> 52) & 2047u) - (small ? 1023 + 64 : 1023);
    return ogive_double_of_bits((bits & ~((uint64_t)0x7ff << 52)) | ((uint64_t)1023 << 52));
}

/* For factors that are neither zero nor infinite nor NaN: the numbers between 1 and 2, and the exponent put back. */
static double ogive_fma_scaled(double a, double b, double c) {
    int64_t a_exponent, b_exponent, c_exponent;
    a = ogive_normal(a, &a_exponent);
    b = ogive_normal(b, &b_exponent);
    const double c_normal = ogive_normal(c, &c_exponent);
    int64_t exponent = a_exponent + b_exponent, distance = c_exponent - exponent;
    /* Beyond these, all that matters of the smaller one is that it is not zero. */
    if (c != 0.0) {
        exponent = distance > 110 ? c_exponent - 110 : exponent;
        distance = distance < -120 ? -120 : distance > 110 ? 110 : distance;
        c = c_normal * ogive_power_of_two(distance);
    }
    const double product = a * b;
    double z, v = ogive_three(product, ogive_product_lost(a, b, product), c, &z);
    const double found = v + z;
    if (found == 0.0) {
        return 0.0;
    }
    const uint64_t bits = ogive_bits_of_double(found), sign = bits & ((uint64_t)1 << 63);
    const int64_t scaled = (int64_t)((bits >> 52) & 2047u) - 1023 + exponent;
    if (scaled > 1023) {
        return ogive_double_of_bits(sign | ((uint64_t)0x7ff << 52));
    }
    if (scaled >= -1022) { /* in two steps, because one power of two may be out of range */
        const int64_t first = (exponent - (exponent < 0)) / 2;
        return found * ogive_power_of_two(first) * ogive_power_of_two(exponent - first);
    }
    if (scaled < -1080) {
        return ogive_double_of_bits(sign);
    }
    /* A subnormal one is rounded at its last bit by adding the number whose last bit that is. */
    if (sign != 0) {
        v = -v;
        z = -z;
    }
    const double near = v + z, rest = ogive_lost(v, z, near), magic = ogive_power_of_two(52 - 1074 - exponent);
    const double total = magic + near, lost = ogive_lost(magic, near, total), small = lost + rest;
    const double rounded = total + ogive_to_odd(small, ogive_lost(lost, rest, small));
    return ogive_double_of_bits((ogive_bits_of_double(rounded) - ogive_bits_of_double(magic)) | sign);
}
#endif

/* a * b + c, rounded once. */
FUNCTION double ogive_fma_d(double a, double b, double c) {
#if OGIVE_HAS_FMA
    return OGIVE_FMA(fma, a, b, c);
#else
    const double infinity = ogive_double_of_bits((uint64_t)0x7ff << 52);
    const double a_size = ogive_fabs_d(a), b_size = ogive_fabs_d(b), c_size = ogive_fabs_d(c);
    if (a_size < infinity && b_size < infinity && !(c_size < infinity)) {
        return c;
    }
    if (a == 0.0 || b == 0.0 || !(a_size < infinity) || !(b_size < infinity)) {
        return a * b + c;
    }
    const double product = a * b, product_size = ogive_fabs_d(product), limit = 0x1p990;
    if (a_size < limit && b_size < limit && c_size < limit && product_size < limit && product_size >= 0x1p-900) {
        double z;
        const double v = ogive_three(product, ogive_product_lost(a, b, product), c, &z);
        const double found = v + z;
        return found == 0.0 ? product + c : found;
    }
    return ogive_fma_scaled(a, b, c);
#endif
}
"""

_MULTIPLY_TO_ODD = """\
/* The product cut off, and its last bit set where that is not the product itself. */
FUNCTION float ogive_multiply_to_odd(float a, float b) {
    const float product = a * b, lost = ogive_fma_f(a, b, -product);
    const uint32_t bits = ogive_bits_of_float(product);
    const uint32_t cut = bits - ((bits ^ ogive_bits_of_float(lost)) >> 31);
    return lost < 0.0f || lost > 0.0f ? ogive_float_of_bits(cut | 1u) : product;
}
"""

_FLOAT_OF_FLOAT16 = """\
FUNCTION float ogive_float_of_float16(uint16_t stored) {
    const uint32_t size = stored & 0x7fffu, sign = (uint32_t)(stored & 0x8000u) << 16, placed = size << 13;
    const uint32_t scaled = ogive_bits_of_float(ogive_float_of_bits(placed) * 0x1p112f);
    return ogive_float_of_bits((size >= 0x7c00u ? placed | 0x7f800000u : scaled) | sign);
}
"""

_FLOAT16_OF_FLOAT = """\
/* To nearest even. 0.5 has the weight at which the last bit of a subnormal half is the last bit of a float. */
FUNCTION uint16_t ogive_float16_of_float(float x) {
    const uint32_t bits = ogive_bits_of_float(x), sign = (bits & 0x80000000u) >> 16, size = bits & 0x7fffffffu;
    const uint32_t normal = (size - ((112u << 23) - 0xfffu) + ((size >> 13) & 1u)) >> 13;
    const uint32_t small = ogive_bits_of_float(ogive_float_of_bits(size) + 0.5f) - 0x3f000000u;
    const uint32_t finite = size < (113u << 23) ? small : normal;
    const uint32_t large = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (uint16_t)((size >= 0x477ff000u ? large : finite) | sign);
}
"""

_FLOAT_OF_BFLOAT16 = """\
FUNCTION float ogive_float_of_bfloat16(uint16_t bits) {
    return ogive_float_of_bits((uint32_t)bits << 16);
}
"""

_BFLOAT16_OF_FLOAT = """\
/* To nearest even; NaN is canonical when it comes here, and stays NaN. */
FUNCTION uint16_t ogive_bfloat16_of_float(float x) {
    const uint32_t bits = ogive_bits_of_float(x);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
"""

_BIT_COUNT = """\
FUNCTION uint32_t ogive_bit_count(uint64_t bits) {
    bits = bits - ((bits >> 1) & 0x5555555555555555u);
    bits = (bits & 0x3333333333333333u) + ((bits >> 2) & 0x3333333333333333u);
    return (uint32_t)((((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
}
"""

#: A GPU's float32 arithmetic makes NaN of all ones. Added to the bits of another, these leave a number.
_PLAIN_BITS = """\
/* The bits, those of NaN without its payload, and quiet: without it a signalling one would be infinity. */
FUNCTION {bits} ogive_plain_bits_of_{word}({kind} x) {{
    const {bits} found = ogive_bits_of_{word}(x);
    return x == x ? found : (found | ({quiet} >> 1)) & {quiet};
}}
"""

#: ISO C alone has it.
_COPY = """\
/* Items of 1, 2, 4 or 8 bytes, each so many bytes behind the one before it. */
FUNCTION void ogive_copy(void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step, size_t count, size_t size) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    if (to_step == (ptrdiff_t)size && from_step == to_step) {
        memcpy(target, source, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++, target += to_step, source += from_step) {
        switch (size) {
            case 1: *target = *source; break;
            case 2: memcpy(target, source, 2); break;
            case 4: memcpy(target, source, 4); break;
            default: memcpy(target, source, 8); break;
        }
    }
}

/* Items one behind the other: where they lie, or copied into the buffer. */
FUNCTION const void *ogive_gathered(void *buffer, const void *from, ptrdiff_t step, size_t count, size_t size) {
    if (step == (ptrdiff_t)size) {
        return from;
    }
    ogive_copy(buffer, (ptrdiff_t)size, from, step, count, size);
    return buffer;
}
"""

#: The names of the two formats.
_SINGLE = {
    "kind": "float",
    "letter": "f",
    "word": "float",
    "quiet": "0xffc00000u",
    "bits": "uint32_t",
    "suffix": "u",
    "rest": "f" * 6,
    "zeros": "0" * 6,
    "magic": "0x1p23f",
    "one": "1.0f",
    "zero": "0.0f",
    "s": "f",
    "letter_of_x86": "s",
    "letter_of_arm": "s",
}
_DOUBLE = {
    "kind": "double",
    "letter": "d",
    "word": "double",
    "quiet": "((uint64_t)0xfff8 << 48)",
    "bits": "uint64_t",
    "suffix": "u",
    "rest": "f" * 14,
    "zeros": "0" * 14,
    "magic": "0x1p52",
    "one": "1.0",
    "zero": "0.0",
    "s": "",
    "letter_of_x86": "d",
    "letter_of_arm": "d",
}


def _of_both() -> dict[str, tuple[tuple[str, ...], str]]:
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for names in (_SINGLE, _DOUBLE):
        word, letter = names["word"], names["letter"]
        both = (f"{word}_of_bits", f"bits_of_{word}")
        found[both[0]] = ((), _BITS.format(to=names["kind"], of=names["bits"], name=both[0]))
        found[both[1]] = ((), _BITS.format(to=names["bits"], of=names["kind"], name=both[1]))
        found[f"plain_bits_of_{word}"] = (both[1:], _PLAIN_BITS.format(**names))
        found[f"fabs_{letter}"] = (both, _SIGNS.format(**names))
        found[f"copysign_{letter}"] = (both, _COPYSIGN.format(**names))
        found[f"sqrt_{letter}"] = ((), _SQRT.format(**names))
        for name, body in _BODIES.items():
            text = _ROUNDED.format(name=name, body=body.format(**names), **names)
            found[f"{name}_{letter}"] = ((f"fabs_{letter}", f"copysign_{letter}"), text)
    single = {"magic": "12583039.0f", "signed": "int32_t", "low": "126", "high": "127", "most": "300", "shift": "23"}
    double = {
        "magic": "6755399441056767.0",
        "signed": "int64_t",
        "low": "1022",
        "high": "1023",
        "most": "2200",
        "shift": "52",
    }
    found["scale_f"] = (("float_of_bits", "bits_of_float"), _SCALE.format(**(_SINGLE | single)))
    found["scale_d"] = (("double_of_bits", "bits_of_double"), _SCALE.format(**(_DOUBLE | double)))
    return found


_OF_DOUBLE = ("double_of_bits", "bits_of_double")
_OF_SINGLE = ("float_of_bits", "bits_of_float")

SUPPORT: dict[str, tuple[tuple[str, ...], str]] = {
    **_of_both(),
    "has_fma": ((), _HAS_FMA),
    "to_odd": (_OF_DOUBLE, _TO_ODD),
    "lost": ((), _TWO_SUM),
    "fma_f": (("has_fma", "to_odd", "lost"), _FMA_F),
    "fma_d": (("has_fma", "to_odd", "lost", "fabs_d"), _FMA_D),
    "multiply_to_odd": (("fma_f", *_OF_SINGLE), _MULTIPLY_TO_ODD),
    "float_of_float16": (_OF_SINGLE, _FLOAT_OF_FLOAT16),
    "float16_of_float": (_OF_SINGLE, _FLOAT16_OF_FLOAT),
    "float_of_bfloat16": (_OF_SINGLE, _FLOAT_OF_BFLOAT16),
    "bfloat16_of_float": (_OF_SINGLE, _BFLOAT16_OF_FLOAT),
    "bit_count": ((), _BIT_COUNT),
    "copy": ((), _COPY),
}
