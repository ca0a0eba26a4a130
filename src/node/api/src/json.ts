/** What stands in arguments, results and messages. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** An object of JSON, such as the arguments of a call. */
export type JsonObject = { readonly [name: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
