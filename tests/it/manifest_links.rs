//! What a policy is compiled from: names, keys and parameters of an agent's functions, and soundness.

use celador::limits::EngineLimits;
use celador::manifest::catalog::ResolvedAgent;
use celador::manifest::load::{File, FileOrigin, LoadError};
use celador::manifest::step::DeclaredAction;
use celador::manifest::{Catalog, Document, load, yaml};
use celador::source::Source;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn parse(text: &str) -> (Catalog, Vec<String>) {
    let source = Source::new("test.yaml", text);
    let files = [File { source, origin: FileOrigin::Named }];
    let (catalog, findings) = Catalog::parse(&files, &EngineLimits::default());
    (catalog, findings.iter().map(|finding| format!("{} {}", finding.code, finding.path)).collect())
}

fn agent(body: &str) -> String {
    format!(
        "kind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: clerk\ndescription: d\nprompt: p\n{body}\n"
    )
}

fn tool(namespace: &str, name: &str, body: &str) -> String {
    format!("---\nkind: commonagents.info/v1beta2/tool\nnamespace: {namespace}\nname: {name}\n{body}\n")
}

const TWO: &str = "
parameters: {properties: {account: {type: string}, branch: {default: main}, legacy: {allow_from_llm: false, default: x}}}
actions:
  - {name: read-chunk, execute: {cel: {expression: input}}}
  - {name: 3d, parameters: {properties: {branch: {type: integer}, own: {}}}, execute: {cel: {expression: input}}}
events:
  - {name: seen, message: m, receive: {webhook: {}}}
  - {name: gone, message: m, receive: {webhook: {}}}
";

fn functions(agent: &ResolvedAgent) -> Vec<(String, bool, String)> {
    let all = agent.capabilities.iter().flat_map(|entry| &entry.functions);
    all.map(|function| {
        let parameters = function.parameters.iter().map(|parameter| {
            let mark = match (parameter.bound, parameter.offered) {
                (true, _) => "=",
                (false, true) => "",
                (false, false) => "-",
            };
            format!("{mark}{}", parameter.name)
        });
        (function.key.clone(), function.active, parameters.collect::<Vec<_>>().join(" "))
    })
    .collect()
}

