//! Text to tokens: the words and signs of an expression with their places, or what of it is none.
//!
//! They bound a text before the grammar reads it, give every node its exact characters, and name what a syntax error
//! found. Literals are known to be well formed here, numbers but for their size. Linear in the text; never recurses.

use super::messages;
use crate::issue::Issue;
use crate::source::Span;

/// A word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `context`; reserved words too, which are field names all the same.
    Name,
    /// `` `content-type` ``
    QuotedName,
    /// `1`, `1u`, `1.0`
    Number,
    /// `'text'`, `b'bytes'`
    Text,
    /// `true`, `false`, `null`
    Constant,
    /// `+`, `(`, `in`
    Sign(&'static str),
}

/// Signs, longer ones before those they begin with.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%",
];

impl Token {
    /// The sign that this is, or an empty text.
    pub(super) fn sign(self) -> &'static str {
        match self.kind {
            TokenKind::Sign(sign) => sign,
            _ => "",
        }
    }

    /// Whether an operand ends with it, so that an operator may follow.
    pub(super) fn ends_operand(self) -> bool {
        match self.kind {
            TokenKind::Sign(sign) => matches!(sign, ")" | "]" | "}"),
            _ => true,
        }
    }
}

/// The tokens of a text, and what stands in it that is none; comments and blanks are left out.
pub(super) fn tokenize(text: &str) -> (Vec<Token>, Vec<Issue>) {
    let mut reader = Reader { text, at: 0, tokens: Vec::new(), issues: Vec::new() };
    while reader.step() {}
    (reader.tokens, reader.issues)
}

/// The bytes of an expression that a text begins with, up to the brace which closes one that stands ahead of the text. Braces in the
/// expression, and in texts of it, are its own. Nothing if no such brace stands there, or something that is no token ahead of
/// it. Linear in what it gives.
///
/// ```
/// use celador_cel::closing_brace;
///
/// let text = "{'}': 1}['}'] + x} is left, isn't it?";
/// assert_eq!(closing_brace(text).map(|end| &text[..end]), Some("{'}': 1}['}'] + x"));
/// assert_eq!(closing_brace("x + 1"), None);
/// ```
#[must_use]
pub fn closing_brace(text: &str) -> Option<usize> {
    let mut reader = Reader { text, at: 0, tokens: Vec::new(), issues: Vec::new() };
    let mut open: usize = 0;
    while reader.step() && reader.issues.is_empty() {
        match reader.tokens.pop().map_or("", Token::sign) {
            "{" => open = open.saturating_add(1),
            "}" if open == 0 => return reader.at.checked_sub(1),
            "}" => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
    issues: Vec<Issue>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes past `bytes` of the text, which are one thing.
    fn take(&mut self, bytes: usize) -> Span {
        let start = self.at;
        self.at = start.saturating_add(bytes);
        Span::new(start, self.at)
    }

    fn push(&mut self, kind: TokenKind, bytes: usize) {
        let span = self.take(bytes);
        self.tokens.push(Token { kind, span });
    }

    /// Reads one thing; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return false };
        if matches!(first, ' ' | '\t' | '\n' | '\r' | '\u{c}') {
            self.take(1);
        } else if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()));
        } else if let Some(prefix) = text_prefix(rest) {
            self.text(rest, prefix);
        } else if first == '_' || first.is_ascii_alphabetic() {
            let kind = |word: &str| match word {
                "true" | "false" | "null" => TokenKind::Constant,
                "in" => TokenKind::Sign("in"),
                _ => TokenKind::Name,
            };
            let bytes = run(rest, is_name_character);
            self.push(kind(rest.get(..bytes).unwrap_or_default()), bytes);
        } else if let Some(bytes) = number(rest) {
            self.number(rest, bytes);
        } else if first == '`' {
            self.quoted_name(rest);
        } else if let Some(sign) = sign(rest) {
            self.push(TokenKind::Sign(sign), sign.len());
        } else {
            let span = self.take(first.len_utf8());
            self.issues.push(messages::stray_character(span, first, self.rest().chars().next()));
        }
        true
    }

    /// A number; letters right behind it belong to what was meant as one.
    fn number(&mut self, rest: &str, bytes: usize) {
        let behind = rest.get(bytes..).unwrap_or_default();
        let letters = run(behind, is_name_character);
        if letters > 0 && behind.get(..letters) != Some("in") {
            let span = self.take(bytes.saturating_add(letters));
            self.issues.push(messages::bad_number(span, self.text.get(span.range()).unwrap_or_default()));
            self.tokens.push(Token { kind: TokenKind::Number, span });
        } else {
            self.push(TokenKind::Number, bytes);
        }
    }

    fn quoted_name(&mut self, rest: &str) {
        let inside = rest.get(1..).unwrap_or_default();
        let allowed = |c: char| is_name_character(c) || matches!(c, '.' | '-' | '/' | ' ');
        let bytes = run(inside, allowed);
        let closed = inside.get(bytes..).is_some_and(|behind| behind.starts_with('`'));
        if closed && bytes > 0 {
            self.push(TokenKind::QuotedName, bytes.saturating_add(2));
            return;
        }
        let end = inside.find(['`', '\n']).map_or(rest.len(), |end| end.saturating_add(1));
        let closing = rest.get(end..).is_some_and(|behind| behind.starts_with('`'));
        let span = self.take(end.saturating_add(usize::from(closing)));
        self.issues.push(messages::bad_quoted_name(span, closing));
        self.tokens.push(Token { kind: TokenKind::QuotedName, span });
    }

    /// A string or bytes literal of any form.
    fn text(&mut self, rest: &str, prefix: Prefix) {
        let body = rest.get(prefix.bytes..).unwrap_or_default();
        let quote = if body.starts_with('"') { "\"" } else { "'" };
        let triple = if quote == "'" { "'''" } else { "\"\"\"" };
        let (mark, long) = if body.starts_with(triple) { (triple, true) } else { (quote, false) };
        let mut inside = prefix.bytes.saturating_add(mark.len());
        loop {
            let behind = rest.get(inside..).unwrap_or_default();
            let next = behind.chars().next();
            if behind.starts_with(mark) {
                self.push(TokenKind::Text, inside.saturating_add(mark.len()));
                return;
            }
            match next {
                None => break,
                Some('\n' | '\r') if !long => break,
                Some('\\') if !prefix.raw => {
                    let escape = escape(behind, prefix.is_bytes);
                    let bytes = match escape {
                        Ok(bytes) | Err(bytes) => bytes,
                    };
                    if escape.is_err() {
                        let start = self.at.saturating_add(inside);
                        let span = Span::new(start, start.saturating_add(bytes));
                        let written = behind.get(..bytes).unwrap_or_default();
                        self.issues.push(messages::bad_escape(span, written, prefix.is_bytes));
                    }
                    inside = inside.saturating_add(bytes);
                }
                Some(other) => inside = inside.saturating_add(other.len_utf8()),
            }
        }
        let opening = prefix.bytes.saturating_add(mark.len());
        let start = self.at;
        self.take(inside);
        self.issues.push(messages::unterminated_text(
            Span::new(start, start.saturating_add(opening)),
            mark,
            prefix.is_bytes,
        ));
        // what would follow was meant to be inside
        self.at = self.text.len();
    }
}

