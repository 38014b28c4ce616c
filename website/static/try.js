// The input box of an operator's page: exported C as WebAssembly, and the naive formula rounded to float32 at each step.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".og-try");
  if (!form) return;
  const { name, naive } = JSON.parse(form.dataset.facts);
  const f = Math.fround;
  const shown = (key) => form.querySelector(`.og-${key}`);

  // The bits of a type to a number, and the nearest number of a type, with ties to even.
  const pack = new DataView(new ArrayBuffer(8));
  const floatOf = (bits) => (pack.setUint32(0, bits), pack.getFloat32(0));
  const bitsOf = (value) => (pack.setFloat32(0, value), pack.getUint32(0));
  const TYPES = {
    float32: { bytes: 4, digits: 24, least: -149, decode: floatOf, encode: bitsOf, array: Uint32Array },
    float16: { bytes: 2, digits: 11, least: -24, decode: halfToNumber, encode: numberToHalf, array: Uint16Array },
    bfloat16: { bytes: 2, digits: 8, least: -133, decode: (bits) => floatOf(bits << 16 >>> 0), encode: numberToBrain, array: Uint16Array },
  };

  function halfToNumber(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
  }
  // A number to so many digits and no finer than a step: exact in float64.
  function rounded(value, digits, least) {
    if (!Number.isFinite(value) || value === 0) return value;
    const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))) - digits + 1, least);
    const scaled = value / 2 ** exponent, below = Math.floor(scaled), rest = scaled - below;
    const whole = rest > 0.5 || (rest === 0.5 && below % 2) ? below + 1 : below;
    return (whole || (value < 0 ? -0 : 0)) * 2 ** exponent;
  }
  function numberToHalf(value) {
    const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0, size = Math.abs(rounded(value, 11, -24));
    if (Number.isNaN(value)) return 0x7e00;
    if (size >= 65536) return sign | 0x7c00;
    if (size < 2 ** -14) return sign | (size * 2 ** 24);
    const exponent = Math.floor(Math.log2(size));
    return sign | ((exponent + 15) << 10) | (size * 2 ** (10 - exponent) - 1024);
  }
  function numberToBrain(value) {
    if (Number.isNaN(value)) return 0x7fc0;
    return bitsOf(rounded(value, 8, -133)) >>> 16;
  }

  // Numbers of the text: decimal, words, or bits as 0x...
  function read(text, kind) {
    const word = text.trim().toLowerCase();
    if (/^0x[0-9a-f]+$/.test(word)) return Number(word) < 2 ** (8 * kind.bytes) ? Number(word) : null;
    const names = { nan: NaN, inf: Infinity, "+inf": Infinity, "-inf": -Infinity };
    const value = word in names ? names[word] : word === "" ? NaN : Number(word);
    if (Number.isNaN(value) && word !== "nan") return null;
    return kind.encode(value);
  }
  const digits = (value, count) => (Object.is(value, -0) ? "-0" : Number.isFinite(value) ? String(Number(value.toPrecision(count))) : String(value).toLowerCase().replace("infinity", "inf"));

  // The distance in units in the last place of the type at the exact value.
  function inUlp(value, exact, kind) {
    if (Number.isNaN(exact)) return Number.isNaN(value) ? 0 : Infinity;
    if (value === exact) return 0;
    if (!Number.isFinite(exact) || !Number.isFinite(value)) return Infinity;
    const exponent = exact === 0 ? kind.least : Math.max(Math.floor(Math.log2(Math.abs(exact))) - kind.digits + 1, kind.least);
    return Math.abs(value - exact) / 2 ** exponent;
  }

  const place = new URL(`../_static/boxes/${name}.wasm`, document.baseURI);
  const loaded = fetch(place)
    .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(answer.statusText))))
    .then((bytes) => WebAssembly.instantiate(bytes))
    .then(({ instance }) => instance.exports);

  function call(module, entry, Kind, bits) {
    const base = Math.ceil(module.__heap_base.value / 64) * 64;
    if (base + 128 > module.memory.buffer.byteLength) module.memory.grow(1);
    const view = new Kind(module.memory.buffer, base, 1), to = new Kind(module.memory.buffer, base + 64, 1);
    view[0] = bits;
    module[entry](base, base + 64, 0, 1);
    return to[0];
  }

  async function show() {
    const type = form.elements.type.value, kind = TYPES[type];
    let module;
    try {
      module = await loaded;
    } catch {
      shown("result").textContent = "the module could not be loaded";
      return;
    }
    const bits = read(form.elements.x.value, kind);
    for (const key of ["result", "bits", "exact", "naive"]) if (shown(key)) shown(key).textContent = "";
    if (bits === null) {
      shown("result").textContent = "x is no number: write -6, 1e-3, inf, nan, or bits such as 0x40490fdb";
      return;
    }
    const x = kind.decode(bits);
    const result = call(module, `y_${type}`, kind.array, bits), value = kind.decode(result);
    const exact = call(module, "y_float64", Float64Array, x);
    const hex = (number) => `0x${number.toString(16).padStart(2 * kind.bytes, "0")}`;
    shown("result").textContent = `${digits(value, kind.digits > 11 ? 9 : 5)}, the nearest ${type}`;
    shown("bits").textContent = `x ${hex(bits)}, result ${hex(result)}`;
    shown("exact").textContent = `${digits(exact, 16)}, to the digits of float64`;
    if (naive && shown("naive")) {
      const erf = (v) => call(module, "y_erf", Float32Array, v);
      const plain = new Function("x", "f", "erf", `return ${naive}`)(f(x), f, erf);
      const error = inUlp(f(plain), exact, TYPES.float32);
      const text = Number.isFinite(error) ? `${error < 100 ? Number(error.toPrecision(3)) : error.toExponential(2)} ULP off` : "a wrong NaN or infinity";
      shown("naive").textContent = `${digits(f(plain), 9)}, ${text}`;
    }
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
});
