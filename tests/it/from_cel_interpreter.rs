//! The page for those who come from the crate `cel`: both its programs run, and each row of its tables is what the two crates
//! say.

use crate::laws_values::{Plain, PlainKey};
use cel::extractors::This;
use celador_cel::cel_interpreter::SharedContext;
use celador_cel::diagnostic::Severity;
use celador_cel::{EXTENSIONS, Env, EnvBuilder, EvalLimits, Issue, Program, STANDARD, Stop, Type, Value};
use serde_json::json;
use std::collections::BTreeSet;
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

/// Each line of the table stands in the program of its side.
#[test]
fn the_lines_that_change_are_lines_of_the_programs() {
    let programs =
        ["before.rs", "after.rs"].map(|file| program(&format!("examples/from_cel_interpreter/{file}")));
    let page = read(PAGE);
    let (_, table) = page.split_once("| before | after |\n|---|---|\n").unwrap();
    let mut lines = 0;
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        for (shown, program) in cells(row).iter().zip(&programs).filter(|(shown, _)| !shown.is_empty()) {
            let line = code(shown);
            assert!(program.lines().any(|other| other.trim() == line), "no line of the program: {line}");
            lines += 1;
        }
    }
    assert_eq!(lines, 14);
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

/// The variables and the function of the page.
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
    shared
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
    let activation = shared.activation(&env, program.variables()).unwrap();
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
    assert_eq!(seen, [28, 24], "rows of what is different and of what stays");
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
            let (Err((_, theirs)), Err((_, ours))) = (theirs(&expression), ours(&expression).outcome) else {
                panic!("{expression} gives a value")
            };
            for data in ["gold", "100", "tin", "20.5"] {
                assert!(!ours.contains(data), "{ours}");
            }
            cells[1] = theirs;
            cells[2] = ours;
            shown.push_str(&row(&cells));
        } else {
            shown.push_str(line);
        }
        shown.push('\n');
    }
    assert_eq!(rows, 3);
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
