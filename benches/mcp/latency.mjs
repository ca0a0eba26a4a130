// What the guard adds to a call: the official TypeScript client calls `echo` of server-everything directly and through `celador mcp`,
// by turns, with tasks in memory and one policy on all calls. `.ci/mcp` installs what it needs:
//
//     cargo build --release && .ci/mcp
//     cp -r benches/mcp target/tools/mcp/tests/bench && cd target/tools/mcp/tests
//     CELADOR=$OLDPWD/target/release/celador node bench/latency.mjs

import { connected, directly, EVERYTHING, guarded } from "../clients.mjs";

const ROUNDS = 20, CALLS = 200;
const open = { direct: () => directly(EVERYTHING), guarded: () => guarded(["--policies", "policies/open"], EVERYTHING) };
const clients = {}, times = { direct: [], guarded: [] };
for (const [name, transport] of Object.entries(open)) clients[name] = await connected(transport());
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, client] of Object.entries(clients)) {
    for (let call = 0; call < CALLS; call++) {
      const begun = performance.now();
      await client.callTool({ name: "echo", arguments: { message: "hello" } });
      // the first round warms both up
      if (round > 0) times[name].push(performance.now() - begun);
    }
  }
}
const at = (sorted, share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(3);
for (const [name, list] of Object.entries(times)) {
  list.sort((a, b) => a - b);
  console.log(`${name.padEnd(8)} p50 ${at(list, 0.5)} ms   p90 ${at(list, 0.9)} ms   p99 ${at(list, 0.99)} ms`);
}
const median = (list) => list[Math.floor(list.length / 2)];
console.log(`added    p50 ${(median(times.guarded) - median(times.direct)).toFixed(3)} ms`);
await Promise.all(Object.values(clients).map((client) => client.close()));
