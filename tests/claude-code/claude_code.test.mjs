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
const TOOLS = "Bash Read Write Agent Skill Monitor ToolSearch mcp__notes__read mcp__notes__wipe mcp__notes__ask";

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A project with manifests in `celador/`, and hooks for them. */
function project(manifests, ...options) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "celador-claude-code-")));
    folders.push(folder);
    for (const name of ["celador", "home"]) mkdirSync(join(folder, name));
    for (const file of manifests) cpSync(file, join(folder, "celador", basename(file)));
    celador(folder, "hook", "install", ...(options.includes("--http") ? [] : ["celador"]), "--user", "kim", "--claude", CLAUDE, ...options);
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
    assert.ok(said.toolu_2_0.text.includes("Pushes are not forced"), said.toolu_2_0.text);
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

test("a session takes over no settings that would change its hooks, its environment or its programs", async () => {
    const changes = {
        "a file that does not fit the schema": (it) => ({ ...it, permissions: 5 }),
        "hooks switched off by a text": (it) => ({ ...it, disableAllHooks: "true" }),
        "another environment": (it) => ({ ...it, env: { MARK: "1", CELADOR_STORE: "memory" } }),
        "a hook beside": (it) => ({ ...it, hooks: { ...it.hooks, Stop: [{ hooks: [{ type: "command", command: "touch called.txt" }] }] } }),
        "a harmless member": (it) => ({ ...it, verbose: true }),
    };
    for (const [name, change] of Object.entries(changes)) {
        const folder = project(OWN, "--grant");
        const before = JSON.parse(readFileSync(join(folder, ".claude/settings.json"), "utf8"));
        writeFileSync(join(folder, "next.json"), JSON.stringify(change(before)));
        writeFileSync(join(folder, "next.mjs"), 'import { copyFileSync } from "node:fs"; copyFileSync("next.json", ".claude/settings.json");');
        const turns = [[bash("node next.mjs && sleep 3")], [bash("echo --loud order o-4711 mark=$MARK")]];
        const said = results(await session(folder, turns));
        assert.deepEqual(said.toolu_1_0, { text: "--quiet order o-? mark=", isError: false }, name);
        assert.ok(!existsSync(join(folder, "called.txt")), name);
    }
});

test("an event that is unknown stops what it is about", async () => {
    const folder = project(EXAMPLE, "--grant");
    const path = join(folder, ".claude/settings.json");
    const settings = JSON.parse(readFileSync(path, "utf8"));
    const [hook] = settings.hooks.PreToolUse[0].hooks;
    const words = [hook.command, ...hook.args].map((word) => `'${word}'`).join(" ");
    // as a newer version may name it
    settings.hooks.PreToolUse[0].hooks = [{ ...hook, command: "bash", args: ["-c", `sed s/PreToolUse/PreThought/ | ${words}`] }];
    writeFileSync(path, JSON.stringify(settings));
    const { sent, said } = await session(folder, [[bash("touch ran.txt")]]);
    assert.ok(said.includes("`PreThought`"), said.slice(-2000));
    assert.deepEqual([sent.length, existsSync(join(folder, "ran.txt"))], [1, false]);
});

test("a command line of a skill is judged", async () => {
    const folder = project(EXAMPLE, "--grant");
    for (const [name, line] of [["greet", "echo from-skill"], ["harm", "touch ran.txt && sudo -n true"], ["ask", "make"]]) {
        mkdirSync(join(folder, ".claude/skills", name), { recursive: true });
        writeFileSync(join(folder, ".claude/skills", name, "SKILL.md"), `---\nname: ${name}\ndescription: Tries.\n---\nIt says: !\`${line}\`\n`);
    }
    const skill = (name) => [{ name: "Skill", input: { skill: name } }];
    // the example asks about skills, which this test does not
    writeFileSync(
        join(folder, "celador/rules.yaml"),
        readFileSync(join(folder, "celador/rules.yaml"), "utf8").replace("ToolSearch]", "ToolSearch, Skill]"),
    );
    const { sent, said } = await session(folder, [skill("greet"), skill("harm"), skill("ask")]);
    const all = JSON.stringify(sent.at(-1));
    assert.ok(all.includes("It says: from-skill"), said.slice(-2000));
    assert.ok(all.includes("This program is never run.") && !existsSync(join(folder, "ran.txt")), all.slice(-3000));
    assert.ok(all.includes("needs the approval of kim"), all.slice(-3000));
});

