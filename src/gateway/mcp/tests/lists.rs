//! Lists of tools, resources and prompts, and what a server says of itself.

use super::fixture::{Both, Options, modern, rules, text, tool};
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

/// A tool that is added is judged with the others as long as nothing was called; later it is hidden.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_added_is_judged_or_hidden() {
    let mut both = Both::begin();
    assert_eq!(names(&mut both).await, ["pay", "find", "danger"]);
    for (name, is_shown) in [("early", true), ("late", false)] {
        both.tools.push(tool(name));
        both.server(json!({ "method": "notifications/tools/list_changed" })).await;
        both.at_client().await;
        assert_eq!(names(&mut both).await.iter().any(|it| it == name), is_shown);
        if is_shown {
            assert_eq!(both.result_of(name, text("y")).await["result"], text("y"));
        } else {
            both.call(1, name, json!({})).await;
            assert_eq!(both.at_client().await["result"]["isError"], true);
        }
    }
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
