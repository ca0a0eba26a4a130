//! Hooks of Claude Code: each session of `tests/data/hooks/sessions`, event by event, through the command and over HTTP; side by side, killed
//! half-way, without a store; and the settings that call them.

use crate::serving::Serving;
use celador_server::hook_stranger;
use celador_store::Location;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const MANIFESTS: [&str; 2] = ["examples/claude-code", "tests/data/hooks/policies"];

/// A session, and how its hooks are called.
struct Session {
    name: String,
    how: Value,
    /// Events and the answers to them.
    events: Vec<(Value, Value)>,
    path: PathBuf,
}

fn sessions() -> Vec<Session> {
    let folder = fs::read_dir("tests/data/hooks/sessions").unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let session = |path: PathBuf| {
        let file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let events = file["events"].as_array().unwrap().iter();
        Session {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            how: file["how"].clone(),
            events: events.map(|it| (it["event"].clone(), it["answer"].clone())).collect(),
            path,
        }
    };
    paths.into_iter().map(session).collect()
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.args(["hook", "claude-code"]).args(MANIFESTS).args(["--user", "kim", "--data"]).arg(data);
    command.env_remove("CELADOR_STORE").env_remove("CELADOR_TOKEN");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn begin(mut command: Command, event: &[u8]) -> Child {
    let mut child = command.spawn().unwrap();
    // one that ends without reading has closed the pipe
    let _ = child.stdin.take().unwrap().write_all(event);
    child
}

fn answer(command: Command, event: &[u8]) -> Output {
    begin(command, event).wait_with_output().unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{} {}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    })
}

/// Compares what was answered, or writes it down.
fn compare(session: &Session, by: &str, answers: &[Value]) {
    let wanted: Vec<&Value> = session.events.iter().map(|(_, answer)| answer).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() && by == "command" {
        let mut file: Value = serde_json::from_str(&fs::read_to_string(&session.path).unwrap()).unwrap();
        let events = session.events.iter().zip(answers);
        let lines: Vec<String> = events
            .map(|((event, _), answer)| format!("  {{\"event\": {event},\n   \"answer\": {answer}}}"))
            .collect();
        let (about, how) = (file["about"].take(), file["how"].take());
        let text =
            format!("{{\"about\": {about},\n \"how\": {how},\n \"events\": [\n{}\n ]}}\n", lines.join(",\n"));
        fs::write(&session.path, text).unwrap();
        return;
    }
    for (at, (found, wanted)) in answers.iter().zip(wanted).enumerate() {
        assert_eq!(found, wanted, "{} by {by}, event {at}: {}", session.name, session.events[at].0);
    }
    assert_eq!(answers.len(), session.events.len());
}

/// Each event is answered as it stands there, whichever way it comes: by a process of its own over a store that stays, and by a server.
#[test]
fn sessions_go_the_same_by_the_command_and_over_http() {
    // reading the manifests is most of the time of a first event: one store has read them for all
    let read = tempfile::tempdir().unwrap();
    let first = json!({"session_id": "s-0", "hook_event_name": "SessionStart", "source": "startup"});
    answer(command(read.path()), first.to_string().as_bytes());
    let store = || {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(read.path().join("celador.db"), folder.path().join("celador.db")).unwrap();
        folder
    };
    for session in sessions() {
        let folder = store();
        let by_command: Vec<Value> = session
            .events
            .iter()
            .map(|(event, _)| {
                let mut command = command(folder.path());
                for (name, value) in session.how.as_object().unwrap() {
                    match (&**name, value) {
                        ("observe", _) => command.arg("--observe"),
                        ("grant", _) => command.arg("--grant"),
                        ("review_ms", _) => command.args(["--review-wait", "0"]),
                        (name, value) => command.args([&format!("--{name}"), value.as_str().unwrap()]),
                    };
                }
                let output = answer(command, event.to_string().as_bytes());
                // an event that nobody knows is refused by the code as well
                let answer = json_of(&output);
                let is_stranger = hook_stranger(event.to_string().as_bytes()).is_some();
                let code = if is_stranger && answer != json!({}) { 2 } else { 0 };
                assert_eq!(output.status.code(), Some(code), "{}: {event}", session.name);
                answer
            })
            .collect();
        compare(&session, "command", &by_command);
        let folder = store();
        let serving = Serving::with(&Location::File(folder.path().join("celador.db")), |settings, _| {
            settings.policies = MANIFESTS.map(PathBuf::from).to_vec();
            settings.observe = session.how["observe"] == true;
        });
        let query: String =
            session.how.as_object().unwrap().iter().fold("user=kim".to_owned(), |query, (name, value)| {
                match value.as_str() {
                    Some(value) => format!("{query}&{name}={}", value.replace('/', "%2F")),
                    None => query,
                }
            });
        let by_server: Vec<Value> = session
            .events
            .iter()
            .map(|(event, _)| {
                let reply = serving.post(&format!("/hooks/claude-code?{query}"), event);
                assert_eq!(reply.status, 200, "{}", reply.text());
                reply.json()
            })
            .collect();
        assert_eq!(by_server, by_command, "{}", session.name);
    }
}

