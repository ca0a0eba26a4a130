//! Tools that tasks bring: one compilation for each set of them, stored and opened again, under other manifests too.

use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{
    BroughtTool, Call, CallResult, Engine, Outcome, SavedTask, StartTask, Task, TaskError, ToolsError, User,
};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn manifests() -> String {
    fs::read_to_string("tests/data/http/manifests/workbench.yaml").unwrap()
}

fn catalog(text: &str) -> Catalog {
    let file = File { source: Source::new("workbench.yaml", text), origin: FileOrigin::Named };
    let (catalog, findings) = Catalog::parse(&[file], &EngineLimits::default());
    assert!(findings.is_empty(), "{findings:?}");
    catalog
}

fn engine(limits: EngineLimits) -> Engine {
    let (engine, findings) = Engine::from_catalog(&catalog(&manifests()), limits);
    assert!(findings.is_empty() && engine.is_whole(), "{findings:?}");
    engine
}

fn tools(listed: Value) -> Vec<BroughtTool> {
    serde_json::from_value(listed).unwrap()
}

fn reader() -> Value {
    json!({"name": "read-file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}})
}

fn issue() -> Value {
    json!({"name": "mcp__github__create_issue", "inputSchema": {"type": "object",
        "properties": {"owner": {"type": "string"}, "title": {"type": "string"}}, "required": ["title"]}})
}

fn begin(engine: &Engine, listed: Value) -> Result<Task, TaskError> {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    engine.start(StartTask { tools: tools(listed), ..StartTask::new("t-1", "acme", "clerk", user, NOW) })
}

fn call(task: &mut Task, function: &str, arguments: Value) -> &'static str {
    match task.before(&Call::new(function, arguments.into()), NOW).unwrap().outcome() {
        Outcome::Allowed(allowed) => {
            let result = CallResult::successful(json!({"text": "x"}).into());
            assert!(task.after(&allowed.call, result, NOW).unwrap().outcome().is_allowed());
            "allow"
        }
        Outcome::Refused(refusal) => refusal.verdict().as_str(),
        _ => "waits",
    }
}

#[test]
fn tasks_with_the_same_tools_share_one_policy() {
    let engine = engine(EngineLimits { max_brought_sets: 2, ..EngineLimits::default() });
    let base = begin(&engine, json!([])).unwrap();
    let first = begin(&engine, json!([reader(), issue()])).unwrap();
    let again = begin(&engine, json!([reader(), issue()])).unwrap();
    assert!(Arc::ptr_eq(first.policy(), again.policy()));
    assert!(!Arc::ptr_eq(first.policy(), base.policy()));
    assert_ne!(first.policy().fingerprint(), base.policy().fingerprint());
    // two sets are kept; the one that was used last is one of them
    let only_reader = begin(&engine, json!([reader()])).unwrap();
    assert_ne!(only_reader.policy().fingerprint(), first.policy().fingerprint());
    begin(&engine, json!([reader(), issue()])).unwrap();
    begin(&engine, json!([issue()])).unwrap();
    let kept = begin(&engine, json!([reader(), issue()])).unwrap();
    assert!(Arc::ptr_eq(first.policy(), kept.policy()));
    let anew = begin(&engine, json!([reader()])).unwrap();
    assert!(!Arc::ptr_eq(only_reader.policy(), anew.policy()));
    assert_eq!(only_reader.policy().fingerprint(), anew.policy().fingerprint());
    // texts for people and hints make another set, and not another policy
    let mut told = reader();
    told["description"] = json!("Reads.");
    told["annotations"] = json!({"readOnlyHint": true});
    let told = begin(&engine, json!([told])).unwrap();
    assert_eq!(told.policy().fingerprint(), anew.policy().fingerprint());
}

#[test]
fn a_saved_task_has_its_tools_in_another_process() {
    let mut task = begin(
        &engine(EngineLimits::default()),
        json!([reader(), issue(), {"name": "shell", "inputSchema": {}}]),
    )
    .unwrap();
    assert_eq!(call(&mut task, "read-file", json!({"path": "a"})), "allow");
    let stored = serde_json::to_string(&task.save()).unwrap();
    let saved: SavedTask = serde_json::from_str(&stored).unwrap();
    assert_eq!(saved.tools().len(), 3);
    let mut again = engine(EngineLimits::default()).restore(saved.clone()).unwrap();
    assert_eq!(again.policy().fingerprint(), task.policy().fingerprint());
    assert_eq!(again.tools_left_out(), task.tools_left_out());
    assert_eq!(again.tools_left_out().len(), 1);
    assert_eq!(call(&mut again, "mcp__github__create_issue", json!({"title": "Lamp"})), "allow");
    assert_eq!(
        serde_json::to_value(again.save().tools()).unwrap(),
        serde_json::to_value(task.tools()).unwrap()
    );

    // under other manifests it has its tools, too, as far as these admit them
    let other = manifests().replace("stay calm", "hurry").replace("contains('urgent')", "contains('Lamp')");
    let (engine, _) = Engine::from_catalog(&catalog(&other), EngineLimits::default());
    let mut moved = engine.restore(saved.clone()).unwrap();
    assert_eq!(call(&mut moved, "mcp__github__create_issue", json!({"title": "Lamp"})), "block");
    // and none that would be what they declare
    let declared = manifests().replace("name: notes", "name: shell").replace("notes: \"*\"", "shell: \"*\"");
    let (engine, _) = Engine::from_catalog(&catalog(&declared), EngineLimits::default());
    assert_eq!(engine.restore(saved).err(), Some(TaskError::Tools(ToolsError::Declared("shell".into()))));
}

/// A task that is under way takes more tools, and goes on as if it had begun with them: with its calls, those that are open among them. What
/// happened stands in one change, so that a store need not keep the whole task.
#[test]
fn a_task_brings_more_tools_while_it_is_under_way() {
    let engine = engine(EngineLimits::default());
    let mut task = begin(&engine, json!([reader()])).unwrap();
    assert_eq!(call(&mut task, "read-file", json!({"path": "a"})), "allow");
    let read = Call::new("read-file", json!({"path": "b"}).into());
    let Outcome::Allowed(open) = task.before(&read, NOW).unwrap().outcome() else { panic!("it is open") };
    let saved = task.save();

    let unsupported = json!({"name": "mcp__github__x", "inputSchema": {"$dynamicRef": "#a"}});
    let added = tools(json!([reader(), issue(), {"name": "shell", "inputSchema": {}}, unsupported]));
    let mark = engine.bring(&mut task, &added).unwrap().expect("three are new");
    let change = serde_json::to_string(&task.change_since(&mark)).unwrap();
    assert_eq!(task.tools().len(), 4);
    assert_eq!(task.tools_left_out().len(), 2);
    assert!(engine.bring(&mut task, &added).unwrap().is_none());
    let applied = saved.apply(serde_json::from_str(&change).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(&applied).unwrap(), serde_json::to_value(task.save()).unwrap());
    // those that cannot be called change no policy, and are brought all the same
    let mut idle = begin(&engine, json!([])).unwrap();
    let mark =
        engine.bring(&mut idle, &tools(json!([{"name": "shell", "inputSchema": {}}]))).unwrap().unwrap();
    assert!(!idle.is_at(&mark) && idle.is_at(&idle.mark()));

    for mut task in [task, engine.restore(applied).unwrap()] {
        let result = CallResult::successful(json!({"text": "x"}).into());
        assert!(task.after(&open.call, result, NOW).unwrap().outcome().is_allowed());
        // the reads of before count for the rule about the new tool, whose schema and binding hold
        assert_eq!(call(&mut task, "mcp__github__create_issue", json!({"title": "Lamp"})), "allow");
        assert_eq!(call(&mut task, "mcp__github__create_issue", json!({"title": "urgent"})), "block");
        assert_eq!(call(&mut task, "mcp__github__create_issue", json!({"title": 5})), "error");
        // what it cannot have beside the others leaves it as it was
        let other = json!({"name": "read-file", "inputSchema": {"type": "object"}});
        let same = |one: &str, two: &str| TaskError::Tools(ToolsError::SameKey(one.into(), two.into()));
        for (listed, error) in [
            (json!([other]), same("read-file", "read-file")),
            (json!([{"name": "read_file", "inputSchema": {}}]), same("read-file", "read_file")),
            (json!([{"name": "a", "inputSchema": {}}, {"name": "a", "inputSchema": {}}]), same("a", "a")),
            (
                json!([{"name": "notes", "inputSchema": {}}]),
                TaskError::Tools(ToolsError::Declared("notes".into())),
            ),
        ] {
            let before = task.mark();
            assert_eq!(engine.bring(&mut task, &tools(listed.clone())).err(), Some(error), "{listed}");
            assert!(task.is_at(&before), "{listed}");
        }
        let few = self::engine(EngineLimits { max_brought_tools: 4, ..EngineLimits::default() });
        let more = tools(json!([{"name": "a", "inputSchema": {}}]));
        let error = few.bring(&mut task, &more).err();
        assert_eq!(error, Some(TaskError::Tools(ToolsError::TooMany("max_brought_tools", 4))));
        task.end("done", NOW);
        assert_eq!(engine.bring(&mut task, &more).err(), Some(TaskError::HasEnded));
    }
}

#[test]
fn what_no_task_can_have_is_refused_whole() {
    let limits = EngineLimits { max_brought_tools: 3, max_brought_bytes: 400, ..EngineLimits::default() };
    let engine = engine(limits);
    let named = |names: &[&str]| -> Value {
        names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
    };
    let length = |listed: &Value| serde_json::to_string(&tools(listed.clone())).unwrap().len();
    let filler = 400 - length(&named(&[""]));
    let rows = [
        (named(&["a", "b", "c"]), None),
        (named(&["a", "b", "c", "d"]), Some(ToolsError::TooMany("max_brought_tools", 3))),
        (named(&["a".repeat(filler).as_str()]), None),
        (named(&["a".repeat(filler + 1).as_str()]), Some(ToolsError::TooMany("max_brought_bytes", 400))),
        (named(&[""]), Some(ToolsError::Nameless)),
        (
            named(&["read-file", "read.file"]),
            Some(ToolsError::SameKey("read-file".into(), "read.file".into())),
        ),
        (named(&["notes"]), Some(ToolsError::Declared("notes".into()))),
        (named(&["workbench"]), Some(ToolsError::Declared("workbench".into()))),
        (named(&["_meta"]), Some(ToolsError::Declared("_meta".into()))),
        // a name that is kept, in another spelling: it is not the tool that was meant
        (named(&["read_file"]), Some(ToolsError::Declared("read_file".into()))),
    ];
    for (listed, expected) in rows {
        let error = begin(&engine, listed.clone()).err();
        assert_eq!(error, expected.map(TaskError::Tools), "{listed}");
    }
}

#[test]
fn rules_meet_the_tools_as_they_are() {
    let engine = engine(EngineLimits::default());
    // a tool that an agent admits alone has the parameters that the agent binds, or no task begins with it
    let alone = manifests()
        .replace(
            "brought: [read-file, \"mcp__github__*\"]",
            "brought: [read-file, mcp__github__create_issue]",
        )
        .replace("  workbench:\n", "  mcp__github__create_issue:\n")
        .replace("context.capabilities.read_file.count_successful > 0 && !", "input.title != '' && !");
    let (bound, _) = Engine::from_catalog(&catalog(&alone), EngineLimits::default());
    let mut unowned = issue();
    unowned["inputSchema"]["properties"] =
        json!({"repository": {"type": "string"}, "title": {"type": "string"}});
    assert!(begin(&bound, json!([issue()])).is_ok());
    let error = begin(&bound, json!([unowned])).err().unwrap().to_string();
    assert!(error.contains("`mcp__github__create_issue` declares no parameter `owner`"), "{error}");
    // a step that names an argument which the tool lacks: told, and the call is blocked
    let mut untitled = issue();
    untitled["inputSchema"] =
        json!({"type": "object", "properties": {"owner": {"type": "string"}, "subject": {"type": "string"}}});
    let mut task = begin(&engine, json!([reader(), untitled])).unwrap();
    let told: Vec<_> = task.tool_findings().iter().map(|finding| finding.code).collect();
    assert_eq!(told, ["unknown_field"]);
    assert_eq!(call(&mut task, "read-file", json!({"path": "a"})), "allow");
    assert_eq!(call(&mut task, "mcp__github__create_issue", json!({"subject": "Lamp"})), "block");
}

#[test]
fn a_brought_tool_is_nothing_without_a_capability() {
    let engine = Engine::open(&["examples/first-policy"], EngineLimits::default()).unwrap();
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let listed = tools(json!([reader(), {"name": "shell", "inputSchema": {"type": "string"}}]));
    let start = StartTask { tools: listed, ..StartTask::new("t-1", "shop", "clerk", user, NOW) };
    let mut task = engine.start(start).unwrap();
    assert!(Arc::ptr_eq(task.policy(), &engine.policy("shop", "clerk").unwrap()));
    let reasons: Vec<_> =
        task.tools_left_out().iter().map(|it| (it.name.as_str(), it.reason.as_str())).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.contains(&("read-file", "no capability of the agent admits it")), "{reasons:?}");
    assert_eq!(call(&mut task, "read-file", json!({"path": "a"})), "error");
}

