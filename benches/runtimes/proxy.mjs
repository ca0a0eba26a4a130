// What a proxy for the API of a model adds to an exchange: a client asks a model of this process directly and through `celador proxy`, by turns. Rows of
// `benches/runtimes/run`.
//
// In: the command (CELADOR), a number of rounds (ROUNDS). Out: a line of JSON for each maker: how much longer an exchange takes through the proxy, in
// microseconds, as the difference of the medians and of the 90th percentiles. The model calls a tool each time, which a policy lets through. Each exchange
// begins a conversation of its own, so each begins a task. Both connections are kept.
import { spawn } from "node:child_process";
import { Agent, createServer, request } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const CELADOR = process.env.CELADOR ?? here("../../target/release/celador");
const ROUNDS = Number(process.env.ROUNDS ?? 20), EXCHANGES = 100;
const tool = { name: "get_order", description: "Reads an order.", schema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] } };
const MAKERS = {
  openai: {
    path: "/v1/chat/completions",
    asks: (text) => ({
      model: "small-1", messages: [{ role: "user", content: text }],
      tools: [{ type: "function", function: { name: tool.name, description: tool.description, parameters: tool.schema } }],
    }),
    says: {
      id: "c-1", object: "chat.completion", created: 1, model: "small-1", usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: tool.name, arguments: '{"order":"o-1"}' } }] } }],
    },
    called: (said) => said.choices[0].message.tool_calls[0].function.name,
  },
  anthropic: {
    path: "/v1/messages",
    asks: (text) => ({
      model: "small-1", max_tokens: 100, messages: [{ role: "user", content: text }],
      tools: [{ name: tool.name, description: tool.description, input_schema: tool.schema }],
    }),
    says: {
      id: "m-1", type: "message", role: "assistant", model: "small-1", stop_reason: "tool_use", stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 }, content: [{ type: "tool_use", id: "call_1", name: tool.name, input: { order: "o-1" } }],
    },
    called: (said) => said.content[0].name,
  },
};

const answers = Object.fromEntries(Object.values(MAKERS).map(({ path, says }) => [path, JSON.stringify(says)]));
const model = createServer((asked, answer) => {
  asked.resume().on("end", () => {
    answer.writeHead(200, { "content-type": "application/json" }).end(answers[asked.url]);
  });
});
await new Promise((listens) => model.listen(0, "127.0.0.1", listens));
const upstream = `http://127.0.0.1:${model.address().port}`;

/** One exchange, and how long it took in microseconds. */
function exchange(address, agent, path, body) {
  return new Promise((done, failed) => {
    const begun = performance.now();
    const headers = { "content-type": "application/json", authorization: "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01" };
    const asked = request(address + path, { method: "POST", agent, headers }, async (answer) => {
      let text = "";
      for await (const piece of answer.setEncoding("utf8")) text += piece;
      const took = (performance.now() - begun) * 1000;
      if (answer.statusCode === 200) done([took, JSON.parse(text)]);
      else failed(new Error(text));
    });
    asked.on("error", failed).end(JSON.stringify(body));
  });
}

for (const [maker, { path, asks, called }] of Object.entries(MAKERS)) {
  const options = ["--upstream", `${upstream}/v1`, "--policies", here("../../tests/proxy/rules.yaml"), "--agent", "shop/desk", "--listen", "127.0.0.1:0"];
  const proxy = spawn(CELADOR, ["proxy", maker, ...options], { stdio: ["ignore", "pipe", "ignore"] });
  process.once("exit", () => proxy.kill());
  for await (const line of createInterface({ input: proxy.stdout })) {
    const guarded = line.split(" ").at(-1);
    const ways = { direct: [upstream, new Agent({ keepAlive: true }), []], guarded: [new URL(guarded).origin, new Agent({ keepAlive: true }), []] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [address, agent, times] of Object.values(ways)) {
        for (let at = 0; at < EXCHANGES; at += 1) {
          const [took, said] = await exchange(address, agent, path, asks(`Where is order ${round}-${at}?`));
          if (called(said) !== tool.name) throw new Error("the call did not come through");
          // the first round warms both up
          if (round > 0) times.push(took);
        }
      }
    }
    const at = (times, share) => times.sort((a, b) => a - b)[Math.floor(times.length * share)];
    const [p50, p90] = [0.5, 0.9].map((share) => at(ways.guarded[2], share) - at(ways.direct[2], share));
    console.log(JSON.stringify({ what: `added by \`celador proxy ${maker}\` to an exchange`, p50, p90, direct: at(ways.direct[2], 0.5) }));
    break;
  }
}
model.close();
process.exit(0);
