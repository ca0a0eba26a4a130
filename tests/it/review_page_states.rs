//! The page of reviews with as much on it as a team has: dozens of reviews, long arguments, panels, answers of every kind. In every state each
//! text is one that somebody wrote, and what an answer is about is in sight before the answer is.

use crate::browser::{Browser, keys};
use crate::review_fixture::{asks, asks_board, asks_to, policies};
use crate::serving::Serving;
use celador_store::Location;
use serde_json::json;

/// So many reviews fill the list several times over.
const MANY: usize = 40;

/// Arguments that are longer than a screen.
fn long() -> String {
    let lines: Vec<String> =
        (1..=80).map(|line| format!("{line}. a line of a memo that says what is paid")).collect();
    json!({"amount": 1234.5, "to": "kim", "memo": {"lines": lines, "by": null}}).to_string()
}

/// A server with dozens of reviews, the last of which has long arguments; the path of that one.
fn busy() -> (Serving, String) {
    let serving = Serving::with(&Location::Memory, policies);
    for user in 1..MANY {
        let arguments =
            json!({"amount": user, "to": format!("customer {user}"), "memo": {"note": "a lamp came broken"}});
        asks(&serving, None, &format!("u-{user}@example.com"), &arguments.to_string());
    }
    let last = asks(&serving, None, "last@example.com", &long());
    (serving, last)
}

/// How the parts of a review stand in the window: the tops of its title and of its arguments, the bottom of the window, the top of the button.
const SIGHT: &str = "
const top = (it) => document.querySelector(it).getBoundingClientRect().top;
return [top('#detail-title'), top('.values'), innerHeight, top('#approve')]";

#[test]
fn a_review_low_in_a_long_list_is_shown_from_its_beginning() {
    let Some(browser) = Browser::open() else { return };
    let (serving, last) = busy();
    let id = last.rsplit('/').next().unwrap();
    for (width, height) in [(1280, 900), (1280, 600), (390, 844)] {
        browser.look(width, height, false);
        browser.go("about:blank");
        browser.go(&format!("{}/reviews", serving.base));
        browser.until(&format!("return document.querySelectorAll('#list a').length === {MANY}"));
        let shown = |about: &str| {
            browser.until_text(".values", "80. a line");
            let sight = browser.run(SIGHT, &[]);
            let [title, values, bottom, approve] = [0, 1, 2, 3].map(|at| sight[at].as_f64().unwrap());
            assert!(
                title >= 0.0 && values > title && values < bottom && approve > values,
                "{about}, {width} px: {sight}"
            );
        };
        // by the pointer, after a look at the end of the list
        let click = "const link = document.querySelector(`a[data-id=${arguments[0]}]`); link.scrollIntoView({ block: 'end' }); link.click()";
        browser.run(click, &[json!(id)]);
        shown("by the pointer");
        // and again from the end of another one
        browser.run("document.getElementById('approve').scrollIntoView()", &[]);
        browser.press("k");
        browser.until_text(".values", "customer 39");
        let sight = browser.run(SIGHT, &[]);
        assert!(sight[0].as_f64().unwrap() >= 0.0, "by the keyboard, {width} px: {sight}");
        browser.press("j");
        shown("by the keyboard");
        let wide =
            browser.run("return document.documentElement.scrollWidth - innerWidth", &[]).as_i64().unwrap();
        assert!(wide <= 0, "{width} px: {wide} px too wide");
        browser.has_only_words(&format!("a long review, {width} px"));
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn every_text_of_every_state_is_one_that_somebody_wrote() {
    let Some(browser) = Browser::open() else { return };
    let (serving, last) = busy();
    let (_, panel) = asks_board(&serving, None, "u-panel");
    let secret = asks_to(&serving, None, "u-card", ("card", r#"{"amount": 1, "card": "4111-1111"}"#));
    let all = serving.get("/v1/reviews").json();
    let some: Vec<String> = all["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("/v1/reviews/{}", it["id"].as_str().unwrap()))
        .collect();
    let [approved, denied, edited, responded] = [0, 1, 2, 3].map(|at| some[at].clone());
    for (path, answer) in [
        (&approved, json!({"answer": "approve", "note": "the lamp was seen"})),
        (&denied, json!({"answer": "deny", "note": "another customer"})),
        (&edited, json!({"answer": "edit", "arguments": {"amount": 2, "to": "kim", "memo": {}}})),
        (&responded, json!({"answer": "respond", "result": {"paid": null}})),
    ] {
        assert_eq!(serving.post(path, &answer).status, 200, "{answer}");
    }
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.look(width, height, false);
        browser.go("about:blank");
        browser.go(&format!("{}/reviews", serving.base));
        browser.until("return document.querySelectorAll('#list a').length > 30");
        let words = |about: &str| browser.has_only_words(&format!("{about}, {width} px"));
        words("the list");
        for (about, path) in [
            ("long arguments", &last),
            ("a panel", &panel),
            ("a secret", &secret),
            ("approved", &approved),
            ("denied", &denied),
            ("edited", &edited),
            ("responded", &responded),
        ] {
            browser.run("location.hash = arguments[0]", &[json!(path.rsplit('/').next().unwrap())]);
            let task = serving.get(path).json()["task"].as_str().unwrap().to_owned();
            browser.until_text(".facts", &task);
            browser.until_text("#timeline", "The task began");
            words(about);
            let asked = browser.run("return [...document.querySelectorAll('.facts > div')].find(it => it.textContent.startsWith('Asked') && it.querySelector('time'))?.textContent ?? ''", &[]);
            assert!(asked.as_str().unwrap().len() > "Asked".len() + 8, "{about}: {asked}");
        }
        // the panel's review expires an hour behind the moment at which the test's clock stands
        browser.run("location.hash = arguments[0]", &[json!(panel.rsplit('/').next().unwrap())]);
        browser.until_text(".facts", "1:00:00");
        // the forms
        browser.run("location.hash = arguments[0]", &[json!(last.rsplit('/').next().unwrap())]);
        browser.until_text(".values", "80. a line");
        browser.press("e");
        browser.until("return document.querySelector('.answer-form')");
        words("other arguments");
        browser.run("[...document.querySelectorAll('.answer-form .quiet')].at(-1).click()", &[]);
        words("other arguments as JSON");
        browser.press(keys::ESCAPE);
        browser.run("document.activeElement.blur()", &[]);
        browser.press("r");
        browser.until("return document.querySelector('.answer-form')");
        words("a result");
        browser.run("document.querySelector('.answer-form').requestSubmit()", &[]);
        browser.until_text(".answer-form .error", "A text is expected.");
        words("a mistake");
        browser.press(keys::ESCAPE);
        browser.run("document.activeElement.blur()", &[]);
        browser.press("?");
        browser.until("return document.getElementById('keys').open");
        words("the help");
        browser.press(keys::ESCAPE);
        // a key that comes while the browser closes the dialog is lost
        for _ in 0..50 {
            browser.press("l");
            if browser.run("return location.hash === ''", &[]) == json!(true) {
                break;
            }
        }
        // the lists of what is over, and of what there is none of
        for state in ["approved", "denied", "edited", "responded", "expired", "withdrawn"] {
            let select = "const select = document.getElementById('state'); select.value = arguments[0]; select.dispatchEvent(new Event('change'))";
            browser.run(select, &[json!(state)]);
            let count = i32::from(!["expired", "withdrawn"].contains(&state));
            browser.until(&format!("return document.querySelectorAll('#list a').length === {count}"));
            words(state);
        }
    }
    assert_eq!(browser.complaints(), [""; 0]);
}
