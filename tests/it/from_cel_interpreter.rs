//! The page for those who come from the crate `cel`: both its programs run, and each row of its tables is what the two crates
//! say.

use crate::laws_values::{Plain, PlainKey};
use cel::extractors::This;
use cel::objects::{Key, Map, Opaque};
use celador_cel::cel_interpreter::SharedContext;
use celador_cel::diagnostic::Severity;
use celador_cel::{EXTENSIONS, Env, EnvBuilder, EvalLimits, Issue, Program, STANDARD, Stop, Type, Value};
use chrono::TimeZone;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[path = "../../examples/from_cel_interpreter/after.rs"]
mod after;
#[path = "../../examples/from_cel_interpreter/before.rs"]
mod before;

const PAGE: &str = "docs/from-cel-interpreter.md";

/// Only one test at a time brings the page up to date.
static WRITING: Mutex<()> = Mutex::new(());

/// How often a result without an order is looked at.
const LOOKS: usize = 64;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap()
}

/// A program as the page shows it: without its header, and visible for this test alone.
fn program(file: &str) -> String {
    let text = read(file);
    let (_, program) = text.split_once("\n\n").unwrap();
    program.replace("pub(crate) fn", "fn")
}

#[test]
fn both_programs_decide_the_same() {
    let decided = ["gold", "silver", "bronze"].map(|tier| {
        let (before, after) = (before::decide(tier).unwrap(), after::decide(tier).unwrap());
        assert_eq!(before, after, "{tier}");
        after
    });
    assert_eq!(decided, [[true, true, true], [false, true, true], [false, true, true]]);
    before::main().unwrap();
    after::main().unwrap();
}

#[test]
fn the_page_shows_both_programs() {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut page = read(PAGE);
    for (heading, file) in [("Before", "before.rs"), ("After", "after.rs")] {
        let begin = format!("{heading}:\n\n```rust\n");
        let (head, rest) = page.split_once(&begin).unwrap();
        let (shown, tail) = rest.split_once("```\n").unwrap();
        let program = program(&format!("examples/from_cel_interpreter/{file}"));
        if std::env::var_os("UPDATE_EXPECT").is_none() {
            assert_eq!(shown, program, "{file}");
        }
        page = format!("{head}{begin}{program}```\n{tail}");
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path(PAGE), page).unwrap();
    }
}

/// The table has each line that only one of the programs has, on its side and in its order, and no other.
#[test]
fn the_lines_that_change_are_all_that_differ() {
    let programs =
        ["before.rs", "after.rs"].map(|file| program(&format!("examples/from_cel_interpreter/{file}")));
    let [before, after] = programs.each_ref().map(|program| -> Vec<&str> {
        program.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    });
    let page = read(PAGE);
    let (_, table) = page.split_once("| before | after |\n|---|---|\n").unwrap();
    let mut shown = [Vec::new(), Vec::new()];
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let cells = cells(row);
        assert_eq!(cells.len(), 2, "{row}");
        for (cell, side) in cells.iter().zip(&mut shown).filter(|(cell, _)| !cell.is_empty()) {
            side.push(code(cell).to_owned());
        }
    }
    let [left, right] = shown;
    assert_eq!((left, right), differing(&before, &after));
}

/// The lines of either text that are in no longest row of lines which both have.
fn differing(before: &[&str], after: &[&str]) -> (Vec<String>, Vec<String>) {
    // how many lines the ends of both have in common, from each place on
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for (left, line) in before.iter().enumerate().rev() {
        for (right, other) in after.iter().enumerate().rev() {
            common[left][right] = if line == other {
                common[left + 1][right + 1] + 1
            } else {
                common[left + 1][right].max(common[left][right + 1])
            };
        }
    }
    let (mut left, mut right) = (0, 0);
    let mut differ = (Vec::new(), Vec::new());
    while left < before.len() || right < after.len() {
        if left < before.len() && right < after.len() && before[left] == after[right] {
            (left, right) = (left + 1, right + 1);
        } else if right == after.len()
            || (left < before.len() && common[left + 1][right] >= common[left][right + 1])
        {
            differ.0.push(before[left].to_owned());
            left += 1;
        } else {
            differ.1.push(after[right].to_owned());
            right += 1;
        }
    }
    differ
}

