//! Command lines: whatever is read is read again as the same, once it is written with every word in quotes.

use super::call;
use celador::cel::{EvalLimits, List, Map, Value};

/// Reads a line both ways and writes its words again.
pub fn shell(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Some(parsed) = lists("shell.parse", line) else {
        assert!(lists("shell.commands", line).is_none(), "words of a line that cannot be read");
        return;
    };
    // the files of redirections are among those of the line, unless there are too many
    if let Some(paths) = lists("shell.paths", line) {
        let redirected = |name: &'static str| parsed.iter().flat_map(move |command| files(command, name));
        let count =
            redirected("reads").chain(redirected("writes")).filter(|file| file != "/dev/null").count();
        assert!(paths.len() >= count, "{paths:?}");
    }
    let words: Vec<Vec<String>> = parsed.iter().map(|command| words(command)).collect();
    if let Some(alone) = lists("shell.commands", line) {
        let alone: Vec<Vec<String>> = alone.iter().map(|command| texts(command)).collect();
        assert_eq!(alone, words);
    }
    let commands: Vec<String> =
        words.iter().filter(|words| !words.is_empty()).map(|words| quoted(words)).collect();
    let again = lists("shell.commands", &commands.join(";")).expect("words in quotes can be read");
    let again: Vec<Vec<String>> = again.iter().map(|command| texts(command)).collect();
    assert_eq!(again, words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>());
}

fn lists(name: &str, line: &str) -> Option<Vec<Value<'static>>> {
    let commands = call(name, &Value::owned_text(line), &EvalLimits::default()).ok()?;
    let Value::List(commands) = commands else { panic!("commands are a list") };
    Some(commands.iter().collect())
}

fn files(command: &Value<'_>, name: &str) -> Vec<String> {
    let Value::Map(fields) = command else { panic!("a command is a map") };
    texts(&Map::get_str(fields, name).expect("a command has files"))
}

fn words(command: &Value<'_>) -> Vec<String> {
    let Value::Map(fields) = command else { panic!("a command is a map") };
    texts(&Map::get_str(fields, "words").expect("a command has words"))
}

fn texts(list: &Value<'_>) -> Vec<String> {
    let Value::List(list) = list else { panic!("words are a list") };
    List::iter(list).map(|text| text.as_str().expect("a word is text").to_owned()).collect()
}

fn quoted(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}
