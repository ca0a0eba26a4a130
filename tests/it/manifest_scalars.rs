//! Every character of a scalar's value is found again in the file, in every style of YAML.

use celador::limits::EngineLimits;
use celador::manifest::yaml;
use celador::source::{Embedded, Source, Span};
use proptest::prelude::*;

/// The value of the one key of a document.
fn value_of(text: &str) -> Option<(Source, Embedded)> {
    let source = Source::new("test.yaml", text);
    let mut findings = Vec::new();
    let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
    let embedded = documents.first()?.node.get("key")?.as_string()?.clone();
    Some((source, embedded))
}

/// Each character stands in the file where it is said to stand: as itself, as the end of its escape, or as the line
/// break that folding made a space of.
fn assert_found_again(source: &Source, value: &Embedded) -> Result<(), TestCaseError> {
    let has_escapes = source.slice(value.place.span).starts_with('"');
    let mut last = None;
    if value.text.trim().is_empty() && !has_escapes {
        return Ok(());
    }
    for (at, character) in value.text.char_indices() {
        let place = value.locate(Span::new(at, at + character.len_utf8()));
        let range = place.span.range();
        let found = source.text().get(range.clone());
        let Some(found) = found else {
            return Err(TestCaseError::fail(format!("{character:?} at {at} is said to be at {range:?}")));
        };
        prop_assert!(last < Some(range.start), "{} goes back at {at}", source.text());
        last = Some(range.start);
        let before = &source.text()[..range.start];
        let is_itself = found.starts_with(character);
        let is_break = matches!(character, ' ' | '\n') && matches!(found, "\n" | "\r");
        let is_escape = has_escapes
            && (found.starts_with('\\') || before.rfind('\\').is_some_and(|at| range.start - at < 12));
        prop_assert!(
            is_itself || is_break || is_escape,
            "{character:?} at {at} is said to be {found:?} at {range:?} of\n{}",
            source.text()
        );
    }
    Ok(())
}

/// Every character is itself or a line break; for styles without escapes.
fn check(text: &str, wanted: Option<&str>) -> Result<(), TestCaseError> {
    let Some((source, value)) = value_of(text) else { return Ok(()) };
    if let Some(wanted) = wanted {
        prop_assert_eq!(&*value.text, wanted);
    }
    assert_found_again(&source, &value)
}

fn indent(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("{by}{line}\n") }).collect()
}

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec("[ ]{0,3}[a-zé😀'\"\\\\ ]{0,6}", 0..7).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn block_scalars(text in lines(), folded: bool, header in "[-+]?[1-4]?( # c)?", end in "(\nnext: 1\n)?", crlf: bool) {
        let style = if folded { '>' } else { '|' };
        let by = header.bytes().find(u8::is_ascii_digit).map_or(2, |digit| usize::from(digit - b'0'));
        let file = format!("key: {style}{header}\n{}{end}", indent(&text, &" ".repeat(by)));
        let file = if crlf { file.replace('\n', "\r\n") } else { file };
        check(&file, None)?;
        // Deeper down, and behind a list's dash.
        let deep = format!("a:\n  - key: {style}{header}\n{}", indent(&text, &" ".repeat(by + 4)));
        let source = Source::new("test.yaml", &*deep);
        let documents = yaml::parse(&source, &EngineLimits::default(), &mut Vec::new());
        let value = documents.first().and_then(|tree| {
            tree.node.get("a")?.as_sequence()?.first()?.get("key")?.as_string().cloned()
        });
        if let Some(value) = value {
            assert_found_again(&source, &value)?;
        }
    }

    #[test]
    fn double_quoted(raw in r#"([a-zé😀 ]|\\n|\\t|\\"|\\\\|\\x41|\\u00e9|\\U0001F600|\\uD83D\\uDE00|\\N|\\L|\n {1,4}|\\\n {1,4}|\n\n {1,3}|\t){0,12}"#) {
        check(&format!("key: \"{raw}\"\nnext: 1\n"), None)?;
    }

    #[test]
    fn single_quoted(raw in r"([a-zé😀 ]|''|\n {1,4}|\n\n {1,3}|\t){0,12}") {
        check(&format!("key: '{raw}'\nnext: 1\n"), None)?;
    }

    #[test]
    fn plain(raw in r"[a-zé😀]([a-zé😀. ]|\n {1,4}[a-z]|\n\n {1,3}[a-z]|\t){0,12}") {
        check(&format!("key: {raw}\nnext: 1\n"), None)?;
        check(&format!("{{key: {raw}, next: 1}}\n"), None)?;
    }

    #[test]
    fn any_text_as_json_string(text in "\\PC{0,20}") {
        let quoted = serde_json::to_string(&text).unwrap();
        check(&format!("key: {quoted}\n"), Some(&text))?;
    }

    #[test]
    fn no_text_panics(text in "[-a:#&*!|>'\"%@`{}\\[\\], \n\t\\\\<é0.~]{0,60}") {
        let source = Source::new("test.yaml", &*text);
        let mut findings = Vec::new();
        yaml::parse(&source, &EngineLimits::default(), &mut findings);
        for finding in findings {
            assert!(!finding.render(false).is_empty());
        }
    }
}

/// Spans at the ends of tokens underline all of them.
#[test]
fn spans_cover_escapes() {
    let rows = [
        ("key: \"a == \\\"b\\\" c\"", "\"b\"", "\"b\\\""),
        ("key: 'a == ''b'' c'", "'b'", "'b''"),
        ("key: >\n  one\n  two\n", "one two", "one\n  two"),
        ("key: |2\n    x\n   y\n", "x", "x"),
        ("key: \"\\u00e9é\"", "éé", "\\u00e9é"),
    ];
    for (text, part, wanted) in rows {
        let (source, value) = value_of(text).unwrap();
        let at = value.text.find(part).unwrap();
        let place = value.locate(Span::new(at, at + part.len()));
        assert_eq!(source.slice(place.span), wanted, "{text}");
    }
}
