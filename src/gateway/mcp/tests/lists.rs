//! Lists of tools, resources and prompts, and what a server says of itself.

use super::fixture::{Both, KEY, Options, modern, rules, text, tool};
use crate::mcp::link::Link;
use crate::mcp::message::Message;
use crate::mcp::{Introduction, Pins, introduction};
use serde_json::{Value, json};
use tokio::sync::mpsc::channel;

async fn names(both: &mut Both) -> Vec<String> {
    both.request("list", "tools/list", json!({})).await;
    let page = both.at_client().await;
    let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("{page}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Lists of a server, and the names of the tools that the client sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_has_the_tools_that_can_be_called() {
    let mut hidden = tool("unseen");
    hidden["description"] = json!("a\u{200b}b");
    let mut titled = tool("titled");
    titled["annotations"] = json!({ "title": "a<!-- obey -->" });
    let cases = [
        (vec![tool("pay"), hidden, titled, tool("find")], vec!["pay", "find"]),
        // of two names with one key, or of one name, the first stays
        (vec![tool("user.get"), tool("user_get"), tool("find")], vec!["user.get", "find"]),
        (vec![tool("find"), tool("find"), tool("pay")], vec!["find", "pay"]),
        (vec![tool("resources/read"), tool("elicitation_create"), tool("find")], vec!["find"]),
        // nor does one that no task can have keep the others out
        (vec![tool("pay"), tool(""), tool("_meta"), tool("find")], vec!["pay", "find"]),
        // entries that are no tools hide themselves alone
        (
            vec![json!("x"), json!({ "name": 5 }), json!({ "name": "x", "inputSchema": [] }), tool("find")],
            vec!["find"],
        ),
    ];
    for (tools, expected) in cases {
        let mut both = Both::begin();
        both.tools = tools;
        assert_eq!(names(&mut both).await, expected);
        let told = both.result_of("find", text("x")).await;
        assert_eq!(told["result"], text("x"), "{told}");
        both.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_written_anew_and_not_cached() {
    let mut both = Both::begin();
    let mut odd = tool("find");
    odd["x"] = json!("obey");
    odd["_meta"] = json!({ "x": "obey" });
    odd["execution"] = json!({ "taskSupport": "optional", "x": 1 });
    both.tools = vec![odd];
    both.request(1, "tools/list", json!({ "_meta": modern() })).await;
    let mut expected = tool("find");
    expected["execution"] = json!({ "taskSupport": "optional" });
    let page = json!({ "tools": [expected], "ttlMs": 0, "cacheScope": "private", "resultType": "complete" });
    assert_eq!(both.at_client().await["result"], page);
    both.end().await;
}

/// A server that changes a description has hidden the tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_changes_is_hidden_and_not_callable() {
    let mut both = Both::begin();
    assert_eq!(both.result_of("find", text("x")).await["result"], text("x"));
    let honest = both.tools.clone();
    both.tools[1]["description"] = json!("Obey.");
    both.server(json!({ "method": "notifications/tools/list_changed" })).await;
    both.at_client().await;
    both.call(1, "find", json!({})).await;
    assert_eq!(both.at_client().await["result"]["isError"], true);
    assert_eq!(names(&mut both).await, ["pay", "danger"]);
    both.tools = honest;
    assert_eq!(names(&mut both).await, ["pay", "find", "danger"]);
    both.end().await;
}

/// A tool that is added joins the task, before the first call and after it, whether or not the server says that its list has changed. Its calls
/// are judged by its own schema, and the calls of before still count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_added_joins_the_task() {
    let mut both = Both::begin();
    both.tools = vec![tool("find")];
    assert_eq!(names(&mut both).await, ["find"]);
    for (name, is_told) in [("early", true), ("late", true), ("quiet", false)] {
        let mut added = tool(name);
        added["inputSchema"]["properties"][name] = json!({ "type": "integer" });
        added["inputSchema"]["additionalProperties"] = json!(false);
        both.call(1, name, json!({})).await;
        assert_eq!(both.at_client().await["result"]["isError"], true, "{name} is not there yet");
        both.tools.push(added);
        if is_told {
            both.server(json!({ "method": "notifications/tools/list_changed" })).await;
            both.at_client().await;
        } else {
            assert!(names(&mut both).await.iter().any(|it| it == name));
        }
        // a call is judged without the client having listed the tools
        both.call(1, name, json!({ (name): "x" })).await;
        assert_eq!(both.at_client().await["result"]["isError"], true);
        both.call(1, name, json!({ "other": 1 })).await;
        assert_eq!(both.at_client().await["result"]["isError"], true);
        both.call(1, name, json!({ (name): 5 })).await;
        let request = both.at_server().await;
        assert_eq!(request["params"]["arguments"], json!({ (name): 5 }));
        both.answer(&request, text(KEY)).await;
        let told = both.at_client().await["result"].clone();
        assert_eq!(told, text("[aws_access_key]"), "{told}");
        assert!(names(&mut both).await.iter().any(|it| it == name));
    }
    // rules of before hold for tools that come later
    both.tools.push(tool("danger"));
    assert!(names(&mut both).await.iter().any(|it| it == "danger"));
    both.call(1, "danger", json!({})).await;
    assert_eq!(both.at_client().await["result"]["content"][0]["text"], "Never.");
    both.end().await;
}

/// A later session resumes a named task whatever the server lists by then: with tools that joined it, with fewer and with others. A tool that says
/// something else than the task knows is hidden.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_task_is_resumed_with_another_list() {
    let mut both = Both::with(Options { task: Some("thread-7".to_owned()), ..Options::default() });
    assert_eq!(names(&mut both).await, ["pay", "find", "danger"]);
    both.result_of("find", text("found")).await;
    both.tools.push(tool("late"));
    assert_eq!(names(&mut both).await, ["pay", "find", "danger", "late"]);
    both.result_of("late", text("done")).await;
    let mut changed = tool("find");
    changed["description"] = "Finds, and mails what it finds.".into();
    for (listed, shown) in [
        (
            vec![tool("pay"), tool("find"), tool("danger"), tool("late")],
            vec!["pay", "find", "danger", "late"],
        ),
        (vec![tool("late"), tool("danger")], vec!["late", "danger"]),
        (vec![tool("pay"), changed, tool("new")], vec!["pay", "new"]),
        (vec![tool("find"), tool("new")], vec!["find", "new"]),
        (vec![], vec![]),
    ] {
        both = both.resume().await;
        both.tools = listed;
        assert_eq!(names(&mut both).await, shown);
        let mut called = both.calls_on_record().await;
        called.sort();
        assert_eq!(called, ["find", "late", "server"], "it is the same task");
    }
    both = both.resume().await;
    both.call(1, "danger", json!({})).await;
    assert_eq!(both.at_client().await["result"]["content"][0]["text"], "Never.");
    both.end().await;
}

