/**
 * Texts of JSON that say one thing to every reader.
 *
 * In: a text. Out: its value, or nothing where readers may differ: a name that is there twice, half of a surrogate pair, a number that a
 * double does not hold. Such a text stays a text, so that rules see what the next reader gets.
 */

import type { Json } from "./json.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]|true|false|null/g;

/** The value of a text of JSON, if every reader finds the same in it. */
export function readExactly(text: string): Json | undefined {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  return isExact(text) ? value : undefined;
}

/** A text as rules read it: an object or a list where it is the JSON of one, else the text. */
export function asJson(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  return readExactly(text) ?? text;
}

/** Walks over the tokens of a text that is JSON. */
function isExact(text: string): boolean {
  if (!text.isWellFormed()) return false;
  /** The names of each object around the token; nothing for a list. */
  const around: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKEN)) {
    const first = token[0]!;
    if (first === "{" || first === "[") {
      around.push(first === "{" ? new Set() : undefined);
      isName = first === "{";
    } else if (first === "}" || first === "]") {
      around.pop();
      isName = false;
    } else if (first === "," || first === ":") {
      isName = first === "," && around.at(-1) !== undefined;
    } else if (first === '"') {
      const string = JSON.parse(token) as string;
      if (!string.isWellFormed()) return false;
      if (!isName) continue;
      const names = around.at(-1)!;
      // no object of JavaScript has it as a member of its own once it was assigned
      if (names.has(string) || string === "__proto__") return false;
      names.add(string);
    } else if ((first === "-" || /\d/.test(first)) && !isHeld(token)) {
      return false;
    }
  }
  return true;
}

/** Whether a double holds exactly this number: the shortest text of the double has the same digits. */
function isHeld(literal: string): boolean {
  return digitsOf(literal) === digitsOf(String(Number(literal)));
}

/** Sign, digits without zeros around them, and the power of ten: equal for equal decimals. */
function digitsOf(literal: string): string {
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (whole === undefined) return literal;
  const digits = `${whole}${part}`;
  const significant = digits.replace(/0+$/, "");
  if (/^0*$/.test(significant)) return "0";
  const scale = BigInt(power) - BigInt(part.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant.replace(/^0+/, "")}e${scale}`;
}
