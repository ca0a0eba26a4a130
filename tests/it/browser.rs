//! A browser that tests look through: Chromium, driven over WebDriver, with what tests ask of a page.

use crate::suites;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use ureq::Agent;

/// A browser with one window. It ends when it is dropped.
pub struct Browser {
    driver: Child,
    /// The address of the session.
    session: String,
    agent: Agent,
}

/// Flags without which Chromium asks the network for more than the test does. The sandbox needs rights that containers
/// seldom give; the pages are the test's own.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

impl Browser {
    /// A browser; nothing where none is installed, which is said.
    pub fn open() -> Option<Self> {
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let chromium = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|name| Command::new("which").arg(name).output().is_ok_and(|found| found.status.success()));
        let (Ok(mut driver), Some(chromium)) = (driver, chromium) else {
            suites::missing("the page of reviews in a browser", "apt-get install chromium chromium-driver");
            return None;
        };
        let path = Command::new("which").arg(chromium).output().unwrap().stdout;
        let path = String::from_utf8(path).unwrap();
        let told = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = told.map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let base = format!("http://127.0.0.1:{}", port.expect("a port of the driver"));
        let mut browser = Self { driver, session: base, agent: crate::serving::agent() };
        let options = json!({ "binary": path.trim(), "args": FLAGS });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let session = browser.ask("/session", &json!({ "capabilities": { "alwaysMatch": wanted } }));
        browser.session = format!("{}/session/{}", browser.session, session["sessionId"].as_str().unwrap());
        browser.look(1280, 900, false);
        Some(browser)
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let request = ureq::http::Request::post(format!("{}{path}", self.session));
        let request = request.header("content-type", "application/json");
        let mut reply = self.agent.run(request.body(body.to_string()).unwrap()).unwrap();
        let text = reply.body_mut().with_config().limit(1 << 26).read_to_string().unwrap();
        let reply: Value = serde_json::from_str(&text).unwrap();
        assert!(reply["value"]["error"].is_null(), "{path}: {}", reply["value"]["message"]);
        reply["value"].clone()
    }

    /// A command of the protocol of Chromium's own tools.
    pub fn tools(&self, command: &str, parameters: &Value) -> Value {
        self.ask("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Sets the size of the page, and whether the reader likes it dark.
    pub fn look(&self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tools("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }});
        let still = json!({"name": "prefers-reduced-motion", "value": "reduce"});
        self.tools("Emulation.setEmulatedMedia", &json!({ "features": [scheme, still] }));
    }

    /// Opens an address.
    pub fn go(&self, url: &str) {
        self.ask("/url", &json!({ "url": url }));
    }

    /// What the body of a function comes to in the page; `arguments` has the values.
    pub fn run(&self, script: &str, values: &[Value]) -> Value {
        self.ask("/execute/sync", &json!({ "script": script, "args": values }))
    }

    /// Waits until the body of a function comes to something that is true, and gives it.
    pub fn until(&self, script: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let found = self.run(script, &[]);
            if !matches!(found, Value::Null | Value::Bool(false)) {
                return found;
            }
            assert!(
                Instant::now() < end,
                "never true: {script}\n{}",
                self.run("return document.body.innerText", &[]).as_str().unwrap()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until an element has a text that contains this one.
    pub fn until_text(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.until(&format!(
            "return [...document.querySelectorAll({selector})].some(it => it.textContent.includes({text}))"
        ));
    }

    /// Panics if a text of the page is no word of anybody: a value that became one by accident, or none where a label has to be.
    pub fn has_only_words(&self, about: &str) {
        assert_eq!(self.run(ACCIDENTS, &[]), json!([]), "{about}");
    }

    /// Presses keys, one after the other.
    pub fn press(&self, keys: &str) {
        let key = |key: char| {
            [
                json!({"type": "keyDown", "value": key.to_string()}),
                json!({"type": "keyUp", "value": key.to_string()}),
            ]
        };
        let actions: Vec<Value> = keys.chars().flat_map(key).collect();
        self.ask("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}));
    }

    /// What the browser complained of since it was asked last: errors of scripts, and what a policy kept from happening.
    pub fn complaints(&self) -> Vec<String> {
        let entries = self.ask("/se/log", &json!({ "type": "browser" }));
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // the driver ends its browser with the session
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The texts and attributes of what is shown that no person wrote, and the elements that need a text and have none. JSON may say `null`, and so
/// may what somebody writes.
const ACCIDENTS: &str = r"
const wrong = /\[object|undefined|\bnull\b|NaN|Invalid Date|\bfunction\s*\(/;
const found = [];
const name = (it) => `${it.tagName.toLowerCase()}${it.id && `#${it.id}`}.${it.className}`;
for (const it of document.querySelectorAll('body *')) {
  if (it.closest('noscript, script, textarea, .literal, pre') || !it.checkVisibility({ visibilityProperty: true })) continue;
  const own = [...it.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(' ');
  const said = [own, ...[...it.attributes].map(({ value }) => value)];
  for (const text of said) if (wrong.test(text)) found.push(`${name(it)}: ${text.slice(0, 80)}`);
  const needs = it.matches('label, legend, dt, dd, h1, h2, h3, h4, button, option, a, time, kbd, code, .state, .verdict, .what, .meta');
  if (needs && it.textContent.trim() === '') found.push(`${name(it)}: nothing`);
}
return found;
";

/// Keys that have no letter, as WebDriver names them.
pub mod keys {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const ESCAPE: &str = "\u{e00c}";
}
