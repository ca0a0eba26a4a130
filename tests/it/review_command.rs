//! `celador reviews` through the real binary, against a server.

use crate::review_fixture::{BOARD, REVIEWER, asks, asks_board, policies};
use crate::serving::Serving;
use celador_store::Location;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// What a command wrote, and its exit code.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn celador(serving: &Serving, token: Option<&str>, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.arg("reviews").args(arguments).current_dir(serving.folder.path());
    command.env_remove("CELADOR_TOKEN").env("CELADOR_SERVER", &serving.base);
    if let Some(token) = token {
        command.env("CELADOR_TOKEN", token);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn id(review: &str) -> &str {
    review.rsplit('/').next().unwrap()
}

#[test]
fn reviews_are_listed_shown_and_answered_in_a_terminal() {
    let serving = Serving::with(&Location::Memory, policies);
    let run = |arguments: &[&str]| celador(&serving, None, arguments);
    let Ran { code, out, err } = run(&[]);
    assert_eq!((code, &*out, &*err), (0, "nothing waits for an answer\n", ""));

    let first = asks(&serving, None, "u-1", r#"{"amount": 180.50, "to": "kim", "memo": {}}"#);
    let second = asks(&serving, None, "u-2", r#"{"amount": 2, "to": "pat", "memo": {}}"#);
    let Ran { code, out, .. } = run(&[]);
    let line = |review: &str, user: &str| {
        format!(
            "{}  2026-06-01T12:00:00Z  money  pay/desk for {user}, asked of lead@example.com\n",
            id(review)
        )
    };
    assert_eq!((code, out), (0, [line(&first, "u-1"), line(&second, "u-2")].concat()));
    assert_eq!(run(&["--agent", "pay/desk"]).out.lines().count(), 2);
    assert_eq!(run(&["--agent", "pay/other"]).out, "nothing waits for an answer\n");

    let Ran { code, out, .. } = run(&["show", id(&first)]);
    assert_eq!(code, 0);
    let review = serving.get(&first).json();
    for line in [
        &format!("review     {}", id(&first)),
        "state      open",
        "function   money",
        r#"arguments  {"amount":180.5,"to":"kim","memo":{}}"#,
        "question   Paying kim asks the lead.",
        "rule       review('lead@example.com')",
        "step       before[0]",
        "reviewer   lead@example.com",
        "agent      pay/desk",
        "user       u-1",
        &format!("digest     {}", review["digest"].as_str().unwrap()),
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line}\n{out}");
    }
    // programs are given what the server gives
    let mut told = review.clone();
    told["type"] = json!("review");
    for arguments in [&["show", id(&first)][..], &["--agent", "pay/desk"]] {
        let out = run(&[&["--format", "json"], arguments].concat()).out;
        assert_eq!(serde_json::from_str::<Value>(out.lines().next().unwrap()).unwrap(), told);
    }

    let digest = review["digest"].as_str().unwrap().to_owned();
    let Ran { code, err, .. } = run(&["approve", id(&first), "--digest", &digest.replace('a', "b")]);
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("error: the server answered 409"), "{err}");
    let approve = ["approve", id(&first), "--note", "fine", "--digest", &digest];
    for _ in 0..2 {
        let Ran { code, out, err } = run(&approve);
        assert_eq!((code, &*err), (0, ""));
        assert_eq!(out, format!("{} is approved; the decision is allow\n", id(&first)));
    }
    assert_eq!(serving.get(&first).json()["answered"]["note"], "fine");
    assert_eq!(run(&["deny", id(&first)]).code, 2, "another answer changes nothing");
    assert_eq!(
        run(&["deny", id(&second)]).out,
        format!("{} is denied; the decision is block\n", id(&second))
    );
    assert_eq!(run(&["--state", "denied"]).out, line(&second, "u-2"));
    assert_eq!(run(&["show", "rv_/../x?y"]).code, 2);
}

#[test]
fn several_people_answer_in_terminals_of_their_own() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &["tasks:read", "tasks:write", "reviews:read"]);
    let ann = serving.token_of("ann", &REVIEWER, &json!({"groups": ["payments"]}));
    let kim = serving.token_of("kim", &REVIEWER, &json!({"groups": ["leads"]}));
    let (_, review) = asks_board(&serving, Some(&runtime), "u-1");
    let id = id(&review);
    let run = |token: &str, arguments: &[&str]| celador(&serving, Some(token), arguments);
    let line = |progress: &str| {
        format!(
            "{id}  2026-06-01T12:00:00Z  money  pay/board for u-1, asked of {BOARD}, {progress} have approved\n"
        )
    };
    assert_eq!(run(&ann, &[]).out, line("0 of 2"));
    let waits =
        |said: &str| format!("{id}: {said}; 1 of 2 have approved; somebody else has to approve as well\n");
    for said in ["you have approved", "you have approved already"] {
        let Ran { code, out, err } = run(&ann, &["approve", id]);
        assert_eq!((code, out, &*err), (0, waits(said), ""));
    }
    assert_eq!(run(&kim, &[]).out, line("1 of 2"));
    let out = run(&kim, &["show", id]).out;
    for line in ["state      open", "progress   1 of 2", "approved   ann", &format!("reviewer   {BOARD}")] {
        assert!(out.lines().any(|shown| shown == line), "{line}\n{out}");
    }
    let Ran { code, out, err } = run(&kim, &["approve", id]);
    assert_eq!((code, out, &*err), (0, format!("{id} is approved; the decision is allow\n"), ""));
    let shown = run(&ann, &["show", id]).out;
    assert!(shown.lines().any(|line| line == "approved   ann, kim"), "{shown}");
}

