//! What authors ask, answered alike by the command and by what every binding of another language stands on.
//!
//! A file of `tests/data/bindings` is a question: its name (`ask`), the body as a binding writes it, the command that asks the same, and the answer, which `UPDATE_EXPECT=1` writes. The
//! tests of Python, Node and WebAssembly read the same files, and ask with the functions of their package.

use crate::suites::root;
use celador_embed::{Texts, system_clock};
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn questions() -> Vec<(PathBuf, Value)> {
    let folder = root().join("tests/data/bindings");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let question = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (path, question)
    };
    paths.into_iter().map(read).collect()
}

/// What stands below a binding answers.
fn answered(question: &Value) -> Value {
    let mut body = question["body"].clone();
    let request = match question["ask"].as_str().unwrap() {
        "explain" => "explain_file",
        "evaluate" => "evaluate_alone",
        "mutate" => {
            body["mutate"] = true.into();
            "test"
        }
        "fmt" => {
            body = json!({ "text": fs::read_to_string(body["file"].as_str().unwrap()).unwrap() });
            "fmt"
        }
        other => other,
    };
    let answer = Texts::new(system_clock()).ask(request, 0, &body.to_string());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer.get("error"), None, "{question}");
    match request {
        "check" => answer["diagnostics"].clone(),
        "evaluate_alone" => answer["value"].clone(),
        "test" => answer["mutation"].clone(),
        "fmt" => answer["text"].clone(),
        _ => answer,
    }
}

/// The lines that the command writes, each without its type.
struct Lines(Vec<(String, Map<String, Value>)>);

impl Lines {
    fn of(question: &Value, name: &str) -> Self {
        let output = run(question, name, &["--format", "json"]);
        let lines = output.lines().map(|line| {
            let Value::Object(mut line) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
            let Some(Value::String(kind)) = line.remove("type") else { panic!("{line:?}") };
            (kind, line)
        });
        Self(lines.collect())
    }

    fn all(&self, kind: &str) -> Value {
        let found = self.0.iter().filter(|(of, _)| of == kind);
        found.map(|(_, line)| Value::Object(line.clone())).collect()
    }

    fn one(&self, kind: &str) -> Value {
        self.all(kind)[0].clone()
    }
}

