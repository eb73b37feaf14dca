/* sapo.js: read model files of sapo, and tag with them, in a browser or in node. One file, no dependencies.

     const tagger = Sapo.load(arrayBuffer);          // the bytes of a .sapo file
     tagger.tag(["The", "cat", "sleeps"])            // ["DT", "NN", "VBZ"]
     tagger.nbest(tokens, 5)                         // [{tags, probability, p_k, score}, ...]
     tagger.marginals(tokens)                        // [{DT: 0.99, NN: 0.01}, ...]
     tagger.spans(tokens)                            // [{start, end, type, probability}, ...]
     tagger.tagText("Text of any length.")           // {sentences: [{tokens, spans, ...}]}

   docs/reference/model-file.md describes the file. Scores are in single precision, added up in the order in which
   Python adds them, so that tags are the same. Offsets in text count as JavaScript does, in UTF-16. */
"use strict";

var Sapo = (() => {
const FORMAT = 2;
const fround = Math.fround;

class SapoError extends Error {}

const fail = (message) => {
  throw new SapoError(message);
};

// ---- the container: a safetensors file ----

const TYPES = { U8: Uint8Array, U16: Uint16Array, I32: Int32Array, F32: Float32Array, F64: Float64Array };

function readArrays(buffer) {
  const damaged = (why) => fail(`not a sapo model: ${why}`);
  if (buffer.byteLength < 10) damaged("it is too short");
  const view = new DataView(buffer);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 4294967296;
  if (length < 2 || length > buffer.byteLength - 8 || view.getUint8(8) !== 0x7b)
    damaged("it begins like some other file, or its end is missing");
  let table, header;
  try {
    table = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    header = JSON.parse(table.__metadata__.sapo).header;
  } catch {
    damaged("its header is broken");
  }
  const arrays = new Map();
  for (const [name, entry] of Object.entries(table)) {
    if (name === "__metadata__") continue;
    const [begin, end] = entry.data_offsets;
    const count = entry.shape.reduce((a, b) => a * b, 1);
    if (!(begin >= 0 && begin <= end && end <= buffer.byteLength - 8 - length)) damaged(`offsets of ${name}`);
    const bytes = buffer.slice(8 + length + begin, 8 + length + end);
    let data;
    if (entry.dtype === "I64") data = Float64Array.from(new BigInt64Array(bytes), Number);
    else if (entry.dtype === "F16") data = halves(new Uint16Array(bytes));
    else if (TYPES[entry.dtype]) data = new TYPES[entry.dtype](bytes);
    else damaged(`type of ${name}`);
    if (data.length !== count) damaged(`shape of ${name}`);
    arrays.set(name, { data, shape: entry.shape });
  }
  return { header, arrays };
}

function halves(bits) {
  return Float32Array.from(bits, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

/** The arrays of a file; those that are missing or do not fit together are reported by name. */
class Arrays {
  constructor(arrays) {
    this.arrays = arrays;
  }

  has(name) {
    return this.arrays.has(name);
  }

  get(name) {
    return (this.arrays.get(name) || fail(`not a sapo model: it has no array ${name}`)).data;
  }

  /** Numbers whose lowest bytes come first, then all second bytes, and so on. */
  wide(name) {
    const data = this.get(name);
    const [bytes, count] = this.arrays.get(name).shape;
    if (!(bytes >= 1 && bytes <= 4)) fail(`not a sapo model: shape of ${name}`);
    const numbers = new Int32Array(count);
    for (let byte = 0; byte < bytes; byte++)
      for (let i = 0; i < count; i++) numbers[i] |= data[byte * count + i] << (8 * byte);
    return numbers;
  }

  strings(name) {
    return new Strings(this.get(`${name}.blob`), offsetsOf(this.wide(`${name}.lengths`)), name);
  }

  bits(name) {
    const data = this.get(name);
    return (place) => (data[place >> 3] >> (7 - (place & 7))) & 1;
  }
}

function offsetsOf(sizes) {
  const offsets = new Int32Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) offsets[i + 1] = offsets[i] + sizes[i];
  return offsets;
}

/** A table of strings; the map from strings to numbers is made when it is first needed. */
class Strings {
  constructor(blob, offsets, name) {
    if (offsets[offsets.length - 1] !== blob.length) fail(`not a sapo model: lengths of ${name}`);
    this.blob = blob;
    this.offsets = offsets;
    this.size = offsets.length - 1;
    this.map = null;
  }

  at(number) {
    return decode(this.blob, this.offsets[number], this.offsets[number + 1]);
  }

  find(string) {
    if (this.map === null) {
      this.map = new Map();
      for (let i = 0; i < this.size; i++) {
        const known = this.at(i);
        if (!this.map.has(known)) this.map.set(known, i);
      }
    }
    const number = this.map.get(string);
    return number === undefined ? -1 : number;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function decode(blob, start, end) {
  let text = "";
  for (let i = start; i < end; i++) {
    if (blob[i] > 127) return decoder.decode(blob.subarray(start, end));
    text += String.fromCharCode(blob[i]);
  }
  return text;
}

// ---- functions of words, as Python computes them ----

// digits that are not decimal, such as superscripts
const DIGIT =
  "\\u{b2}-\\u{b3}\\u{b9}\\u{1369}-\\u{1371}\\u{19da}\\u{2070}\\u{2074}-\\u{2079}\\u{2080}-\\u{2089}\\u{2460}-\\u{2468}" +
  "\\u{2474}-\\u{247c}\\u{2488}-\\u{2490}\\u{24ea}\\u{24f5}-\\u{24fd}\\u{24ff}\\u{2776}-\\u{277e}\\u{2780}-\\u{2788}" +
  "\\u{278a}-\\u{2792}\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}\\u{11052}-\\u{1105a}\\u{1f100}-\\u{1f10a}";
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ALNUM = "\\p{L}\\p{N}";
const isUpper = (c) => /^\p{Uppercase}$/u.test(c);
const isLower = (c) => /^\p{Lowercase}$/u.test(c);
const isTitle = (c) => /^\p{Lt}$/u.test(c);
const isAlpha = (text) => /^\p{L}+$/u.test(text);
const isAlnum = (c) => /^[\p{L}\p{N}]$/u.test(c);
const DIGITS = new RegExp(`^[\\p{Nd}${DIGIT}]$`, "u");
const isDigit = (c) => DIGITS.test(c);
const isDecimal = (text) => /^\p{Nd}+$/u.test(text);
const firstOf = (text) => String.fromCodePoint(text.codePointAt(0));
const lastOf = (text) => Array.from(text).pop();
const head = (text, count) => Array.from(text).slice(0, count).join("");
const sizeOf = (text) => Array.from(text).length;

function shape(word) {
  let found = "";
  for (const c of word) found += isUpper(c) ? "A" : isDigit(c) ? "#" : isAlpha(c) ? "a" : c;
  return found;
}

function shortShape(word) {
  let found = "";
  let before = null;
  for (const c of shape(word)) {
    if (c !== before) found += c;
    before = c;
  }
  return found;
}

function substrings(word, longest) {
  const marked = Array.from(`<${word}>`);
  const found = new Set();
  for (let i = 0; i < marked.length; i++) {
    let part = "";
    for (let j = i; j < Math.min(i + longest, marked.length); j++) found.add((part += marked[j]));
  }
  return [...found];
}

function classes(word) {
  const all = Array.from(word);
  const marks = all.filter((c) => !isAlnum(c) && c !== "-");
  // str.isupper: a cased letter, and none in lower or title case
  const upper = all.some(isUpper) && !all.some((c) => isLower(c) || isTitle(c));
  const tests = {
    capital: all.some(isUpper),
    "first-capital": all.length > 0 && isUpper(all[0]),
    "all-capital": isAlpha(word) && upper,
    "inner-capital": all.slice(1).some(isUpper) && all.some(isLower),
    digit: all.some(isDigit),
    number: all.length > 0 && isDigit(all[0]) && all.every((c) => isDigit(c) || ".,:/".includes(c)),
    hyphen: word.includes("-"),
    mark: marks.length > 0,
    "only-marks": all.length > 0 && marks.length === all.length,
  };
  return Object.keys(tests).filter((name) => tests[name]);
}

function prefix(word, length) {
  const all = Array.from(word);
  return all.length >= length ? all.slice(0, length).join("") : null;
}

function suffix(word, length) {
  const all = Array.from(word);
  return all.length >= length ? all.slice(all.length - length).join("") : null;
}

const FUNCTIONS = {
  lower: { apply: (word) => word.toLowerCase() },
  normalized: { apply: (word) => word.toLowerCase().replace(/\p{Nd}/gu, "#") },
  shape: { apply: shape },
  short_shape: { apply: shortShape },
  prefix: { apply: prefix, number: true },
  suffix: { apply: suffix, number: true },
  substrings: { apply: substrings, number: true, many: true },
  classes: { apply: classes, many: true },
};

// ---- templates ----

const LINES = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const trim = (line) => line.replace(new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu"), "");
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

function parseTemplates(text, columns, knowledge) {
  const lines = text.split(LINES);
  const all = [...columns, ...Object.keys(knowledge.columns)];
  const templates = new Map();
  const add = (template) => templates.set(JSON.stringify(template), template);
  const crfpp = lines.some((line) => /^[^#\n]*%[A-Za-z]\s*\[/.test(line));
  for (let line of lines) {
    line = trim(crfpp ? line : line.split("#", 1)[0]);
    if (!line || line.startsWith("#")) continue;
    const known = Object.keys(knowledge.columns).some((name) => new RegExp(`\\b${escaped(name)}\\b`).test(line));
    if (crfpp && !known) {
      const macro = /%x\s*\[\s*([+-]?\d{1,9})\s*,\s*(\d{1,9})\s*\]/g;
      const atoms = [...line.matchAll(macro)].map((found) => ({
        column: columnNamed(`c${Number(found[2])}`, all, line),
        functions: [],
        offset: Number(found[1]),
      }));
      if (line[0] === "B" && !atoms.length) continue; // the transitions, which all models have
      if (!"UB".includes(line[0]) || line.replace(macro, "").includes("%")) fail(`template: cannot read '${line}'`);
      add({ atoms, bag: line.replace(macro, ""), edge: line[0] === "B" });
    } else if (/^label\s*\[\s*-1\s*\]$/.test(line)) continue;
    else if (line === "bias") add({ atoms: [], bag: null, edge: false });
    else add(parseLine(line, all, knowledge));
  }
  const distinct = [...templates.values()];
  return [...distinct.filter((template) => !template.edge), ...distinct.filter((template) => template.edge)];
}

function columnNamed(name, columns, line) {
  if (/^c\d{1,9}$/.test(name) && !columns.includes(name)) name = columns[Number(name.slice(1))] || name;
  if (!columns.includes(name)) fail(`template: no column '${name}' in '${line}'`);
  return name;
}

function parseLine(line, columns, knowledge) {
  const tokens = line.match(/[A-Za-z_]\w*|[+-]?\d+|[[\](),&]|\S/g);
  let at = 0;
  const bad = () => fail(`template: cannot read '${line}'`);
  const take = (wanted) => (tokens[at] === wanted ? at++ : bad());
  const number = () => (/^[+-]?\d+$/.test(tokens[at] || "") ? Number(tokens[at++]) : bad());

  function atom() {
    const name = tokens[at++] || bad();
    if (tokens[at] !== "(") {
      let offset = 0;
      if (tokens[at] === "[") {
        at++;
        offset = number();
        take("]");
      }
      return { column: columnNamed(name, columns, line), functions: [], offset };
    }
    at++;
    const inner = atom();
    if (name in knowledge.columns && !(name in FUNCTIONS)) {
      const functions = [];
      if (tokens[at] === ",") {
        at++;
        functions.push(["prefix", number()]);
      }
      take(")");
      return { column: name, functions, offset: inner.offset };
    }
    const known = FUNCTIONS[name];
    if (!known) fail(`this reader does not know the word function '${name}' of the model's template`);
    let value = null;
    if (known.number) {
      take(",");
      value = number();
    }
    take(")");
    return { ...inner, functions: [...inner.functions, [name, value]] };
  }

  const atoms = [];
  let edge = false;
  for (;;) {
    if (tokens[at] === "label") {
      at++;
      take("[");
      take("-1");
      take("]");
      edge = true;
    } else atoms.push(atom());
    if (at === tokens.length) break;
    take("&");
  }
  return { atoms, bag: null, edge };
}

// ---- from words to the rows of features ----

const ODD_HIGH = 0x1e3779b9;
const ODD_LOW = 0x7f4a7c15;
const PRIME = 2147483647n;
const REMEMBERED = 100000; // new words

/** The bits 16 to 47 of the product of a 32-bit number and a constant. */
const middle = (a, b) => ((a >>> 16) * b + Math.floor(((a & 0xffff) * b) / 65536)) >>> 0;

/** The bits 32 to 63 of the product of two 32-bit numbers. */
function highProduct(a, b) {
  const low = (a & 0xffff) * b; // below 2**48
  const high = (a >>> 16) * b;
  return Math.floor((high + Math.floor(low / 65536)) / 65536) >>> 0;
}

function hashRest(high, low, seed) {
  if (seed) {
    const key = (BigInt(high) << 32n) | BigInt(low);
    const s = BigInt(seed);
    let h = (s + (key & PRIME)) % PRIME;
    h = (h * s + ((key >> 31n) & PRIME)) % PRIME;
    return Number((h * s + (key >> 62n)) % PRIME);
  }
  return middle((Math.imul(low, 1640531527) ^ high) >>> 0, 1540483477);
}

class View {
  constructor(number, column, functions, words, arrays) {
    this.functions = functions;
    this.words = words;
    this.many = functions.length > 0 && Boolean(FUNCTIONS[functions[functions.length - 1][0]].many);
    this.column = column;
    this.table = words;
    if (!functions.length) return;
    const name = `view.${number}`;
    this.table = arrays.strings(name);
    this.values = arrays.wide(`${name}.values`);
    if (this.many) this.offsets = offsetsOf(arrays.wide(`${name}.sizes`));
  }

  /** The values of a word: numbers of strings in the table. */
  of(number, word) {
    if (!this.functions.length) return number < 0 ? [] : [number];
    if (number >= 0) {
      if (this.many) return this.values.subarray(this.offsets[number], this.offsets[number + 1]);
      return this.values[number] ? [this.values[number] - 1] : [];
    }
    let value = word;
    for (const [name, argument] of this.functions)
      value = value === null ? null : FUNCTIONS[name].apply(value, argument);
    const found = value === null ? [] : this.many ? value : [value];
    return found.map((one) => this.table.find(one)).filter((one) => one >= 0);
  }
}

class Encoder {
  constructor(header, arrays) {
    this.knowledge = new Knowledge(header.knowledge || { words: "", columns: {} }, arrays);
    this.templates = parseTemplates(header.template, header.file_columns, this.knowledge);
    const atoms = new Map();
    const views = new Map();
    this.columns = new Map();
    this.views = [];
    for (const template of this.templates)
      template.places = template.atoms.map((atom) => {
        const key = JSON.stringify([atom.column, atom.functions]);
        if (!this.columns.has(atom.column)) {
          this.columns.set(atom.column, arrays.strings(`column.${atom.column}`));
        }
        if (!views.has(key)) {
          const words = this.columns.get(atom.column);
          views.set(key, this.views.length);
          this.views.push(new View(this.views.length, atom.column, atom.functions, words, arrays));
        }
        const place = JSON.stringify([views.get(key), atom.offset]);
        if (!atoms.has(place)) atoms.set(place, { view: views.get(key), offset: atom.offset });
        return atoms.get(place);
      });
    this.reserved = 1 + 2 * Math.max(0, ...[...atoms.values()].map((atom) => Math.abs(atom.offset)));
    for (const view of this.views) view.bits = 32 - Math.clz32(this.reserved + view.table.size);
    this.makeTables(arrays);
    // columns that a token must have, in the order of the file
    const made = this.knowledge.columns;
    const needed = new Set([...this.columns.keys()].map((name) => (name in made ? this.knowledge.words : name)));
    if (this.knowledge.vectors) needed.add(this.knowledge.words);
    this.readColumns = header.file_columns.filter((name) => needed.has(name));
    this.remembered = new Map();
  }

  makeTables(arrays) {
    const counts = arrays.get("feature.counts");
    const bucketBits = arrays.get("feature.bucket_bits");
    const seeds = arrays.has("feature.seeds") ? arrays.get("feature.seeds") : null;
    const bit = arrays.bits("feature.direct");
    const buckets = arrays.get("feature.buckets");
    const rests = arrays.get("feature.rests");
    const tables = new Map();
    let slots = 0;
    let bucket = 0;
    let rest = 0;
    let row = 0;
    let edges = false;
    for (const template of this.templates) {
      const key = template.bag === null
        ? template
        : JSON.stringify([template.bag, template.edge, template.places.map((atom) => atom.view)]);
      if (!tables.has(key)) {
        const number = tables.size;
        if (template.edge && !edges) {
          this.features = row;
          row = 0;
          edges = true;
        }
        const table = { first: row, direct: null };
        const views = template.places.map((atom) => this.views[atom.view]);
        if (views.length <= 1) {
          const size = views.length ? this.reserved + views[0].table.size : 1;
          table.direct = new Int32Array(size);
          let next = row;
          for (let i = 0; i < size; i++) table.direct[i] = bit(slots + i) ? next++ : -1;
          slots += size;
        } else {
          table.restBits = views.reduce((sum, view) => sum + view.bits, 0) - bucketBits[number];
          table.width = (table.restBits + 7) >> 3;
          table.mask = 2 ** bucketBits[number] - 1;
          table.buckets = buckets.subarray(bucket, bucket + table.mask + 2);
          table.rests = rests.subarray(rest, rest + table.width * counts[number]);
          table.seed = seeds ? seeds[number] : 0;
          bucket += table.mask + 2;
          rest += table.width * counts[number];
        }
        row += counts[number];
        tables.set(key, table);
      }
      template.table = tables.get(key);
      const many = template.places.findIndex((atom) => this.views[atom.view].many);
      template.shift = many < 0
        ? -1
        : template.places.slice(many + 1).reduce((sum, atom) => sum + this.views[atom.view].bits, 0);
    }
    if (!edges) this.features = row;
    this.edgeFeatures = edges ? row : 0;
    if (tables.size !== counts.length || bucket !== buckets.length || rest !== rests.length)
      fail("not a sapo model: its features do not fit its template");
  }

  /** The values of all views of one word of a column. */
  valuesOf(column, word) {
    let known = this.remembered.get(column);
    if (!known) this.remembered.set(column, (known = new Map()));
    let values = known.get(word);
    if (!values) {
      const number = this.columns.get(column).find(word);
      values = this.views.map((view) =>
        view.column === column ? Array.from(view.of(number, word), (one) => one + this.reserved) : null,
      );
      values.number = number;
      if (known.size >= REMEMBERED) known.clear();
      known.set(word, values);
    }
    return values;
  }

  /** The rows of the features of each token of a sentence, those of edge features, and the numbers of the words. */
  encode(columns) {
    const T = columns[Object.keys(columns)[0]].length;
    const tokens = new Map();
    for (const name of this.columns.keys()) {
      const fields = name in this.knowledge.columns
        ? this.knowledge.columns[name].fields(columns[this.knowledge.words])
        : columns[name];
      tokens.set(name, fields.map((word) => this.valuesOf(name, word)));
    }
    const valuesAt = this.views.map((view, number) => tokens.get(view.column).map((values) => values[number]));
    const rows = [];
    const edgeRows = [];
    for (let t = 0; t < T; t++) {
      rows.push([]);
      edgeRows.push([]);
      for (const template of this.templates)
        this.find(template, t, T, valuesAt, template.edge ? edgeRows[t] : rows[t]);
    }
    const words = tokens.get("word") || tokens.values().next().value || [];
    return { rows, edgeRows, words: words.map((values) => values.number), T };
  }

  find(template, t, T, valuesAt, found) {
    let high = 0;
    let low = 0;
    let members = null;
    for (const { view, offset } of template.places) {
      const place = t + offset;
      const bits = this.views[view].bits;
      let value = 0;
      if (place < 0) value = -2 * place - 1;
      else if (place >= T) value = 2 * (place - T + 1);
      else {
        const values = valuesAt[view][place];
        if (this.views[view].many) members = values;
        else if (values.length) value = values[0];
        else return;
      }
      high = (high << bits) | (low >>> (32 - bits));
      low = (low << bits) | value;
    }
    if (members === null) {
      const row = this.look(template.table, high, low);
      if (row >= 0) found.push(row);
      return;
    }
    const shift = template.shift;
    for (const member of members) {
      const up = shift >= 32 ? member << (shift - 32) : shift ? member >>> (32 - shift) : 0;
      const row = this.look(template.table, high | up, low | (shift < 32 ? member << shift : 0));
      if (row >= 0) found.push(row);
    }
  }

  look(table, high, low) {
    if (table.direct) return table.direct[low];
    const bits = table.restBits;
    const restHigh = bits >= 32 ? high & (bits === 32 ? 0 : 2 ** (bits - 32) - 1) : 0;
    const restLow = (bits >= 32 ? low : low & (2 ** bits - 1)) >>> 0;
    const above = bits >= 32 ? high >>> (bits - 32) : bits ? (low >>> bits) | (high << (32 - bits)) : low;
    const bucket = ((bits === 32 ? high : above) ^ hashRest(restHigh, restLow, table.seed)) & table.mask;
    const first = table.buckets[bucket];
    const size = table.buckets[bucket + 1] - first;
    if (!size) return -1;
    const spreadLow = Math.imul(restLow, ODD_LOW);
    const spreadHigh =
      table.width > 4 ? highProduct(restLow, ODD_LOW) + Math.imul(restHigh, ODD_LOW) + Math.imul(restLow, ODD_HIGH) : 0;
    const start = table.width * (first - table.first);
    search: for (let i = 0; i < size; i++) {
      for (let byte = 0; byte < table.width; byte++) {
        const shift = 8 * (table.width - byte) - 8;
        const wanted = (shift >= 32 ? spreadHigh >>> (shift - 32) : spreadLow >>> shift) & 255;
        if (table.rests[start + byte * size + i] !== wanted) continue search;
      }
      return first + i;
    }
    return -1;
  }
}

// ---- what is known of words: lists of names, clusters, vectors ----

class Knowledge {
  constructor(header, arrays) {
    this.words = header.words;
    this.columns = {};
    this.vectors = null;
    for (const [name, kind] of Object.entries(header.columns)) {
      if (kind === "names") this.columns[name] = new NameList(arrays, `knowledge.${name}`);
      else fail(`this reader cannot read models with ${kind} ('${name}'); tag with sapo in Python`);
    }
    if ("vectors" in header) fail("this reader cannot read models with word vectors; tag with sapo in Python");
  }
}

const ACCENT =
  "[\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u0610-\\u061a\\u064b-\\u065f\\u0900-\\u0903\\u093a-\\u094f\\u0e31" +
  "\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u200c\\u200d\\u20d0-\\u20ff\\ufe00-\\ufe0f\\ufe20-\\ufe2f]";
const IDEOGRAPH =
  "\\u3005-\\u3007\\u3041-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3fffd}";
const LETTER = "[\\p{L}\\p{Nl}\\p{No}]";
const OTHER_LETTER = `(?:(?![${IDEOGRAPH}])${LETTER})`;
const NAME_ATOM = new RegExp(`${OTHER_LETTER}+(?:${ACCENT}+${OTHER_LETTER}*)*|\\p{Nd}+|[^${SPACE}]`, "gu");

/** Names in a trie of atoms: see features/names.py. */
class NameList {
  constructor(arrays, name) {
    this.anyCase = arrays.get(`${name}.any_case`)[0] === 1;
    this.table = arrays.strings(name);
    const atoms = arrays.wide(`${name}.atoms`);
    const flags = arrays.get(`${name}.flags`);
    this.nodes = [{ children: null, ends: false }];
    for (let i = 0; i < flags.length; i++) this.nodes.push({ children: null, ends: (flags[i] & 3) !== 0 });
    let parent = 0; // the k-th group of siblings belongs to the k-th node with children
    for (let i = 0, group = new Map(); i < flags.length; i++) {
      group.set(atoms[i], i + 1);
      if (!(flags[i] & 8)) continue;
      this.nodes[parent].children = group;
      group = new Map();
      do parent++;
      while (parent <= flags.length && !(flags[parent - 1] & 4));
    }
  }

  atomsOf(word) {
    let text = word.replace(/[\u2019\u02bc]/g, "'").replace(/[\u2010\u2011\u2013]/g, "-");
    if (this.anyCase) text = text.toLowerCase().replace(/\u03c2/g, "\u03c3");
    return (text.match(NAME_ATOM) || []).map((atom) => this.table.find(atom));
  }

  /** B, I or O for each word: the longest names from left to right. */
  fields(words) {
    const atoms = words.map((word) => this.atomsOf(word));
    const found = words.map(() => "O");
    for (let begin = 0; begin < words.length; ) {
      let node = 0;
      let after = begin;
      for (let token = begin; token < words.length && node >= 0; token++) {
        for (const atom of atoms[token]) {
          const children = this.nodes[node].children;
          node = children && atom >= 0 && children.has(atom) ? children.get(atom) : -1;
          if (node < 0) break;
        }
        if (node <= 0) break;
        if (this.nodes[node].ends && atoms[token].length) after = token + 1;
      }
      for (let token = begin; token < after; token++) found[token] = token > begin ? "I" : "B";
      begin = Math.max(after, begin + 1);
    }
    return found;
  }
}

// ---- weights and scores ----

const FEW_LABELS = 32;
const MATRIX = 2 ** 25;

class Weights {
  constructor(header, arrays, encoder) {
    const L = (this.L = header.labels.length);
    this.counts = arrays.wide("weight.counts");
    this.labels = arrays.wide("weight.labels");
    this.values = arrays.get("weight.values");
    this.starts = offsetsOf(this.counts);
    const features = encoder.features;
    if (this.counts.length !== features || this.starts[features] !== this.labels.length)
      fail("not a sapo model: weight.counts");
    if (this.labels.some((label) => label >= L)) fail("not a sapo model: weight.labels");
    this.matrix = null;
    if (features === 0 || (L <= FEW_LABELS && features * L <= MATRIX)) this.matrix = this.filled(features);
    this.denseFrom = Math.max(2, Math.floor(L / 8));
    this.edges = new Float32Array(L * L);
    const [counts, labels, values] = [arrays.wide("edge.counts"), arrays.wide("edge.labels"), arrays.get("edge.values")];
    for (let p = 0, i = 0; p < L; p++)
      for (let k = 0; k < counts[p]; k++, i++) this.edges[p * L + labels[i]] = values[i];
    this.pairs = null;
    if (encoder.edgeFeatures) {
      const offsets = offsetsOf(arrays.wide("pair.counts"));
      this.pairs = { offsets, codes: arrays.get("pair.codes"), weights: arrays.get("pair.weights") };
    }
    this.bans = new Float32Array((L + 2) * L);
    if (arrays.has("bans")) {
      const bit = arrays.bits("bans");
      for (let i = 0; i < this.bans.length; i++) if (bit(i)) this.bans[i] = -Infinity;
    }
    const bias = header.bias || {};
    (header.shown || header.labels).forEach((name, y) => {
      if (Object.hasOwn(bias, name)) for (let p = 0; p <= L; p++) this.bans[p * L + y] += fround(bias[name]);
    });
    this.lists = null;
    if (arrays.has("list.most"))
      this.lists = {
        most: Math.min(arrays.get("list.most")[0], L),
        order: arrays.wide("list.order"),
        offsets: offsetsOf(arrays.wide("list.counts")),
        labels: arrays.wide("list.labels"),
      };
  }

  filled(features) {
    const matrix = new Float32Array(features * this.L);
    for (let f = 0; f < features; f++)
      for (let k = this.starts[f]; k < this.starts[f + 1]; k++) matrix[f * this.L + this.labels[k]] = this.values[k];
    return matrix;
  }

  /** Add up the weights of features in single precision, in the order of search/weights.py. */
  score(rows, out, at) {
    const { L, matrix, starts, counts, labels, values } = this;
    if (matrix) {
      let i = 0;
      for (; i + 4 <= rows.length; i += 4) {
        const [e, f, g, h] = [rows[i] * L, rows[i + 1] * L, rows[i + 2] * L, rows[i + 3] * L];
        for (let y = 0; y < L; y++)
          out[at + y] += fround(fround(matrix[e + y] + matrix[f + y]) + fround(matrix[g + y] + matrix[h + y]));
      }
      for (; i < rows.length; i++) for (let y = 0; y < L; y++) out[at + y] += matrix[rows[i] * L + y];
      return;
    }
    for (const dense of [false, true])
      for (const f of rows)
        if (counts[f] >= this.denseFrom === dense)
          for (let k = starts[f]; k < starts[f + 1]; k++) out[at + labels[k]] += values[k];
  }

  /** The weight of a feature for a label. */
  weight(f, y) {
    if (this.matrix) return this.matrix[f * this.L + y];
    for (let k = this.starts[f]; k < this.starts[f + 1]; k++) if (this.labels[k] === y) return this.values[k];
    return 0;
  }
}

/** The scores of a sentence: node[t * K + y]; edge[p * K + y], or a stage of edges for each token. */
class Lattice {
  constructor(T, K, stages) {
    this.T = T;
    this.K = K;
    this.node = new Float32Array(T * K);
    this.edge = new Float32Array(stages * K * K);
    this.many = stages > 1;
    this.lists = null; // [T * K] the labels of the nodes, if only a few are looked at
    this.labels = K;
  }

  step(t) {
    return this.many ? t * this.K * this.K : 0;
  }

  tempered(temperature) {
    if (temperature === 1) return this;
    const lattice = new Lattice(this.T, this.K, 1);
    const divisor = fround(temperature);
    lattice.node = this.node.map((score) => score / divisor);
    lattice.edge = this.edge.map((score) => score / divisor);
    return Object.assign(lattice, { many: this.many, lists: this.lists, labels: this.labels });
  }

  pathScore(path) {
    let total = 0;
    for (let t = 0; t < this.T; t++) {
      total += this.node[t * this.K + path[t]];
      if (t) total += this.edge[this.step(t) + path[t - 1] * this.K + path[t]];
    }
    return total;
  }

  toLabels(path) {
    return this.lists ? path.map((node, t) => this.lists[t * this.K + node]) : path;
  }
}

function fullLattice(weights, sentence) {
  const { L, bans, edges, pairs } = weights;
  const T = sentence.T;
  const lattice = new Lattice(T, L, pairs ? Math.max(T, 2) : 1);
  const { node, edge } = lattice;
  for (let t = 0; t < T; t++) weights.score(sentence.rows[t], node, t * L);
  for (let y = 0; y < L && T; y++) node[y] += bans[L * L + y];
  for (let y = 0; y < L && T; y++) node[(T - 1) * L + y] += bans[(L + 1) * L + y];
  for (let t = 0; t < (pairs ? T : 1); t++) {
    const step = lattice.step(t);
    for (let i = 0; i < L * L; i++) edge[step + i] = edges[i] + bans[i];
    if (pairs && t)
      for (const e of sentence.edgeRows[t])
        for (let k = pairs.offsets[e]; k < pairs.offsets[e + 1]; k++) edge[step + pairs.codes[k]] += pairs.weights[k];
  }
  return lattice;
}

/** Few labels a token, where there are many: see search/lattice.py. Null if all that is left is forbidden. */
function shortLattice(weights, sentence, onlyBest) {
  const { L, bans, edges, pairs, lists: seen } = weights;
  const { T, words, rows } = sentence;
  const K = seen.most;
  const lattice = new Lattice(T, K, Math.max(T, 2));
  const { node, edge } = lattice;
  const lists = new Int32Array(T * K);
  const counts = new Int32Array(T);
  const best = new Float32Array(T * K);
  const row = new Float32Array(L);
  const full = new Float32Array(L);
  const bestLabels = (t, last) => {
    let count = 0;
    let worst = -Infinity;
    const value = (y) => fround(full[y] + row[y]);
    for (const y of seen.order) {
      const score = value(y);
      if (count === K && !(score > worst)) continue;
      if (row[y] === -Infinity || (last && bans[(L + 1) * L + y] === -Infinity)) continue;
      let at = count < K ? count : K - 1;
      for (; at > 0 && value(lists[t * K + at - 1]) < score; at--) lists[t * K + at] = lists[t * K + at - 1];
      lists[t * K + at] = y;
      count = Math.min(count + 1, K);
      worst = value(lists[t * K + count - 1]);
    }
    return count;
  };
  for (let t = 0; t < T; t++) {
    const word = words[t];
    if (word >= 0 && word < seen.offsets.length - 1 && seen.offsets[word + 1] - seen.offsets[word] <= K)
      for (let k = seen.offsets[word]; k < seen.offsets[word + 1]; k++) lists[t * K + counts[t]++] = seen.labels[k];
    if (counts[t] !== 1 || !onlyBest)
      for (let j = 0; j < counts[t]; j++)
        for (const f of rows[t]) node[t * K + j] += weights.weight(f, lists[t * K + j]);
  }
  for (let t = 0; t < T; t++) {
    if (t === 0) for (let y = 0; y < L; y++) row[y] = bans[L * L + y];
    else {
      row.fill(-Infinity);
      for (let i = 0; i < counts[t - 1]; i++) {
        const p = lists[(t - 1) * K + i] * L;
        for (let y = 0; y < L; y++) row[y] = Math.max(row[y], best[(t - 1) * K + i] + edges[p + y] + bans[p + y]);
      }
      const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
      for (let y = 0; y < L; y++) row[y] = largest > -Infinity ? row[y] - largest : 0;
    }
    if (counts[t] === 0) {
      full.fill(0);
      weights.score(rows[t], full, 0);
      counts[t] = bestLabels(t, t === T - 1);
      if (counts[t] === 0) {
        row.fill(0);
        counts[t] = bestLabels(t, t === T - 1);
      }
      for (let j = 0; j < counts[t]; j++) node[t * K + j] = full[lists[t * K + j]];
    }
    for (let j = 0; j < counts[t]; j++) best[t * K + j] = node[t * K + j] + row[lists[t * K + j]];
  }
  for (let t = 0; t < T; t++) {
    for (let j = 0; j < counts[t]; j++) {
      if (t === 0) node[j] += bans[L * L + lists[j]];
      if (t === T - 1) node[t * K + j] += bans[(L + 1) * L + lists[t * K + j]];
    }
    for (let j = counts[t]; j < K; j++) {
      lists[t * K + j] = 0;
      node[t * K + j] = -Infinity;
    }
    if (!t) continue;
    const step = lattice.step(t);
    for (let i = 0; i < counts[t - 1]; i++)
      for (let j = 0; j < counts[t]; j++) {
        const code = lists[(t - 1) * K + i] * L + lists[t * K + j];
        edge[step + i * K + j] = edges[code] + bans[code];
      }
    if (pairs)
      for (const e of sentence.edgeRows[t])
        for (let k = pairs.offsets[e]; k < pairs.offsets[e + 1]; k++)
          for (let i = 0; i < counts[t - 1]; i++)
            for (let j = 0; j < counts[t]; j++)
              if (lists[(t - 1) * K + i] * L + lists[t * K + j] === pairs.codes[k])
                edge[step + i * K + j] += pairs.weights[k];
  }
  Object.assign(lattice, { lists, labels: L });
  if (T) {
    const { best: reached } = bestScores(lattice);
    if (!reached.subarray((T - 1) * K).some((score) => score > -Infinity)) return null;
  }
  return lattice;
}

// ---- searches and sums ----

/** The best score of a way to each node; a constant is taken off a row now and then. */
function bestScores(lattice) {
  const { T, K, node, edge } = lattice;
  const best = new Float32Array(T * K);
  const row = new Float32Array(K);
  let taken = 0;
  for (let y = 0; y < K; y++) best[y] = node[y];
  for (let t = 1; t < T; t++) {
    const step = lattice.step(t);
    row.fill(-Infinity);
    for (let p = 0; p < K; p++) {
      const before = best[(t - 1) * K + p];
      const from = step + p * K;
      for (let y = 0; y < K; y++) {
        const score = before + edge[from + y];
        if (score > row[y]) row[y] = score;
      }
    }
    for (let y = 0; y < K; y++) best[t * K + y] = row[y] + node[t * K + y];
    if (t % 32 === 0) {
      let top = -Infinity;
      for (let y = 0; y < K; y++) top = Math.max(top, best[t * K + y]);
      if (top > -Infinity) {
        taken += top;
        for (let y = 0; y < K; y++) best[t * K + y] -= top;
      }
    }
  }
  return { best, taken };
}

function bestPath(lattice) {
  const { T, K, edge } = lattice;
  const { best } = bestScores(lattice);
  const path = new Array(T);
  for (let t = T - 1; t >= 0; t--) {
    let top = 0;
    let topScore = -Infinity;
    const step = t < T - 1 ? lattice.step(t + 1) + path[t + 1] : 0;
    for (let p = 0; p < K; p++) {
      const score = t < T - 1 ? fround(best[t * K + p] + edge[step + p * K]) : best[t * K + p];
      if (score > topScore) {
        top = p;
        topScore = score;
      }
    }
    path[t] = top;
  }
  return path;
}

/** The n best taggings, exactly, by sidetracks: see search/topn.py. */
function topN(lattice, n) {
  const { T, K, edge } = lattice;
  const { best, taken } = bestScores(lattice);
  const tracks = []; // those that are done, then those that wait, best first
  const paths = [];
  const forks = [];
  const row = new Float32Array(K);
  let found = 0;
  const note = (track) => {
    if (tracks.length === n) {
      if (found === n || track.score <= tracks[n - 1].score) return;
      tracks.pop();
    }
    let i = tracks.length;
    while (i > found && tracks[i - 1].score < track.score) i--;
    tracks.splice(i, 0, track);
  };
  for (let y = 0; y < K; y++) {
    const score = best[(T - 1) * K + y];
    if (score > -Infinity) note({ score, parent: -1, at: T - 1, label: y });
  }
  const floor = () => (tracks.length === n ? tracks[n - 1].score : -Infinity);
  while (found < tracks.length) {
    const k = found++;
    const { score, parent, at, label } = tracks[k];
    const path = (paths[k] = parent >= 0 ? paths[parent].slice() : new Array(T));
    const fork = (forks[k] = new Array(T).fill(false));
    path[at] = label;
    for (let t = at - 1; t >= 0; t--) {
      const after = path[t + 1];
      if (parent >= 0 && paths[parent][t + 1] === after && !forks[parent][t]) {
        path[t] = paths[parent][t];
        continue;
      }
      const step = lattice.step(t + 1) + after;
      let choice = 0;
      let second = -Infinity;
      let top = (row[0] = fround(best[t * K] + edge[step]));
      for (let p = 1; p < K; p++) {
        row[p] = best[t * K + p] + edge[step + p * K];
        second = Math.max(second, Math.min(row[p], top));
        if (row[p] > top) {
          top = row[p];
          choice = p;
        }
      }
      path[t] = choice;
      fork[t] = score - fround(top - second) > floor();
      if (!fork[t]) continue;
      for (let p = 0; p < K; p++) {
        const rival = score - fround(top - row[p]);
        if (p !== choice && rival > floor()) note({ score: rival, parent: k, at: t, label: p });
      }
    }
  }
  return tracks.slice(0, found).map((track, k) => ({ path: paths[k], score: taken + track.score }));
}

function logSum(values) {
  let top = -Infinity;
  for (const value of values) if (value > top) top = value;
  if (top === -Infinity) return top;
  let total = 0;
  for (const value of values) total += Math.exp(value - top);
  return top + Math.log(total);
}

/** Sum over all taggings, in logarithms: alpha (itself counted), beta, log Z and the probability of each node. */
function distribution(lattice) {
  const { T, K, node, edge } = lattice;
  const alpha = new Float64Array(T * K);
  const beta = new Float64Array(T * K);
  const terms = new Float64Array(K);
  for (let t = 0; t < T; t++) {
    const step = lattice.step(t);
    for (let y = 0; y < K; y++) {
      for (let p = 0; p < K && t; p++) terms[p] = alpha[(t - 1) * K + p] + edge[step + p * K + y];
      alpha[t * K + y] = node[t * K + y] + (t ? logSum(terms) : 0);
    }
  }
  for (let t = T - 2; t >= 0; t--) {
    const step = lattice.step(t + 1);
    for (let p = 0; p < K; p++) {
      for (let y = 0; y < K; y++)
        terms[y] = edge[step + p * K + y] + node[(t + 1) * K + y] + beta[(t + 1) * K + y];
      beta[t * K + p] = logSum(terms);
    }
  }
  const logZ = T ? logSum(alpha.subarray((T - 1) * K)) : 0;
  const marginal = new Float64Array(T * K);
  if (logZ > -Infinity)
    for (let i = 0; i < T * K; i++) marginal[i] = Math.min(Math.exp(alpha[i] + beta[i] - logZ), 1);
  return { alpha, beta, logZ, marginal };
}

// ---- labels and spans ----

const SCHEMES = ["IIIIB", "BIIB", "BIES", "BILU", "BMES"]; // letters: first, inside, last, single, touching
const SPAN_LETTERS = new Set("IBESLUM");
const ALWAYS_BEGIN = new Set("BSU");
const ALWAYS_END = new Set("ESLU");

function partition(label) {
  const at = label.indexOf("-");
  return at < 0 ? [label, ""] : [label.slice(0, at), label.slice(at + 1)];
}

/** Labels as letter, '-' and type, or null if they do not mark spans: see tags/schemes.py. */
function asPrefixed(labels) {
  const inside = [...new Set(labels)].filter((label) => label !== "O");
  if (!inside.length) return null;
  const marks = (label) => SPAN_LETTERS.has(partition(label)[0]) && partition(label)[1] !== "";
  if (inside.every(marks)) return labels;
  const proves = (letters) =>
    letters.size > 1 &&
    SCHEMES.some(
      (scheme) =>
        [scheme[0], scheme[2], scheme[3]].every((letter) => letters.has(letter)) &&
        [...letters].every((letter) => scheme.includes(letter)),
    );
  if (proves(new Set(inside))) return labels.map((label) => (label === "O" ? label : `${label}-_`));
  const parts = inside.map((label) => [label.slice(0, Math.max(label.lastIndexOf("-"), 0)), label.slice(label.lastIndexOf("-") + 1)]);
  if (parts.every(([type]) => type) && proves(new Set(parts.map(([, letter]) => letter))))
    return labels.map((label) => {
      const at = label.lastIndexOf("-");
      return label === "O" ? label : `${label.slice(at + 1)}-${label.slice(0, at)}`;
    });
  return null;
}

function joined(before, tag) {
  const [letterBefore, typeBefore] = partition(before);
  const [letter, type] = partition(tag);
  if (!(letterBefore && letter && type)) return false;
  return type === typeBefore && !ALWAYS_END.has(letterBefore) && !ALWAYS_BEGIN.has(letter);
}

function spansOf(tags) {
  const found = [];
  let before = "O";
  let start = 0;
  let type = "";
  tags.forEach((tag, position) => {
    if (!joined(before, tag)) {
      if (type) found.push({ start, end: position, type });
      start = position;
      type = partition(tag)[1];
    }
    before = tag;
  });
  if (type) found.push({ start, end: tags.length, type });
  return found;
}

/** The probability that the taggings of a lattice have a span, over all of them. */
function spanProbability(lattice, { alpha, beta, logZ }, labels, { start, end, type }) {
  const { T, K, node, edge } = lattice;
  const fits = (y) => partition(labels[y])[1] === type;
  let mass = new Float64Array(K).fill(-Infinity);
  for (let y = 0; y < K; y++) {
    if (!fits(y)) continue;
    const ways = [0];
    if (start > 0) {
      ways.pop();
      for (let p = 0; p < K; p++)
        if (!joined(labels[p], labels[y])) ways.push(alpha[(start - 1) * K + p] + edge[lattice.step(start) + p * K + y]);
    }
    mass[y] = node[start * K + y] + logSum(ways);
  }
  for (let t = start + 1; t < end; t++) {
    const next = new Float64Array(K).fill(-Infinity);
    for (let y = 0; y < K; y++) {
      if (!fits(y)) continue;
      const ways = [];
      for (let p = 0; p < K; p++)
        if (mass[p] > -Infinity && joined(labels[p], labels[y])) ways.push(mass[p] + edge[lattice.step(t) + p * K + y]);
      next[y] = node[t * K + y] + logSum(ways);
    }
    mass = next;
  }
  const total = [];
  for (let p = 0; p < K; p++) {
    if (mass[p] === -Infinity) continue;
    if (end === T) total.push(mass[p]);
    else
      for (let y = 0; y < K; y++)
        if (!joined(labels[p], labels[y]))
          total.push(mass[p] + edge[lattice.step(end) + p * K + y] + node[end * K + y] + beta[end * K + y]);
  }
  return Math.min(Math.exp(logSum(total) - logZ), 1);
}

// ---- text to sentences and tokens: see text/tokens.py and text/splitter.py ----

const CLITICS = ["'d", "'ll", "'m", "'re", "'s", "'ve", "n't"];
const KEPT = "Mr. Mrs. Ms. Dr. Prof. St. Jr. Sr. vs. etc. Inc. Co. Ltd. Corp. Ph.D.".split(" ");
const DEFAULT_RULES = {
  unit: "words",
  marks: {},
  runs: "'*-.=_`",
  clitics: CLITICS,
  kept: KEPT,
  pieces: {},
  units: [],
  ends: {},
};
const ATOM = new RegExp(
  `(?:${LETTER}${ACCENT}*)+|\\p{Nd}+|(?<mixed>[!?]{2,})|(?<mark>[^${ALNUM}_${SPACE}]|_)\\k<mark>*${ACCENT}*|[^${SPACE}]`,
  "gu",
);
const PARTS = new RegExp(`[${IDEOGRAPH}]|[^${IDEOGRAPH}]+`, "gu");
const WORD = `[${ALNUM}_`;
const ADDRESS = new RegExp(
  `(?:(?:https?|ftp)://|www\\.)[^${SPACE}<>"\u201c\u201d\u00ab\u00bb]*` +
    `[^${SPACE}<>"\u201c\u201d\u00ab\u00bb.,;:!?)\\]}'\u2019*]|${WORD}.+\\-]+@${WORD}\\-]+(?:\\.${WORD}\\-]+)+`,
  "giu",
);
const ALWAYS_ALONE = new Set(
  '()[]{}"\u201c\u201d\u201e\u00ab\u00bb\u2014\u2026\u00bf\u00a1\u060c\u061b\u061f\u06d4\u0964\u0965' +
    "\u3001\u3002\u3008\u3009\u300a\u300b\u300c\u300d\u300e\u300f\u3010\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f",
);
const CLOSING = new Set(["'", '"', "''", ")", "]", "}", ..."\u2019\u201d\u00bb\u300d\u300f\uff09\u3011"]);
const OPENING = new Set("\"'([{`\u2018\u201c\u201e\u00ab\u00bf\u00a1\u300c\u300e\uff08\u3010");
const FINAL = new Set(".!?\u2026\u061f\u06d4\u0964");
const NEVER_FIRST = new Set(".,;:!?)]}%\u2026\u201d\u00bb\u3001\u3002\uff0c\uff01\uff1f\u300d\u300f\uff09\u3011");
const FINAL_ANYWHERE = new Set("\u3002\uff01\uff1f\uff61");
const CHUNK = new RegExp(`[^${SPACE}]{1,1000}`, "gu");
const NOT_NEWLINE = `(?!\\n)[${SPACE}]`;
const PARAGRAPH_END = new RegExp(`\\n(?:${NOT_NEWLINE})*\\n[${SPACE}]*|[\\f\\u2029][${SPACE}]*`, "gu");
const LONGEST_SENTENCE = 1000;
const isMark = (atom) => !isAlnum(firstOf(atom));
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

function sideClass(atom) {
  if (!atom || isMark(atom)) return "_";
  const size = sizeOf(atom);
  if (isAlpha(firstOf(atom))) return size === 1 ? "i" : "a";
  return size < 3 ? "1" : "9";
}

function defaultAttachment(left, mark, right) {
  const digits = (side) => side === "1" || side === "9";
  if (ALWAYS_ALONE.has(firstOf(mark)) || sizeOf(mark) > 1) return "alone";
  if (mark === ",") return digits(left) && digits(right) ? "both" : "alone";
  if (left === "_") return "-+.\u2212".includes(mark) && digits(right) ? "right" : "alone";
  if (right === "_") return mark === "." && left === "i" ? "left" : "alone";
  return "both";
}

function nextClass(token) {
  const first = firstOf(token);
  if (NEVER_FIRST.has(first)) return "";
  if (isAlpha(first)) return isUpper(first) || isTitle(first) ? "A" : isLower(first) ? "a" : "o";
  if (isDecimal(first)) return "1";
  return OPENING.has(first) ? "q" : "-";
}

function endKey(token) {
  const last = lastOf(token);
  if (isAlnum(last)) return null;
  if (isAlnum(firstOf(token))) return last === "." ? token : null;
  return head(token, Array.from(token).every((c) => c === last) ? 2 : 4);
}

function defaultEnds(key) {
  if (FINAL_ANYWHERE.has(lastOf(key))) return "Aao1q-";
  return isAlnum(firstOf(key)) || !FINAL.has(lastOf(key)) ? "" : "Ao1q-";
}

class Splitter {
  constructor(rules) {
    this.rules = rules || DEFAULT_RULES;
    this.kept = new Set(this.rules.kept);
    this.units = new Set(this.rules.units);
    this.clitic = null;
    if (this.rules.clitics.length) {
      const sorted = [...this.rules.clitics].sort((a, b) => sizeOf(b) - sizeOf(a));
      const any = `(?:${sorted.map(escaped).join("|").replaceAll("'", "['\u2019]")})`;
      const follows = `(?=${any}{0,3}?(?![${ALNUM}]`;
      const within = `(?:(?<=[${ALNUM}])|(?<=\\.)|(?<=${ACCENT})|(?!['\u2019]))`;
      this.clitic = new RegExp(`${within}${any}${follows}))|${any}${follows}|['\u2019]))`, "giu");
    }
    this.keptSizes = new Map();
    for (const token of this.kept) {
      const atoms = this.atomsOf(token);
      if (atoms.length <= 12) this.keptSizes.set(atoms[0], Math.max(atoms.length, this.keptSizes.get(atoms[0]) || 0));
    }
  }

  /** Sentences as lists of [start, end] of their tokens. */
  split(text) {
    const sentences = [];
    let start = 0;
    for (const match of text.matchAll(PARAGRAPH_END)) {
      this.paragraph(text.slice(start, match.index), start, sentences);
      start = match.index + match[0].length;
    }
    this.paragraph(text.slice(start), start, sentences);
    return sentences;
  }

  paragraph(text, begin, sentences) {
    let sentence = [];
    let ends = "";
    const close = () => {
      sentences.push(sentence);
      sentence = [];
    };
    for (const match of text.matchAll(CHUNK)) {
      const tokens = this.tokens(match[0]);
      const first = nextClass(tokens[0]);
      if ((first && ends.includes(first)) || sentence.length >= LONGEST_SENTENCE) close();
      const breaks = breaksOf(tokens);
      let at = begin + match.index;
      tokens.forEach((token, place) => {
        sentence.push([at, at + token.length]);
        at += token.length;
        if (breaks.has(place)) close();
      });
      let last = tokens.length - 1;
      while (last > 0 && CLOSING.has(tokens[last])) last--;
      const key = endKey(tokens[last]) || tokens[last];
      ends = own(this.rules.ends, key) ?? defaultEnds(key);
    }
    if (sentence.length) close();
  }

  /** The tokens of a text without blanks. */
  tokens(chunk) {
    if (this.rules.unit === "characters") return Array.from(chunk);
    if (this.rules.unit === "ideographs") return chunk.match(PARTS).flatMap((part) => this.words(part));
    return this.words(chunk);
  }

  words(chunk) {
    if (isAlpha(chunk)) return this.inPieces([chunk]);
    if (this.kept.has(chunk)) return [chunk];
    const found = [];
    for (const [start, end, whole] of this.parts(chunk)) {
      const part = chunk.slice(start, end);
      found.push(...(whole ? [part] : this.joined(this.atomsOf(part))));
    }
    return this.inPieces(found);
  }

  inPieces(tokens) {
    return tokens.flatMap((token) => {
      const sizes = own(this.rules.pieces, token.toLowerCase());
      const all = Array.from(token);
      if (!sizes || sizes.reduce((a, b) => a + b, 0) !== all.length) return [token];
      let at = 0;
      return sizes.map((size) => all.slice(at, (at += size)).join(""));
    });
  }

  *parts(chunk) {
    let at = 0;
    if (/@|\/\/|www\./i.test(chunk))
      for (const address of chunk.matchAll(ADDRESS)) {
        const end = address.index + address[0].length;
        yield* this.aroundClitics(chunk, at, address.index);
        yield [address.index, end, true];
        at = end;
      }
    yield* this.aroundClitics(chunk, at, chunk.length);
  }

  *aroundClitics(chunk, at, end) {
    if (this.clitic) {
      const text = chunk.slice(0, end);
      this.clitic.lastIndex = at;
      for (let found; (found = this.clitic.exec(text)); ) {
        const last = this.clitic.lastIndex;
        if (at < found.index) yield [at, found.index, false];
        yield [found.index, last, true];
        at = last;
        this.clitic.lastIndex = last;
      }
    }
    if (at < end) yield [at, end, false];
  }

  atomsOf(chunk) {
    const { runs } = this.rules;
    const atoms = [];
    for (const match of chunk.matchAll(ATOM)) {
      const atom = match[0];
      const { mark, mixed } = match.groups;
      if (mixed) {
        const whole = runs.includes("!") && runs.includes("?");
        for (const run of whole ? [atom] : atom.match(/!+|\?+/g))
          atoms.push(...(whole || runs.includes(run[0]) ? [run] : run));
      } else if (mark && Array.from(atom)[1] === mark && !runs.includes(mark)) {
        let first = -1;
        for (const c of atom) {
          if (c !== mark) break;
          first++;
        }
        for (let i = 0; i < first; i++) atoms.push(mark);
        atoms.push(atom.slice(first * mark.length));
      } else atoms.push(atom);
    }
    return atoms;
  }

  joined(atoms) {
    const found = [];
    let cut = true;
    let cutEarlier = true;
    for (let at = 0; at < atoms.length; ) {
      const count = cut ? this.keptFrom(atoms, at) : 1;
      const atom = atoms[at];
      let cutAfter = count > 1;
      if (count === 1 && isMark(atom)) {
        const how = this.attachment(atoms, at, cut, cutEarlier);
        cut = cut || !(how === "left" || how === "both");
        const followsMark = at + 1 < atoms.length && isMark(atoms[at + 1]);
        cutAfter = how === "alone" || (how === "left" && !followsMark);
      } else if (isDecimal(atom) && at + 1 < atoms.length) cutAfter = this.units.has(atoms[at + 1].toLowerCase());
      const text = atoms.slice(at, at + count).join("");
      if (cut) found.push(text);
      else found[found.length - 1] += text;
      at += count;
      [cut, cutEarlier] = [cutAfter, cut];
    }
    return found;
  }

  keptFrom(atoms, at) {
    for (let count = Math.min(this.keptSizes.get(atoms[at]) || 1, atoms.length - at); count > 1; count--) {
      const whole = at + count === atoms.length || isMark(atoms[at + count]) || isMark(atoms[at + count - 1]);
      if (whole && this.kept.has(atoms.slice(at, at + count).join(""))) return count;
    }
    return 1;
  }

  attachment(atoms, at, cut, cutEarlier) {
    const mark = atoms[at];
    const { marks } = this.rules;
    let left = at ? sideClass(atoms[at - 1]) : "_";
    if (at > 1 && !cutEarlier && (left === "_" || (left === "i" && ["'", "\u2019"].includes(atoms[at - 2])))) left = "a";
    const right = at + 1 < atoms.length ? sideClass(atoms[at + 1]) : "_";
    if (cut) left = "_";
    return (
      own(marks, left !== "_" ? `${atoms[at - 1].toLowerCase()} ${head(mark, 2)}${right}` : "") ||
      own(marks, `${left}${head(mark, 2)}${right}`) ||
      defaultAttachment(left, mark, right)
    );
  }
}

function breaksOf(tokens) {
  const found = new Set();
  let last = tokens.length - 1;
  for (let at = tokens.length - 2; at >= 0; at--) {
    const following = tokens[at + 1];
    if (!(CLOSING.has(following) || FINAL_ANYWHERE.has(lastOf(following)))) last = at;
    if (FINAL_ANYWHERE.has(lastOf(tokens[at])) && last + 1 < tokens.length) found.add(last);
  }
  return found;
}

// ---- the tagger ----

class Tagger {
  /** Read the bytes of a model file; raise SapoError, with what this reader cannot do, if it cannot use it. */
  constructor(buffer) {
    const { header, arrays } = readArrays(buffer);
    if (header.format !== FORMAT) fail(`the model has format ${header.format}, this reader reads format ${FORMAT}`);
    if (header.kind !== "templates")
      fail(`this reader cannot read models of kind '${header.kind}', only those with templates; use sapo in Python`);
    const named = new Arrays(arrays);
    this.header = header;
    this.encoder = new Encoder(header.encoder, named);
    this.weights = new Weights(header, named, this.encoder);
    this.temperature = header.temperature ?? 1;
    this.learned = header.labels;
    this.labels = [...new Set(header.shown || header.labels)];
    this.places = (header.shown || header.labels).map((name) => this.labels.indexOf(name));
    this.marksSpans = asPrefixed(this.labels) !== null;
    this.columns = this.encoder.readColumns;
    this.splitter = new Splitter(header.text);
  }

  /** A sentence of strings, or of lists with a string for each of `columns`, as features. */
  encode(tokens) {
    const { columns } = this;
    const trained = (this.header.reader.columns || []).filter((name) => name !== "label");
    const all = trained.length > columns.length ? trained : columns;
    const rows = tokens.map((token) => (typeof token === "string" ? [token] : token));
    const width = rows.length ? rows[0].length : columns.length;
    const names = width === columns.length ? columns : all;
    if (rows.some((row) => row.length !== names.length))
      fail(`a token must have ${columns.length} values (${columns.join(", ")})`);
    const found = {};
    names.forEach((name, i) => (found[name] = rows.map((row) => row[i])));
    return this.encoder.encode(found);
  }

  lattice(sentence, exact, onlyBest = false) {
    const short = this.weights.lists && !exact ? shortLattice(this.weights, sentence, onlyBest) : null;
    return short || fullLattice(this.weights, sentence);
  }

  names(path) {
    return path.map((label) => this.labels[this.places[label]]);
  }

  /** The tags of a sentence. */
  tag(tokens) {
    return this.tagEncoded(this.encode(tokens));
  }

  tagEncoded(sentence) {
    if (!sentence.T) return [];
    const lattice = this.lattice(sentence, false, true);
    return this.names(lattice.toLabels(bestPath(lattice)));
  }

  /** The n best taggings, best first: their probability over all taggings, and p_k over these n alone. */
  nbest(tokens, n = 5) {
    return this.nbestEncoded(this.encode(tokens), n);
  }

  nbestEncoded(sentence, n) {
    if (!sentence.T) return [{ tags: [], score: 0, probability: 1, p_k: 1 }];
    const lattice = this.lattice(sentence, false);
    const calibrated = lattice.tempered(this.temperature);
    const { logZ } = distribution(calibrated);
    const found = topN(lattice, n);
    const shares = found.map(({ score }) => Math.exp((score - found[0].score) / this.temperature));
    const whole = shares.reduce((a, b) => a + b, 0);
    return found.map(({ path, score }, k) => ({
      tags: this.names(lattice.toLabels(path)),
      score,
      probability: Math.exp(Math.min(calibrated.pathScore(path) - logZ, 0)),
      p_k: shares[k] / whole,
    }));
  }

  /** The probability of each label, for each token, over all taggings. */
  marginals(tokens) {
    return this.marginalsEncoded(this.encode(tokens)).map((row) =>
      Object.fromEntries(this.labels.map((label, y) => [label, row[y]])),
    );
  }

  marginalsEncoded(sentence) {
    const lattice = this.lattice(sentence, false).tempered(this.temperature);
    const { marginal } = distribution(lattice);
    return Array.from({ length: sentence.T }, (_, t) => {
      const row = new Array(this.labels.length).fill(0);
      for (let y = 0; y < lattice.K; y++) {
        const label = lattice.lists ? lattice.lists[t * lattice.K + y] : y;
        row[this.places[label]] += marginal[t * lattice.K + y];
      }
      return row;
    });
  }

  /** The spans of the best tagging, with their probabilities over all taggings; null if labels mark none. */
  spans(tokens) {
    const sentence = this.encode(tokens);
    return this.spansEncoded(sentence, this.tagEncoded(sentence));
  }

  spansEncoded(sentence, tags, probabilities = true) {
    const shown = asPrefixed(this.labels);
    if (!shown) return null;
    const spans = spansOf(tags.map((tag) => shown[this.labels.indexOf(tag)]));
    if (!probabilities || !spans.length) return spans;
    const learned = asPrefixed(this.learned);
    const lattice = this.lattice(sentence, true).tempered(this.temperature);
    const sums = distribution(lattice);
    return spans.map((span) => ({ ...span, probability: spanProbability(lattice, sums, learned, span) }));
  }

  /** Cut a text into sentences and tokens as the training data was, and tag them. */
  tagText(text, { probabilities = false, nbest = 0 } = {}) {
    const others = this.columns.filter((name) => name !== "word" && name !== (this.header.reader.columns || [])[0]);
    if (others.length) fail(`this model also needs ${others.join(", ")} of each word, which text does not have`);
    return {
      text,
      sentences: this.splitter.split(text).map((offsets) => {
        const sentence = this.encoder.encode(
          Object.fromEntries(this.columns.map((name) => [name, offsets.map(([start, end]) => text.slice(start, end))])),
        );
        const tags = this.tagEncoded(sentence);
        const shares = probabilities ? this.marginalsEncoded(sentence) : null;
        const spans = this.spansEncoded(sentence, tags, probabilities) || [];
        const tokens = offsets.map(([start, end], t) => {
          const token = { text: text.slice(start, end), start, end, tag: tags[t] };
          return shares ? { ...token, probability: shares[t][this.labels.indexOf(tags[t])] } : token;
        });
        const placed = spans.map((span) => {
          const [start, end] = [offsets[span.start][0], offsets[span.end - 1][1]];
          return { ...span, text: text.slice(start, end), start, end };
        });
        const [start, end] = [offsets[0][0], offsets[offsets.length - 1][1]];
        const found = { text: text.slice(start, end), start, end, tokens, spans: placed };
        return nbest ? { ...found, taggings: this.nbestEncoded(sentence, nbest) } : found;
      }),
    };
  }
}

return { load: (buffer) => new Tagger(buffer), SapoError, Splitter };
})();

if (typeof module === "object" && module.exports) module.exports = Sapo;
else globalThis.Sapo = Sapo;