test("a turn ends before the model reads a result that no hook has judged", async () => {
    const ways = {
        missing: { command: "/nonexistent/celador", args: [] },
        fails: { command: "bash", args: ["-c", "exit 1"] },
        refuses: { command: "bash", args: ["-c", "exit 2"] },
        hangs: { command: "bash", args: ["-c", "sleep 30"], timeout: 1 },
        "is killed": { command: "bash", args: ["-c", "kill -9 $$"] },
        "says nothing of use": { command: "echo", args: ["{"] },
    };
    for (const event of ["PostToolUse", "PostToolUseFailure"]) {
        for (const [name, way] of Object.entries(ways)) {
            const folder = project(EXAMPLE, "--grant");
            const path = join(folder, ".claude/settings.json");
            const settings = JSON.parse(readFileSync(path, "utf8"));
            Object.assign(settings.hooks[event][0].hooks[0], way);
            writeFileSync(path, JSON.stringify(settings));
            writeFileSync(join(folder, "secret-result.txt"), "secret-result\n");
            const call = event === "PostToolUse" ? bash("cat secret-result.txt") : bash("cat secret-result.txt && ls nothing-there");
            const { sent, said } = await session(folder, [[call], "Done."]);
            assert.equal(sent.length, 1, `${event} ${name}: ${said.slice(-2000)}`);
        }
    }
});

test("a call that its user refuses does not end the turn", async () => {
    const folder = project(OWN);
    writeFileSync(join(folder, ".claude/settings.local.json"), JSON.stringify({ permissions: { deny: ["Bash(rm:*)"] } }));
    const said = results(await session(folder, [[bash("rm x"), bash("mkfifo y"), { name: "Nope", input: {} }], [bash("echo on")]], { more: ["--permission-mode", "default"] }));
    assert.equal(said.toolu_1_0.text, "on");
    assert.ok(said.toolu_0_0.isError, said.toolu_0_0.text);
});

test("results that are withheld or changed reach the model as they were decided", async () => {
    const folder = project([example("agent.yaml"), example("tools.yaml"), join(CELADOR_ROOT, "tests/claude-code/policies/withheld.yaml")], "--grant");
    const file = join(folder, "marked.txt");
    writeFileSync(file, "MARKED text\n");
    const agent = { name: "Agent", input: { description: "d", prompt: "p", subagent_type: "general-purpose", run_in_background: false } };
    const calls = [bash("cat marked.txt"), bash("echo RESHAPED"), { name: "Read", input: { file_path: file } }];
    const servers = { mcpServers: { notes: { command: "node", args: [join(import.meta.dirname, "notes.mjs")] } } };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify(servers));
    const notes = { name: "mcp__notes__read", input: {} };
    const ran = await session(folder, [[...calls, notes], [agent], "Done MARKED."], { more: ["--mcp-config", join(folder, "mcp.json")] });
    const said = results(ran);
    assert.ok(["toolu_0_0", "toolu_0_1", "toolu_0_2", "toolu_0_3"].every((id) => id in said), ran.said.slice(-2000));
    for (const [id, { text }] of Object.entries(said)) {
        assert.ok(!/MARKED|RESHAPED|milk/.test(text), `${id}: ${text}`);
    }
    assert.ok("toolu_1_0" in said, ran.said.slice(-3000));
});

test("the answer of a subagent in the background is judged as the result of its call", async () => {
    const folder = project(EXAMPLE, "--grant");
    const key = `sk-ant-api03-${"Zx81".repeat(23)}AA`;
    const agent = { name: "Agent", input: { description: "d", prompt: "Find.", subagent_type: "general-purpose", run_in_background: true } };
    const { sent } = await session(folder, [[agent], `It is ${key}.`, "Done."]);
    const read = sent.flat().filter((message) => message.role !== "assistant");
    assert.ok(!JSON.stringify(read).includes(key), JSON.stringify(read).slice(-2000));
    // one without a key arrives
    const plain = await session(project(EXAMPLE, "--grant"), [[agent], "It is blue.", "Done."]);
    const notes = JSON.stringify(plain.sent.flat().filter((message) => message.role !== "assistant"));
    assert.ok(notes.includes("<result>It is blue.</result>"), notes.slice(-2000));
});

test("a nested session is a child of the session that started it", async () => {
    // the nested session has the same model and may run nothing, so it starts no other one
    const folder = project(OWN);
    const { id } = await session(folder, [[bash(`'${CLAUDE}' -p hello; echo parent=$CELADOR_SESSION`)]]);
    const lines = celador(folder, "store", "list", "--format", "json", "celador-data/celador.db").trim().split("\n");
    const tasks = lines.map((line) => JSON.parse(line));
    assert.deepEqual(tasks.filter((task) => task.parent).map((task) => task.parent), [id], JSON.stringify(tasks));
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
