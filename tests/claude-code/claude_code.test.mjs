// Hooks under Claude Code itself: the program that people run, with its own settings, between a model that says what a test has written down
// and tools that really run. What is asserted is what the model was sent, what lies on the disk, and what the store has on record.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { model } from "./model.mjs";

const { CELADOR, CELADOR_ROOT } = process.env;
const example = (name) => join(CELADOR_ROOT, "examples/claude-code", name);
const EXAMPLE = ["agent.yaml", "rules.yaml", "tools.yaml"].map(example);
const OWN = [join(CELADOR_ROOT, "tests/claude-code/policies/agent.yaml"), example("tools.yaml")];
const CLAUDE = join(import.meta.dirname, "node_modules/.bin/claude");
const TOOLS = "Bash Read Write Agent mcp__notes__read mcp__notes__wipe mcp__notes__ask";

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A project with manifests in `celador/`, and hooks for them. */
function project(manifests, ...options) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "celador-claude-code-")));
    folders.push(folder);
    for (const name of ["celador", "home"]) mkdirSync(join(folder, name));
    for (const file of manifests) cpSync(file, join(folder, "celador", basename(file)));
    celador(folder, "hook", "install", ...(options.includes("--http") ? [] : ["celador"]), "--user", "kim", ...options);
    return folder;
}

function celador(folder, ...given) {
    return execFileSync(CELADOR, given, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/**
 * Runs Claude Code in a project: what the model was sent with its last turn, what it said at the end, and the session. `fills`, if it is given, is what somebody
 * fills into each form that a server of MCP shows.
 */
async function session(folder, turns, { prompt = "Go on.", more = [], fills } = {}) {
    const stub = await model(turns);
    const environment = {
        PATH: process.env.PATH,
        HOME: join(folder, "home"),
        ANTHROPIC_BASE_URL: stub.url,
        ANTHROPIC_API_KEY: "sk-ant-nobody",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
    };
    const said = fills === undefined ? [prompt] : ["--input-format", "stream-json"];
    const given = ["-p", ...said, "--output-format", "stream-json", "--verbose", "--allowedTools", TOOLS, ...more];
    const child = spawn(CLAUDE, given, { cwd: folder, env: environment, stdio: ["pipe", "pipe", "pipe"] });
    if (fills === undefined) child.stdin.end();
    else fillIn(child, prompt, fills);
    let [out, errors] = ["", ""];
    child.stdout.on("data", (part) => (out += part));
    child.stderr.on("data", (part) => (errors += part));
    await new Promise((ended) => child.on("close", ended));
    stub.close();
    const lines = out.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    const result = lines.findLast((line) => line.type === "result");
    assert.ok(result !== undefined || stub.sent.length === 0, out + errors);
    return { sent: stub.sent, result, id: lines.find((line) => line.session_id)?.session_id, said: out + errors };
}

/** Says something to Claude Code as a program that embeds it does, and fills in what it is asked until it has answered. */
function fillIn(child, prompt, content) {
    const say = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
    say({ type: "user", message: { role: "user", content: prompt } });
    createInterface({ input: child.stdout }).on("line", (line) => {
        const { type, request_id, request } = line.startsWith("{") ? JSON.parse(line) : {};
        if (type === "result") child.stdin.end();
        if (type !== "control_request") return;
        const response = request.subtype === "elicitation" ? { action: "accept", content } : {};
        say({ type: "control_response", response: { subtype: "success", request_id, response } });
    });
}

/** The results of calls that the model was sent with its last turn, by the id of the call: `{ text, isError }`. */
function results({ sent }) {
    const blocks = (sent.at(-1) ?? []).flatMap((message) => (Array.isArray(message.content) ? message.content : []));
    const text = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));
    const found = blocks.filter((block) => block.type === "tool_result");
    return Object.fromEntries(
        found.map((block) => [block.tool_use_id, { text: text(block.content), isError: block.is_error === true }]),
    );
}

const bash = (command) => ({ name: "Bash", input: { command, description: "Runs it." } });

test("a call that is allowed runs, and one that is not is told why", async () => {
    const folder = project(EXAMPLE);
    const said = results(await session(folder, [[bash("echo hello")], [bash("sudo ls")], [bash("git push --force")]]));
    assert.deepEqual(said.toolu_0_0, { text: "hello", isError: false });
    assert.ok(said.toolu_1_0.isError && said.toolu_1_0.text.includes("This program is never run."), said.toolu_1_0.text);
    assert.ok(said.toolu_2_0.text.includes("Pushes are not forced."), said.toolu_2_0.text);
});