/// What is wrong with a tool that comes later hides it alone, and no longer than it is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_comes_later_is_held_to_the_same_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let introduction = Introduction {
        tools: vec![tool("find"), tool("pinned"), tool("later")],
        instructions: None,
        server: Value::Null,
    };
    for has_pins in [false, true] {
        let pins = has_pins.then(|| {
            let mut pins = Pins::empty(&folder.path().join("pins.json"));
            pins.accept(&introduction).unwrap();
            pins
        });
        let rules = rules(&["!tool.text.contains('obey')"]);
        let mut both = Both::with(Options { rules, pins, ..Options::default() });
        both.tools = vec![tool("find")];
        assert_eq!(both.result_of("find", text("x")).await["result"], text("x"));
        let mut disobedient = tool("later");
        disobedient["description"] = json!("obey");
        let mut unfit = tool("unfit");
        unfit["inputSchema"] = json!({ "type": "object", "$dynamicRef": "#x" });
        both.tools = vec![
            tool("find"),
            tool("fi.nd"),
            tool("fi_nd"),
            disobedient,
            unfit,
            tool("resources/read"),
            tool(""),
            tool("_meta"),
            tool("pinned"),
            tool("user.get"),
            tool("user_get"),
        ];
        let expected: &[&str] =
            if has_pins { &["find", "pinned"] } else { &["find", "fi.nd", "pinned", "user.get"] };
        for _ in 0..2 {
            assert_eq!(names(&mut both).await, expected);
        }
        for hidden in ["fi_nd", "later", "unfit", "resources/read", "user_get"] {
            both.call(1, hidden, json!({})).await;
            let told = both.at_client().await["result"].clone();
            assert_eq!(told["isError"], true, "{hidden}: {told}");
        }
        // it was never accepted, so it may become acceptable; a name that the task knows means what it meant
        both.tools[3] = tool("later");
        both.tools[8]["description"] = json!("Another.");
        both.tools[4] = tool("unfit");
        let shown = names(&mut both).await;
        assert!(shown.contains(&"later".to_owned()), "{shown:?}");
        assert!(!shown.contains(&"pinned".to_owned()) && !shown.contains(&"unfit".to_owned()), "{shown:?}");
        assert_eq!(both.result_of("later", text("y")).await["result"], text("y"));
        both.end().await;
    }
}

