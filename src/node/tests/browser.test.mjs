// The WebAssembly module in a real Chromium: a page loads the package as it is published, decides, and runs the cases.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { newFolder } from "./folders.mjs";
import { MODULE, hasModule, texts } from "./runtimes.mjs";

const PACKAGES = fileURLToPath(new URL("../", import.meta.url));
const TYPES = { js: "text/javascript", wasm: "application/wasm", json: "application/json" };

const PAGE = `<!doctype html>
<script>
  // whatever goes wrong is told as well, so that nobody waits for it
  const broken = (why) => (window.told = { broken: String(why) });
  addEventListener("error", (event) => broken(event.message ?? "a part of the page does not load"), true);
  addEventListener("unhandledrejection", (event) => broken(event.reason));
</script>
<script type="importmap">{"imports": {"@celador/api": "/api/dist/esm/index.js", "@celador/wasm": "/wasm/dist/esm/index.js"}}</script>
<script type="module">
  import { celadorFrom } from "@celador/wasm";
  const { load, test } = await celadorFrom(fetch("/wasm/celador.wasm"));
  const texts = await (await fetch("/texts.json")).json();
  const policies = load(texts.filter(({ name }) => name === "examples/first-policy/agent.yaml"));
  const task = policies.agent("shop/clerk").task("thread-7", { user: "u-7" });
  const verdicts = [40, 250, 2000].map((amount) => task.before("payout", { amount }).verdict);
  const { passed, failed } = test(texts, { below: ["policies", "tests/data/cases/spec"] });
  window.told = { verdicts, passed, failed, saved: task.save().length };
</script>`;

/** Serves the page, and of the packages the files that they publish. The module is that of the other tests. */
function serve() {
  const given = JSON.stringify(texts("policies", "tests/data/cases", "examples"));
  const server = createServer(({ url }, response) => {
    const answer = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
    if (url === "/") return answer("text/html", PAGE);
    if (url === "/texts.json") return answer("application/json", given);
    if (url === "/wasm/celador.wasm") return answer(TYPES.wasm, readFileSync(MODULE));
    if (!/^\/(api|wasm)\/dist\/esm\/\w+\.js$/.test(url)) return response.writeHead(404).end();
    return answer(TYPES.js, readFileSync(`${PACKAGES}${url}`));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Flags without which Chromium asks the network for more than the test does. The sandbox needs rights that containers seldom give. */
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

class Browser {
  /** Opens a browser, which `context` closes after its test. A browser that does not answer is an error. */
  static async open(context) {
    const binary = ["chromium", "chromium-browser", "google-chrome"].find((name) => spawnSync("which", [name]).status === 0);
    const hasDriver = spawnSync("which", ["chromedriver"]).status === 0;
    if (binary === undefined || !hasDriver) return undefined;
    const driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, TMPDIR: newFolder() } });
    const browser = new Browser();
    context.after(() => browser.close().finally(() => driver.kill()));
    for await (const line of createInterface({ input: driver.stdout })) {
      const port = /started successfully on port (\d+)/.exec(line)?.[1];
      if (port !== undefined) {
        const path = spawnSync("which", [binary], { encoding: "utf8" }).stdout.trim();
        const wanted = { "goog:chromeOptions": { binary: path, args: FLAGS }, timeouts: { script: 300_000 } };
        browser.session = `http://127.0.0.1:${port}/session`;
        const { sessionId } = await browser.ask("", { capabilities: { alwaysMatch: wanted } });
        browser.session += `/${sessionId}`;
        return browser;
      }
    }
    throw new Error("the driver has told no port");
  }

  async close() {
    if (this.session !== undefined) await this.ask("", undefined, "DELETE");
  }

  async ask(path, body, method = "POST") {
    const signal = AbortSignal.timeout(360_000);
    const reply = await fetch(`${this.session}${path}`, { method, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const { value } = await reply.json();
    assert.equal(value?.error, undefined, value?.message);
    return value;
  }
}

test("a page of Chromium decides and runs the cases", { skip: !hasModule }, async (context) => {
  const browser = await Browser.open(context);
  if (browser === undefined) {
    assert.ok(!process.env.CI, "apt-get install chromium chromium-driver");
    return context.skip("no Chromium with its driver");
  }
  const server = await serve();
  context.after(() => server.close());
  await browser.ask("/url", { url: `http://127.0.0.1:${server.address().port}/` });
  const script = "const done = arguments[0]; const look = () => window.told ? done(window.told) : setTimeout(look, 50); look();";
  const told = await browser.ask("/execute/async", { script, args: [] });
  assert.equal(told.broken, undefined);
  assert.deepEqual(told.verdicts, ["allow", "suspend", "block"]);
  assert.equal(told.failed, 0);
  assert.ok(told.passed > 1000, `${told.passed} cases`);
  assert.ok(told.saved > 100);
});
