// The scripted model of the AI SDK that is tried: of version 6 or 7, whichever `ai` is.
import * as testing from "ai/test";

export const MockModel = testing.MockLanguageModelV4 ?? testing.MockLanguageModelV3;

/** Version 7 writes files in another form. */
export const isNewer = testing.MockLanguageModelV4 !== undefined;

export const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** The bytes of a file as the version has them. */
export const dataOf = (text) => (isNewer ? { type: "data", data: new TextEncoder().encode(text) } : new TextEncoder().encode(text));
