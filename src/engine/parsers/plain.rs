//! `plain.text`: texts in the spelling that a search expects.
//!
//! A text in markup, with entities, escapes, full-width letters or characters that are not shown means the same to a model and to a person, and
//! another text to a pattern. Programs differ in what they do with markup, so the result has each reading on lines of its own:
//! the text as it is written, the shown text with and without a blank in the place of each tag, and what markup hides.

use super::{Lists, each_string};
use crate::cel::{Code, Fault, Function, Meter, Value};
use crate::detect::Reading;
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, Token, Tokenizer};
use indexmap::IndexSet;
use std::borrow::Cow;

/// The readings of a text with markup.
const READINGS: usize = 4;

/// Elements that are shown without a break before and after.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q", "s",
    "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// The row of `plain.text`.
pub(super) const TEXT: Function = Function {
    name: "plain.text",
    doc: "the texts of a value in the spelling that a search expects: without characters that are not shown and accents, full-width and other compatible \
          characters and percent-escapes as what they stand for. A text with tags or entities is there several times, on lines of its own: as it is written, \
          as a page shows it, and with what a page hides. Texts of a list are there one by one and as one text",
    cost: "1 for each part, a tenth of the length of the texts for each reading, and what is built",
    overloads: &[("plain_text", "plain.text(dyn) -> string")],
    examples: &[
        (r"plain.text('ig\u00ADno\u200Dre')", "'ignore'"),
        (r"plain.text('\uFF49gnore%20all')", "'ignore all'"),
        ("plain.text('<b>ig</b>nore&#32;all').contains('ignore all')", "true"),
        ("plain.text('ignore<br>all').contains('ignore all')", "true"),
        ("plain.text('a<!-- ignore all -->').contains('ignore all')", "true"),
        ("plain.text([{'text': 'ignore '}, {'text': 'all'}]).contains('ignore all')", "true"),
        ("plain.text({'a': ['b', 7]})", r"'a\nb'"),
    ],
    code: Code::Pure(|meter, args| match args {
        [value] => plain(meter, value),
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

fn plain<'a>(meter: &mut Meter<'_>, value: &Value<'a>) -> Result<Value<'a>, Fault> {
    let mut lines: IndexSet<String> = IndexSet::new();
    each_string(meter, value, Lists::Joined, &mut |meter, text| {
        let mut add = |meter: &mut Meter<'_>, text: &str| {
            let line = Reading::of(meter, text)?.text().to_owned();
            meter.charge_built(line.len())?;
            lines.insert(line);
            Ok(())
        };
        add(meter, text)?;
        if !text.contains(['<', '&']) {
            return Ok(());
        }
        meter.charge_text(text.len().saturating_mul(READINGS))?;
        Page::read(text).readings().into_iter().try_for_each(|reading| add(meter, &reading))
    })?;
    Ok(Value::owned_text(lines.into_iter().collect::<Vec<_>>().join("\n")))
}

/// A page in each reading.
#[derive(Default)]
struct Page {
    /// Shown text, with nothing in the place of tags.
    connected: String,
    /// Shown text, with a blank in the place of tags that are not inline.
    shown: String,
    /// Shown text, with a blank in the place of every tag.
    parted: String,
    /// Comments and values of attributes.
    hidden: String,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(false);
        for token in Tokenizer::new_with_emitter(text, emitter).flatten() {
            match token {
                Token::String(content) => {
                    let content = utf8(&content);
                    [&mut page.connected, &mut page.shown, &mut page.parted]
                        .into_iter()
                        .for_each(|reading| reading.push_str(&content));
                }
                Token::StartTag(tag) => {
                    page.part(&utf8(&tag.name));
                    for value in tag.attributes.values() {
                        page.hide(&utf8(value));
                    }
                }
                Token::EndTag(tag) => page.part(&utf8(&tag.name)),
                Token::Comment(content) => page.hide(&utf8(&content)),
                Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        page
    }

    fn part(&mut self, element: &str) {
        self.parted.push(' ');
        if !INLINE.contains(&element) {
            self.shown.push(' ');
        }
    }

    fn hide(&mut self, text: &str) {
        self.hidden.push_str(text);
        self.hidden.push('\n');
    }

    fn readings(self) -> [String; READINGS] {
        [self.connected, self.shown, self.parted, self.hidden]
    }
}

fn utf8(text: &HtmlString) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}
