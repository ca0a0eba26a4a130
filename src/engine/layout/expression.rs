//! The blanks of an expression: one on each side of an operator of two operands and behind a comma, none anywhere else.
//!
//! In: the text of an expression on one line. Out: the same words with other blanks between them. Literals, brackets and names stay as they are written, so
//! what a person has chosen (`r'\d+'`, `0x10`) is kept.

/// A word of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'t> {
    /// A name, a number or a text: an operand, or a function.
    Operand(&'t str),
    /// `in`, between two operands.
    In,
    /// `(`, `[` or `{`.
    Open(&'t str),
    /// `)`, `]` or `}`.
    Close(&'t str),
    /// `.` or `.?`.
    Dot(&'t str),
    Comma,
    /// Any other sign.
    Sign(&'t str),
}

/// The operators of two letters.
const LONG: [&str; 6] = ["&&", "||", "==", "!=", "<=", ">="];

/// An expression with plain blanks; nothing for a text that has a comment, a line break, or no words that the language knows.
pub(super) fn spaced(text: &str) -> Option<String> {
    let words = words(text)?;
    let mut written = String::with_capacity(text.len());
    let mut brackets: Vec<Bracket> = vec![Bracket::default()];
    let mut previous: Option<Word<'_>> = None;
    let mut tight = true;
    for word in words {
        // a blank ahead of this word, and whether the next one follows at once
        let (blank, glued) = match word {
            Word::Operand(_) => (!tight, false),
            Word::In => (true, false),
            Word::Open(open) => {
                let is_applied = matches!(previous, Some(Word::Operand(_) | Word::Close(_)));
                brackets.push(Bracket { is_map: open == "{", choices: 0 });
                (!tight && !is_applied, true)
            }
            Word::Close(_) => {
                brackets.pop();
                (false, false)
            }
            Word::Dot(_) => (!tight && !ends_operand(previous), true),
            Word::Comma => (false, false),
            Word::Sign(sign) => {
                let bracket = brackets.last_mut()?;
                let binary = ends_operand(previous);
                match sign {
                    "!" => (!tight, true),
                    "-" if !binary => (!tight, true),
                    // an element or key that may be absent
                    "?" if !binary => (!tight, true),
                    "?" => {
                        bracket.choices = bracket.choices.saturating_add(1);
                        (true, false)
                    }
                    ":" if bracket.is_map && bracket.choices == 0 => (false, false),
                    ":" => {
                        bracket.choices = bracket.choices.checked_sub(1)?;
                        (true, false)
                    }
                    _ => (true, false),
                }
            }
        };
        if blank && !written.is_empty() {
            written.push(' ');
        }
        written.push_str(word.text());
        tight = glued;
        previous = Some(word);
    }
    (brackets.len() == 1).then_some(written)
}

/// What is open around a word.
#[derive(Default)]
struct Bracket {
    is_map: bool,
    /// Conditions whose `:` is still to come.
    choices: usize,
}

/// Whether a word ends an operand, so that a sign behind it stands between two.
fn ends_operand(word: Option<Word<'_>>) -> bool {
    matches!(word, Some(Word::Operand(_) | Word::Close(_)))
}

impl<'t> Word<'t> {
    fn text(self) -> &'t str {
        match self {
            Self::Operand(text)
            | Self::Open(text)
            | Self::Close(text)
            | Self::Dot(text)
            | Self::Sign(text) => text,
            Self::In => "in",
            Self::Comma => ",",
        }
    }
}

/// The words of an expression.
fn words(text: &str) -> Option<Vec<Word<'_>>> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() || rest.contains(['\n', '\r']) {
        return None;
    }
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            return None;
        }
        let length = match first {
            _ if first.is_whitespace() => {
                rest = rest.trim_start();
                continue;
            }
            _ if text_length(rest).is_some() => text_length(rest)?,
            '`' => rest.get(1..)?.find('`')?.checked_add(2)?,
            _ if first.is_ascii_digit() => number_length(rest),
            _ if first.is_alphabetic() || first == '_' => name_length(rest),
            '.' if rest.starts_with(".?") => 2,
            _ if LONG.iter().any(|sign| rest.starts_with(sign)) => 2,
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at_checked(length)?;
        words.push(match word {
            "in" => Word::In,
            "(" | "[" | "{" => Word::Open(word),
            ")" | "]" | "}" => Word::Close(word),
            "." | ".?" => Word::Dot(word),
            "," => Word::Comma,
            "&&" | "||" | "==" | "!=" | "<=" | ">=" | "<" | ">" | "+" | "-" | "*" | "/" | "%" | "!" | "?"
            | ":" => Word::Sign(word),
            // a quote alone begins a text without an end
            "'" | "\"" => return None,
            _ if first.is_alphanumeric() || matches!(first, '_' | '\'' | '"' | '`') => Word::Operand(word),
            _ => return None,
        });
        rest = after;
    }
    Some(words)
}