test("of two calls of one turn the one that is refused does not run", async () => {
    const folder = project(EXAMPLE);
    const write = (name) => ({ name: "Write", input: { file_path: join(folder, name), content: "x" } });
    const said = results(await session(folder, [[write("a.txt"), write(".env")]]));
    assert.ok(said.toolu_0_1.text.includes("holds keys."), said.toolu_0_1.text);
    assert.deepEqual([existsSync(join(folder, "a.txt")), existsSync(join(folder, ".env"))], [true, false]);
});

test("a key in a result does not reach the model", async () => {
    const folder = project(EXAMPLE);
    const key = `sk-ant-api03-${"Zx81".repeat(23)}AA`;
    writeFileSync(join(folder, "notes.txt"), `the key is ${key}\n`);
    const read = { name: "Read", input: { file_path: join(folder, "notes.txt") } };
    const { sent } = await session(folder, [[bash("cat notes.txt")], [read]]);
    const all = JSON.stringify(sent.at(-1));
    assert.ok(all.includes("the key is") && !all.includes(key), all.slice(-2000));
});

test("a review is for whoever sits before Claude Code, and nobody does", async () => {
    const folder = project(EXAMPLE);
    const ran = await session(folder, [[bash("make install")], [bash("echo on")]], { more: ["--permission-mode", "default"] });
    const said = results(ran);
    assert.ok(said.toolu_0_0.isError, said.toolu_0_0.text);
    assert.deepEqual(said.toolu_1_0, { text: "on", isError: false });
});

test("other arguments reach the tool, and another result the model", async () => {
    const folder = project(OWN, "--grant");
    const said = results(await session(folder, [[bash("echo --loud order o-4711")]]));
    assert.deepEqual(said.toolu_0_0, { text: "--quiet order o-?", isError: false });
});

test("a session keeps its hooks when a tool takes them out of the settings", async () => {
    const folder = project(OWN, "--grant");
    const out = 'import { writeFileSync } from "node:fs"; writeFileSync(".claude/settings.json", JSON.stringify({ hooks: {} }));';
    writeFileSync(join(folder, "out.mjs"), out);
    // settings are taken up some time after they were written
    const said = results(await session(folder, [[bash("node out.mjs && sleep 3")], [bash("echo --loud order o-4711")]]));
    assert.deepEqual(said.toolu_1_0, { text: "--quiet order o-?", isError: false });
    assert.equal(readFileSync(join(folder, ".claude/settings.json"), "utf8"), '{"hooks":{}}');
});

test("other changes of the settings reach the session", async () => {
    const folder = project(OWN, "--grant");
    // a hook of somebody else, which says that it was called
    const own = `const hook = { type: "command", command: "touch called.txt" };
        import { readFileSync, writeFileSync } from "node:fs";
        const settings = JSON.parse(readFileSync(".claude/settings.json", "utf8"));
        settings.hooks.PreToolUse.push({ hooks: [hook] });
        writeFileSync(".claude/settings.json", JSON.stringify(settings));`;
    writeFileSync(join(folder, "own.mjs"), own);
    const said = results(await session(folder, [[bash("node own.mjs && sleep 3")], [bash("echo --loud order o-4711")]]));
    assert.deepEqual(said.toolu_1_0, { text: "--quiet order o-?", isError: false });
    assert.ok(existsSync(join(folder, "called.txt")));
});

test("what was done in a session is known when it is taken up again", async () => {
    const folder = project(OWN);
    const first = await session(folder, [[bash("echo deploy it")]]);
    assert.equal(results(first).toolu_0_0.text, "deploy it");
    const second = await session(folder, ["", "", [bash("echo deploy again")]], { more: ["--resume", first.id] });
    const refused = Object.values(results(second)).filter((result) => result.text.includes("It was deployed before."));
    assert.equal(refused.length, 1, JSON.stringify(results(second)));
});

test("a limit ends the session, and a message that is refused does not reach the model", async () => {
    const folder = project(OWN);
    const nine = Array.from({ length: 9 }, (_, at) => [bash(`echo ${at}`)]);
    const ran = await session(folder, nine);
    const texts = Object.values(results(ran)).map((result) => result.text);
    // the seventh call is the last thing that the model says
    assert.deepEqual([texts, ran.sent.length], [["0", "1", "2", "3", "4", "5"], 7], ran.said.slice(-2000));
    const refused = await session(project(OWN), ["Never."], { prompt: "Pay with 4111." });
    assert.equal(refused.sent.length, 0, refused.said);
    assert.ok(refused.said.includes("No card numbers here."), refused.said.slice(-2000));
});

