//! URLs: what is read of each, held to two other readers, one for each standard, and to the tests of browsers.
//!
//! The corpus is `tests/data/formats/urls.txt`. The others are the crates `url` (the WHATWG's standard) and `fluent-uri` (RFC 3986).
//! They may refuse what ours reads for one reason alone: the label of a host that claims to be Punycode and is not.

use crate::check_rows::hold;
use crate::suites::{missing, root};
use celador::cel::{Activation, EXTENSIONS, Env, EnvBuilder, Program, STANDARD, Stop, Type, Url, Value};
use fluent_uri::Uri;
use proptest::prelude::*;
use std::fs;
use std::sync::LazyLock;

static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let scope = Env::builder().variable("text", Type::String);
    STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library).build()
});

/// What an expression gives of a text, or the words of its error.
fn run(expression: &str, text: &str) -> Result<String, String> {
    let program = Program::compile(&SCOPE, expression).unwrap();
    let activation = Activation::new(&SCOPE).with(&SCOPE, "text", Value::text(text));
    match program.run(&activation, None) {
        Ok(Value::String(text)) => Ok(text.to_string()),
        Ok(value) => Ok(format!("{value:?}")),
        Err(Stop::Failed(error)) => Err(format!("refused: {}", error.detail.unwrap_or("without words"))),
        Err(Stop::Asked) => panic!("nobody is asked"),
    }
}

#[test]
fn urls_are_read_or_refused_for_a_reason() {
    hold("formats/urls.txt", 131, |text| {
        let reads = run("isURL(text)", text) == Ok("Bool(true)".to_owned());
        let parts = run(
            "'%s | %s | %s | %s | %s'.format([url(text).getScheme(), url(text).getHost(), url(text).getHostname(), \
             url(text).getPort(), url(text).getEscapedPath()])",
            text,
        );
        assert_eq!(reads, parts.is_ok(), "`isURL` and `url` differ about {text}");
        match parts {
            Ok(parts) => {
                let query =
                    run("'%s'.format([url(text).getQuery()])", text).unwrap_or_else(|refused| refused);
                let whole = run("string(url(text))", text).unwrap();
                format!("{parts} | {query}\n{whole}")
            }
            Err(refused) => refused,
        }
    });
}

/// Holds what ours reads of a text to what others read; whether ours reads it.
fn agrees(text: &str) -> Result<bool, String> {
    let Ok(ours) = text.parse::<Url>() else { return Ok(false) };
    let parts = |scheme: &str, host: &str, port: Option<u16>, path: &str, query: Option<&str>| {
        let scheme = scheme.to_ascii_lowercase();
        let known = match scheme.as_str() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            "ftp" => Some(21),
            _ => None,
        };
        let path = if path.is_empty() { "/" } else { path };
        // one standard escapes the apostrophe of a query
        let query = query.unwrap_or_default().replace('\'', "%27");
        (scheme, host.to_ascii_lowercase(), port.or(known), path.to_owned(), query)
    };
    let host = ours.host();
    let host = ours.port().map_or(&*host, |port| host.strip_suffix(&format!(":{port}")).unwrap_or(&host));
    let whole = ours.to_string();
    let again: Url = whole.parse().map_err(|_| format!("{whole} is not read again"))?;
    if again != ours {
        return Err(format!("{whole} is read as another"));
    }
    let uri = Uri::parse(text).map_err(|error| format!("RFC 3986: {error}"))?;
    let authority = uri.authority().ok_or("RFC 3986: no host")?;
    if authority.userinfo().is_some() {
        return Err("RFC 3986: user information".to_owned());
    }
    let port = authority.port_to_u16().map_err(|error| format!("RFC 3986: {error}"))?;
    let theirs = parts(
        uri.scheme().as_str(),
        authority.host(),
        port,
        uri.path().as_str(),
        uri.query().map(fluent_uri::pct_enc::EStr::as_str),
    );
    let query = whole.split('#').next().and_then(|whole| whole.split_once('?')).map(|(_, query)| query);
    let own = parts(ours.scheme(), host, ours.port(), ours.path(), query);
    // only ours writes an address in its one form
    if own != theirs && !host.starts_with('[') {
        return Err(format!("RFC 3986: {theirs:?}, ours: {own:?}"));
    }
    match url::Url::parse(text) {
        Ok(url) => {
            let host = url.host_str().unwrap_or_default();
            let theirs = parts(url.scheme(), host, url.port(), url.path(), url.query());
            if own != theirs || !url.username().is_empty() || url.password().is_some() {
                return Err(format!("WHATWG: {theirs:?}, ours: {own:?}"));
            }
        }
        Err(error) if !host.contains("xn--") => return Err(format!("WHATWG: {error}")),
        Err(_) => {}
    }
    Ok(true)
}

