/**
 * Functions of the program that policies call.
 *
 * In: functions by the names that policies declare. Out: one function over texts, which a port calls with a name and arguments and which never throws. A value goes over exactly as it is or not at all: what JSON
 * cannot say, a promise and an error fail the call, and nothing of their data is told.
 */

import { MisuseError } from "./errors.js";
import { readExactly } from "./exact.js";
import type { Json } from "./json.js";
import { type Awaitable, type Desk, then } from "./port.js";

/** A value that a function gives: one of JSON. A whole number beyond 2^53 is a `bigint`. */
export type HostValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly HostValue[]
  | { readonly [name: string]: HostValue };

/** A function that policies call: pure, with the arguments by position. It gives its value at once. */
export type HostFunction = (...args: never[]) => HostValue;

/** What a program gives to its policies. */
export interface Hosting {
  /** What `pii.hash` of the policies hashes with: a secret of at least 16 bytes. Without it policies that call `pii.hash` are refused; a server has its own. */
  readonly hashKey?: string;
  /** The functions that policies declare under `functions`, by name. A policy that declares one which is not here is refused; a server calls none. */
  readonly functions?: { readonly [name: string]: HostFunction };
}

/** Does something with the member `host` of a request. */
export function hosting<T>(
  desk: Desk,
  { hashKey, functions }: Hosting,
  ask: (host: object) => Awaitable<T>,
): Awaitable<T> {
  const host = hashKey === undefined ? {} : { hash_key: hashKey };
  if (functions === undefined) return ask(host);
  const known = checked(functions);
  const by = desk.host((name, args) => answer(known, name, args));
  // what is loaded holds the functions from then on
  const done = <R>(result: R): R => {
    desk.forget(by);
    return result;
  };
  try {
    const asked = ask({ ...host, functions: { by, names: [...known.keys()] } });
    if (asked instanceof Promise) return asked.finally(() => desk.forget(by));
    return then(asked, done) as T;
  } catch (error) {
    throw done(error);
  }
}

/** The functions as they are now: what a program changes later changes no decision. */
function checked(functions: { readonly [name: string]: HostFunction }): Map<string, HostFunction> {
  const known = new Map(Object.entries(functions));
  for (const [name, value] of known) {
    if (typeof value !== "function") {
      throw new MisuseError("bad_request", `expected a function as \`${name}\`, found \`${typeof value}\``);
    }
    if (Object.prototype.toString.call(value) === "[object AsyncFunction]") {
      throw new MisuseError("bad_request", `expected a function as \`${name}\` that gives its value at once, found an async function`);
    }
  }
  return known;
}

const failed = (why: "raised" | "awaitable" | "inexact" | "other") => JSON.stringify({ failed: why });

function answer(functions: Map<string, HostFunction>, name: string, args: string): string {
  const given = readExactly(args) as readonly Json[] | undefined;
  if (given === undefined) return failed("inexact");
  try {
    const value: unknown = functions.get(name)!(...(given as never[]));
    if (isThenable(value)) {
      // nobody waits for it, so nobody hears of its error either
      if (value instanceof Promise) value.catch(() => {});
      return failed("awaitable");
    }
    const text = written(value, MAX_DEPTH);
    return text === undefined ? failed("other") : `{"value":${text}}`;
  } catch (error) {
    const kind = error instanceof Error ? error.constructor.name : typeof error;
    console.warn(`celador: the function \`${name}\` of the host has thrown \`${kind}\``);
    return failed("raised");
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** More levels than the engine takes. */
const MAX_DEPTH = 1_000;

/** A value as JSON that reads as just that value; nothing for what is none of JSON. */
function written(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "string":
      return value.isWellFormed() ? JSON.stringify(value) : undefined;
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) return undefined;
      // digits of a whole number would be read as exactly that number, which beyond 2^53 the double need not be
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value);
    case "object":
      if (value === null) return "null";
      if (depth === 0) return undefined;
      return Array.isArray(value) ? writtenList(value, depth - 1) : writtenObject(value, depth - 1);
    default:
      return undefined;
  }
}

function writtenList(list: readonly unknown[], depth: number): string | undefined {
  const items = Array.from(list, (item) => written(item, depth));
  return items.includes(undefined) ? undefined : `[${items.join(",")}]`;
}

function writtenObject(object: object, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const members: string[] = [];
  for (const [name, item] of Object.entries(object)) {
    const text = written(item, depth);
    if (text === undefined || !name.isWellFormed()) return undefined;
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