#[test]
fn functions_have_keys_and_parameters() {
    let child = agent("parameters: {properties: {repo: {type: string}, message: {default: go}}}");
    let (catalog, findings) = parse(
        &(agent(
            "capabilities:
  github.v2:
    include: [3d, gone]
    bindings: {account: context.user.id}
    before: [{invoke: 'audit-log:record_event'}, {invoke: 'github.v2:read_chunk'}]
  research-agent: {bindings: {repo: \"'x'\"}}",
        ) + &tool("demo", "github.v2", TWO)
            + &tool(
                "other",
                "audit-log",
                "actions: [{name: record-event, execute: {cel: {expression: input}}}]",
            )
            + "---\n"
            + &child.replace("clerk", "research-agent")),
    );
    assert_eq!(findings, ["hidden_parameter capabilities.github.v2.bindings"]);
    let agent = catalog.agent("demo", "clerk").unwrap();
    assert!(agent.sound);
    let rows = [
        ("github_v2_read_chunk", false, "=account branch -legacy"),
        ("github_v2__3d", true, "=account -legacy branch own"),
        ("research_agent", true, "message =repo"),
        ("audit_log", false, ""),
    ];
    let wanted = rows.map(|(key, active, parameters)| (key.to_owned(), active, parameters.to_owned()));
    assert_eq!(functions(agent), wanted);
    let github = &agent.capabilities[0];
    assert_eq!(github.tool_record(), Some("github_v2"));
    assert_eq!(agent.capabilities[1].tool_record(), None);
    let events = github.events.iter().map(|event| (event.name.as_str(), event.active)).collect::<Vec<_>>();
    assert_eq!(events, [("seen", false), ("gone", true)]);
    let keys = agent.agent.capabilities[0].before.iter().map(|step| {
        let DeclaredAction::Invoke(invoke) = &step.action else { return None };
        let (_, function) = agent.function(agent.invoke_target(invoke)?)?;
        Some(function.key.clone())
    });
    let wanted = [Some("audit_log".to_owned()), Some("github_v2_read_chunk".to_owned())];
    assert_eq!(keys.collect::<Vec<_>>(), wanted);
}

#[test]
fn the_namespace_of_the_agent_comes_first() {
    let body = "actions: [{name: a, execute: {cel: {expression: input}}}]";
    let text = agent("capabilities: {x: '*'}") + &tool("other", "x", body) + &tool("demo", "x", body);
    let (catalog, findings) = parse(&text);
    assert_eq!(findings, Vec::<String>::new());
    let tool = catalog.agents()[0].capabilities[0].tool().unwrap();
    assert_eq!(&*tool.namespace.text, "demo");
}

/// An error in a document, in a tool it uses, or between them keeps an agent from running.
#[test]
fn errors_make_agents_unsound() {
    let good = tool("demo", "x", "actions: [{name: a, execute: {cel: {expression: input}}}]");
    let rows = [
        (agent("capabilities: {x: '*'}") + &good, true),
        (agent("capabilities: {nowhere: '*'}") + &good, true),
        (agent("capabilities: {x: '*'}\nlimits: {max_turn: 1}") + &good, false),
        (agent("capabilities: {x: {bindings: {a: '1'}}}") + &good, false),
        (agent("capabilities: {x: '*'}") + &tool("demo", "x", "actions: [{name: a}]"), false),
        (agent("capabilities: {y: '*'}") + &tool("demo", "x", "actions: [{name: a}]"), true),
        (
            agent("guardrails: {before: [{invoke: 'x:a'}]}") + &tool("demo", "x", "actions: [{name: a}]"),
            false,
        ),
        (agent("capabilities: {x: '*'}") + &good + &good, false),
        (agent("capabilities: {x: '*'}\nmodel: *gone") + &good, false),
        (agent("mount: task") + "---\nname: m\ngcs: {}\n", false),
    ];
    for (text, sound) in rows {
        let (catalog, findings) = parse(&text);
        assert_eq!(catalog.agents()[0].sound, sound, "{findings:?}\n{text}");
    }
}

/// Documents inside another document, as a case file holds them, are reported with their place in it.
#[test]
fn documents_may_stand_in_another() {
    let text = "manifest:
  agent: {kind: commonagents.info/v1beta2/agent, namespace: n, name: a, description: d, prompt: p, mount: user}
  tools:
    - kind: commonagents.info/v1beta2/tool
      namespace: n
      name: t
      actions: [{name: x}]
";
    let source = Source::new("case.yaml", text);
    let limits = EngineLimits::default();
    let mut findings = Vec::new();
    let tree = yaml::parse(&source, &limits, &mut findings).remove(0);
    let part = |path: &[&str]| {
        let node = path.iter().fold(tree.node.clone(), |node, key| node.get(key).unwrap().clone());
        yaml::YamlDocument { node, sound: tree.sound }
    };
    let tools = part(&["manifest", "tools"]);
    let first = yaml::YamlDocument { node: tools.node.as_sequence().unwrap()[0].clone(), sound: true };
    let agent = Document::read(&part(&["manifest", "agent"]), "", &EngineLimits::default(), &mut findings);
    let tool = Document::read(&first, "tools[0]", &EngineLimits::default(), &mut findings);
    let catalog = Catalog::link(agent.into_iter().chain(tool).collect(), &limits, &mut findings);
    let found = findings.iter().map(|finding| (finding.path.as_str(), source.slice(finding.place.span)));
    let wanted = [("mount", "user"), ("tools[0].actions[0].execute", "{name: x}")];
    assert_eq!(found.collect::<Vec<_>>(), wanted);
    assert!(!catalog.agents()[0].sound);
}

/// `TOOL-05`
#[test]
fn a_tool_is_synchronous_only_if_it_says_so() {
    for (written, wanted) in [("", false), ("synchronous: false", false), ("synchronous: true", true)] {
        let (catalog, _) = parse(&tool("demo", "t", written));
        assert_eq!(catalog.tools()[0].synchronous, wanted, "{written}");
    }
}

/// Twice the manifests take about twice the time: a thousand are nothing.
#[test]
fn a_thousand_manifests_load_in_linear_time() {
    let files = |count: usize| -> Vec<File> {
        let file = |at: usize| {
            let next = (at + 1) % count;
            let text = agent(&format!("capabilities: {{t{at}: '*', clerk{next}: '*', typo{at}: '*'}}"))
                .replace("name: clerk", &format!("name: clerk{at}"))
                + &tool("demo", &format!("t{at}"), TWO);
            File { source: Source::new(format!("{at}.yaml"), text), origin: FileOrigin::Found }
        };
        (0..count).map(file).collect()
    };
    let time = |count: usize| {
        let files = files(count);
        let start = Instant::now();
        let (catalog, findings) = Catalog::parse(&files, &EngineLimits::default());
        assert_eq!((catalog.agents().len(), findings.len()), (count, count * 2));
        start.elapsed()
    };
    let (small, large) = (time(250), time(1000));
    assert!(large < small * 12 + Duration::from_millis(200), "{small:?} for 250, {large:?} for 1000");
}

/// Files that are made to be slow end quickly, and with few findings.
#[test]
fn hostile_manifests_end_quickly() {
    let keys = |count: usize| (0..count).map(|at| format!("capabilitie{at}: 1\n")).collect::<String>();
    let names = |count: usize| (0..count).map(|at| format!("lookup{at}, ")).collect::<String>();
    let event = |at: usize| format!("{{name: lok{at}, receive: {{webhook: {{}}}}}}, ");
    let events = (0..2_000).map(event).collect::<String>();
    let twins = (0..500).map(|at| tool(&format!("n{at}"), "x", "actions: []")).collect::<String>();
    let rows = [
        agent(&keys(10_000)),
        agent(&format!("limits: {{{}}}", names(10_000).replace(", ", ": 1, "))),
        agent(&format!("capabilities: {{x: {{include: [{}]}}}}", names(10_000)))
            + &tool("demo", "x", &format!("actions: []\nevents: [{events}]")),
        agent("capabilities: {x: '*'}")
            + &tool("demo", "x", &format!("mcp: {{}}\nactions: [{}]", "{name: a}, ".repeat(5_000))),
        agent("capabilities: {x: '*'}") + &twins,
        "[".repeat(500_000),
        "a: ".repeat(200_000),
        "- ".repeat(300_000),
        "? ".repeat(300_000),
        "---\n[\n".repeat(50_000),
        "---\na\n".repeat(50_000),
        format!("a: \"{}\"", "\\n".repeat(300_000)),
        format!("a: >\n{}", " x\n\n".repeat(100_000)),
        format!("a: '{}'", "x\n\n ".repeat(100_000)),
        "&a ".repeat(200_000),
        "!!".repeat(300_000),
    ];
    for text in rows {
        let start = Instant::now();
        let (_, findings) = parse(&text);
        let beginning = text.chars().take(20).collect::<String>();
        assert!(!findings.is_empty() && findings.len() <= 101, "{beginning:?}: {} findings", findings.len());
        assert!(start.elapsed() < Duration::from_secs(20), "{beginning:?} took {:?}", start.elapsed());
    }
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifest-paths");
    fs::create_dir_all(folder.join("empty/.git")).unwrap();
    fs::write(folder.join("empty/notes.txt"), "x").unwrap();
    let limits = EngineLimits::default();
    let missing = load(&[folder.join("nowhere.yaml")], &limits).unwrap_err();
    assert!(matches!(&missing, LoadError::Unreadable { path, .. } if path.ends_with("nowhere.yaml")));
    let empty = load(&[folder.join("empty")], &limits).unwrap_err();
    assert!(empty.to_string().ends_with("empty` holds no `*.yaml` and no `*.yml`"), "{empty}");
    // A folder and a file in it: the file is read once, and in the order of the paths.
    fs::write(folder.join("b.yaml"), "b: 1").unwrap();
    fs::write(folder.join("a.yml"), "a: 1").unwrap();
    let (files, findings) = load(&[folder.join("b.yaml"), folder.clone()], &limits).unwrap();
    let names = files.iter().map(|file| Path::new(file.source.name()).file_name().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["b.yaml", "a.yml"]);
    assert!(findings.is_empty());
}