fn call(id: usize, tool: &str, input: &Value) -> Vec<u8> {
    let event = json!({
        "session_id": "s-1", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
        "tool_use_id": format!("t{id}"),
    });
    event.to_string().into_bytes()
}

/// All hooks of one turn run side by side, each in a process of its own: each is decided, and each call is in the task once.
#[test]
fn hooks_of_one_turn_run_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let input = |at: usize| json!({"command": if at.is_multiple_of(2) { "ls" } else { "sudo ls" }});
    let children: Vec<Child> =
        (0..8).map(|at| begin(command(folder.path()), &call(at, "Bash", &input(at)))).collect();
    for (at, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let decision = json_of(&output)["hookSpecificOutput"]["permissionDecision"].clone();
        assert_eq!(decision, if at.is_multiple_of(2) { Value::Null } else { json!("deny") }, "{at}");
    }
    let report = Command::new(env!("CARGO_BIN_EXE_celador"))
        .args(["report", "--format", "json", "--store"])
        .arg(folder.path().join("celador.db"))
        .output()
        .unwrap();
    let text = String::from_utf8(report.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&rows[0]["step"], &rows[0]["count"]),
        (&json!("claude-code/commands#never"), &json!(4)),
        "{text}"
    );
    assert_eq!(rows.last().unwrap()["decisions"], 8, "{text}");
}

/// A hook that is killed has decided or has not: the same event is answered alike afterwards.
#[test]
fn a_hook_that_was_killed_is_called_again() {
    let folder = tempfile::tempdir().unwrap();
    let event = |at: usize| call(at, "Bash", &json!({"command": "ls"}));
    assert_eq!(json_of(&answer(command(folder.path()), &event(0))), json!({}));
    for at in 1..8_u64 {
        let mut child = begin(command(folder.path()), &event(at as usize));
        std::thread::sleep(std::time::Duration::from_millis(at * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(json_of(&answer(command(folder.path()), &event(at as usize))), json!({}), "{at}");
    }
}

/// What cannot be decided goes no further, and with `--fail open` it does.
#[test]
fn a_hook_fails_closed_unless_it_is_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let event = call(1, "Bash", &json!({"command": "ls"}));
    let broken = || {
        let mut command = command(folder.path());
        // a folder below a file cannot be made
        command.arg("--store").arg(folder.path().join("file/celador.db"));
        command
    };
    let output = answer(broken(), &event);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json_of(&output)["hookSpecificOutput"]["permissionDecision"], "deny");
    let mut open = broken();
    open.args(["--fail", "open"]);
    let output = answer(open, &event);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    // no event at all
    let output = answer(command(folder.path()), b"\xff{");
    assert_eq!(json_of(&output)["continue"], false);
    // an event that nobody knows: the code and a text refuse it where the answer means nothing
    let unknown = br#"{"session_id": "s-1", "hook_event_name": "PreThought"}"#;
    let output = answer(command(folder.path()), unknown);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`PreThought`"));
    assert_eq!(
        (&json_of(&output)["continue"], &json_of(&output)["decision"]),
        (&json!(false), &json!("block"))
    );
    let mut open = command(folder.path());
    open.args(["--fail", "open"]);
    let output = answer(open, unknown);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    // arguments that nobody understands
    let mut wrong = command(folder.path());
    wrong.arg("--obserev");
    assert_eq!(answer(wrong, &event).status.code(), Some(2));
    // a server that is not there
    let mut gone = command(folder.path());
    gone.args(["--server", "http://127.0.0.1:9"]);
    assert_eq!(json_of(&answer(gone, &event))["hookSpecificOutput"]["permissionDecision"], "deny");
}