/// A task goes on with its tools in another process over the same store, and a policy of other words for people stays its own.
#[cfg(feature = "server")]
#[test]
fn a_stored_task_has_its_tools_after_a_restart() {
    use crate::serving::Serving;
    use celador_store::{Location, StoreLimits};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workbench.yaml");
    fs::write(&file, manifests()).unwrap();
    let database = celador_store::Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serve = || Serving::over(database.clone(), |settings, _| settings.policies = vec![file.clone()]);
    let first = serve();
    let new = json!({"namespace": "acme", "agent": "clerk", "user": {"id": "u-1", "email": null}, "tools": [reader(), issue()]});
    let created = first.post("/v1/tasks", &new);
    assert_eq!(created.status, 201, "{}", created.text());
    let path = format!("/v1/tasks/{}", created.json()["task"].as_str().unwrap());
    let before = |serving: &Serving, function: &str, arguments: Value| {
        let reply = serving
            .post(&format!("{path}/before"), &json!({"function": function, "arguments": arguments}))
            .json();
        (reply["decided"]["verdict"].as_str().unwrap().to_owned(), reply["decided"]["call"].clone())
    };
    let (verdict, call) = before(&first, "read-file", json!({"path": "a"}));
    assert_eq!(verdict, "allow");
    let policy = first.get(&path).json()["policy"].clone();
    assert_eq!(policy["current"], true, "{policy}");
    first.stop();

    // comments and texts for people make no other policy
    fs::write(
        &file,
        manifests().replace("You are a careful clerk.", "You are a careful clerk.\n# a comment"),
    )
    .unwrap();
    let second = serve();
    let standing = second.get(&path).json();
    assert_eq!(standing["policy"]["manifest"], policy["manifest"]);
    assert_eq!(standing["policy"]["current"], true, "{standing}");
    assert_eq!(before(&second, "mcp__github__create_issue", json!({"title": "Lamp"})).0, "wait");
    let result = json!({"call": call, "result": {"status": "successful", "output": {"text": "x"}}});
    assert_eq!(second.post(&format!("{path}/after"), &result).json()["decided"]["verdict"], "allow");
    assert_eq!(before(&second, "mcp__github__create_issue", json!({"title": "Lamp"})).0, "allow");
    let offers = second.get(&format!("{path}/offers")).json();
    let names: Vec<_> = offers["functions"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["notes", "read-file", "mcp__github__create_issue"]);
}

