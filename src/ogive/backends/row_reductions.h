/* How rows are reduced to numbers, and how numbers of parts of a row are joined.
 *
 * The runtime includes this file; exported C and the text for devices have it in them. `FUNCTION` begins a function, and
 * the names with a letter at the end are those of c_support.py. */

enum ogive_reduction {
    OGIVE_MAXIMUM, OGIVE_MINIMUM, OGIVE_SUM, OGIVE_LOST,
    OGIVE_PRODUCT, OGIVE_REST, /* (mantissa, exponent), and what it has beside them: (low word, what was lost) */
    OGIVE_WHOLE_MAXIMUM, OGIVE_WHOLE_MINIMUM, OGIVE_WHOLE_SUM, OGIVE_WHOLE_PRODUCT /* the bits of 64-bit integers */
};

/* A sum as an unevaluated sum of two; other reductions use `high` alone. */
typedef struct {
    double high, low;
} ogive_partial;

FUNCTION ogive_partial ogive_pair(double high, double low) {
    ogive_partial found;
    found.high = high;
    found.low = low;
    return found;
}

FUNCTION double ogive_whole(enum ogive_reduction kind, double a, double b) {
    const int64_t x = (int64_t)ogive_bits_of_double(a), y = (int64_t)ogive_bits_of_double(b);
    switch (kind) {
        case OGIVE_WHOLE_MAXIMUM: return y > x ? b : a;
        case OGIVE_WHOLE_MINIMUM: return y < x ? b : a;
        case OGIVE_WHOLE_SUM: return ogive_double_of_bits((uint64_t)x + (uint64_t)y);
        default: return ogive_double_of_bits((uint64_t)x * (uint64_t)y);
    }
}

/* A number's mantissa, from 1 to 2, and its exponent; zeros, infinities and NaN stay as they are. */
FUNCTION ogive_partial ogive_split(double value) {
    const uint64_t bits = ogive_bits_of_double(value), field = (bits >> 52) & 2047u;
    if (field == 0u || field == 2047u) {
        return ogive_pair(value, 0.0);
    }
    const uint64_t one = (uint64_t)1023u << 52;
    return ogive_pair(ogive_double_of_bits((bits & ~((uint64_t)2047u << 52)) | one), (double)((int)field - 1023));
}

/* An element as a factor: of a subnormal number too. */
FUNCTION ogive_partial ogive_as_product(double value) {
    const int is_small = (ogive_bits_of_double(value) & ((uint64_t)2047u << 52)) == 0u;
    const ogive_partial found = ogive_split(is_small ? value * 0x1p64 : value);
    return ogive_pair(found.high, found.low - (is_small ? 64.0 : 0.0));
}

/* A product's mantissa and exponent; with `rest`, its low word and the sum of what was lost. */
FUNCTION ogive_partial ogive_product(ogive_partial a, ogive_partial b, ogive_partial *rest, ogive_partial next) {
    const double product = a.high * b.high;
    const ogive_partial found = ogive_split(product);
    if (rest != 0) {
        if (product - product != 0.0 || product == 0.0) {
            *rest = ogive_pair(0.0, 0.0);
        } else {
            const double lost = ogive_fma_d(a.high, b.high, -product);
            const double low = lost + (rest->high * b.high + a.high * next.high);
            const double factor = ogive_double_of_bits((uint64_t)(1023 - (int)found.low) << 52);
            *rest = ogive_pair(low * factor, rest->low + next.low + ogive_fabs_d(lost));
        }
    }
    return ogive_pair(found.high, a.low + b.low + found.low);
}

/* Both together. NaN in either makes NaN, whichever comes first. */
FUNCTION ogive_partial ogive_joined(enum ogive_reduction kind, ogive_partial a, ogive_partial b) {
    if (kind == OGIVE_MAXIMUM) {
        return a.high < b.high || b.high != b.high ? b : a;
    }
    if (kind == OGIVE_MINIMUM) {
        return b.high < a.high || b.high != b.high ? b : a;
    }
    if (kind == OGIVE_LOST) {
        return ogive_pair(a.high + b.high, 0.0);
    }
    if (kind >= OGIVE_WHOLE_MAXIMUM) {
        return ogive_pair(ogive_whole(kind, a.high, b.high), a.low);
    }
    /* TwoSum; compiled without contraction. */
    const double sum = a.high + b.high, t = sum - a.high;
    const double lost = (a.high - (sum - t)) + (b.high - t);
    const double low = lost + (a.low + b.low);
    const double high = sum + low;
    /* After an overflow the corrections are NaN: the sum alone is right then. */
    return high - high == 0.0 ? ogive_pair(high, low - (high - sum)) : ogive_pair(sum, 0.0);
}

/* What rounding lost of a sum. */
FUNCTION double ogive_lost_of(double a, double b, double sum) {
    const double t = sum - a;
    return (a - (sum - t)) + (b - t);
}

/* What is lost when two sums of two words are joined (ogive_joined), and more. */
FUNCTION double ogive_lost_of_words(ogive_partial a, ogive_partial b, ogive_partial total) {
    const double sum = a.high + b.high, lost = ogive_lost_of(a.high, b.high, sum);
    const double lows = a.low + b.low, low = lost + lows;
    const double rest = ogive_lost_of(sum, low, sum + low) - total.low;
    return ogive_fabs_d(ogive_lost_of(a.low, b.low, lows)) + ogive_fabs_d(ogive_lost_of(lost, lows, low)) + 2.0 * ogive_fabs_d(rest);
}

/* The findings of a stage about the elements that follow, `next`, join those of those before, `total`. */
FUNCTION void ogive_join(const enum ogive_reduction *kinds, int reductions, ogive_partial *total,
                         const ogive_partial *next) {
    double lost = 0.0; /* of the sum before */
    for (int r = 0; r < reductions; ++r) {
        const ogive_partial before = total[r];
        if (kinds[r] == OGIVE_PRODUCT) {
            const int has_rest = r + 1 < reductions && kinds[r + 1] == OGIVE_REST;
            total[r] = ogive_product(before, next[r], has_rest ? total + r + 1 : 0, next[r + has_rest]);
            r += has_rest;
            continue;
        }
        total[r] = ogive_joined(kinds[r], before, next[r]);
        if (kinds[r] == OGIVE_LOST) { /* and nothing is added to others: -0, and an integer of the same bits, stay */
            total[r].high += lost;
        }
        lost = kinds[r] == OGIVE_SUM ? ogive_lost_of_words(before, next[r], total[r]) : 0.0;
    }
}