/// The command asks a server with the same request.
#[test]
fn the_command_asks_a_server() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = MANIFESTS.map(PathBuf::from).to_vec();
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    command.args(["--server", &serving.base]);
    let output = answer(command, &call(1, "Bash", &json!({"command": "sudo ls"})));
    assert_eq!(
        json_of(&output)["hookSpecificOutput"]["permissionDecisionReason"],
        "This program is never run."
    );
    assert_eq!(serving.get("/v1/tasks/s-1").status, 200);
    assert!(!folder.path().join("celador.db").exists());
}

fn install(arguments: &[&str], settings: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.arg("hook").args(arguments).arg("--settings").arg(settings);
    command.output().unwrap()
}

/// Hooks are written once, however often they are installed, among those of others; taking them out leaves the file as it was.
#[test]
fn settings_keep_whatever_else_stands_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("deep/settings.json");
    let before = "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \"say done\"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t},\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n";
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, before).unwrap();
    let dry = install(&["install", "policies", "--dry-run"], &settings);
    assert!(dry.status.success());
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    let mut texts = Vec::new();
    for _ in 0..2 {
        assert!(install(&["install", "policies"], &settings).status.success());
        texts.push(fs::read_to_string(&settings).unwrap());
    }
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0].as_bytes(), dry.stdout);
    let written: Value = serde_json::from_str(&texts[0]).unwrap();
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "hooks", "env"]);
    let hook = &written["hooks"]["PreToolUse"][0];
    assert_eq!((&hook["matcher"], &hook["hooks"][0]["onFailure"]), (&json!("*"), &json!("block")));
    assert_eq!(written["hooks"]["Stop"].as_array().unwrap().len(), 2);
    // another way of calling takes the place of the one before
    assert!(
        install(&["install", "--http", "http://127.0.0.1:8717", "--fail", "open"], &settings)
            .status
            .success()
    );
    let written: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    let hook = &written["hooks"]["PreToolUse"];
    assert_eq!((hook.as_array().unwrap().len(), &hook[0]["hooks"][0]["type"]), (1, &json!("http")));
    assert_eq!(hook[0]["hooks"][0]["onFailure"], "continue");
    assert!(install(&["uninstall"], &settings).status.success());
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    // what is no file of settings is left alone, and nothing is left beside it
    for text in ["[1]", "{\"hooks\": 7}", "{\"hooks\": {\"Stop\": 7}}", "{ // no comment\n}"] {
        fs::write(&settings, text).unwrap();
        assert_eq!(install(&["install", "policies"], &settings).status.code(), Some(1), "{text}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    }
    assert_eq!(fs::read_dir(settings.parent().unwrap()).unwrap().count(), 1);
    // where none was there is one, and then an empty one
    let new = folder.path().join("new.json");
    assert!(install(&["install", "policies"], &new).status.success());
    assert!(install(&["uninstall"], &new).status.success());
    assert_eq!(fs::read_to_string(&new).unwrap(), "{}\n");
}

/// A server of MCP has its hand in what its question holds: whatever it makes of it, a question that cannot be read is not put.
#[test]
fn a_question_that_cannot_be_read_is_declined() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = MANIFESTS.map(PathBuf::from).to_vec();
    });
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{}1{}", "{\"a\":".repeat(2_000), "}".repeat(2_000));
    for kind in ["Elicitation", "ElicitationResult"] {
        for question in [
            r#""message":7"#.to_owned(),
            r#""message":"a","message":"b""#.to_owned(),
            r#""content":{"a":1e999}"#.to_owned(),
            format!(r#""requested_schema":{deep}"#),
            format!(r#""mcp_server_name":"{}""#, "s".repeat(5_000)),
        ] {
            let event = format!(
                r#"{{"session_id":"s-1",{question},"action":"accept","hook_event_name":"{kind}","mcp_server_name":"s"}}"#
            );
            let by_command = json_of(&answer(command(folder.path()), event.as_bytes()));
            let headers = [("content-type", "application/json")];
            let reply = serving.send("POST", "/hooks/claude-code?user=kim", &headers, event.as_bytes());
            assert_eq!(reply.status, 200);
            for answer in [by_command, reply.json()] {
                let start: String = question.chars().take(40).collect();
                assert_eq!(answer["hookSpecificOutput"]["action"], "decline", "{kind} {start}: {answer}");
                // beside a decision Claude Code 2.1.197 overlooks the action
                assert_eq!(answer["decision"], Value::Null);
            }
        }
    }
}

/// What the page shows is what is answered, and its policy stands beside those of the example.
#[test]
fn the_page_shows_what_is_answered() {
    let page = fs::read_to_string("docs/hooks.md").unwrap();
    let shown = page.split("tests/data/hooks/sudo.json\n").nth(1).unwrap().lines().next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let event = fs::read("tests/data/hooks/sudo.json").unwrap();
    assert_eq!(
        json_of(&answer(command(folder.path()), &event)),
        serde_json::from_str::<Value>(shown).unwrap()
    );
    let policy = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let file = folder.path().join("servers.yaml");
    fs::write(&file, policy).unwrap();
    let mut command = command(folder.path());
    command.arg(&file);
    let output = answer(command, &call(1, "mcp__jira__find", &json!({"id": 7})));
    let why = json_of(&output)["hookSpecificOutput"]["permissionDecisionReason"].clone();
    assert_eq!(why, "jira is not one of our servers.");
}

/// A session takes over a change of its settings only where Claude Code would go on with the same hooks, environment and programs, and permit no more.
#[test]
fn a_session_keeps_the_settings_that_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(root.join(".claude")).unwrap();
    fs::create_dir_all(root.join("home/.claude")).unwrap();
    let [project, local] =
        ["settings.json", "settings.local.json"].map(|name| root.join(".claude").join(name));
    let user = root.join("home/.claude/settings.json");
    let write = |path: &Path, settings: &Value| fs::write(path, settings.to_string()).unwrap();
    let send = |process: &str, event: Value, flags: &[&str]| -> Output {
        let mut command = command(&root.join("data"));
        command.args(flags).current_dir(concat!(env!("CARGO_MANIFEST_DIR")));
        command.env("CLAUDE_PROJECT_DIR", &root).env("HOME", root.join("home")).env("CLAUDE_PID", process);
        command.env_remove("CLAUDE_CONFIG_DIR");
        answer(command, event.to_string().as_bytes())
    };
    let start = |source: &str| {
        let event =
            json!({"session_id": "s-1", "hook_event_name": "SessionStart", "source": source, "cwd": root});
        assert_eq!(json_of(&send("7", event, &[])), json!({}));
    };
    let change = |source: &str, file: &Path| -> Value {
        let event = json!({"session_id": "s-1", "hook_event_name": "ConfigChange", "source": source, "cwd": root, "file_path": file});
        let output = send("7", event, &[]);
        assert_eq!(output.status.code(), Some(0));
        json_of(&output)
    };
    let begun = json!({
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "celador"}]}]}, "env": {"A": "1"},
        "permissions": {"allow": ["Bash(ls)"], "deny": ["Read(./.env)"]}, "future": 1,
    });
    write(&project, &begun);
    write(&user, &json!({"apiKeyHelper": "x"}));
    start("startup");
    let check = |name: &str, is_taken: bool, said: Value| match is_taken {
        true => assert_eq!(said, json!({}), "{name}"),
        false => assert_eq!(said["decision"], "block", "{name}: {said}"),
    };
    type Change<'c> = (&'c str, &'c str, Value, bool);
    let changes: [Change<'_>; 25] = [
        ("nothing", "/env", json!({"A": "1"}), true),
        ("a model", "/model", json!("opus"), true),
        ("a flag", "/verbose", json!(true), true),
        ("less", "/permissions/allow", json!([]), true),
        ("a rule that denies", "/permissions/deny", json!(["Read(./.env)", "WebFetch"]), true),
        ("no hooks", "/hooks", json!({}), false),
        ("a hook of somebody else", "/hooks/Stop", json!([{"hooks": []}]), false),
        ("a hook of an unknown type", "/hooks/PreToolUse/0/hooks/0/type", json!("x"), false),
        ("a condition", "/hooks/PreToolUse/0/hooks/0/if", json!("Bash(ls)"), false),
        ("a library", "/env/LD_PRELOAD", json!("/tmp/x.so"), false),
        ("another environment", "/env", json!({}), false),
        ("no environment", "/env", json!(null), false),
        ("all off", "/disableAllHooks", json!(true), false),
        ("all off as a text", "/disableAllHooks", json!("true"), false),
        ("permissions that are none", "/permissions", json!(5), false),
        ("a rule that allows", "/permissions/allow", json!(["Bash(ls)", "Bash(*)"]), false),
        ("a rule that denied", "/permissions/deny", json!([]), false),
        ("a mode", "/permissions/defaultMode", json!("bypassPermissions"), false),
        ("a rule that is none", "/permissions/deny", json!(["Read(./.env)", 5]), false),
        ("a program", "/statusLine", json!({"type": "command", "command": "x"}), false),
        ("a helper", "/apiKeyHelper", json!("x"), false),
        ("an unknown member", "/somethingNew", json!(true), false),
        ("the unknown member of before", "/future", json!(2), false),
        ("a flag that is none", "/verbose", json!("yes"), false),
        ("a word that is none", "/effortLevel", json!("most"), false),
    ];
    for (name, path, value, is_taken) in &changes {
        let mut settings = begun.clone();
        let (parent, member) = path.rsplit_once('/').unwrap();
        settings.pointer_mut(parent).unwrap()[member] = value.clone();
        write(&project, &settings);
        check(name, *is_taken, change("project_settings", &project));
        write(&project, &begun);
        // the same in a file that was not there
        if !is_taken && parent.is_empty() && !["env", "hooks", "future"].contains(&member) {
            write(&local, &json!({ member: value }));
            check(name, false, change("local_settings", &local));
            fs::remove_file(&local).unwrap();
        }
    }
    for text in [
        "{",
        "[]",
        "",
        "{\"verbose\": true, \"verbose\": true}",
        "// no\n{}",
        "\u{feff}{}",
        "{\"language\": \"\\ud83d\"}",
    ] {
        fs::write(&project, text).unwrap();
        check(text, false, change("project_settings", &project));
    }
    write(&project, &begun);
    write(&user, &json!({"apiKeyHelper": "y"}));
    check("the file of the user", false, change("user_settings", &user));
    write(&user, &json!({"apiKeyHelper": "x"}));
    fs::remove_file(&project).unwrap();
    fs::create_dir(&project).unwrap();
    check("a folder", false, change("project_settings", &project));
    fs::remove_dir(&project).unwrap();
    check("no file", false, change("project_settings", &project));
    // a start within the same process is none of its settings
    for source in ["compact", "clear", "resume"] {
        write(&project, &json!({}));
        start(source);
        check(source, false, change("project_settings", &project));
    }
    write(&project, &begun);
    check("a skill", true, change("skills", &root.join(".claude/skills/x/SKILL.md")));
    // what cannot be read, and what was never written down
    let bare = json!({"hook_event_name": "ConfigChange"});
    check("no members", false, json_of(&send("7", bare.clone(), &[])));
    let event = json!({"session_id": "s-2", "hook_event_name": "ConfigChange", "source": "project_settings", "cwd": root});
    check("no start", false, json_of(&send("8", event, &[])));
    assert_eq!(json_of(&send("7", bare, &["--observe"])), json!({}));
}

