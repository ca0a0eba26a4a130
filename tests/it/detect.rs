//! Personal data and secrets in values: every kind by its example, texts as data, and laws that hold for all values.
//!
//! `tests/data/detect/*.txt` has a text a line and, behind ` => `, what is left of it. Each is also put into lists, maps and keys.

use celador::cel::{Code, Entries, ErrorCode, EvalLimits, Fault, Json, Key, LANGUAGE, Meter, Program, Value};
use celador::context::{Scope, ScopeDecl, ScopeEnv};
use celador::detect::{DETECTION, Kind, PII, SECRETS};
use celador::limits::EngineLimits;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

/// Calls a function of a table.
fn call<'a>(name: &str, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    call_within(&limits(), name, args)
}

fn call_within<'a>(limits: &EvalLimits, name: &str, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let row = DETECTION.iter().find(|row| row.name == name).unwrap();
    let Code::Named(code, _) = row.code else { panic!("{name} has no table") };
    code(&mut Meter::new(limits), args)
}

fn limits() -> EvalLimits {
    EngineLimits::default().eval
}

fn has(family: &str, value: &Value<'_>) -> bool {
    matches!(call(&format!("{family}.has"), &[value]), Ok(Value::Bool(true)))
}

fn redacted<'a>(family: &str, value: &Value<'a>) -> Value<'a> {
    call(&format!("{family}.redact"), &[value]).unwrap()
}

/// A value as JSON text.
fn shown(value: &Value<'_>) -> String {
    Json::from_value(value, &limits()).unwrap().to_string()
}

fn finds(family: &str, value: &Value<'_>) -> Vec<(String, String, usize, usize)> {
    let Ok(Value::List(finds)) = call(&format!("{family}.find"), &[value]) else { panic!("it gives a list") };
    let find = |find: Value<'_>| {
        let Value::Map(find) = find else { panic!("a find is a map") };
        let text = |key: &str| find.get_str(key).and_then(|it| it.as_str().map(str::to_owned)).unwrap();
        let number = |key: &str| match find.get_str(key) {
            Some(Value::Int(number)) => usize::try_from(number).unwrap(),
            other => panic!("{other:?}"),
        };
        (text("kind"), text("path"), number("start"), number("end"))
    };
    finds.iter().map(find).collect()
}

/// The rows of a file: a text, and what is left of it.
fn rows(file: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/detect").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let rows = lines.map(|line| {
        let (text, left) = line.split_once(" => ").unwrap_or((line, line));
        (unescaped(text), unescaped(left))
    });
    rows.collect()
}

/// A text with its escapes read and without the signs that keep its parts from being one.
fn unescaped(text: &str) -> String {
    let mut read = String::new();
    let mut letters = text.chars().filter(|letter| *letter != '·');
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => read.push('\n'),
                Some('t') => read.push('\t'),
                Some('r') => read.push('\r'),
                Some('\\') => read.push('\\'),
                Some('u') => {
                    let digits: String = letters.by_ref().skip(1).take_while(|it| *it != '}').collect();
                    read.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
                }
                other => panic!("an escape of {other:?}"),
            },
            (letter, false) => read.push(letter),
        }
    }
    read
}

fn map<'a>(key: &'a str, value: Value<'a>) -> Value<'a> {
    Value::map(Entries::from_iter([(Key::from_value(&Value::text(key)).unwrap(), value)]))
}