/// The sign that the text begins with.
fn sign(rest: &str) -> Option<&'static str> {
    let first = rest.as_bytes().first();
    let mut alike = SIGNS.iter().copied().filter(|sign| sign.as_bytes().first() == first);
    alike.find(|sign| rest.starts_with(sign))
}

/// The letters before the quotes of a literal.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    pub(super) bytes: usize,
    pub(super) raw: bool,
    pub(super) is_bytes: bool,
}

/// The letters before the quotes, if the text begins with a literal of text.
pub(super) fn text_prefix(rest: &str) -> Option<Prefix> {
    let letters = rest.bytes().take(3).position(|byte| matches!(byte, b'\'' | b'"'))?;
    let (raw, is_bytes) = match rest.get(..letters)? {
        "" => (false, false),
        "r" | "R" => (true, false),
        "b" | "B" => (false, true),
        "br" | "bR" | "Br" | "BR" => (true, true),
        _ => return None,
    };
    Some(Prefix { bytes: letters, raw, is_bytes })
}

/// The length of an escape sequence; if it is none, the length of what looks like one.
fn escape(behind: &str, is_bytes: bool) -> Result<usize, usize> {
    let Some(letter) = behind.chars().nth(1) else { return Err(1) };
    let digits = |count: usize, radix: u32| {
        let text: String = behind.chars().skip(2).take(count).collect();
        let valid = text.chars().take_while(|c| c.is_digit(radix)).count();
        let length = valid.saturating_add(2);
        if valid == count { u32::from_str_radix(&text, radix).map(|code| (code, length)).ok() } else { None }
            .ok_or(length)
    };
    match letter {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`' => Ok(2),
        'x' | 'X' => digits(2, 16).map(|(_, length)| length),
        'u' | 'U' => {
            let (code, length) = digits(if letter == 'u' { 4 } else { 8 }, 16)?;
            if is_bytes || char::from_u32(code).is_none() { Err(length) } else { Ok(length) }
        }
        '0'..='3' => {
            let text: String = behind.chars().skip(1).take(3).collect();
            let valid = text.chars().take_while(|c| c.is_digit(8)).count();
            if valid == 3 { Ok(4) } else { Err(valid.saturating_add(1)) }
        }
        other => Err(other.len_utf8().saturating_add(1)),
    }
}

/// The length of the number that the text begins with.
fn number(rest: &str) -> Option<usize> {
    let digits = |at: usize| run(rest.get(at..).unwrap_or_default(), |c| c.is_ascii_digit());
    let starts = |at: usize, letters: &[char]| rest.get(at..).is_some_and(|rest| rest.starts_with(letters));
    if rest.starts_with("0x") {
        let hex = run(rest.get(2..).unwrap_or_default(), |c| c.is_ascii_hexdigit());
        let end = hex.saturating_add(2);
        if hex > 0 {
            return Some(end.saturating_add(usize::from(starts(end, &['u', 'U']))));
        }
    }
    let whole = digits(0);
    let point = whole.saturating_add(1);
    let fraction = if starts(whole, &['.']) { digits(point) } else { 0 };
    if whole == 0 && fraction == 0 {
        return None;
    }
    let mantissa = if fraction > 0 { point.saturating_add(fraction) } else { whole };
    let mut exponent = mantissa.saturating_add(1);
    if starts(exponent, &['+', '-']) {
        exponent = exponent.saturating_add(1);
    }
    let power = if starts(mantissa, &['e', 'E']) { digits(exponent) } else { 0 };
    Some(if power > 0 {
        exponent.saturating_add(power)
    } else if fraction == 0 && starts(mantissa, &['u', 'U']) {
        mantissa.saturating_add(1)
    } else {
        mantissa
    })
}

fn is_name_character(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// The bytes of the characters at the front that are all `allowed`.
fn run(text: &str, allowed: impl Fn(char) -> bool) -> usize {
    text.find(|c| !allowed(c)).unwrap_or(text.len())
}