/// A server has no files to compare, so a change of settings is refused there.
#[test]
fn a_server_refuses_changes_of_settings() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = MANIFESTS.map(PathBuf::from).to_vec();
    });
    for (source, query, is_refused) in [
        (json!("project_settings"), "", true),
        (json!("local_settings"), "", true),
        (json!("user_settings"), "&grant=true", true),
        (json!("something_new"), "", true),
        (json!(null), "", true),
        (json!(7), "", true),
        (json!("Skills"), "", true),
        (json!("skills"), "", false),
        (json!("project_settings"), "&fail=open", false),
    ] {
        let event =
            json!({"session_id": "s-1", "hook_event_name": "ConfigChange", "source": source, "cwd": "/srv"});
        let answer = serving.post(&format!("/hooks/claude-code?user=kim{query}"), &event).json();
        let expected = if is_refused { json!("block") } else { json!(null) };
        assert_eq!(answer["decision"], expected, "{source} {query}: {answer}");
    }
}

/// An abort, as where memory runs out, has the code that refuses.
#[cfg(unix)]
#[test]
fn a_hook_that_aborts_refuses() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, code) in [(&[][..], 2), (&["--fail", "open"], 1)] {
        let mut command = command(folder.path());
        let mut child = command.args(flags).spawn().unwrap();
        // more than a pipe holds: the process has begun to read, and waits for the rest
        child.stdin.as_mut().unwrap().write_all(&[b' '; 1_000_000]).unwrap();
        let killed = Command::new("kill").args(["-ABRT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(code));
    }
}

/// Hooks are installed for a version in which a hook that fails refuses, and a file that keeps them from being called is named.
#[cfg(unix)]
#[test]
fn install_checks_the_version_and_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.json");
    let claude = folder.path().join("claude");
    let install_for = |version: &str, more: &[&str]| {
        fs::write(&claude, format!("#!/bin/sh\necho '{version} (Claude Code)'\n")).unwrap();
        fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
        let program = claude.to_str().unwrap();
        let output = install(&[&["install", "policies", "--claude", program], more].concat(), &settings);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(install_for("2.1.332", &[]), (Some(0), String::new()));
    let written: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    for event in celador_server::HOOK_EVENTS {
        let is_written = written["hooks"].get(event.form.name).is_some();
        assert_eq!(
            is_written,
            event.registration != celador_server::HookRegistration::None,
            "{}",
            event.form.name
        );
    }
    assert!(written["hooks"].get("PreSkillShellCommand").is_some());
    fs::remove_file(&settings).unwrap();
    for (version, more, code, said) in [
        ("2.1.294", &[][..], 1, "2.1.295"),
        ("1.9.999", &[], 1, "2.1.295"),
        ("2.1.294", &["--fail", "open"], 0, "2.1.295"),
        ("3.0.0", &[], 0, "2.1.332"),
        ("none", &[], 0, "not checked"),
    ] {
        let (found, text) = install_for(version, more);
        assert_eq!(found, Some(code), "{version}: {text}");
        assert!(text.contains(said), "{version}: {text}");
        assert_eq!(settings.exists(), code == 0, "{version}");
        let _ = fs::remove_file(&settings);
    }
    for (text, code, said) in [
        (r#"{"disableAllHooks": true}"#, 0, "disableAllHooks"),
        (r#"{"allowManagedHooksOnly": true}"#, 0, "allowManagedHooksOnly"),
        ("\u{feff}{\"model\": \"opus\"}", 1, "byte order mark"),
        ("// my settings\n{}", 1, "comments"),
        (r#"{"x": "\ud83d"}"#, 1, "not JSON at line 1"),
        (r#"{"x": 1, "x": 2}"#, 1, "a duplicate key"),
    ] {
        fs::write(&settings, text).unwrap();
        let (found, said_there) = install_for("2.1.332", &[]);
        assert_eq!(found, Some(code), "{text}: {said_there}");
        assert!(said_there.contains(said), "{text}: {said_there}");
        assert_eq!(fs::read_to_string(&settings).unwrap() == text, code == 1);
    }
}

/// A result over the bound of a body is withheld in its shape; an event that is larger than any ends the turn.
#[test]
fn a_large_result_does_not_reach_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let event = |bytes: usize| {
        let text = "x".repeat(bytes);
        let event = json!({
            "session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1",
            "tool_response": {"stdout": text, "stderr": "", "interrupted": false},
        });
        event.to_string().into_bytes()
    };
    let output = json_of(&answer(command(folder.path()), &event(9_000_000)));
    let result = &output["hookSpecificOutput"]["updatedToolOutput"];
    assert!(result["stdout"].as_str().unwrap().contains("8388608 bytes"), "{output}");
    assert_eq!(result["interrupted"], false);
    let output = answer(command(folder.path()), &event(70_000_000));
    assert_eq!((output.status.code(), &json_of(&output)["continue"]), (Some(2), &json!(false)));
}

/// An answer that cannot be written, and a decision that takes too long, refuse.
#[cfg(target_os = "linux")]
#[test]
fn a_hook_that_cannot_answer_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let event = call(1, "Bash", &json!({"command": "ls"}));
    for (flags, code) in [(&[][..], 2), (&["--fail", "open"], 1)] {
        let mut command = command(folder.path());
        command.args(flags).stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        assert_eq!(answer(command, &event).status.code(), Some(code));
    }
    let mut slow = command(folder.path());
    slow.args(["--review-wait", "0"]);
    let mut child = slow.spawn().unwrap();
    // the event never ends
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(json_of(&output)["continue"], false);
}

/// Half a character is read as U+FFFD in whatever holds it, so that neither the event nor the session is lost.
#[test]
fn half_a_character_does_not_end_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let of_call = r#""session_id":"s-1","tool_name":"Bash","tool_input":{"command":"ls","description":"\ud83d"},"tool_use_id":"t1""#;
    for (rest, expected) in [
        (r#""hook_event_name":"PreToolUse""#, json!({})),
        (
            r#""hook_event_name":"PostToolUse","tool_response":{"stdout":"\ud83d AKIAIOSFODNN7EXAMPLE \ude00"}"#,
            json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "\u{fffd} [aws_access_key] \u{fffd}"}}}),
        ),
        (r#""hook_event_name":"UserPromptSubmit","prompt":"\ud83d""#, json!({})),
    ] {
        let event = format!("\u{feff}{{{of_call},{rest}}}");
        assert_eq!(json_of(&answer(command(folder.path()), event.as_bytes())), expected, "{rest}");
    }
    // nobody knows which bytes the line has in its place, so the rules of the example refuse it
    let line = r#"{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo \ud83d"},"tool_use_id":"t2"}"#;
    let refused = json_of(&answer(command(folder.path()), line.as_bytes()));
    let reason = &refused["hookSpecificOutput"]["permissionDecisionReason"];
    assert!(reason.as_str().is_some_and(|why| why.starts_with("Write plain commands")), "{refused}");
}

