// A model for Claude Code that says what a test has written down, in the shape of the API for messages.
//
// In: turns, each a list of calls of tools (`{ name, input }`) or a text. Out: an address, and what Claude Code sent with each turn. The turn that is
// due is counted by the answers of the model in the conversation, so a request that is sent twice is answered alike. Requests without tools are of Claude Code's own and get a word.
import { createServer } from "node:http";

function events(message) {
    const begun = { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } };
    const blocks = message.content.flatMap((block, index) => {
        const [empty, delta] =
            block.type === "text"
                ? [{ ...block, text: "" }, { type: "text_delta", text: block.text }]
                : [{ ...block, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(block.input) }];
        return [
            { type: "content_block_start", index, content_block: empty },
            { type: "content_block_delta", index, delta },
            { type: "content_block_stop", index },
        ];
    });
    const { stop_reason, usage } = message;
    return [
        { type: "message_start", message: begun },
        ...blocks,
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
        { type: "message_stop" },
    ];
}

/** Starts the model; `sent` grows by the messages of each turn. */
export async function model(turns) {
    const sent = [];
    const server = createServer(async (request, response) => {
        let text = "";
        for await (const part of request) text += part;
        const body = text === "" ? {} : JSON.parse(text);
        if (!request.url.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
            response.writeHead(200, { "content-type": "application/json" });
            response.end(JSON.stringify({ input_tokens: 10 }));
            return;
        }
        const at = body.messages.filter((message) => message.role === "assistant").length;
        const isAgent = (body.tools ?? []).length > 0;
        const turn = isAgent ? (turns[at] ?? "Done.") : "ok";
        if (isAgent) sent.push(body.messages);
        const calls = typeof turn === "string" ? [] : turn;
        const content =
            calls.length === 0
                ? [{ type: "text", text: turn }]
                : calls.map((call, of) => ({ type: "tool_use", id: `toolu_${at}_${of}`, ...call }));
        const message = {
            id: `msg_${at}`,
            type: "message",
            role: "assistant",
            model: body.model,
            content,
            stop_reason: calls.length === 0 ? "end_turn" : "tool_use",
            stop_sequence: null,
            usage: { input_tokens: 10, output_tokens: 10 },
        };
        if (!body.stream) {
            response.writeHead(200, { "content-type": "application/json" });
            response.end(JSON.stringify(message));
            return;
        }
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const event of events(message)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        response.end();
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    return { url: `http://127.0.0.1:${server.address().port}`, sent, close: () => server.close() };
}