fn run(question: &Value, name: &str, more: &[&str]) -> String {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bindings-{name}"));
    let _ = fs::remove_dir_all(&out);
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.current_dir(root()).args(more).env_remove("CELADOR_STORE");
    for word in question["command"].as_array().unwrap() {
        match word.as_str().unwrap() {
            "OUT" => command.arg(&out),
            word => command.arg(word),
        };
    }
    if let Some(file) = question["body"]["file"].as_str() {
        command.stdin(Stdio::from(File::open(root().join(file)).unwrap()));
    }
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the command says, and the same out of the answer: a binding has some more members, such as a text with carets, and leaves out counts that are the lengths of lists.
fn side_by_side(question: &Value, name: &str, answer: &Value) -> (Value, Value) {
    let count = |list: &str| answer[list].as_array().unwrap().len();
    let lines = || Lines::of(question, name);
    match question["ask"].as_str().unwrap() {
        "check" => {
            let told = answer.as_array().unwrap().iter().cloned();
            let told = told.map(|mut found| {
                let members = found.as_object_mut().unwrap();
                members.retain(|member, _| !matches!(member.as_str(), "allowed" | "refused" | "shown"));
                found
            });
            let mut lines = lines().all("diagnostic");
            for line in lines.as_array_mut().unwrap() {
                line.as_object_mut().unwrap().remove("standing");
            }
            (lines, told.collect())
        }
        "analysis" => {
            let lines = lines();
            let counts = json!({
                "clauses": answer["clauses"], "decided": answer["decided"], "unknown": count("unknown"),
                "contradicted": answer["contradicted"],
            });
            (json!([lines.all("unknown_clause"), lines.one("analysis")]), json!([answer["unknown"], counts]))
        }
        "diff" => {
            let lines = lines();
            let counts = json!({
                "operations": count("operations"), "differ": answer["differ"], "unknown": answer["unknown"],
            });
            (json!([lines.all("operation"), lines.one("summary")]), json!([answer["operations"], counts]))
        }
        "prove" => {
            let lines = lines();
            let counts = json!({
                "hold": answer["hold"], "broken": answer["broken"], "unknown": answer["unknown"],
            });
            (json!([lines.all("proof"), lines.one("summary")]), json!([answer["proofs"], counts]))
        }
        "mutate" => {
            let lines = lines();
            let written = answer["mutants"].as_array().unwrap().iter().filter(|it| it.get("case").is_some());
            let counts = json!({
                "noticed": answer["noticed"], "all": count("mutants"), "cases_written": written.count(),
            });
            (json!([lines.all("mutant"), lines.one("mutants")]), json!([answer["mutants"], counts]))
        }
        "explain" => (lines().all("explanation"), answer["operations"].clone()),
        "replay" => {
            let lines = lines();
            let mut counts = answer.clone();
            let rows = counts.as_object_mut().unwrap().remove("rows");
            (json!([lines.all("flip"), lines.one("summary")]), json!([rows, counts]))
        }
        "evaluate" => (lines().one("value")["value"].clone(), answer.clone()),
        "fmt" => (run(question, name, &[]).into(), answer.clone()),
        other => panic!("nobody asks `{other}`"),
    }
}

#[test]
fn the_command_and_the_bindings_answer_alike() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let (mut wrong, mut asked) = (Vec::new(), Vec::new());
    for (path, mut question) in questions() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let answer = answered(&question);
        let (command, binding) = side_by_side(&question, &name, &answer);
        assert_eq!(command, binding, "{name}: the command and what bindings stand on differ");
        asked.push(question["ask"].as_str().unwrap().to_owned());
        if question["answer"] == answer {
            continue;
        }
        if update {
            question["answer"] = answer;
            fs::write(&path, serde_json::to_string_pretty(&question).unwrap() + "\n").unwrap();
        } else {
            wrong.push(format!("{name}\n-- expected\n{}\n-- found\n{answer}", question["answer"]));
        }
    }
    for ask in ["analysis", "check", "diff", "evaluate", "explain", "fmt", "mutate", "prove", "replay"] {
        assert!(asked.iter().any(|it| it == ask), "no file asks `{ask}`");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing that a stranger may write as a request breaks what answers, and each mistake says whose it is.
#[test]
fn mistakes_are_answers() {
    let texts = Texts::new(system_clock());
    let shop = json!({ "name": "shop.yaml", "text": fs::read_to_string(root().join("examples/first-policy/agent.yaml")).unwrap() });
    let broken = json!({ "name": "shop.yaml", "text": "kind: celador/v1/policy\nnamespace: shop\n" });
    for (what, body, kind, code) in [
        ("diff", json!({ "old": ["nowhere"], "new": [shop] }), "load", "unreadable"),
        ("diff", json!({ "old": [shop], "new": [broken] }), "load", "refused"),
        ("diff", json!({ "old": 7 }), "misuse", "bad_request"),
        (
            "prove",
            json!({ "policies": [shop], "invariants": { "name": "i", "text": "kind: nothing\n" } }),
            "load",
            "refused",
        ),
        ("prove", json!({ "policies": [shop], "invariants": "nowhere.yaml" }), "load", "unreadable"),
        ("explain_file", json!({ "subject": "nowhere.yaml" }), "load", "unreadable"),
        (
            "explain_file",
            json!({ "subject": "a.yaml", "texts": [{ "name": "a.yaml", "text": "call: {" }] }),
            "load",
            "refused",
        ),
        ("explain_file", json!({ "subject": "tests/data/bindings/shop" }), "misuse", "bad_request"),
        (
            "explain_file",
            json!({ "subject": "tests/data/bindings/shop/task.yaml", "step": "99" }),
            "misuse",
            "unknown_step",
        ),
        (
            "explain_file",
            json!({ "subject": "tests/data/bindings/shop/cases.yaml", "case": "nobody" }),
            "misuse",
            "bad_request",
        ),
        ("replay_lines", json!({ "lines": ["{}"] }), "misuse", "bad_request"),
        ("add_replays", json!({ "tallies": [7] }), "misuse", "no_tally"),
        (
            "evaluate_alone",
            json!({ "expression": "inptu.amount", "case": "tests/data/bindings/shop/lead-is-asked.yaml" }),
            "load",
            "refused",
        ),
        (
            "evaluate_alone",
            json!({ "expression": "1", "case": "tests/data/bindings/shop/cases.yaml" }),
            "misuse",
            "bad_request",
        ),
        ("nothing", json!({}), "misuse", "bad_request"),
    ] {
        let answer: Value = serde_json::from_str(&texts.ask(what, 0, &body.to_string())).unwrap();
        let error = &answer["error"];
        assert_eq!((&error["kind"], &error["code"]), (&json!(kind), &json!(code)), "{what}: {answer}");
        if code == "refused" {
            let shown = error["message"].as_str().unwrap();
            assert!(shown.contains('^') && shown.contains("-->"), "{what}: {shown}");
        }
    }
}