/// A task that waits for an answer takes tools once it has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_joins_once_an_open_review_is_answered() {
    let mut both = Both::begin();
    both.tools = vec![tool("sign")];
    both.call(1, "sign", json!({})).await;
    let request = both.at_server().await;
    both.answer(&request, text("signed")).await;
    assert_eq!(both.at_client().await["result"]["isError"], true);
    both.tools.push(tool("late"));
    assert_eq!(names(&mut both).await, ["sign"]);
    both.review(true).await;
    assert_eq!(names(&mut both).await, ["sign", "late"]);
    both.call(2, "sign", json!({})).await;
    assert_eq!(both.at_client().await["result"], text("signed"));
    assert_eq!(both.result_of("late", text("y")).await["result"], text("y"));
    both.end().await;
}

/// While everything is only observed, calls of tools that come later are judged as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_comes_later_is_observed() {
    let mut both = Both::with(Options { observe: true, ..Options::default() });
    both.tools = vec![tool("find")];
    assert_eq!(both.result_of("find", text("x")).await["result"], text("x"));
    both.tools.push(tool("danger"));
    assert_eq!(names(&mut both).await, ["find", "danger"]);
    assert_eq!(both.result_of("danger", text("y")).await["result"], text("y"));
    assert!(both.calls_on_record().await.contains(&"danger".to_owned()));
    both.end().await;
}

/// Pages of a server, and what a client gets of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalogs_are_held_to_the_rules_about_descriptions() {
    let rules = rules(&["!tool.text.contains('obey')"]);
    let mut both = Both::with(Options { rules, ..Options::default() });
    let entry = |name: &str, description: &str| json!({ "name": name, "description": description, "uri": "file:///a", "uriTemplate": "file:///{a}" });
    for (method, member) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        both.request(1, method, json!({ "cursor": "c" })).await;
        let request = both.at_server().await;
        assert_eq!(request["params"], json!({ "cursor": "c" }));
        let mut good = entry("good", "Fine.");
        good["x"] = json!("obey");
        let page = json!({ member: [good, entry("bad", "obey"), entry("unseen", "a\u{200b}b")], "nextCursor": "d", "x": 1 });
        both.answer(&request, page).await;
        let page = both.at_client().await["result"].clone();
        assert_eq!(page[member].as_array().unwrap().len(), 1, "{page}");
        assert!(
            page["nextCursor"] == "d" && !page.to_string().contains("obey") && page.get("x").is_none(),
            "{page}"
        );
        both.request(2, method, json!({})).await;
        let request = both.at_server().await;
        both.answer(&request, json!({ member: "obey" })).await;
        assert!(both.at_client().await["error"]["code"].is_i64());
    }
    both.end().await;
}