#[test]
fn texts_lose_what_they_should_and_nothing_else() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for family in ["pii", "secrets"] {
        for (text, left) in rows(&format!("{family}.txt")) {
            count += 1;
            let value = Value::text(&text);
            let found = redacted(family, &value).as_str().unwrap().to_owned();
            if found != left {
                wrong.push(format!("{family}: {text:?}\n  gives {found:?}\n    not {left:?}"));
                continue;
            }
            let expected = text != left;
            assert_eq!(has(family, &value), expected, "{text:?}");
            assert_eq!(!finds(family, &value).is_empty(), expected, "{text:?}");
            let left = Value::text(&left);
            assert!(!has(family, &left), "{left:?} still has something");
            // the same inside of values: elements, values under keys, keys, bytes
            let list = Value::list(vec![Value::Int(1), value.clone()]);
            assert_eq!(
                shown(&redacted(family, &list)),
                shown(&Value::list(vec![Value::Int(1), left.clone()]))
            );
            let nested = map("a", map("b", list));
            assert_eq!(has(family, &nested), expected, "{text:?}");
            let key = map(&text, Value::Null);
            assert_eq!(has(family, &key), expected, "{text:?}");
            assert_eq!(shown(&redacted(family, &key)), shown(&map(left.as_str().unwrap(), Value::Null)));
            let bytes = Value::Bytes(celador::cel::Blob::Borrowed(text.as_bytes()));
            assert_eq!(has(family, &bytes), expected, "{text:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(count, ROWS);
}

/// Rows of the files together.
const ROWS: usize = 102;

#[test]
fn every_kind_finds_its_example() {
    let mut wrong = Vec::new();
    for (family, kinds) in [("pii", PII), ("secrets", SECRETS)] {
        for Kind { name, example, on_request, .. } in kinds {
            let text = example.concat();
            let value = Value::text(&text);
            let found = call(&format!("{family}.has"), &[&value, &Value::text(name)]);
            if !matches!(found, Ok(Value::Bool(true))) {
                wrong.push(format!("{family} {name}: {found:?}"));
            }
            let usual = finds(family, &value).iter().any(|(kind, ..)| kind == name);
            assert_eq!(usual, !on_request, "{name}");
            assert!(example.len() > 1, "{name}: an example in one piece is taken for a secret of this file");
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn kinds_have_names_that_can_stand_in_marks_and_are_told_apart() {
    for kinds in [PII, SECRETS] {
        let mut names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        assert!(names.iter().all(|name| name.bytes().all(|it| it == b'_' || it.is_ascii_lowercase())));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kinds.len());
        assert!(kinds.len() <= 64, "a set of kinds has 64 places");
    }
}

#[test]
fn values_that_are_no_texts_are_looked_at_by_their_digits() {
    let card = 4_111_111_111_111_111_i64;
    for value in
        [Value::Int(card), Value::UInt(4_111_111_111_111_111), Value::Double(4_111_111_111_111_111.0)]
    {
        assert!(has("pii", &value), "{value:?}");
        assert_eq!(shown(&redacted("pii", &value)), r#""[credit_card]""#);
    }
    assert!(!has("pii", &Value::Int(card + 1)));
    let keyed = Value::map(Entries::from_iter([(Key::Int(card), Value::Null)]));
    assert!(has("pii", &keyed));
    assert!(!has("pii", &redacted("pii", &keyed)));
    for value in [Value::Null, Value::Bool(true), Value::Double(0.5), Value::Double(f64::NAN), Value::Int(5)]
    {
        assert!(!has("pii", &value) && !has("secrets", &value), "{value:?}");
    }
}

#[test]
fn what_was_not_kept_whole_cannot_be_vouched_for() {
    let list = Value::list(vec![Value::Shortened]);
    for name in
        ["pii.has", "pii.find", "pii.texts", "pii.redact", "pii.mask", "secrets.has", "secrets.redact"]
    {
        assert_eq!(call(name, &[&list]).unwrap_err().code, ErrorCode::ValueShortened, "{name}");
    }
}

#[test]
fn finds_say_where_and_never_what() {
    let (at, slashed) = (Value::text("to ann@example.com"), Value::text("é +1 212 555 0100"));
    let value = map("bob@example.com", map("a/b~c", Value::list(vec![at, slashed])));
    let expected = [
        ("email", "", 0, 15),
        ("email", "/[email]/a~1b~0c/0", 3, 18),
        ("phone", "/[email]/a~1b~0c/1", 2, 17),
    ];
    let found = finds("pii", &value);
    let found: Vec<_> =
        found.iter().map(|(kind, path, start, end)| (&**kind, &**path, *start, *end)).collect();
    assert_eq!(found, expected);
}

#[test]
fn no_entry_of_a_map_is_lost() {
    let keys = ["a@b.example", "[email]", "c@d.example", "[email] (2)", "e@f.example"];
    let entries = keys.iter().enumerate().map(|(index, key)| {
        (Key::from_value(&Value::text(key)).unwrap(), Value::Int(i64::try_from(index).unwrap()))
    });
    let redacted = redacted("pii", &Value::map(entries.collect()));
    assert_eq!(
        shown(&redacted),
        r#"{"[email] (3)":0,"[email]":1,"[email] (4)":2,"[email] (2)":3,"[email] (5)":4}"#
    );
}

#[test]
fn constants_that_name_no_kind_are_refused_before_they_run() {
    let declared = ScopeDecl { libraries: LANGUAGE, ..ScopeDecl::new(Scope::Before, limits()) };
    let scope = ScopeEnv::new(&declared);
    let issue = |text: &str| match Program::compile(scope.env(), text) {
        Ok(_) => None,
        Err(issues) => issues
            .into_iter()
            .find(|issue| issue.code == "unknown_row")
            .map(|issue| (issue.code, issue.message, issue.help.unwrap_or_default())),
    };
    for text in [
        "pii.has(input)",
        "pii.has(input, 'email')",
        "pii.has(input, ['email', 'iban'])",
        "pii.has(input, input.k)",
    ] {
        assert_eq!(issue(text), None, "{text}");
    }
    let (code, message, help) = issue("true || pii.has(input, ['iban', 'emial'])").unwrap();
    assert_eq!(
        (code, &*message, &*help),
        ("unknown_row", "`pii.has` does not know `emial`", "did you mean `email`?")
    );
    let (code, message, _) = issue("secrets.redact(input, [])").unwrap();
    assert_eq!(
        (code, &*message),
        ("unknown_row", "an empty list leaves `secrets.redact` nothing to look for")
    );
    let (_, message, help) = issue("secrets.has(input, 'email')").unwrap();
    assert_eq!(message, "`secrets.has` does not know `email`");
    assert!(help.starts_with("it knows `aws_access_key`, "), "{help}");
    assert_eq!(
        issue("pii.has(input, 5)").unwrap_or_default().0,
        "",
        "a warning of the checker's, no refusal"
    );
}

/// The seconds that this thread has computed, which other work on the machine does not change; where the system does not say, those that
/// have passed.
fn computed() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // the system brings the figure up to date when it may hand the processor on
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Long texts of the worst kinds for each pattern take time in proportion to their length, and cost no less.
#[test]
fn long_texts_are_gone_through_in_linear_time() {
    let signs = [
        "a@",
        "@",
        "a.",
        "1 ",
        "1",
        "4111 ",
        "+1",
        "DE89 ",
        "eyJ",
        "eyJ.",
        "ey.",
        "://",
        "a:",
        "a://b:",
        "-",
        "-a",
        "-----BEGIN ",
        "%25",
        "%",
        "aws secret ",
        "sk-",
        "A",
        "0-",
        "::",
        "0:",
        "é",
        "ﬁ",
        "4\u{200B}",
    ];
    let begins = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let kinds =
        PII.iter().chain(SECRETS).flat_map(|kind| [kind.example.concat(), kind.example[0].to_owned()]);
    for unit in signs.map(str::to_owned).into_iter().chain([begins]).chain(kinds) {
        let time = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len() + 1);
            let value = Value::text(&text);
            let start = computed();
            for (family, kinds) in [("pii", PII), ("secrets", SECRETS)] {
                let all = Value::list(kinds.iter().map(|kind| Value::text(kind.name)).collect());
                let limits = EvalLimits { max_cost: u64::MAX, max_built_bytes: u64::MAX, ..limits() };
                call_within(&limits, &format!("{family}.find"), &[&value, &all]).unwrap();
            }
            computed() - start
        };
        // the least of three: what other processes take of the caches is not counted
        let least = |bytes| (0..3).map(|_| time(bytes)).fold(f64::INFINITY, f64::min);
        let (short, long) = (least(4_000), least(32_000));
        // eight times the text: a quadratic search would take 64 times as long
        assert!(long < 24.0 * short.max(1e-3), "{unit:?}: {short} s and {long} s");
    }
}

fn card(digits: &str) -> bool {
    matches!(call("pii.has", &[&Value::text(digits), &Value::text("credit_card")]), Ok(Value::Bool(true)))
}

fn iban(text: &str) -> bool {
    matches!(call("pii.has", &[&Value::text(text), &Value::text("iban")]), Ok(Value::Bool(true)))
}

/// A piece of a text: ordinary words, examples of kinds, and what may stand between them.
fn piece() -> impl Strategy<Value = String> {
    let examples: Vec<String> = PII.iter().chain(SECRETS).map(|kind| kind.example.concat()).collect();
    let parts: Vec<String> =
        PII.iter().chain(SECRETS).flat_map(|kind| kind.example).map(|part| (*part).to_owned()).collect();
    prop_oneof![
        3 => prop::sample::select(examples),
        2 => prop::sample::select(parts),
        2 => "[ -~]{0,6}",
        2 => "[0-9]{1,8}",
        1 => "[ .@:/+%=_-]{1,2}",
        1 => "\\PC{0,4}",
        1 => Just("[email]".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(serde_json::Value::from),
        1 => any::<i64>().prop_map(serde_json::Value::from),
        1 => Just(serde_json::Value::from(4_111_111_111_111_111_u64)),
        1 => Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::hash_map(text(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A user and a host of a URL, or of a path on another machine, are no address of a person.
#[test]
fn logins_are_no_addresses() {
    let rows = [
        ("git clone git@github.com:acme/app.git", false),
        ("see https://user@example.com/path", false),
        ("postgres://app:pw@db.example.com/shop", false),
        ("rsync deploy@host.example.com:/srv/app .", false),
        ("scp a deploy@host.example.com:~", false),
        ("git clone git@git.example.org:app", false),
        ("ssh -T git@example.com", false),
        ("git clone kim@example.com:app.git", false),
        ("mail kim@example.com", true),
        ("widget.git@example.com", true),
        ("kim@example.com: see https://example.com/", true),
        ("mailto:kim@example.com", true),
        ("https://example.com/?to=kim@example.com", true),
        ("https://example.com/kim@example.com", true),
        ("kim@example.com:8080", true),
    ];
    for (text, expected) in rows {
        let found = call("pii.has", &[&Value::text(text), &Value::text("email")]).unwrap();
        assert_eq!(matches!(found, Value::Bool(true)), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// What is redacted has nothing any more and stays as it is, and `has`, `find` and `redact` are of one mind.
    #[test]
    fn redaction_leaves_nothing_and_is_done_once(value in json()) {
        let json = Json::try_from_value(&value, &limits()).unwrap();
        let value = json.value();
        for (family, kinds) in [("pii", PII), ("secrets", SECRETS)] {
            let redacted = redacted(family, &value);
            prop_assert!(!has(family, &redacted), "{} of {}", shown(&redacted), json);
            prop_assert_eq!(shown(&self::redacted(family, &redacted)), shown(&redacted));
            prop_assert_eq!(finds(family, &value).is_empty(), !has(family, &value));
            prop_assert_eq!(has(family, &value), shown(&redacted) != json.to_string());
            if family == "pii" {
                let masked = call("pii.mask", &[&value]).unwrap();
                prop_assert!(!has(family, &masked), "{} of {}", shown(&masked), json);
                prop_assert_eq!(has(family, &value), shown(&masked) != json.to_string());
            }
            // a list of kinds has what one of them has
            let names: Vec<Value<'_>> = kinds.iter().filter(|kind| !kind.on_request).map(|kind| Value::text(kind.name)).collect();
            let one = names.iter().any(|name| matches!(call(&format!("{family}.has"), &[&value, name]), Ok(Value::Bool(true))));
            prop_assert_eq!(one, has(family, &value));
        }
    }

    /// Digits that another implementation takes for a card are found, and those with another check digit are not.
    #[test]
    fn cards_are_those_of_an_independent_check(
        // issuers and lengths of which both know: the other takes all that begins with 622 for Discover, whose numbers have 16 digits there
        issued in "(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|3[47][0-9]{13}|(6011|65[0-9]{2})[0-9]{12}|62[013-9][0-9]{13,16}|35[3-8][0-9]{13}|36[0-9]{12}|6759[0-9]{8,15}|220[0-4][0-9]{12,15}|222[1-9][0-9]{12})",
        any in "[0-9]{12,19}", last in 1_u32..10
    ) {
        // the other knows no number of 13 digits of Visa's Electron
        let electron = ["4026", "4175", "4405", "4508", "4844", "4913", "4917"];
        prop_assume!(issued.len() != 13 || !electron.iter().any(|first| issued.starts_with(first)));
        let known = card_validate::Validate::from(&issued).is_ok();
        prop_assert_eq!(known, card(&issued), "{}", issued);
        for digits in [issued, any] {
            prop_assert!(!card(&digits) || luhn::valid(&digits), "{digits}");
            if !card(&digits) {
                continue;
            }
            let (rest, digit) = digits.split_at(digits.len() - 1);
            let other = (digit.parse::<u32>().unwrap() + last) % 10;
            let (mistyped, spaced) = (format!("{rest}{other}"), format!("{} {}", &digits[..6], &digits[6..]));
            prop_assert!(!card(&mistyped), "{mistyped}");
            prop_assert!(card(&spaced), "{spaced}");
        }
    }

    /// The same of bank accounts, with right check digits and any others.
    #[test]
    fn bank_accounts_are_those_of_an_independent_check(
        country in "[A-Z]{2}", check in "[0-9]{2}", account in "[A-Z0-9]{11,30}", spaced in any::<bool>()
    ) {
        let known = |text: &str| text.parse::<iban::BaseIban>().is_ok();
        let right = (2..=98).map(|digits| format!("{country}{digits:02}{account}")).find(|text| known(text));
        for text in right.into_iter().chain([format!("{country}{check}{account}")]) {
            let shown = match (spaced, text.parse::<iban::BaseIban>()) {
                (true, Ok(number)) => number.to_string(),
                _ => text.clone(),
            };
            // a number of a country that has none, or of another length, is none
            let registered = text.parse::<iban::Iban>().is_ok();
            prop_assert!(!registered || iban(&shown), "{shown}");
            prop_assert!(!iban(&shown) || known(&text), "{shown}");
        }
    }

    /// An address that another implementation takes for one, with a dot in its host, is found, if perhaps without the first signs.
    #[test]
    fn addresses_are_those_of_an_independent_check(
        local in "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,10}(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,10}){0,2}",
        host in "[A-Za-z0-9]([A-Za-z0-9-]{0,8}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,8}[A-Za-z0-9])?){0,2}\\.[a-z]{2,6}",
    ) {
        let address = format!("{local}@{host}");
        let is_file = ["js", "css", "gif", "jpg", "png", "svg"].iter().any(|end| host.ends_with(&format!(".{end}")))
            || ["html", "jpeg", "json", "webp"].iter().any(|end| host.ends_with(&format!(".{end}")));
        if email_address::EmailAddress::is_valid(&address) && !is_file {
            let found = call("pii.texts", &[&Value::text(&address), &Value::text("email")]).unwrap();
            let Value::List(found) = found else { panic!("it gives a list") };
            let one = found.iter().any(|text| text.as_str().is_some_and(|text| text.ends_with(&format!("@{host}"))));
            prop_assert!(one, "{address}: {}", shown(&Value::List(found)));
        }
    }

    /// Tokens of GitHub and npm, whatever their last six characters are.
    #[test]
    fn tokens_are_found_with_any_checksum(random in "[A-Za-z0-9]{36}", prefix in "gh[pousr]|npm") {
        let (token, shorter) = (format!("{prefix}_{random}"), format!("{prefix}_{}", &random[1..]));
        prop_assert!(has("secrets", &Value::text(&token)));
        prop_assert!(!has("secrets", &Value::text(&shorter)));
    }
}