/// Checks of what tools say of themselves leave out those that fail, with the reason, whatever a pattern admits.
#[test]
fn a_tool_that_fails_a_check_is_left_out() {
    let checks = |mode: &str| {
        format!(
            "{}---\nkind: celador/v1/policy\nnamespace: acme\nname: hygiene\nmode: {mode}\nparameters: {{most: {{type: integer, default: 40}}}}\n\
             tools:\n  - id: short\n    assert: size(tool.description) <= parameters.most\n    error_message: It says too much.\n  \
             - condition: tool.name.startsWith('mcp__')\n    assert: tool.annotations.readOnlyHint == false\n",
            manifests()
        )
    };
    let listed = |description: &str, hints: Value| {
        let mut tools = json!([reader(), issue()]);
        tools[1]["description"] = description.into();
        tools[1]["annotations"] = hints;
        tools
    };
    let engine_of = |mode: &str| {
        let (engine, findings) = Engine::from_catalog(&catalog(&checks(mode)), EngineLimits::default());
        assert!(findings.is_empty() && engine.is_whole(), "{findings:?}");
        engine
    };
    let engine = engine_of("enforce");
    let left_out = |engine: &Engine, description: &str, hints: Value| {
        let task = begin(engine, listed(description, hints)).unwrap();
        let left: Vec<_> =
            task.tools_left_out().iter().map(|left| format!("{}: {}", left.name, left.reason)).collect();
        let is_there = task.functions().any(|function| function == "mcp__github__create_issue");
        assert_eq!(is_there, left.is_empty(), "{left:?}");
        left
    };
    let writes = json!({"readOnlyHint": false});
    assert_eq!(left_out(&engine, "Opens an issue.", writes.clone()), [""; 0]);
    let long = "Opens an issue, and does many other things beside that.";
    assert_eq!(
        left_out(&engine, long, writes),
        ["mcp__github__create_issue: acme/hygiene#short: It says too much."]
    );
    // a check that cannot be computed has failed
    for hints in [json!({}), json!({"readOnlyHint": true})] {
        assert_eq!(
            left_out(&engine, "Opens an issue.", hints),
            ["mcp__github__create_issue: acme/hygiene does not hold of it"]
        );
    }
    assert_eq!(left_out(&engine_of("observe"), long, json!({})), [""; 0]);
    // nobody hides behind a tool that is left out: two of one name are an error still
    let mut twice = json!([reader(), reader()]);
    twice[1]["description"] = long.into();
    assert!(matches!(begin(&engine, twice).err(), Some(TaskError::Tools(ToolsError::SameKey(..)))));
}