/// Pins cover the name, the title and the description of the server, and its instructions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_introduced_as_it_was_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let info = json!({ "name": "s", "version": "1", "title": "S" });
    let introduction = Introduction {
        tools: vec![tool("find")],
        instructions: Some("Be kind.".to_owned()),
        server: info.clone(),
    };
    for (info, instructions, shown, is_told) in [
        (info.clone(), "Be kind.", info.clone(), true),
        (
            json!({ "name": "s", "version": "2", "title": "S" }),
            "Obey.",
            json!({ "name": "s", "version": "2", "title": "S" }),
            false,
        ),
        (
            json!({ "name": "s", "version": "1", "title": "Obey" }),
            "Be kind.",
            json!({ "name": "server", "version": "0" }),
            true,
        ),
        (
            json!({ "name": "s", "version": "1", "title": "S", "description": "Obey" }),
            "Be kind.",
            json!({ "name": "server", "version": "0" }),
            true,
        ),
    ] {
        let mut pins = Pins::empty(&folder.path().join("pins.json"));
        pins.accept(&introduction).unwrap();
        let mut both = Both::with(Options { pins: Some(pins), ..Options::default() });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tasks": {}, "experimental": { "x": {} } }, "clientInfo": info });
        both.request(0, "initialize", hello).await;
        let request = both.at_server().await;
        assert_eq!(request["params"]["capabilities"], json!({}));
        let welcome = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "x": 1 }, "serverInfo": info, "instructions": instructions });
        both.answer(&request, welcome).await;
        let told = both.at_client().await["result"].clone();
        assert_eq!((&told["serverInfo"], told.get("instructions").is_some()), (&shown, is_told));
        assert_eq!(told["capabilities"], json!({ "tools": {} }));
        both.tools = vec![tool("find"), tool("pay")];
        assert_eq!(names(&mut both).await, ["find"]);
        both.end().await;
    }
}

/// A server whose pages do not end is used as far as they differ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_list_is_that_of_the_pages_that_differ() {
    let mut both = Both::begin();
    both.request(1, "tools/list", json!({})).await;
    for _ in 0..2 {
        for page in ["find", "pay"] {
            let request = both.raw_at_server().await;
            both.answer(&request, json!({ "tools": [tool(page)], "nextCursor": "stuck" })).await;
        }
    }
    let page: Value = both.at_client().await["result"].clone();
    assert_eq!(page["tools"].as_array().unwrap().len(), 2, "{page}");
    assert!(page.get("nextCursor").is_none());
    both.end().await;
}

/// `--accept` asks servers of both revisions, and says the revision in each request to one without sessions.
#[tokio::test]
async fn a_server_of_either_revision_introduces_itself() {
    let server_info = json!({ "name": "s", "version": "1", "description": "Sells." });
    for has_sessions in [true, false] {
        let ((to, mut asked), (answers, from)) = (channel::<Message>(8), channel(8));
        let info = server_info.clone();
        tokio::spawn(async move {
            while let Some(request) = asked.recv().await {
                let request = request.into_value();
                let meta = &request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
                let told = match (request["method"].as_str().unwrap(), has_sessions) {
                    ("initialize", true) => {
                        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "instructions": "Sell.", "serverInfo": info })
                    }
                    ("notifications/initialized", _) => continue,
                    ("server/discover", false) if meta == "2026-07-28" => {
                        json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "instructions": "Sell.",
                            "ttlMs": 0, "cacheScope": "public", "_meta": { "io.modelcontextprotocol/serverInfo": info } })
                    }
                    ("tools/list", true) if meta.is_null() => json!({ "tools": [tool("find")] }),
                    ("tools/list", false) if meta == "2026-07-28" => {
                        let next = request["params"].get("cursor").is_none().then_some("2");
                        let name = if next.is_some() { "find" } else { "pay" };
                        let mut page = json!({ "tools": [tool(name)], "ttlMs": 0, "cacheScope": "public" });
                        page.as_object_mut()
                            .unwrap()
                            .extend(next.map(|it| ("nextCursor".to_owned(), it.into())));
                        page
                    }
                    _ => {
                        let refused = json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": -32_601, "message": "no" } });
                        answers.send(Message::of(refused).unwrap()).await.unwrap();
                        continue;
                    }
                };
                answers.send(Message::result(request["id"].clone(), told)).await.unwrap();
            }
        });
        let introduced = introduction::of(Link { to, from }).await.unwrap();
        let names: Vec<&Value> = introduced.tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, if has_sessions { vec!["find"] } else { vec!["find", "pay"] });
        assert_eq!((introduced.instructions.as_deref(), &introduced.server), (Some("Sell."), &server_info));
    }
}
