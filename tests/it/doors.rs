//! What `check` refuses, every door refuses: a table of manifests with one thing wrong, held against `check`, `test`,
//! `run`, the library and the server; and the table of classes, held against the code and its page.

use celador::diagnostic::Standing;
use celador::limits::EngineLimits;
use celador::lint::{Class, Found, WARNINGS, class};
use celador::manifest::{Catalog, load};
use celador::{Diagnostic, Engine, OpenError};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const AGENT: &str = "kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Answers.\nprompt: You \
                     are a clerk.\n";
const TOOL: &str =
    "kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: orders\ndescription: Orders.\n";
const ACTIONS: &str = r#"actions:
- name: find
  description: Finds.
  parameters: {properties: {order: {type: string}}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com"}}
- name: refund
  description: Pays back.
  parameters:
    properties: {order: {type: string}, amount: {type: number}, kind: {type: string, enum: [urgent, usual], default: usual}}
  execute: {stateless_http: {method: POST, url: "https://svc.example.com"}}
"#;

/// A row of the corpus, written to a folder.
struct Row {
    name: String,
    /// Standing, code, path and underlined characters of each finding.
    found: Vec<[String; 4]>,
    /// What the help of one of them says.
    help: Vec<String>,
    folder: TempDir,
}

impl Row {
    fn is_refused(&self) -> bool {
        self.found.iter().any(|[standing, ..]| standing == "refused" || standing == "error")
    }

    fn manifests(&self) -> PathBuf {
        self.folder.path().join("manifests")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn corpus() -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/data/doors/corpus.txt")).unwrap();
    let rows = text.split("\n=== ").skip(1).map(|row| {
        let (head, body) = row.split_once("\n--- ").unwrap();
        let mut lines = head.lines();
        let name = lines.next().unwrap().to_owned();
        let (help, found): (Vec<&str>, Vec<&str>) =
            lines.filter(|line| !line.is_empty()).partition(|line| line.starts_with("help  "));
        let help = help.iter().map(|line| line["help  ".len()..].to_owned()).collect();
        let found = found.into_iter().map(|line| {
            let parts: Vec<_> = line.splitn(4, "  ").map(str::to_owned).collect();
            parts.try_into().unwrap_or_else(|parts| panic!("{name}: {parts:?}"))
        });
        let found = found.collect();
        let folder = tempfile::tempdir().unwrap();
        let manifests = folder.path().join("manifests");
        fs::create_dir(&manifests).unwrap();
        fs::write(manifests.join("tool.yaml"), format!("{TOOL}{ACTIONS}")).unwrap();
        for part in body.split("\n--- ") {
            let (kind, yaml) = part.split_once('\n').unwrap();
            let (file, text) = match kind {
                "agent" => ("agent.yaml", format!("{AGENT}{yaml}\n")),
                "bare" => ("agent.yaml", format!("{yaml}\n")),
                "tool" => ("tool.yaml", format!("{TOOL}{yaml}\n")),
                _ => ("other.yaml", format!("{yaml}\n")),
            };
            fs::write(manifests.join(file), text).unwrap();
        }
        Row { name, found, help, folder }
    });
    let rows: Vec<Row> = rows.collect();
    assert!(rows.len() > 70, "only {} rows", rows.len());
    rows
}

/// What the library finds, in the order of files and places.
fn findings(paths: &[&Path]) -> (Catalog, Engine, Vec<Diagnostic>) {
    let limits = EngineLimits::default();
    let (files, mut findings) = load(paths, &limits).unwrap();
    let (catalog, read) = Catalog::parse(&files, &limits);
    let (engine, compiled) = Engine::from_catalog(&catalog, limits);
    findings.extend(read);
    findings.extend(compiled);
    findings.sort_by_key(|finding| (finding.place.source.name().to_owned(), finding.place.span));
    (catalog, engine, findings)
}

fn told(finding: &Diagnostic) -> [String; 4] {
    let standing = match &finding.standing {
        _ if finding.is_error() => "error",
        Standing::Told => "told",
        Standing::Refused => "refused",
        Standing::Allowed(reason) => {
            assert!(reason.contains(' '), "the reason is not the author's: {reason}");
            "allowed"
        }
    };
    let underlined = finding.place.source.slice(finding.place.span);
    let path = if finding.path.is_empty() { "-" } else { &finding.path };
    [standing, finding.code, path, underlined].map(str::to_owned)
}

#[test]
fn the_corpus_is_found_as_it_says() {
    let mut wrong = String::new();
    for row in corpus() {
        let (_, _, findings) = findings(&[&row.manifests()]);
        let found: Vec<_> = findings.iter().map(told).collect();
        for help in &row.help {
            let is_said = findings.iter().any(|it| it.help.as_ref().is_some_and(|said| said.contains(help)));
            if !is_said {
                let said: Vec<_> = findings.iter().map(|finding| &finding.help).collect();
                writeln!(wrong, "{}\n  expected help {help:?}\n  found    {said:?}", row.name).unwrap();
            }
        }
        if found != row.found {
            writeln!(wrong, "{}\n  expected {:?}\n  found    {found:?}", row.name, row.found).unwrap();
        }
        for finding in findings.iter().filter(|finding| finding.standing == Standing::Refused) {
            let lost = finding.is_error() || class(finding.code) == Class::MayLoseARule;
            assert!(lost, "{}: {}", row.name, finding.code);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The exit code and the output of a command.
fn celador(arguments: &[&str], paths: &[&Path]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    let output = command.args(arguments).args(paths).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("no signal"), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn what_check_refuses_no_command_takes() {
    for row in corpus() {
        let manifests = row.manifests();
        let (name, refused) = (&row.name, row.is_refused());
        let (code, text) = celador(&["check", "--format", "json"], &[&manifests]);
        assert_eq!(code == 3, refused, "{name}: check: {text}");
        for [standing, code, ..] in &row.found {
            let line = text.lines().find(|line| line.contains(&format!("\"code\":\"{code}\"")));
            let line = line.unwrap_or_else(|| panic!("{name}: {code} is not told: {text}"));
            let wanted = if standing == "error" { "\"severity\":\"error\"" } else { "\"standing\":" };
            assert!(line.contains(wanted), "{name}: {line}");
        }
        if !refused {
            let told = row.found.iter().any(|[standing, ..]| standing == "told");
            let (strict, _) = celador(&["check", "--strict"], &[&manifests]);
            assert_eq!(strict == 3, told, "{name}: --strict");
        }

        let case = row.folder.path().join("finds.yaml");
        let call = "{op: before, fn: orders_find, args: {order: a}}";
        let text = format!(
            "name: finds\nabout: A call is decided.\nmanifest: {{files: [manifests], agent: clerk}}\ncall: {call}\nexpect: \
             {{task: locked}}\n"
        );
        fs::write(&case, text).unwrap();
        let (code, text) = celador(&["test", "--color=never"], &[&case]);
        assert_eq!(text.contains("broken"), refused, "{name}: test: {text}");
        assert_eq!(code, if refused { 2 } else { 1 }, "{name}: test: {text}");
        if let Some([.., code, _, _]) = row.found.iter().find(|[standing, ..]| standing == "refused") {
            assert!(text.contains(&format!("[{code}]")), "{name}: test does not say why: {text}");
        }

        let script = row.folder.path().join("task.yaml");
        fs::write(&script, "agent: clerk\nsteps:\n- input: {message: Hello.}\n").unwrap();
        let (code, text) = celador(&["run", "--color=never"], &[&manifests, &script]);
        assert_eq!(code == 3, refused, "{name}: run: {text}");
    }
}

#[test]
fn what_check_refuses_the_library_does_not_start_but_by_the_lenient_door() {
    let corpus = corpus();
    for row in &corpus {
        let (catalog, engine, _) = findings(&[&row.manifests()]);
        assert_eq!(engine.policy("shop", "clerk").is_err(), row.is_refused(), "{}", row.name);
        match Engine::open(&[row.manifests()], EngineLimits::default()) {
            Ok(opened) => {
                assert!(opened.policy("shop", "clerk").is_ok() && !row.is_refused(), "{}", row.name)
            }
            Err(OpenError::Refused(found)) => {
                assert!(row.is_refused() && !found.is_empty(), "{}", row.name);
                assert!(found.iter().all(Diagnostic::is_refused), "{}", row.name);
            }
            Err(error) => panic!("{}: {error}", row.name),
        }
        let (lenient, found) = Engine::lenient_from_catalog(&catalog, EngineLimits::default());
        let invalid =
            row.found.iter().any(|[standing, code, ..]| standing == "error" && !code.starts_with("allow_"));
        assert_eq!(lenient.policy("shop", "clerk").is_err(), invalid, "{}", row.name);
        assert!(!found.iter().any(|finding| finding.code.starts_with("allow_")), "{}", row.name);
        // a set that is refused leaves the one before in force
        let (_, engine, _) = findings(&[&corpus[0].manifests()]);
        assert_eq!(engine.replace(&catalog).is_err(), row.is_refused(), "{}", row.name);
        assert!(engine.policy("shop", "clerk").is_ok(), "{}", row.name);
    }
}

/// What a file may lose concerns the agents that are made of it, and no other.
#[test]
fn an_agent_of_other_files_is_not_concerned() {
    let folder = tempfile::tempdir().unwrap();
    let agent = |name: &str, rest: &str| AGENT.replace("name: clerk", &format!("name: {name}")) + rest;
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("tool.yaml", format!("{TOOL}{ACTIONS}"));
    write("good.yaml", agent("good", "capabilities: {orders: '*'}\n"));
    write("bad.yaml", agent("bad", "rules: []\ncapabilities: {orders: '*'}\n"));
    write("parent.yaml", agent("parent", "capabilities: {bad: '*'}\n"));
    let refused = Engine::open(&[folder.path()], EngineLimits::default()).unwrap_err().to_string();
    assert!(refused.starts_with("error[ignored_key]"), "{refused}");
    let (_, engine, findings) = findings(&[folder.path()]);
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["ignored_key"]);
    assert!(engine.policy("shop", "good").is_ok());
    assert!(engine.policy("shop", "bad").is_err());
    assert!(engine.policy("shop", "parent").is_err(), "it hands tasks to an agent that lost a rule");
}

/// A comment in a tool that no agent of this set uses may allow what another set finds.
#[test]
fn a_comment_about_what_is_not_compiled_is_not_stale() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let ledger = "kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: ledger\ndescription: d\nactions:\n- name: \
                  add\n  description: Adds.\n  parameters: {properties: {a: {type: string}}}\n  execute:\n    cel:\n      # \
                  celador: allow(unknown_field) comes with the next release\n      expression: input.b\n";
    write("tool.yaml", format!("{TOOL}{ACTIONS}"));
    write("ledger.yaml", ledger.to_owned());
    write("agent.yaml", format!("{AGENT}capabilities: {{orders: '*'}}\n"));
    let codes = || {
        let (_, _, findings) = findings(&[folder.path()]);
        findings.iter().map(|finding| (finding.code, finding.is_refused())).collect::<Vec<_>>()
    };
    assert_eq!(codes(), []);
    write("agent.yaml", format!("{AGENT}capabilities: {{ledger: '*'}}\n"));
    assert_eq!(codes(), [("unknown_field", false)]);
    write("ledger.yaml", ledger.replace("input.b", "input.a"));
    assert_eq!(codes(), [("allow_stale", true)]);
}

#[test]
fn findings_that_are_not_shown_are_refused_with_what_is_hidden() {
    let mut limits = EngineLimits::default();
    limits.set("max_diagnostics", 2);
    let opened = |keys: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tool.yaml"), format!("{TOOL}{ACTIONS}")).unwrap();
        fs::write(folder.path().join("agent.yaml"), format!("{AGENT}{keys}capabilities: {{orders: '*'}}\n"))
            .unwrap();
        let (files, _) = load(&[folder.path()], &limits).unwrap();
        let (catalog, read) = Catalog::parse(&files, &limits);
        let engine = Engine::from_catalog(&catalog, limits).0;
        let last = read.last().unwrap();
        (last.code, last.is_refused(), engine.policy("shop", "clerk").is_ok())
    };
    let allow = "# celador: allow(ignored_key) ours\n";
    let keys = |hidden: &str| format!("{allow}x1: 1\n{allow}x2: 1\n{hidden}");
    assert_eq!(opened(&keys("x3: 1\n")), ("too_many_findings", true, false));
    assert_eq!(opened(&keys(&format!("{allow}x3: 1\n"))), ("too_many_findings", false, true));
}

/// The codes of warnings in a source: the first text of each call that makes one.
fn codes(source: &str, call: &str) -> BTreeSet<String> {
    let literal = |rest: &str| Some(rest.trim_start().strip_prefix('"')?.split('"').next()?.to_owned());
    source.split(call).skip(1).filter_map(literal).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

#[test]
fn every_warning_has_a_class_and_every_class_a_warning() {
    let mut made = BTreeSet::from(["always_true", "always_false", "too_many_findings"].map(str::to_owned));
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        made.extend(codes(&text, "Diagnostic::warning("));
        if file.ends_with("check/messages.rs") {
            made.extend(codes(&text, " warning("));
            made.extend(codes(&text, "(warning("));
        }
    }
    let rows: Vec<&str> = WARNINGS.iter().map(|warning| warning.code).collect();
    assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "the rows are not in the order of their codes");
    let listed: BTreeSet<String> = rows.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(made, listed, "src/engine/lint/table.rs classes every warning, and nothing else");
    assert_eq!(class("nobody_knows"), Class::MayLoseARule);
}

const HEAD: &str = "\
# Findings and what follows

`celador check` finds errors and warnings. An error makes a manifest invalid. A warning leaves it valid, as the
specification has it, and has one of two classes:

- **May lose a rule.** The author may believe that a check is in force while it is not. `serve`, `run`, `test` and
  `Engine::open` refuse manifests with such a warning. `check` shows it as an error and exits with 3.
- **Advice.** Worth a look. Nothing follows, unless `check --strict` asks.

Findings that are marked with ◆ are decided: each expression is taken apart into clauses, the values of each path are divided
into those that all clauses answer alike, the evaluator itself answers for one of each, and a solver looks for inputs that fulfil
them together. A finding holds of every input that the enforced schemas let through: their constants, the ranges of numbers, sizes and patterns count. A rule that says again what the schema
of the arguments holds anyway is advice (`held_by_schema`); one that can never fire under that schema is refused. What is not understood may be anything, so
silence proves nothing. Findings that are marked with ◷ are of `celador check`, which knows what time it is. `check --analysis` says how many clauses were decided, and lists the others. In Python and in Node `check` gives the findings as data,
each with its place, its reason and the text with carets, and `analysis` the counts:

```python
import celador

assert celador.check(\"examples/first-policy\") == []
found = celador.analysis(\"examples/first-policy\")
print(found[\"clauses\"], \"clauses, not known:\", *(clause[\"expr\"] for clause in found[\"unknown\"][:1]))
```

```ts
import { analysis, check } from \"@celador/core\";

console.assert(check(\"examples/first-policy\").length === 0);
const { clauses, unknown } = analysis(\"examples/first-policy\");
console.log(clauses, \"clauses, not known:\", ...unknown.slice(0, 1).map(({ expr }) => expr));
```

```text
4 clauses, not known: review('lead@example.com')
```

`celador explain-code CODE` explains a finding, with an example that has it and one that has none.

Where an author means what a warning finds, a comment allows it, with a reason:

```yaml
capabilities:
  orders:
    before:
      # celador: allow(unknown_match) the action comes with the next release
      - match: cancel
        assert: input.amount < 100
```

The comment stands on the line of the finding or on the line above it; of a text over several lines, on the line of its key
or above that. Several comments may stand above each other. One comment allows one finding. A comment that names no warning,
gives no reason or allows nothing is refused itself. What is allowed stands in the log of the server, as a number in
`/readyz`, and with its reason in `/v1/manifests`.

To say never, write `assert: \"false\"`, with a `condition` or without: that is no finding. Under `on_fail: continue` it would
stop nothing, and is one. To allow a function as it is where a policy [denies by default](policies.md#the-default-decision), write `assert: \"true\"`.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (class, title) in [(Class::MayLoseARule, "May lose a rule"), (Class::Advice, "Advice")] {
        write!(page, "\n## {title}\n\n| code | what is found |\n|---|---|\n").unwrap();
        for warning in WARNINGS.iter().filter(|warning| warning.class == class) {
            let mark = match warning.found {
                Found::ByLoading => "",
                Found::ByAnalysis => " ◆",
                Found::ByClock => " ◷",
            };
            writeln!(page, "| <a id=\"{0}\"></a>`{0}`{mark} | {1} |", warning.code, warning.about).unwrap();
        }
    }
    page
}

/// The page is made of the table; `UPDATE_EXPECT=1` writes it.
#[test]
fn the_page_of_findings_says_what_the_table_says() {
    let path = root().join("docs/findings.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page());
}

/// The last door: the server, at its start, when files change, and in what it tells of them.
#[cfg(feature = "server")]
mod server {
    use super::{Row, corpus};
    use crate::serving::{NOON, Serving};

    use celador_server::{Parts, ServeError, Server, Settings};
    use celador_store::{Database, Location, StoreLimits};
    use serde_json::Value;
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::Arc;

    /// The codes of the row's findings of some standing.
    fn codes<'r>(row: &'r Row, standings: &[&str]) -> BTreeSet<&'r str> {
        let of = |[standing, code, ..]: &'r [String; 4]| standings.contains(&&**standing).then_some(&**code);
        row.found.iter().filter_map(of).collect()
    }

    fn told(findings: &Value) -> BTreeSet<&str> {
        findings.as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
    }

    #[test]
    fn what_check_refuses_no_server_starts_with() {
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        for row in corpus() {
            let mut settings = Settings::new(vec![row.manifests()]);
            settings.address.set_port(0);
            settings.watch = None;
            let clock = Arc::new(|| NOON.parse().unwrap());
            match Server::start(settings, Parts { clock, database: database.clone(), log: None }) {
                Ok(_) => assert!(!row.is_refused(), "{}", row.name),
                Err(ServeError::Invalid(findings)) => {
                    assert!(findings.iter().all(celador::Diagnostic::is_refused), "{}", row.name);
                    let found: BTreeSet<&str> = findings.iter().map(|finding| finding.code).collect();
                    assert_eq!(found, codes(&row, &["refused", "error"]), "{}", row.name);
                }
                Err(other) => panic!("{}: {other}", row.name),
            }
        }
    }

    #[test]
    fn what_is_refused_or_allowed_is_told() {
        let corpus = corpus();
        let served = tempfile::tempdir().unwrap();
        let put = |row: &Row| {
            for entry in fs::read_dir(row.manifests()).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, served.path().join(path.file_name().unwrap())).unwrap();
            }
        };
        put(&corpus[0]);
        let path = served.path().to_owned();
        let serving = Serving::with(&Location::Memory, move |settings, _| settings.policies = vec![path]);
        let mut last = BTreeSet::new();
        for row in &corpus {
            put(row);
            let reloaded = serving.send("POST", "/v1/manifests/reload", &[], b"");
            assert_eq!(reloaded.status == 200, !row.is_refused(), "{}: {}", row.name, reloaded.text());
            let manifests = serving.get("/v1/manifests").json();
            let ready = serving.get("/readyz").json();
            let refused = codes(row, &["refused", "error"]);
            if row.is_refused() {
                assert_eq!(told(&manifests["problem"]["findings"]), refused, "{}", row.name);
                assert_eq!(told(&reloaded.json()["findings"]), refused, "{}", row.name);
            } else {
                assert_eq!(manifests["problem"], Value::Null, "{}", row.name);
                last = codes(row, &["allowed"]);
            }
            assert_eq!(told(&manifests["serving"]["allowed"]), last, "{}", row.name);
            for allowed in manifests["serving"]["allowed"].as_array().unwrap() {
                assert!(allowed["reason"].as_str().unwrap().contains(' '), "{allowed}");
            }
            let refused = manifests["problem"]["findings"].as_array().map_or(0, Vec::len);
            let allowed = manifests["serving"]["allowed"].as_array().unwrap().len();
            assert_eq!(
                (&ready["refused"], &ready["allowed"], &ready["stale"]),
                (&refused.into(), &allowed.into(), &row.is_refused().into()),
                "{}",
                row.name
            );
        }
    }
}