/// Pieces that make a host, a path or a whole of another one.
const PIECES: &[&str] = &[
    "http",
    "https",
    "HTTP",
    "ws",
    "ftp",
    "file",
    "foo",
    ":",
    "/",
    "//",
    "://",
    "\\",
    "@",
    "?",
    "#",
    "[",
    "]",
    "::1",
    "::ffff:1.2.3.4",
    "fe80::1%25a",
    "a",
    "Example",
    ".com",
    ".",
    "..",
    "%2e",
    "%2E%2e",
    "%2f",
    "%5c",
    "%00",
    "%41",
    "%",
    "xn--",
    "xn--bcher-kva",
    "-",
    "_",
    "127.0.0.1",
    "127.1",
    "0x7f",
    "0177",
    "2130706433",
    "1",
    "0",
    "80",
    "65536",
    ":80",
    ":0080",
    ":",
    "\t",
    "\n",
    " ",
    "é",
    "．",
    "。",
    "ß",
    "\u{ad}",
    "\u{200b}",
    "user",
    ":pw@",
    ";",
    "=",
    "&",
    "+",
    "'",
    "~",
    "|",
    "{",
    "*",
    ",",
    "!",
    "$",
    "(",
    "localhost",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_is_read_is_what_others_read(
        scheme in prop::sample::select(&["http://", "https://", "ws://", "foo://", "http:/", "http:", ""][..]),
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..7),
    ) {
        let text = format!("{scheme}{}", pieces.concat());
        if let Err(difference) = agrees(&text) {
            return Err(TestCaseError::fail(format!("{text:?}: {difference}")));
        }
    }

    #[test]
    fn ordinary_urls_are_read(
        host in "[a-z][a-z0-9]{0,8}(\\.[a-z][a-z0-9]{0,6}){0,3}",
        port in prop::option::of(0..=u16::MAX),
        path in "(/[a-zA-Z0-9_~!$&'()*+,;=:@]{1,6}){0,4}",
        query in prop::option::of("[a-z]{1,3}=[a-zA-Z0-9/?:@._-]{0,8}"),
    ) {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        let text = format!("https://{host}{port}{path}{query}");
        prop_assert_eq!(agrees(&text), Ok(true), "{}", text);
    }
}

/// All inputs of the tests of browsers: what ours reads of them is what those tests expect, and what RFC 3986 says.
#[test]
fn the_web_platform_tests() {
    let path = root().join("target/url-suite/urltestdata.json");
    let Ok(text) = fs::read_to_string(path) else {
        missing("URL suite", "tests/fetch-url-suite");
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let (mut read, mut refused, mut wrong) = (0, 0, Vec::new());
    for case in cases.iter().filter(|case| case.is_object()) {
        let input = case["input"].as_str().unwrap();
        let own = match agrees(input) {
            Ok(true) => input.parse::<Url>().unwrap(),
            Ok(false) => {
                refused += 1;
                continue;
            }
            Err(difference) => {
                wrong.push(format!("{input:?}: {difference}"));
                continue;
            }
        };
        read += 1;
        if case["failure"] == true && own.hostname().contains("xn--") {
            continue;
        }
        if case["failure"] == true {
            wrong.push(format!("{input:?} is refused by browsers"));
            continue;
        }
        let port = own.port().map(|port| port.to_string()).unwrap_or_default();
        let path = if own.path().is_empty() && case["pathname"] == "/" { "/" } else { own.path() };
        let protocol = format!("{}:", own.scheme());
        // a port that is the scheme's own is not shown
        let shown = if case["port"] == "" { "" } else { &port };
        let hostname = case["hostname"].as_str().unwrap().trim_matches(['[', ']']).to_ascii_lowercase();
        let same = case["protocol"] == protocol.as_str()
            && hostname == *own.hostname()
            && case["port"] == shown
            && case["pathname"] == path
            && case["username"] == "";
        if !same {
            wrong.push(format!("{input:?} is {own}, not {case}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{read} read, {refused} refused");
    assert!(read >= 60 && refused >= 500, "{read} read, {refused} refused");
}
