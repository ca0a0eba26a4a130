//! The tables of the three interfaces: every member of a request and of an answer that goes on, and every kind of message, block and tool.
//!
//! They follow the types of the makers' own clients (`openai` 3.57, `anthropic` 2.14), with what other makers of the same interface
//! are known to add. What is not here does not pass.

pub(super) mod chat;
pub(super) mod chat_answer;
pub(super) mod messages;
pub(super) mod messages_answer;
pub(super) mod messages_tools;
pub(super) mod responses;
pub(super) mod responses_answer;
pub(super) mod responses_tools;

use super::shape::{Kinds, Shape};
use celador_server::traffic::Form;

/// Counts of tokens and the like: numbers, words for what is counted, and members of these.
pub(super) static NUMBERS: Shape =
    Shape::Either(&[Shape::Number, Shape::Bool, Shape::Word, Shape::Map(&NUMBERS), Shape::List(&NUMBERS)]);

pub(super) static WORD: Shape = Shape::Word;
pub(super) static OWN: Shape = Shape::Own;
pub(super) static NUMBER: Shape = Shape::Number;
pub(super) static RAW: Shape = Shape::Raw;
pub(super) const WORDS: Shape = Shape::List(&WORD);

/// What the cache of a maker is told.
pub(super) const CACHE: Shape =
    Shape::Object(&[("mode", Shape::Word), ("type", Shape::Word), ("ttl", Shape::Word)]);

/// The tables by the name of what they are about.
static TABLES: [(&str, &Kinds); 17] = [
    ("chat completions, request", &chat::MESSAGES),
    ("chat completions, request", &chat::PARTS),
    ("chat completions, request", &chat::TOOLS),
    ("chat completions, request and answer", &chat_answer::CALLS),
    ("chat completions, answer", &chat_answer::PARTS),
    ("responses, request", &responses::ITEMS),
    ("responses, request", &responses::PARTS),
    ("responses, request", &responses_tools::TOOLS),
    ("responses, answer", &responses_answer::ITEMS),
    ("responses, answer", &responses_answer::PARTS),
    ("messages, request", &messages::MESSAGES),
    ("messages, request", &messages::BLOCKS),
    ("messages, request", &messages::SOURCES),
    ("messages, request", &messages_tools::TOOLS),
    ("messages, answer", &messages_answer::BLOCKS),
    ("responses, answer in events", &responses_answer::EVENTS),
    ("messages, answer in events", &messages_answer::EVENTS),
];

/// One row for each kind of message, block, item and tool.
pub(super) fn forms() -> Vec<Form> {
    let rows = TABLES.iter().flat_map(|(from, kinds)| {
        kinds.rows.iter().map(move |row| Form {
            name: row.name,
            from,
            treatment: row.treatment,
            note: row.note,
        })
    });
    rows.collect()
}
