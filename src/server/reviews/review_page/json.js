// JSON, to the letter. What a person approves must be what is carried out, and what they edit must change nowhere else. JavaScript's own
// reader rounds 9007199254740993 and makes 1 of 1.0, and its objects put "2" before "10". So a number here is its text (`Num`),
// and an object is a `Map` in the order of its members. Faults say their line and column, in every browser alike.

/** The depth that is read, so that no text exhausts the stack. The server's own bound is lower. */
const MAX_DEPTH = 200;

/** A number as it was written. */
export class Num {
  constructor(source) {
    this.source = source;
  }

  toString() {
    return this.source;
  }
}

/** A text that is no JSON, and where. */
export class JsonFault extends Error {
  constructor(message, text, at) {
    super(message);
    const before = text.slice(0, at).split("\n");
    this.at = at;
    this.line = before.length;
    this.column = before[before.length - 1].length + 1;
  }
}

/**
 * Characters that nobody sees, or that change in which order others are seen: a text with them may not be what it looks like. A tab, a
 * line break and the joiners of scripts and emoji are none of them.
 */
export const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const BLANK = /[ \t\n\r]*/y;
const ESCAPED = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORDS = [["true", true], ["false", false], ["null", null]];

/** The value of a JSON text: null, a boolean, a string, a `Num`, an array or a `Map`. Throws a `JsonFault`. */
export function parse(text) {
  let at = 0;
  const fault = (message, where = at) => {
    throw new JsonFault(message, text, where);
  };
  const blank = () => {
    BLANK.lastIndex = at;
    BLANK.exec(text);
    at = BLANK.lastIndex;
  };
  const take = (letter) => {
    blank();
    const is = text[at] === letter;
    if (is) at += 1;
    return is;
  };

  function value(depth) {
    if (depth > MAX_DEPTH) fault("The text is nested too deep.");
    blank();
    const first = text[at];
    if (first === undefined) fault("A value is missing at the end.");
    if (first === "{") return object(depth);
    if (first === "[") return array(depth);
    if (first === '"') return string();
    for (const [word, it] of WORDS) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return it;
      }
    }
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(text);
    if (!number) fault("A value is expected here.");
    at = NUMBER.lastIndex;
    return new Num(number[0]);
  }

  function object(depth) {
    const members = new Map();
    at += 1;
    if (take("}")) return members;
    do {
      blank();
      const begin = at;
      if (text[at] !== '"') fault("The name of a member in double quotes is expected here.");
      const name = string();
      if (members.has(name)) fault(`The member ${JSON.stringify(name)} is there twice.`, begin);
      if (!take(":")) fault("A colon is expected here.");
      members.set(name, value(depth + 1));
    } while (take(","));
    if (!take("}")) fault("A comma or } is expected here.");
    return members;
  }

  function array(depth) {
    const items = [];
    at += 1;
    if (take("]")) return items;
    do items.push(value(depth + 1));
    while (take(","));
    if (!take("]")) fault("A comma or ] is expected here.");
    return items;
  }

  function string() {
    const begin = at;
    let read = "";
    at += 1;
    for (;;) {
      const letter = text[at];
      if (letter === undefined) fault("This string does not end.", begin);
      if (letter < " ") fault("A string has no line breaks and no control characters; \\n stands for a line break.");
      at += 1;
      if (letter === '"') return read;
      if (letter !== "\\") {
        read += letter;
        continue;
      }
      const escape = text[at];
      at += 1;
      if (escape in ESCAPED) {
        read += ESCAPED[escape];
      } else if (escape === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(at, at + 4))) {
        read += String.fromCharCode(parseInt(text.slice(at, at + 4), 16));
        at += 4;
      } else {
        fault("No such escape is known.", at - 2);
      }
    }
  }

  const whole = value(0);
  blank();
  if (at < text.length) fault("Nothing more is expected here.");
  return whole;
}

/** A string as JSON, its hidden characters as escapes. */
function quoted(text) {
  const escaped = (units) => [...Array(units.length).keys()].map((at) => `\\u${units.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  return JSON.stringify(text).replace(HIDDEN, escaped);
}

/** The JSON text of a value; on one line without an indent. */
export function write(value, indent = "") {
  const text = (it, margin) => {
    if (it instanceof Num) return it.source;
    const inner = margin + indent;
    const listed = (open, items, close) => {
      if (items.length === 0) return open + close;
      if (!indent) return open + items.join(",") + close;
      return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`;
    };
    if (Array.isArray(it)) return listed("[", it.map((item) => text(item, inner)), "]");
    if (it instanceof Map) {
      const colon = indent ? ": " : ":";
      const member = ([name, item]) => quoted(name) + colon + text(item, inner);
      return listed("{", [...it].map(member), "}");
    }
    return typeof it === "string" ? quoted(it) : JSON.stringify(it);
  };
  return text(value, "");
}

/** A value without its letter: objects of JavaScript, in which numbers may have been rounded. For words and times, not for arguments. */
export function plain(value) {
  if (value instanceof Num) return Number(value.source);
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.assign(Object.create(null), Object.fromEntries([...value].map(([name, it]) => [name, plain(it)])));
  return value;
}