#[test]
fn arguments_and_results_go_to_the_letter() {
    let serving = Serving::with(&Location::Memory, policies);
    let run = |arguments: &[&str]| celador(&serving, None, arguments);
    let asked = || asks(&serving, None, "u", r#"{"amount": 1, "to": "kim", "memo": {}}"#);
    let text = r#"{"to": "kim", "amount": 12.0, "memo": {"n": 9007199254740993, "2": 1.0}}"#;
    fs::write(serving.folder.path().join("arguments.json"), format!("\n{text}\n")).unwrap();
    for given in [text, "arguments.json"] {
        let review = asked();
        let Ran { code, out, err } = run(&["edit", id(&review), "--arguments", given]);
        // other arguments pass the steps again, so the lead is asked of them
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.starts_with(&format!("{} is edited", id(&review))), "{out}");
        assert_eq!(serving.get(&review).json()["state"], "edited");
    }
    for (given, told) in [
        ("[1]", "the arguments are a JSON object, such as {\"amount\": 12}"),
        ("{\"a\": }", "the text is not JSON at line 1, column 7"),
        ("nowhere.json", "cannot read `nowhere.json`: No such file or directory (os error 2)"),
    ] {
        let Ran { code, err, .. } = run(&["edit", id(&asked()), "--arguments", given]);
        assert_eq!((code, err), (1, format!("error: {told}\n")), "{given}");
    }
    let review = asked();
    let Ran { code, out, err } = run(&["respond", id(&review), "--result", "\"paid by hand\""]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.starts_with(&format!("{} is responded", id(&review))), "{out}");
}

#[test]
fn nothing_that_a_model_wrote_moves_the_cursor() {
    let serving = Serving::with(&Location::Memory, policies);
    let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}kim\r\n\u{202e}gpj.exe\u{200b}\u{9b}1m";
    let arguments = json!({"amount": 1, "to": hostile, "memo": {}});
    let review = asks(&serving, None, hostile, &arguments.to_string());
    for arguments in [&[][..], &["show", id(&review)]] {
        let Ran { code, out, .. } = celador(&serving, None, arguments);
        assert_eq!(code, 0);
        assert!(
            out.contains(r"\u{1b}[2J\u{1b}]0;x\u{7}kim\u{d}\u{a}\u{202e}gpj.exe\u{200b}\u{9b}1m"),
            "{out}"
        );
        let moves =
            |letter: char| letter.is_control() && letter != '\n' || "\u{202e}\u{200b}".contains(letter);
        assert!(!out.contains(moves), "{out:?}");
    }
}

#[test]
fn a_token_comes_from_a_file_or_the_environment_and_goes_over_tls_or_loopback() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &["tasks:read", "tasks:write", "reviews:read"]);
    let lead = serving.token("lead@example.com", &["reviews:read", "reviews:write"]);
    let review = asks(&serving, Some(&runtime), "u", r#"{"amount": 1, "to": "kim", "memo": {}}"#);
    let Ran { code, err, .. } = celador(&serving, None, &[]);
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("error: the server answered 401"), "{err}");
    // who may only read is told so
    let Ran { code, err, .. } = celador(&serving, Some(&runtime), &["approve", id(&review)]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error: the server answered 403"), "{err}");
    fs::write(serving.folder.path().join("lead.token"), format!("{lead}\n")).unwrap();
    let Ran { code, err, .. } =
        celador(&serving, Some("another"), &["approve", id(&review), "--token-file", "lead.token"]);
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(serving.get_as(&lead, &review).json()["answered"]["by"]["subject"], "lead@example.com");
    for (server, told) in [
        ("http://celador.example", "beyond loopback an address begins with `https://`"),
        ("http://127.0.0.1:1", "the server cannot be reached: "),
        ("celador.example", "an address such as `https://celador.example/` is expected"),
    ] {
        let Ran { code, err, .. } = celador(&serving, Some(&lead), &["--server", server]);
        assert_eq!(code, 1, "{server}");
        assert!(err.starts_with(&format!("error: {told}")), "{server}: {err}");
    }
}
