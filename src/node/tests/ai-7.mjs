// Has everything that is loaded after it find version 7 of the AI SDK under the name `ai`.
import { register } from "node:module";

const hook = `export const resolve = (name, context, next) => next(name === "ai" || name.startsWith("ai/") ? "ai-7" + name.slice(2) : name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
