/** Values of tools as JSON. */

import type { Awaitable, Json, JsonObject } from "@celador/api";

/** The last of what a tool yields. What it yields on the way nobody has decided on, so nobody sees it. */
export async function last(result: unknown): Promise<unknown> {
  const awaited = await (result as Awaitable<unknown>);
  if (Object(awaited)[Symbol.asyncIterator] === undefined) return awaited;
  let latest: unknown;
  for await (const next of awaited as AsyncIterable<unknown>) latest = next;
  return latest;
}

/** What a tool returned, as JSON. */
export function plain(value: unknown): Json {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : (JSON.parse(text) as Json);
}

export function object(input: unknown): JsonObject {
  return plain(input ?? {}) as JsonObject;
}
