//! Hooks of Claude Code: each session of `tests/data/hooks/sessions`, event by event, through the command and over HTTP; side by side, killed
//! half-way, without a store; and the settings that call them.

use crate::serving::Serving;
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
    for session in sessions() {
        let folder = tempfile::tempdir().unwrap();
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
                assert_eq!(output.status.code(), Some(0), "{}: {event}", session.name);
                json_of(&output)
            })
            .collect();
        compare(&session, "command", &by_command);
        let serving = Serving::with(&Location::Memory, |settings, _| {
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
            r#""message":"\ud800""#.to_owned(),
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

/// What is refused is a change after which the session would not be asked about each event as it is now; nothing else is.
#[test]
fn a_session_keeps_its_hooks_whatever_becomes_of_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let [project, local] =
        ["settings.json", "settings.local.json"].map(|name| root.join(".claude").join(name));
    let write = |path: &Path, settings: &Value| fs::write(path, settings.to_string()).unwrap();
    let install = |flags: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        command.current_dir(&root).args(["hook", "install", "rules", "--user", "kim"]).args(flags);
        assert!(command.output().unwrap().status.success());
        serde_json::from_str(&fs::read_to_string(&project).unwrap()).unwrap()
    };
    // as Claude Code calls the hook of an event
    let ask_of = |settings: &Value, source: &str, file: &Path| -> Value {
        let hook = &settings["hooks"]["ConfigChange"][0]["hooks"][0];
        let mut command = Command::new(hook["command"].as_str().unwrap());
        command.args(hook["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
        command.current_dir(&root).env("CLAUDE_PROJECT_DIR", &root).env("HOME", root.join("home"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let event = json!({"session_id": "s-1", "hook_event_name": "ConfigChange", "source": source, "cwd": root, "file_path": file});
        let output = answer(command, event.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0));
        json_of(&output)
    };
    let ask = |settings: &Value| ask_of(settings, "project_settings", &project);
    let installed = install(&[]);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut settings = installed.clone();
        change(&mut settings);
        settings
    };
    let pre = "/hooks/PreToolUse/0";
    let at = |settings: &mut Value, path: &str, value: Value| {
        *settings.pointer_mut(&format!("{pre}{path}")).unwrap() = value
    };
    type Change<'c> = (&'c str, &'c dyn Fn(&mut Value), Option<&'c str>);
    let changes: [Change<'_>; 12] = [
        ("nothing", &|_| {}, None),
        ("a rule of permission", &|it| it["permissions"] = json!({"allow": ["Bash(ls)"]}), None),
        (
            "a hook of somebody else",
            &|it| it["hooks"]["Stop"].as_array_mut().unwrap().insert(0, json!({"hooks": []})),
            None,
        ),
        (
            "no matcher",
            &|it| {
                it["hooks"]["PreToolUse"][0].as_object_mut().unwrap().remove("matcher");
            },
            None,
        ),
        ("no hooks", &|it| it["hooks"] = json!({}), Some("`SessionStart`")),
        (
            "one event less",
            &|it| {
                it["hooks"].as_object_mut().unwrap().remove("PostToolUse");
            },
            Some("`PostToolUse`"),
        ),
        ("some tools", &|it| at(it, "/matcher", json!("Read")), Some("`PreToolUse`")),
        ("other rules", &|it| at(it, "/hooks/0/args/2", json!("/tmp/others")), Some("`PreToolUse`")),
        ("another program", &|it| at(it, "/hooks/0/command", json!("/bin/true")), Some("`PreToolUse`")),
        ("no time", &|it| at(it, "/hooks/0/timeout", json!(0)), Some("`PreToolUse`")),
        (
            "a condition",
            &|it| it["hooks"]["PreToolUse"][0]["hooks"][0]["if"] = json!("Bash(ls)"),
            Some("`PreToolUse`"),
        ),
        ("all off", &|it| it["disableAllHooks"] = json!(true), Some("`disableAllHooks`")),
    ];
    for (name, change, lost) in changes {
        write(&project, &changed(change));
        let said = ask(&installed);
        match lost {
            None => assert_eq!(said, json!({}), "{name}"),
            Some(lost) => {
                assert_eq!(said["decision"], "block", "{name}: {said}");
                assert!(said["reason"].as_str().unwrap().contains(lost), "{name}: {said}");
            }
        }
    }
    // the files of a project are one set of hooks
    write(&project, &json!({}));
    write(&local, &installed);
    assert_eq!(ask(&installed), json!({}));
    write(&local, &json!({"disableAllHooks": true}));
    assert_eq!(ask(&installed)["decision"], "block");
    // hooks that stand in something else are none
    let skill = root.join("skill.json");
    write(&skill, &installed);
    write(&local, &json!({}));
    assert_eq!(ask_of(&installed, "skills", &skill)["decision"], "block");
    assert_eq!(ask_of(&installed, "user_settings", &skill), json!({}));
    // what cannot be read has no hooks
    for text in ["{", "[]"] {
        fs::write(&project, text).unwrap();
        fs::write(&local, text).unwrap();
        assert_eq!(ask(&installed)["decision"], "block", "{text}");
    }
    fs::remove_file(&project).unwrap();
    fs::remove_file(&local).unwrap();
    assert_eq!(ask(&installed)["decision"], "block");
    // who only looks on stops nothing
    let observing = install(&["--observe"]);
    fs::remove_file(&project).unwrap();
    assert_eq!(ask(&observing), json!({}));
}
