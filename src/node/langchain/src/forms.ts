/**
 * The kinds of messages and content blocks of LangChain, and what becomes of each.
 *
 * In: a message. Out: what rules read of it, and its content written anew from what they have left of that. The tables are what dispatches, so a
 * kind without a row goes nowhere.
 */

import { type Form, type Part, canonical, textPart, unknownForm } from "@celador/api/adapter";
import type { BaseMessage } from "@langchain/core/messages";

export interface Block {
  readonly type: string;
  readonly [member: string]: unknown;
}

interface Kind extends Form {
  readonly read?: (block: Block) => Part[];
  /** What goes on of a block. Without it a block goes on as it came where nothing of what was read was changed, and is left out otherwise. */
  readonly write?: (block: Block, judged: readonly Part[]) => Block | undefined;
}

const BLOCK = "content";

/** A text under one of the members of a block; what else stands in it in words is judged beside it. */
function textIn(member: string, role?: string): Pick<Kind, "read" | "write"> {
  const rest = ({ [member]: _, type: __, ...rest }: Block) => rest;
  return {
    read: (block) => [{ ...textPart(string(block, member)), ...(role === undefined ? {} : { role }) }, ...words(rest(block))],
    write(block, [judged, ...beside]) {
      if (judged?.text === undefined) return undefined;
      const isSame = canonical(beside) === canonical(words(rest(block))) && (role === undefined || judged.text === block[member]);
      // an index says only where the block stands
      const { index } = block;
      return { ...(isSame ? rest(block) : index === undefined ? {} : { index }), type: block.type, [member]: judged.text };
    },
  };
}

/** Media: all that it says in words, but for its data. */
const MEDIA: Pick<Kind, "read"> = {
  read: ({ type, data: _, ...rest }) => {
    const { image_url, url, mime_type, mimeType } = rest as { [name: string]: unknown };
    const address = typeof image_url === "string" ? image_url : ((Object(image_url) as { url?: unknown }).url ?? url);
    const said = typeof address === "string" && !/^data:/i.test(address) ? [{ ...textPart(address), role: "file" }] : [];
    const isText = /^text\//i.test(String(mime_type ?? mimeType ?? ""));
    if (isText) throw unknownForm(`a block \`${type}\``, "text as data");
    return [{ mimeType: String(mime_type ?? mimeType ?? `${type === "image_url" ? "image" : type}/*`), role: "file" }, ...said, ...words(withoutData(rest))];
  },
};

const ADDRESSED = "rules read its type, its address and its words; its data is not read";
const OUTSIDE = "what a provider runs itself comes past no rule";

/** All that is known. */
export const FORMS: readonly Kind[] = [
  { name: "human", from: "messages", treatment: "judged", note: "an input" },
  { name: "system", from: "messages", treatment: "judged", note: "an input whose parts have the role `system`; the `systemPrompt` of the agent is its own, and no message" },
  { name: "ai", from: "messages", treatment: "judged", note: "what the task let the model say passes; all else is an input whose parts have the role `assistant`" },
  { name: "tool", from: "messages", treatment: "judged", note: "written from what the task has decided about the call; one without a call is an input with the role `tool`" },
  { name: "remove", from: "messages", treatment: "passed", note: "takes a message out of the history" },
  { name: "text", from: BLOCK, treatment: "judged", note: "with its annotations", ...textIn("text") },
  { name: "text-plain", from: BLOCK, treatment: "judged", note: "", ...textIn("text") },
  { name: "refusal", from: BLOCK, treatment: "judged", note: "", ...textIn("refusal") },
  { name: "reasoning", from: BLOCK, treatment: "judged", note: "a part with the role `reasoning`", ...textIn("reasoning", "reasoning") },
  { name: "thinking", from: BLOCK, treatment: "judged", note: "a part with the role `reasoning`", ...textIn("thinking", "reasoning") },
  { name: "redacted_thinking", from: BLOCK, treatment: "passed", note: "only the provider can read it" },
  ...["image", "image_url", "audio", "video", "file", "input_audio"].map((name) => ({ name, from: BLOCK, treatment: "judged" as const, note: ADDRESSED, ...MEDIA })),
  ...["tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "functionCall"].map((name) => ({
    name,
    from: BLOCK,
    treatment: "dropped" as const,
    note: "the call stands in `tool_calls`",
  })),
  ...["server_tool_call", "server_tool_call_chunk", "server_tool_call_result", "server_tool_use", "mcp_tool_use"].map((name) => ({
    name,
    from: BLOCK,
    treatment: "refused" as const,
    note: OUTSIDE,
  })),
  { name: "non_standard", from: BLOCK, treatment: "refused", note: "a form of one provider" },
  { name: "messages", from: "Command", treatment: "judged", note: "`output` is an object then, with `content`, `artifact`, `messages` and `update`; messages stand as they were decided, and as inputs when the model reads them" },
  { name: "update", from: "Command", treatment: "judged", note: "as JSON" },
  { name: "goto", from: "Command", treatment: "passed", note: "names of nodes; a `Send`, which has a payload, is refused" },
  { name: "artifact", from: "ToolMessage", treatment: "judged", note: "beside the content: `output` is `{content, artifact}`" },
];

