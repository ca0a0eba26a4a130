// What the guard adds to a call of MCP: the official TypeScript client calls `echo` of server-everything directly and through `celador mcp`, by turns, with
// tasks in memory and one policy on all calls. A row of `benches/runtimes/run`, which puts it beside the clients of `tests/mcp`.
//
// In: the command (CELADOR). Out: a line of JSON: how much longer a call takes through the guard, in microseconds, as the difference of the medians and of
// the 90th percentiles.
import { connected, directly, EVERYTHING, guarded } from "./clients.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 20), CALLS = 200;
const open = { direct: () => directly(EVERYTHING), guarded: () => guarded(["--policies", "policies/open"], EVERYTHING) };
const clients = {}, times = { direct: [], guarded: [] };
for (const [name, transport] of Object.entries(open)) clients[name] = await connected(transport());
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, client] of Object.entries(clients)) {
    for (let call = 0; call < CALLS; call += 1) {
      const begun = performance.now();
      await client.callTool({ name: "echo", arguments: { message: "hello" } });
      // the first round warms both up
      if (round > 0) times[name].push((performance.now() - begun) * 1000);
    }
  }
}
const at = (list, share) => list.sort((a, b) => a - b)[Math.floor(list.length * share)];
const [p50, p90] = [0.5, 0.9].map((share) => at(times.guarded, share) - at(times.direct, share));
console.log(JSON.stringify({ what: "added by `celador mcp` to a call", p50, p90, direct: at(times.direct, 0.5) }));
await Promise.all(Object.values(clients).map((client) => client.close()));