/// A session that a command line of another one starts is a child of its task.
#[test]
fn a_nested_session_is_a_child_task() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.policies = MANIFESTS.map(PathBuf::from).to_vec();
    });
    let folder = tempfile::tempdir().unwrap();
    let variables = folder.path().join("variables.sh");
    let start = |session: &str, parent: Option<&str>| {
        let mut command = command(folder.path());
        command
            .args(["--server", &serving.base])
            .env("CLAUDE_ENV_FILE", &variables)
            .env_remove("CELADOR_SESSION");
        if let Some(parent) = parent {
            command.env("CELADOR_SESSION", parent);
        }
        let event = json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup", "cwd": "/srv"});
        let output = answer(command, event.to_string().as_bytes());
        assert_eq!(json_of(&output), json!({}), "{session}");
    };
    start("s-1", None);
    assert_eq!(fs::read_to_string(&variables).unwrap(), "export CELADOR_SESSION=s-1\n");
    start("s-2", Some("s-1"));
    start("s-3", Some("nobody"));
    start("s-4", Some("s-4"));
    start("s-5", Some("s 1; x"));
    let children = serving.get("/v1/tasks?parent=s-1").json();
    let ids: Vec<&Value> = children["tasks"].as_array().unwrap().iter().map(|task| &task["task"]).collect();
    assert_eq!(ids, ["s-2"], "{children}");
}