#[test]
fn a_check_of_tools_asserts_about_the_tool_alone() {
    let found = |step: &str| {
        let policy =
            format!("---\nkind: celador/v1/policy\nnamespace: acme\nname: hygiene\ntools:\n  - {step}\n");
        let text = format!("{}{policy}", manifests());
        let file = File { source: Source::new("workbench.yaml", text), origin: FileOrigin::Named };
        let limits = EngineLimits::default();
        let (catalog, mut findings) = Catalog::parse(&[file], &limits);
        findings.extend(Engine::from_catalog(&catalog, limits).1);
        findings.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(found("assert: tool.name != 'shell'"), [""; 0]);
    assert_eq!(found("assert: tool.nmae != 'shell'"), ["unknown_field"]);
    assert_eq!(found("assert: context.user.id != ''"), ["undeclared_name"]);
    assert_eq!(found("assert: labels(tool.name) == []"), ["undeclared_function"]);
    assert_eq!(found("{transform: tool.name}"), ["tools_action"]);
    assert_eq!(found("{assert: tool.text != '', on_fail: continue}"), ["tools_on_fail"]);
}

/// Tools that a task brings over HTTP while it is under way: an event of the task, which is there after a restart.
#[cfg(feature = "server")]
#[test]
fn a_stored_task_brings_more_tools() {
    use crate::serving::Serving;
    use celador_store::{Location, StoreLimits};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workbench.yaml");
    let asked = manifests().replace(
        "    before:\n",
        "    before:\n      - {match: read-file, condition: input.path == 'secret', assert: \"review('boss')\"}\n",
    );
    fs::write(&file, asked).unwrap();
    let database = celador_store::Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serve = || Serving::over(database.clone(), |settings, _| settings.policies = vec![file.clone()]);
    let first = serve();
    let new =
        json!({"id": "t", "namespace": "acme", "agent": "clerk", "user": {"id": "u-1"}, "tools": [reader()]});
    assert_eq!(first.post("/v1/tasks", &new).status, 201);
    let before = |serving: &Serving, function: &str, arguments: Value| {
        serving.post("/v1/tasks/t/before", &json!({"function": function, "arguments": arguments})).json()
    };
    let bring =
        |serving: &Serving, listed: Value| serving.post("/v1/tasks/t/tools", &json!({"tools": listed}));
    let problem = |reply: &crate::serving::Reply| {
        (
            reply.status,
            reply.json()["type"].as_str().unwrap().trim_start_matches("urn:celador:problem:").to_owned(),
        )
    };

    let asks = before(&first, "read-file", json!({"path": "secret"}));
    let waits = bring(&first, json!([issue()]));
    assert_eq!(problem(&waits), (409, "task-waits".to_owned()), "{}", waits.text());
    let answer = json!({"question": asks["question"], "answer": {"review": true}});
    let call = first.post("/v1/tasks/t/resume", &answer).json()["decided"]["call"].clone();
    let brought = bring(&first, json!([reader(), issue(), {"name": "shell", "inputSchema": {}}]));
    assert_eq!(brought.status, 200, "{}", brought.text());
    let told = brought.json();
    assert_eq!((&told["left_out"][0]["name"], &told["version"]), (&json!("shell"), &json!(4)), "{told}");
    assert_eq!(bring(&first, json!([issue()])).json()["version"], 4);
    let other = json!([{"name": "read-file", "inputSchema": {}}]);
    assert_eq!(problem(&bring(&first, other)), (422, "invalid-tools".to_owned()));
    assert_eq!(problem(&bring(&first, json!([{"name": 5}]))).0, 400);
    let nobody = first.post("/v1/tasks/other/tools", &json!({"tools": []}));
    assert_eq!(problem(&nobody), (404, "unknown-task".to_owned()));
    let events = first.get("/v1/tasks/t/events").json();
    let kinds: Vec<&Value> = events["events"].as_array().unwrap().iter().map(|it| &it["operation"]).collect();
    assert_eq!(kinds, ["started", "before", "review", "tools"], "{events}");
    first.stop();

    let second = serve();
    let policy = second.get("/v1/tasks/t").json()["policy"].clone();
    assert_eq!((&policy["current"], policy["manifests"].is_string()), (&json!(true), true), "{policy}");
    let result = json!({"call": call, "result": {"status": "successful", "output": {"text": "x"}}});
    assert_eq!(second.post("/v1/tasks/t/after", &result).json()["decided"]["verdict"], "allow");
    let decided = before(&second, "mcp__github__create_issue", json!({"title": "Lamp"}));
    assert_eq!(decided["decided"]["verdict"], "allow", "{decided}");
    // the same beginning finds the task as it is now
    let again = second.post("/v1/tasks", &new);
    assert_eq!((again.status, &again.json()["left_out"][0]["name"]), (200, &json!("shell")));
    assert_eq!(second.post("/v1/tasks/t/end", &json!({"reason": "done"})).status, 200);
    assert_eq!(problem(&bring(&second, json!([]))).0, 400);
}