/// The cells of a row; a bar inside of one is written `\|`.
fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{1}");
    let cells = row.trim().trim_start_matches('|').trim_end_matches('|').split('|');
    cells.map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

fn row(cells: &[String]) -> String {
    let escaped = cells.iter().map(|cell| cell.replace('|', "\\|"));
    let cells = escaped.map(|cell| if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") });
    format!("|{}|", cells.collect::<Vec<_>>().join("|"))
}

/// The code of a cell.
fn code(cell: &str) -> &str {
    cell.strip_prefix('`')
        .and_then(|cell| cell.strip_suffix('`'))
        .unwrap_or_else(|| panic!("no code: {cell}"))
}

/// The function of the page.
fn rank(This(tier): This<Arc<String>>) -> Result<i64, cel::ExecutionError> {
    match tier.as_str() {
        "gold" => Ok(2),
        _ => Err(cel::ExecutionError::function_error("rank", format!("{tier} is no tier"))),
    }
}

/// A value of the host's own.
#[derive(Debug, PartialEq, Eq)]
struct Handle;

impl Opaque for Handle {
    fn runtime_type_name(&self) -> &str {
        "host.Handle"
    }
}

/// The variables and the functions of the page.
fn shared() -> SharedContext<'static, 'static> {
    let order = json!({
        "id": 7, "total": 120.5, "lines": [{ "price": 20.5 }, { "price": 100.0 }], "note": "",
    });
    let mut shared = SharedContext::new(cel::Context::default());
    shared.context_mut().add_variable("order", order).unwrap();
    shared.context_mut().add_variable("limit", 100_i64).unwrap();
    shared.context_mut().add_variable("tier", "gold").unwrap();
    shared.add_function("rank", rank).unwrap();
    shared.declare_function("rank", &["string.rank() -> int"]).unwrap();
    let deep = (0..100).fold(list(Vec::new()), |inner, _| list(vec![inner]));
    let keys: HashMap<Key, cel::Value> = [(Key::Int(1), "a".into()), (Key::Uint(1), "b".into())].into();
    let upload: HashMap<Key, cel::Value> =
        [("name".into(), "a.pdf".into()), ("file".into(), cel::Value::Opaque(Arc::new(Handle)))].into();
    let far = chrono::Utc.with_ymd_and_hms(12_000, 1, 1, 0, 0, 0).unwrap().fixed_offset();
    for (name, value) in [
        ("upload", cel::Value::Map(Map { map: Arc::new(upload) })),
        ("deep", deep),
        ("keys", cel::Value::Map(Map { map: Arc::new(keys) })),
        ("far", cel::Value::Timestamp(far)),
    ] {
        shared.context_mut().add_variable_from_value(name, value);
    }
    shared.add_function("boom", || -> bool { panic!("a function of the page") }).unwrap();
    shared.add_function("label", |tier: Arc<String>| tier.to_uppercase()).unwrap();
    shared.declare_function("label", &["label(string) -> int"]).unwrap();
    shared
}

fn list(items: Vec<cel::Value>) -> cel::Value {
    cel::Value::List(Arc::new(items))
}

/// What that crate says: a value, or why there is none.
fn theirs(expression: &str) -> Result<Plain, (&'static str, String)> {
    let outcome = catch_unwind(|| {
        let compiled = cel::Env::stdlib().compile(expression);
        let program = compiled.map_err(|errors| ("refused", errors.to_string()))?;
        let value = program.execute(shared().context()).map_err(|error| ("error", error.to_string()))?;
        Ok(Plain::from(&Value::try_from_cel(&value, &EvalLimits::default()).unwrap()))
    });
    outcome.unwrap_or_else(|_| Err(("panic", String::new())))
}

/// What came of an expression here.
struct Ours {
    outcome: Result<Plain, (String, String)>,
    issues: Vec<Issue>,
}

fn ours(expression: &str) -> Ours {
    let shared = shared();
    let limits = EvalLimits { max_cost: 10_000, ..EvalLimits::default() };
    let scope = Env::builder().variable("limit", Type::Int).variable("tier", Type::String).limits(limits);
    let scope = STANDARD.iter().chain(EXTENSIONS).copied().fold(scope, EnvBuilder::library);
    let env = shared.scope(scope).build();
    let program = match Program::compile(&env, expression) {
        Ok(program) => program,
        Err(issues) => {
            let first = issues.iter().find(|issue| issue.severity == Severity::Error).unwrap();
            let refused = (format!("refused: `{}`", first.code), first.message.clone());
            return Ours { outcome: Err(refused), issues: Vec::new() };
        }
    };
    let activation = match shared.activation(&env, program.variables()) {
        Ok(activation) => activation,
        Err(error) => {
            let outcome = Err(("unbound".to_owned(), error.to_string()));
            return Ours { outcome, issues: program.issues().to_vec() };
        }
    };
    let outcome = match program.run(&activation, Some(&mut shared.functions(&env))) {
        Ok(value) => Ok(Plain::from(&value)),
        Err(Stop::Failed(error)) => Err((format!("error: `{}`", error.code), error.to_string())),
        Err(Stop::Asked) => unreachable!("no function asks"),
    };
    Ours { outcome, issues: program.issues().to_vec() }
}

/// A value as CEL text.
fn text(value: &Plain) -> String {
    let key = |key: &PlainKey| match key {
        PlainKey::Bool(key) => key.to_string(),
        PlainKey::Int(key) => key.to_string(),
        PlainKey::UInt(key) => format!("{key}u"),
        PlainKey::String(key) => format!("'{key}'"),
    };
    match value {
        Plain::Null => "null".to_owned(),
        Plain::Bool(value) => value.to_string(),
        Plain::Int(value) => value.to_string(),
        Plain::UInt(value) => format!("{value}u"),
        Plain::Double(bits) => format!("{:?}", f64::from_bits(*bits)),
        Plain::String(text) if text.len() > 60 => format!("'{}…'", text.get(..12).unwrap()),
        Plain::String(text) => format!("'{text}'"),
        Plain::Bytes(bytes) => format!("b'{}'", bytes.escape_ascii()),
        Plain::Timestamp(nanos) => {
            format!("timestamp('{}')", celador_cel::Timestamp::from_nanos(*nanos).unwrap())
        }
        Plain::Duration(nanos) => {
            format!("duration('{}')", celador_cel::Duration::from_nanos(*nanos).unwrap())
        }
        Plain::List(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        Plain::Map(entries) => {
            let entries = entries.iter().map(|(name, value)| format!("{}: {}", key(name), text(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Plain::Optional(None) => "optional.none()".to_owned(),
        Plain::Optional(Some(value)) => format!("optional.of({})", text(value)),
        Plain::Other(shown) => {
            let name = shown.split('"').nth(1).unwrap_or_else(|| panic!("{shown}"));
            format!("the type {name}")
        }
    }
}

/// Rows of expressions: what each crate says of it, as the page shows it.
#[test]
fn each_row_is_what_both_crates_say() {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let page = read(PAGE);
    let (mut shown, mut seen, mut misplaced) = (String::new(), [0, 0], Vec::new());
    let mut section = "";
    for line in page.lines() {
        section = line.strip_prefix("## ").unwrap_or(section);
        let place = ["What is different", "What stays"].iter().position(|name| *name == section);
        let is_row = line.starts_with('|') && line.contains('`') && !line.starts_with("| what |");
        let Some(place) = place.filter(|_| is_row) else {
            shown.push_str(line);
            shown.push('\n');
            continue;
        };
        seen[place] += 1;
        let mut cells = cells(line);
        assert_eq!(cells.len(), 5, "{line}");
        let expression = code(&cells[1]).to_owned();
        let (theirs, ours) = (theirs(&expression), ours(&expression));
        let same = match (&theirs, &ours.outcome) {
            (Ok(theirs), Ok(ours)) => theirs == ours,
            (Err((how, _)), Err((said, _))) => said.starts_with(how),
            _ => false,
        };
        let is_warned = !ours.issues.is_empty();
        // an order that changes from run to run is no result to be compared
        let looks = if matches!(theirs, Ok(Plain::List(_))) { LOOKS } else { 0 };
        let results: BTreeSet<String> =
            (0..looks).map_while(|_| self::theirs(&expression).ok()).map(|value| text(&value)).collect();
        let any_order = results.len() > 1;
        if (same && !any_order && !is_warned) != (place == 1) {
            misplaced.push(expression);
        }
        cells[2] = match theirs {
            Ok(_) if any_order => "any order".to_owned(),
            Ok(value) => quoted(&value),
            Err((how, _)) => how.to_owned(),
        };
        cells[3] = match &ours.outcome {
            Ok(value) => quoted(value),
            Err((how, _)) => how.clone(),
        };
        let codes: BTreeSet<String> = ours.issues.iter().map(|issue| format!("`{}`", issue.code)).collect();
        if !codes.is_empty() {
            cells[3] += &format!("; warned: {}", codes.into_iter().collect::<Vec<_>>().join(", "));
        }
        shown.push_str(&row(&cells));
        shown.push('\n');
    }
    assert!(misplaced.is_empty(), "in the wrong table:\n{}", misplaced.join("\n"));
    assert_eq!(seen, [36, 24], "rows of what is different and of what stays");
    settle(&page, &shown);
}

fn quoted(value: &Plain) -> String {
    match value {
        Plain::Other(_) => text(value),
        value => format!("`{}`", text(value)),
    }
}

/// The rows of what errors say: the texts of both, and no data in ours.
#[test]
fn errors_say_what_the_page_says() {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let page = read(PAGE);
    let (head, table) = page.split_once("| expression | `cel` 0.15 | Celador |\n|---|---|---|\n").unwrap();
    let head = format!("{head}| expression | `cel` 0.15 | Celador |\n|---|---|---|\n");
    let mut shown = head;
    let mut rows = 0;
    for line in table.lines() {
        if line.starts_with('|') {
            rows += 1;
            let mut cells = cells(line);
            let expression = code(&cells[0]).to_owned();
            let Err((_, ours)) = ours(&expression).outcome else { panic!("{expression} gives a value") };
            // what that crate has a value for, it has no text for
            let theirs = theirs(&expression).err().map_or_else(
                || "no error".to_owned(),
                |(how, text)| {
                    if text.is_empty() { how.to_owned() } else { text }
                },
            );
            let without_bound = ours.replace("`max_json_depth` 100", "");
            for data in ["gold", "100", "tin", "20.5", "a.pdf", "file"] {
                assert!(!without_bound.contains(data), "{ours}");
            }
            cells[1] = theirs;
            cells[2] = ours;
            shown.push_str(&row(&cells));
        } else {
            shown.push_str(line);
        }
        shown.push('\n');
    }
    assert_eq!(rows, 7);
    settle(&page, &shown);
}

/// The page shows this, or does from now on.
fn settle(page: &str, shown: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path(PAGE), shown).unwrap();
    } else {
        let wrong = page.lines().zip(shown.lines()).filter(|(page, shown)| page != shown);
        let wrong: Vec<String> =
            wrong.map(|(page, shown)| format!("the page: {page}\nnow:      {shown}")).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