const ROWS = new Map(FORMS.map((form) => [`${form.from} ${form.name}`, form]));

function rowOf(from: string, name: unknown): Kind {
  const row = ROWS.get(`${from} ${String(name)}`);
  if (row === undefined || row.treatment === "refused") throw unknownForm(from, name);
  return row;
}

/** The kind of a message, if it is known. */
export function kindOf(message: BaseMessage): "human" | "system" | "ai" | "tool" | "remove" {
  return rowOf("messages", message.getType()).name as ReturnType<typeof kindOf>;
}

type Content = BaseMessage["content"];

function blocksOf(content: Content): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((block) => (typeof block === "string" ? { type: "text", text: block } : (block as Block)));
}

/** What rules read of a content. */
export function readContent(content: Content): Part[] {
  return blocksOf(content).flatMap((block) => rowOf(BLOCK, block.type).read?.(block) ?? []);
}

/** The content as it was judged; one of another shape than it had is one text. */
export function writeContent(content: Content, judged: readonly Part[]): Content {
  const blocks = blocksOf(content).filter(({ type }) => rowOf(BLOCK, type).treatment !== "dropped");
  const sizes = blocks.map((block) => rowOf(BLOCK, block.type).read?.(block).length ?? 0);
  const text = judged.map((part) => part.text ?? "").join("");
  if (typeof content === "string" || sizes.reduce((sum, size) => sum + size, 0) !== judged.length) return text;
  let from = 0;
  return blocks.flatMap((block, at) => {
    const { read, write } = rowOf(BLOCK, block.type);
    const its = judged.slice(from, (from += sizes[at]!));
    if (read === undefined) return [block];
    const made = write === undefined ? (canonical(its) === canonical(read(block)) ? block : undefined) : write(block, its);
    return made === undefined ? [] : [made];
  }) as Content;
}

/** All words of a value, each as a part. */
export function words(value: unknown): Part[] {
  const found: Part[] = [];
  JSON.stringify(value ?? null, (name, it: unknown) => {
    // signatures and what is encrypted are the provider's own, and say nothing
    if (name === "signature" || name === "encrypted_content") return undefined;
    if (typeof it === "string" && it !== "") found.push({ ...textPart(it), role: "annotation" });
    return it;
  });
  return found;
}

function withoutData(value: { readonly [name: string]: unknown }): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, it: unknown) => (name === "data" || (typeof it === "string" && /^data:/i.test(it)) ? undefined : it)) ?? "null",
  );
}

function string(block: Block, name: string): string {
  const value = block[name];
  if (typeof value !== "string") throw unknownForm(`a block \`${block.type}\``, name);
  return value;
}