test("tools of a server of MCP are guarded by their server and name", async () => {
    const folder = project(OWN);
    const servers = { mcpServers: { notes: { command: "node", args: [join(import.meta.dirname, "notes.mjs")] } } };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify(servers));
    const calls = [[{ name: "mcp__notes__read", input: {} }], [{ name: "mcp__notes__wipe", input: {} }]];
    const said = results(await session(folder, calls, { more: ["--mcp-config", join(folder, "mcp.json")] }));
    assert.equal(said.toolu_0_0.text, "Buy milk.");
    assert.ok(said.toolu_1_0.text.includes("mcp__notes__wipe is not for this agent."), said.toolu_1_0.text);
});

test("a server asks the user for what rules let it ask, and a rule may answer", async () => {
    const folder = project(OWN);
    const servers = { mcpServers: { notes: { command: "node", args: [join(import.meta.dirname, "notes.mjs")] } } };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify(servers));
    const ask = (what) => [{ name: "mcp__notes__ask", input: { what } }];
    const said = results(await session(folder, [ask("size"), ask("password")], { more: ["--mcp-config", join(folder, "mcp.json")] }));
    assert.deepEqual([said.toolu_0_0.text, said.toolu_1_0.text], ['accept {"size":"M"}', "decline null"]);
    const key = `sk-ant-api03-${"Zx81".repeat(23)}AA`;
    const filled = await session(folder, [ask("note")], { more: ["--mcp-config", join(folder, "mcp.json")], fills: { note: `take ${key}` } });
    assert.equal(results(filled).toolu_0_0.text, 'accept {"note":"take [anthropic_key]"}');
    // the rule that refused is on record, as for any other call
    const report = celador(folder, "report", "--store", "celador-data/celador.db", "--manifests", "celador");
    assert.match(report, /Elicitation +claude-code\/tried#no-passwords/);
});

test("calls of a subagent are held to the rules of the session", async () => {
    const folder = project(EXAMPLE);
    const agent = { name: "Agent", input: { description: "Cleans up", prompt: "Run sudo.", subagent_type: "general-purpose" } };
    // the subagent has a conversation of its own, whose first turn is due then
    const ran = await session(folder, [[agent, bash("sudo reboot")]]);
    const refused = ran.sent.flatMap((messages) => JSON.stringify(messages).match(/This program is never run\./g) ?? []);
    assert.ok(refused.length >= 1, ran.said.slice(-2000));
});

test("observed, nothing is stopped, and a report tells what would have been", async () => {
    const folder = project(EXAMPLE, "--observe");
    const said = results(await session(folder, [[bash("sudo -n true || echo went on")]]));
    assert.match(said.toolu_0_0.text, /went on/);
    const report = celador(folder, "report", "--store", "celador-data/celador.db", "--manifests", "celador");
    assert.match(report, /would have been stopped\n +1 +block +Bash +claude-code\/commands#never/);
});

test("where nothing can be decided, nothing runs", async () => {
    const folder = project(EXAMPLE);
    writeFileSync(join(folder, "celador/rules.yaml"), "kind: celador/v1/policy\nname: [");
    const ran = await session(folder, [[bash("touch ran.txt")]]);
    assert.ok(!existsSync(join(folder, "ran.txt")), ran.said.slice(-2000));
});

test("a server answers hooks over HTTP", async () => {
    const port = await new Promise((found) => {
        const probe = createServer().listen(0, "127.0.0.1", () => {
            const { port } = probe.address();
            probe.close(() => found(port));
        });
    });
    const address = `http://127.0.0.1:${port}`;
    const folder = project(EXAMPLE, "--http", address);
    const server = spawn(CELADOR, ["serve", "celador", "--listen", `127.0.0.1:${port}`, "--data", "data"], {
        cwd: folder,
        stdio: ["ignore", "pipe", "inherit"],
    });
    try {
        await new Promise((listens) => server.stdout.once("data", listens));
        const said = results(await session(folder, [[bash("echo hello")], [bash("sudo ls")]]));
        assert.deepEqual(said.toolu_0_0, { text: "hello", isError: false });
        assert.ok(said.toolu_1_0.text.includes("This program is never run."), said.toolu_1_0.text);
    } finally {
        server.kill();
    }
});
