// What is tried with version 6 of the AI SDK, with version 7. It asks for Node 22; all that is used here runs in 20.
import "./ai-7.mjs";

await import("./ai-sdk.test.mjs");
await import("./ai-sdk-judged.test.mjs");
await import("./ai-sdk-reviews.test.mjs");
