//! The page of reviews in a browser, over a real server: what a person sees, does by keyboard, and is told.

use crate::browser::{Browser, keys};
use crate::review_fixture::{BOARD, REVIEWER, asks, asks_board, asks_to, policies};
use crate::serving::Serving;
use celador_store::Location;
use serde_json::{Value, json};

const ROWS: &str = "return document.querySelectorAll('#list a').length";

#[test]
fn a_person_answers_reviews_by_keyboard_and_hears_of_new_ones() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, policies);
    let first = asks(&serving, None, "u-1", r#"{"amount": 180.50, "to": "kim", "memo": {"n": 1.0}}"#);
    let second = asks(&serving, None, "u-2", r#"{"amount": 9007199254740991, "to": "pat", "memo": {}}"#);
    browser.go(&format!("{}/reviews", serving.base));
    browser.until("return document.querySelectorAll('#list a').length === 2");
    browser.until_text("#link-text", "Live");

    // one that is asked now comes by itself, is told in words, and stands last
    let third = asks(&serving, None, "u-3", r#"{"amount": 3, "to": "max", "memo": {}}"#);
    browser.until("return document.querySelectorAll('#list a').length === 3");
    browser.until_text("#toast", "New: money, asked of lead@example.com.");
    assert_eq!(browser.run("return document.title", &[]), "(3) Reviews – Celador");

    browser.press("j");
    browser.until_text("#detail-title", "money");
    for (part, text) in [
        (".reason", "Paying kim asks the lead."),
        (".values dt", "amount"),
        (".values dd", "180.5"),
        (".values pre", "\"n\": 1.0"),
        (".facts", "review('lead@example.com')"),
        (".facts", "pay.yaml:"),
        (".facts", "lead@example.com"),
        (".facts", "pay/desk"),
        (".facts", "u-1"),
        ("#timeline", "The task began"),
        ("#timeline", "waits for a review"),
    ] {
        browser.until_text(part, text);
    }
    // the policy has a question of its own, and no other one stands beside it
    assert_eq!(browser.run("return document.querySelectorAll('.question, .reason').length", &[]), 1);
    // the letter goes to the button, and only Enter sends
    browser.press("a");
    assert_eq!(browser.run("return document.activeElement.id", &[]), "approve");
    assert_eq!(serving.get(&first).json()["state"], "open");
    browser.press(keys::ENTER);
    browser.until_text("#detail-title", "approved");
    assert_eq!(serving.get(&first).json()["state"], "approved");
    assert_eq!(browser.run("return document.activeElement.id", &[]), "detail-title");
    browser.until_text("#toast", "money: approved.");
    browser.until_text("#timeline", "A review was answered");

    // a denial with a note, in which letters are letters
    browser.press("j");
    browser.until_text(".values dd", "9007199254740991");
    browser.press("n");
    browser.press("jak? No.");
    browser.run("document.getElementById('deny').focus()", &[]);
    browser.press(keys::ENTER);
    browser.until_text("#detail-title", "denied");
    let denied = serving.get(&second).json();
    assert_eq!((&denied["state"], &denied["answered"]["note"]), (&json!("denied"), &json!("jak? No.")));

    // somebody else answers while it is looked at: the page says so, and offers nothing any more
    browser.press("j");
    browser.until_text(".values dd", "max");
    assert_eq!(serving.post(&third, &json!({"answer": "deny"})).status, 200);
    browser.until_text("#detail-title", "denied");
    assert_eq!(browser.run("return document.getElementById('approve')", &[]), Value::Null);
    browser.press(keys::ESCAPE);
    browser.until_text("#empty", "Nothing waits for an answer.");
    assert_eq!(browser.run(ROWS, &[]), 0);
    assert_eq!(browser.complaints(), [""; 0]);

    // what was answered is listed apart, and its address is a link that can be sent
    let id = first.rsplit('/').next().unwrap();
    browser.go(&format!("{}/reviews?#{id}", serving.base));
    browser.until_text(".review", "Approved by somebody whom the server does not know");
}

#[test]
fn other_arguments_and_a_result_in_the_functions_place_go_to_the_letter() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, policies);
    let memo = r#"{"n": 9007199254740993, "2": 1.0, "1": []}"#;
    let edited =
        asks(&serving, None, "u-1", &format!(r#"{{"amount": 180.5, "to": "kim\r\npat", "memo": {memo}}}"#));
    let responded = asks(&serving, None, "u-2", r#"{"amount": 1, "to": "pat", "memo": {}}"#);
    let secret = asks_to(&serving, None, "u-3", ("card", r#"{"amount": 1, "card": "4111-1111"}"#));
    let open = |review: &str| {
        browser.go(&format!("{}/reviews?#{}", serving.base, review.rsplit('/').next().unwrap()));
        browser.until("return document.getElementById('approve')");
    };
    let fill = |name: &str, value: &str| {
        let script = "const [name, value] = arguments; \
             const label = [...document.querySelectorAll('.answer-form label')].find(it => it.textContent === name); \
             const field = document.getElementById(label.htmlFor); field.value = value";
        browser.run(script, &[json!(name), json!(value)]);
    };
    let submit = || browser.run("document.querySelector('.answer-form').requestSubmit()", &[]);

    // one number is changed, and nothing else is: no rounding, no other order, no other line ends
    open(&edited);
    browser.press("e");
    browser.until("return document.querySelector('.answer-form')");
    fill("amount", "eighty");
    submit();
    browser.until_text(".answer-form .error", "A number is expected");
    fill("amount", "80.0");
    submit();
    browser.until_text("#detail-title", "approved with changes");
    let events = |review: &str| {
        let task = serving.get(review).json()["task"].as_str().unwrap().to_owned();
        serving.get(&format!("/v1/tasks/{task}/events")).text()
    };
    let memo = memo.replace(' ', "");
    let value = |amount: &str| format!(r#""value":{{"amount":{amount},"to":"kim\r\npat","memo":{memo}}}"#);
    let told = events(&edited);
    assert!(told.contains(&value("80.0")) || told.contains(&value("80")), "{told}");

    // all of it as JSON, and then a result that is none
    open(&responded);
    browser.press("r");
    browser.until("return document.querySelector('.answer-form')");
    browser.run("document.querySelector('input[value=json]').click()", &[]);
    fill("Result as JSON", "{\"paid\": }");
    submit();
    browser.until_text(".answer-form .error", "A value is expected here. (line 1, column 10)");
    fill("Result as JSON", "{\"paid\": 9007199254740993}");
    submit();
    browser.until_text("#detail-title", "answered in its place");
    assert!(events(&responded).contains("9007199254740993"), "{}", events(&responded));

    // a secret that nobody sees stays as it is, and the field says so
    open(&secret);
    browser.press("e");
    browser.until_text(".answer-form .help", "A secret, which is not shown.");
    fill("amount", "2");
    submit();
    browser.until_text("#detail-title", "approved with changes");
    assert!(events(&secret).contains(r#""value":{"amount":2,"card":"***"}"#), "{}", events(&secret));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn hostile_texts_are_shown_and_do_nothing() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, policies);
    let hostile =
        "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u{202e}cod.exe\u{200b}";
    let arguments =
        json!({"amount": 1, "to": hostile, "memo": {(hostile): [hostile, "javascript:alert(1)"]}});
    let review = asks(&serving, None, hostile, &arguments.to_string());
    let body = json!({"answer": "deny", "note": hostile});
    let id = review.rsplit('/').next().unwrap();
    browser.go(&format!("{}/reviews#{id}", serving.base));
    let shown = hostile.replace('\u{202e}', "U+202E").replace('\u{200b}', "U+200B");
    for part in ["#list .meta", "#list .brief", ".reason", ".values dd", ".facts dd"] {
        browser.until_text(part, if part.ends_with("brief") { "<script>" } else { &shown });
    }
    // in JSON the hidden ones are escapes
    browser.until_text(".values pre", "\\u202ecod.exe\\u200b");
    // the forms show what they change, not what it would look like
    browser.press("e");
    let field = browser.until("return document.querySelector('.answer-form textarea')?.value");
    assert!(field.as_str().unwrap().contains("\\u202ecod.exe\\u200b"), "{field}");
    // a form of a review that is over goes with it
    assert_eq!(serving.post(&review, &body).status, 200);
    browser.until_text("#detail-title", "denied");
    browser.until_text(".note", &shown);
    let made = "return [window.hacked ?? null, document.querySelectorAll('main script, main img, main iframe, main [onerror]').length]";
    assert_eq!(browser.run(made, &[]), json!([null, 0]));
    // a policy keeps even a program of the page from making markup of a text
    let tried = browser.run(
        "try { document.getElementById('toast').innerHTML = '<b>x</b>'; return 'made' } catch (error) { return error.name }",
        &[],
    );
    assert_eq!(tried, "TypeError");
}

#[test]
fn a_token_is_asked_for_and_stays_in_its_tab() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &["tasks:read", "tasks:write", "reviews:read"]);
    let lead = serving.token("lead@example.com", &["reviews:read", "reviews:write"]);
    let weak = serving.token("eve", &["tasks:read"]);
    let review = asks(&serving, Some(&runtime), "u-1", r#"{"amount": 1, "to": "kim", "memo": {}}"#);
    browser.go(&format!("{}/reviews", serving.base));
    browser.until("return document.activeElement.id === 'token'");
    for (token, told) in
        [("nobody", "This token is not accepted."), (&*weak, "This token may not read reviews.")]
    {
        browser.press(token);
        browser.press(keys::ENTER);
        browser.until_text("#gate-error", told);
        assert_eq!(browser.run("return sessionStorage.length", &[]), 0);
    }
    browser.press(&lead);
    browser.press(keys::ENTER);
    browser.until("return document.querySelectorAll('#list a').length === 1");
    browser.until_text("#link-text", "Live");
    let kept = "return [Object.keys(sessionStorage), localStorage.length, document.cookie, location.href.includes('token')]";
    assert_eq!(browser.run(kept, &[]), json!([["celador.token"], 0, "", false]));
    // the task is another's, so its events are not shown; the answer has a name
    browser.press("j");
    browser.until_text("#timeline-note", "not shown to you");
    browser.press("a");
    browser.press(keys::ENTER);
    browser.until_text(".review", "Approved by lead@example.com");
    assert_eq!(serving.get_as(&lead, &review).json()["answered"]["by"]["subject"], "lead@example.com");
    // forgotten is forgotten
    browser.run("document.getElementById('leave').click()", &[]);
    browser.until("return document.activeElement.id === 'token'");
    assert_eq!(
        browser.run("return [sessionStorage.length, document.querySelectorAll('#list a').length]", &[]),
        json!([0, 0])
    );
}

/// Texts whose contrast with what is behind them is under that of WCAG 2.2, AA: 4.5, or 3 for large ones.
const FAINT: &str = r#"
const channels = (color) => color.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((it) => it / 255).map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4))
  .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
const behind = (element) => {
  for (let it = element; it; it = it.parentElement) {
    const color = channels(getComputedStyle(it).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
    if (color[3] > 0) return [255, 0, 255];
  }
  return [255, 255, 255];
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const faint = [];
let count = 0;
for (let text = texts.nextNode(); text; text = texts.nextNode()) {
  const element = text.parentElement;
  if (!text.data.trim() || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || element.closest('.skip, noscript')) continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(channels(style.color)), light(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  count += 1;
  if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${text.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return [count, faint];
"#;

/// The controls that can be reached, in the order in which they stand.
const CONTROLS: &str = r#"
return [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')]
  .filter((it) => it.checkVisibility({ visibilityProperty: true }) && !it.closest('dialog:not([open])') && it.tabIndex >= 0)
  .map((it, at) => { it.dataset.at = at; return at; }).length
"#;

/// Roles that need a name.
const NAMED: [&str; 10] =
    ["button", "link", "textbox", "combobox", "checkbox", "radio", "navigation", "article", "dialog", "form"];

/// Of several people one approves on the page and hears that it is not enough, not even twice; another one's approval comes by itself.
#[test]
fn several_people_approve_and_the_page_says_how_many_have() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        policies(settings, folder);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &["tasks:read", "tasks:write", "reviews:read"]);
    let ann = serving.token_of("ann", &REVIEWER, &json!({"groups": ["payments"]}));
    let kim = serving.token_of("kim", &REVIEWER, &json!({"groups": ["leads"]}));
    let (_, review) = asks_board(&serving, Some(&runtime), "u-1");
    let id = review.rsplit('/').next().unwrap();
    browser.go(&format!("{}/reviews#{id}", serving.base));
    browser.until("return document.activeElement.id === 'token'");
    browser.press(&ann);
    browser.press(keys::ENTER);
    browser.until_text("#progress", "0 of 2 people have approved.");
    browser.until_text(".facts", BOARD);
    let approve = || {
        browser.run("document.getElementById('approve').focus()", &[]);
        browser.press(keys::ENTER);
    };
    approve();
    browser.until_text("#progress", "1 of 2 people have approved.");
    browser.until_text("#toast", "money: 1 of 2 people have approved.");
    browser.until_text("#detail-title", "waiting");
    browser.until_text(".facts", "Approved by");
    assert_eq!(browser.run("return document.getElementById('answer-error').textContent", &[]), "");

    // a second answer by the same person is refused with a text, and changes nothing
    approve();
    browser.until_text(
        "#answer-error",
        "You have approved already, and each person counts once. 1 of 2 people have approved.",
    );
    assert_eq!(serving.get_as(&ann, &review).json()["approvals"].as_array().unwrap().len(), 1);
    assert_eq!(browser.run("return document.activeElement.id", &[]), "answer-error");

    // the other's approval comes by itself
    assert_eq!(serving.post_as(&kim, &review, &json!({"answer": "approve"})).status, 200);
    browser.until_text("#detail-title", "approved");
    assert_eq!(browser.run("return document.getElementById('progress')", &[]), Value::Null);

    // somebody else's approval leaves a note that is being written where it is
    let (_, second) = asks_board(&serving, Some(&runtime), "u-2");
    let id = second.rsplit('/').next().unwrap();
    browser.run("location.hash = arguments[0]", &[json!(id)]);
    browser.until_text("#progress", "0 of 2 people have approved.");
    browser.run("document.getElementById('note').focus()", &[]);
    browser.press("looks fine");
    assert_eq!(serving.post_as(&kim, &second, &json!({"answer": "approve"})).status, 200);
    browser.until_text("#progress", "1 of 2 people have approved.");
    assert_eq!(browser.run("return document.getElementById('note').value", &[]), "looks fine");
    approve();
    browser.until_text("#detail-title", "approved");
    assert_eq!(serving.get_as(&ann, &second).json()["approvals"][1]["note"], "looks fine");
    // a token is asked for, and what a task did is not everybody's to see
    let complaints = browser.complaints();
    let is_other = |told: &&String| !["(Unauthorized)", "(Forbidden)"].iter().any(|end| told.ends_with(end));
    assert_eq!(complaints.iter().filter(is_other).collect::<Vec<_>>(), [""; 0]);
}

/// Panics if something of the page cannot be read, reached or named.
fn is_for_everybody(browser: &Browser, about: &str) {
    let found = browser.run(FAINT, &[]);
    assert!(found[0].as_u64().unwrap() > 5, "{about}: {found}");
    assert_eq!(found[1], json!([]), "{about}: contrast");
    let tree = browser.tools("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
    let nodes: Vec<(&str, &str)> = nodes
        .map(|node| {
            (node["role"]["value"].as_str().unwrap_or(""), node["name"]["value"].as_str().unwrap_or(""))
        })
        .collect();
    for (role, name) in &nodes {
        assert!(!NAMED.contains(role) || !name.trim().is_empty(), "{about}: a {role} without a name");
    }
    let has = |role: &str| nodes.iter().any(|node| node.0 == role);
    assert!(has("main") && has("heading"), "{about}: {nodes:?}");
    // Tab comes to every control, in the order in which they stand, and out of the last
    let count = browser.run(CONTROLS, &[]).as_u64().unwrap();
    browser.run("document.activeElement?.blur(); getSelection().removeAllRanges(); document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')", &[]);
    let mut reached = Vec::new();
    for _ in 0..=count {
        browser.press(keys::TAB);
        let at = browser.run("return document.activeElement?.dataset.at ?? null", &[]);
        let Some(at) = at.as_str().and_then(|at| at.parse::<u64>().ok()) else { continue };
        if !reached.contains(&at) {
            reached.push(at);
        }
    }
    assert_eq!(reached, (0..count).collect::<Vec<_>>(), "{about}: the order of the keyboard");
    let wide = browser.run("return document.documentElement.scrollWidth - innerWidth", &[]).as_i64().unwrap();
    assert!(wide <= 0, "{about}: {wide} px too wide");
}

#[test]
fn it_is_for_everybody_by_light_and_dark_wide_and_narrow() {
    let Some(browser) = Browser::open() else { return };
    let serving = Serving::with(&Location::Memory, policies);
    let long = "a-word-without-any-blank-in-it".repeat(8);
    let arguments = json!({"amount": 180.5, "to": long, "memo": {"a": [1, 2, {"b": null}], "c": long}});
    asks(&serving, None, "kim@example.com", &arguments.to_string());
    asks(&serving, None, "pat@example.com", r#"{"amount": 1, "to": "pat", "memo": {}}"#);
    let expected = [(1280, 900, false), (1280, 900, true), (360, 740, false), (360, 740, true)];
    for (width, height, dark) in expected {
        browser.look(width, height, dark);
        browser.go("about:blank");
        browser.go(&format!("{}/reviews", serving.base));
        browser.until("return document.querySelectorAll('#list a').length === 2");
        let about = |part: &str| format!("{part}, {width} px, dark {dark}");
        is_for_everybody(&browser, &about("the list"));
        browser.press("j");
        browser.until_text("#timeline", "The task began");
        is_for_everybody(&browser, &about("a review"));
        browser.press("e");
        browser.until("return document.querySelector('.answer-form')?.contains(document.activeElement)");
        is_for_everybody(&browser, &about("other arguments"));

        // what cannot be read is said at its place, and sent nowhere
        browser.run(
            "const field = [...document.querySelectorAll('.answer-form textarea.code')].find(it => it.checkVisibility()); field.value = '{\\n  \"a\": 1,\\n  \"a\": 2}'; document.querySelector('.answer-form').requestSubmit()",
            &[],
        );
        let wrong = browser.until(
            "const field = document.querySelector('.answer-form [aria-invalid]'); return field && [document.activeElement === field, field.getAttribute('aria-describedby').split(' ').map(id => document.getElementById(id).textContent).join(' '), field.selectionStart]",
        );
        assert_eq!(
            wrong,
            json!([true, "JSON The member \"a\" is there twice. (line 3, column 3)", 14]),
            "{width}"
        );
        is_for_everybody(&browser, &about("a mistake"));
        browser.press(keys::ESCAPE);
        assert_eq!(browser.run("return document.activeElement.id", &[]), "edit");
        browser.press("?");
        browser.until("return document.getElementById('keys').open");
        browser.press(keys::ESCAPE);
        browser.until("return !document.getElementById('keys').open");
    }
    // letters do nothing once they are turned off
    browser.run("document.getElementById('keys-on').click(); document.activeElement.blur()", &[]);
    browser.press("?a");
    assert_eq!(
        browser.run("return [document.getElementById('keys').open, document.activeElement.id]", &[]),
        json!([false, ""])
    );
    assert_eq!(browser.complaints(), [""; 0]);
}
