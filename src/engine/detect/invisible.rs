//! Characters that are not shown: the one definition for policies, copies of values, and descriptions of tools.
//!
//! A person who reads a text does not see them, and a model reads them. The definition goes by properties of Unicode, not by a list, so that it grows
//! with Unicode: format characters, default ignorables (fillers, joiners, variation selectors, tags), separators of lines and
//! paragraphs, control characters but tabs and line ends, and three symbols that are drawn as nothing.
//!
//! Some of them belong to what is shown: a joiner or a variation selector in an emoji, a joiner between letters of scripts that are written with
//! it, and a byte order mark at the beginning. [`has_invisible`] accepts these. [`without_invisible`] removes all.

use super::reading::{Characters, characters, is_of};
use crate::cel::{Code, ErrorCode, Fault, Function, Meter, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

static INVISIBLE: Characters = LazyLock::new(|| {
    characters(
        r"[[\p{Cc}--[\t\n\r]]\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x{2800}\x{FFFC}\x{1D159}]",
    )
});
static PICTOGRAPHS: Characters = LazyLock::new(|| characters(r"\p{Extended_Pictographic}"));
/// Scripts in which a joiner between two letters changes how they are drawn.
static JOINED: Characters = LazyLock::new(|| {
    characters(
        r"[\p{Arabic}\p{Syriac}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}&&[\p{L}\p{M}]]",
    )
});

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a character is not shown, wherever it stands.
///
/// ```
/// use celador::detect::is_invisible;
/// assert!(['\u{ad}', '\u{200b}', '\u{3164}', '\u{e0041}', '\u{2028}', '\u{2800}', '\u{1b}'].into_iter().all(is_invisible));
/// assert!(!['a', ' ', '\n', 'é', '漢', '\u{a0}'].into_iter().any(is_invisible));
/// ```
#[must_use]
pub fn is_invisible(letter: char) -> bool {
    match letter {
        ' '..='~' | '\t' | '\n' | '\r' => false,
        letter => is_of(&INVISIBLE, letter),
    }
}

/// Whether a text has a character that is not shown and is no part of one that is.
///
/// ```
/// use celador::detect::has_invisible;
/// assert!(has_invisible("delete\u{200d}all") && has_invisible("a\u{fe0f}"));
/// assert!(!has_invisible("done ✔\u{fe0f} 👩\u{200d}💻 1\u{fe0f}\u{20e3} می\u{200c}خواهم"));
/// ```
#[must_use]
pub fn has_invisible(text: &str) -> bool {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')) {
        return false;
    }
    // the last character that is shown and is no modifier of a skin
    let mut base = None;
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if is_invisible(letter) {
            if !is_part(letter, before, base, letters.peek().copied()) {
                return true;
            }
        } else if !('\u{1f3fb}'..='\u{1f3ff}').contains(&letter) {
            base = Some(letter);
        }
        before = Some(letter);
    }
    false
}

/// Whether a character that is not shown belongs to the one before it, or joins that with the next one.
fn is_part(letter: char, before: Option<char>, base: Option<char>, next: Option<char>) -> bool {
    let is = |class: &Characters, letter: Option<char>| letter.is_some_and(|letter| is_of(class, letter));
    match letter {
        BYTE_ORDER_MARK => before.is_none(),
        // one selector for each pictograph, or for the digit of a keycap
        '\u{fe0e}' | '\u{fe0f}' => is(&PICTOGRAPHS, before) || next == Some(KEYCAP),
        ZERO_WIDTH_JOINER if is(&PICTOGRAPHS, base) => {
            before != Some(ZERO_WIDTH_JOINER) && is(&PICTOGRAPHS, next)
        }
        ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => is(&JOINED, before) && is(&JOINED, next),
        _ => false,
    }
}

/// The text without any character that is not shown. One that parts words is a space or a line end afterwards.
///
/// ```
/// use celador::detect::without_invisible;
/// assert_eq!(without_invisible("ig\u{ad}nore\u{2028}all\u{2800}rules"), "ignore\nall rules");
/// ```
#[must_use]
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    let shown = |letter: char| match letter {
        '\u{2800}' => Some(' '),
        letter if !is_invisible(letter) => Some(letter),
        letter => letter.is_whitespace().then_some('\n'),
    };
    if text.chars().any(is_invisible) {
        Cow::Owned(text.chars().filter_map(shown).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// The row of `invisible.has`.
pub(super) const HAS: Function = Function {
    name: "invisible.has",
    doc: "whether a value has a character that is not shown: of format, ignorable, a filler, a tag, a control character but tabs and line ends; in any text \
          inside, keys too. Parts of emoji and joiners in scripts that need them do not count",
    cost: "1 for each part, and a tenth of the length of its texts",
    overloads: &[("invisible_has", "invisible.has(dyn) -> bool")],
    examples: &[
        (r"invisible.has('delete\u200Ball')", "true"),
        (r"invisible.has({'a': ['x\u3164y']})", "true"),
        (r"invisible.has('s\uFE0Fend')", "true"),
        (r"invisible.has('done \u2714\uFE0F')", "false"),
        (r"invisible.has('plain, with\ttabs\n')", "false"),
    ],
    code: Code::Pure(|meter, args| match args {
        [value] => has(meter, value).map(Value::Bool),
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

/// The row of `invisible.strip`.
pub(super) const STRIP: Function = Function {
    name: "invisible.strip",
    doc: "the text without any character that is not shown, so that none parts the words that a rule looks for; a separator of lines becomes a line end, and a blank of Braille a space",
    cost: "1, and two tenths of the length of the text",
    overloads: &[("invisible_strip", "invisible.strip(string) -> string")],
    examples: &[
        (r"invisible.strip('ig\u00ADno\u200Dre')", "'ignore'"),
        ("invisible.strip('plain')", "'plain'"),
    ],
    code: Code::Pure(|meter, args| match args {
        [Value::String(text)] => {
            meter.charge_text(text.len())?;
            meter.charge_built(text.len())?;
            Ok(Value::owned_text(without_invisible(text).into_owned()))
        }
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

fn has(meter: &mut Meter<'_>, value: &Value<'_>) -> Result<bool, Fault> {
    meter.charge(1)?;
    match value {
        Value::String(text) => {
            meter.charge_text(text.len())?;
            Ok(has_invisible(text))
        }
        Value::List(list) => {
            for item in list.iter() {
                if has(meter, &item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => {
            for (key, value) in map.iter() {
                if has(meter, &key.value())? || has(meter, &value)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Optional(Some(value)) => has(meter, value),
        Value::Shortened => Err(ErrorCode::ValueShortened.into()),
        _ => Ok(false),
    }
}