/// How long the text literal is that something begins with.
fn text_length(rest: &str) -> Option<usize> {
    let quoted = rest.trim_start_matches(['r', 'R', 'b', 'B']);
    let prefix = rest.len().checked_sub(quoted.len()).filter(|length| *length <= 2)?;
    let is_raw = rest.get(..prefix)?.contains(['r', 'R']);
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let end = if quoted.starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = end.len();
    loop {
        let behind = quoted.get(at..)?;
        if behind.starts_with(&end) {
            return prefix.checked_add(at)?.checked_add(end.len());
        }
        let mut next = behind.chars();
        let first = next.next()?;
        at = at.checked_add(first.len_utf8())?;
        if first == '\\' && !is_raw {
            at = at.checked_add(next.next()?.len_utf8())?;
        }
    }
}

/// How long a number is: digits, a point with digits behind it, an exponent with its sign.
fn number_length(rest: &str) -> usize {
    let mut previous = '0';
    let mut length = 0_usize;
    let is_hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    for (at, c) in rest.char_indices() {
        let behind = rest.get(at.saturating_add(1)..).and_then(|behind| behind.chars().next());
        let goes_on = c.is_ascii_alphanumeric()
            || (c == '.' && behind.is_some_and(|next| next.is_ascii_digit()))
            || (matches!(c, '+' | '-') && matches!(previous, 'e' | 'E') && !is_hexadecimal);
        if !goes_on {
            return at;
        }
        previous = c;
        length = at.saturating_add(c.len_utf8());
    }
    length
}

fn name_length(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::spaced;

    #[test]
    fn blanks_are_where_they_help() {
        for (written, expected) in [
            ("input.amount>0&&input.amount<=1000", "input.amount > 0 && input.amount <= 1000"),
            ("  !( a||b )", "!(a || b)"),
            ("a?b:c?d:e", "a ? b : c ? d : e"),
            ("{'a':1,'b' : x?1:2}", "{'a': 1, 'b': x ? 1 : 2}"),
            ("-1 - -x*[ 1,2 ] [0]", "-1 - -x * [1, 2][0]"),
            ("x in['a','b']&&y.?z.orValue( 1 )", "x in ['a', 'b'] && y.?z.orValue(1)"),
            ("r'\\d+ , '+ \"a\\\" , b\"", "r'\\d+ , ' + \"a\\\" , b\""),
            ("[?a,?b]==[1.5e-3,0x1F]", "[?a, ?b] == [1.5e-3, 0x1F]"),
            ("xs.all( x,x>0 )", "xs.all(x, x > 0)"),
        ] {
            assert_eq!(spaced(written).as_deref(), Some(expected), "{written}");
            assert_eq!(spaced(expected).as_deref(), Some(expected));
        }
        for left in ["", "a // why", "a &&\n b", "a'", "(a", "a)", "#"] {
            assert_eq!(spaced(left), None, "{left}");
        }
    }
}
