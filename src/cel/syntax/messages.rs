//! What the syntax of CEL says when a text breaks it: one function a message.

use super::expr::Name;
use crate::issue::Issue;
use crate::source::Span;

fn error(code: &'static str, span: Span, message: String, label: impl Into<String>) -> Issue {
    Issue {
        code,
        severity: crate::diagnostic::Severity::Error,
        message,
        span,
        label: label.into(),
        help: None,
    }
}

fn with_help(issue: Issue, help: impl Into<String>) -> Issue {
    Issue { help: Some(help.into()), ..issue }
}

/// `` with nothing but blanks or comments in it
pub(super) fn empty(length: usize) -> Issue {
    error("empty_expression", Span::new(0, length), "the expression is empty".into(), "")
}

/// 32769 bytes where 32768 are allowed
pub(super) fn too_long(bound: usize) -> Issue {
    Issue::bound("max_source_bytes", bound, Span::new(0, 0))
}

/// 4097 tokens where 4096 are allowed
pub(super) fn too_many_tokens(span: Span, bound: usize) -> Issue {
    Issue { label: "the first one too many".to_owned(), ..Issue::bound("max_tokens", bound, span) }
}

/// `[[[…]]]`
pub(super) fn too_deep(span: Span, bound: usize) -> Issue {
    let issue = Issue { label: "one level too many".to_owned(), ..Issue::bound("max_depth", bound, span) };
    let help = "a long chain is written with a list, `[a, b].sum()`, `[a, b].join()` or `[a, b].all(x, …)`; `cel.bind` names a part";
    with_help(issue, help)
}

/// `cel.block([x, [cel.index(0)], [cel.index(1)], …], cel.index(99))`
pub(super) fn bindings_too_deep(span: Span, bound: usize) -> Issue {
    let label = "bindings that name each other go down too many levels".to_owned();
    Issue { label, ..Issue::bound("max_depth", bound, span) }
}

/// `a = b`
pub(super) fn stray_character(span: Span, found: char, next: Option<char>) -> Issue {
    let instead = match (found, next) {
        ('=', _) => Some("to compare, write `==`"),
        ('&', _) => Some("for `and`, write `&&`"),
        ('|', _) => Some("for `or`, write `||`"),
        ('\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}', _) => Some("strings stand in `'` or `\"`"),
        ('#', _) => Some("a comment begins with `//`"),
        ('$', Some('{')) => Some("a CEL expression has no `${…}`; write the name itself"),
        _ => None,
    };
    let shown = if found.is_control() || found.is_whitespace() {
        format!("the character U+{:04X}", u32::from(found))
    } else {
        format!("`{found}`")
    };
    let issue = error("bad_character", span, format!("{shown} has no meaning in CEL outside a string"), "");
    Issue { help: instead.map(str::to_owned), ..issue }
}

/// `12abc`
pub(super) fn bad_number(span: Span, found: &str) -> Issue {
    error("bad_literal", span, format!("`{found}` is neither a number nor a name"), "")
}

/// `99999999999999999999`
pub(super) fn number_out_of_range(span: Span, found: &str) -> Issue {
    let (ty, range) = if found.ends_with(['u', 'U']) {
        ("uint", "0u to 18446744073709551615u")
    } else if found.contains(['.', 'e', 'E']) && !found.starts_with("0x") {
        ("double", "-1.7976931348623157e308 to 1.7976931348623157e308")
    } else {
        ("int", "-9223372036854775808 to 9223372036854775807")
    };
    error(
        "bad_literal",
        span,
        format!("`{found}` is out of the range of {ty}"),
        format!("{ty} goes from {range}"),
    )
}

/// `` a.`x ``
pub(super) fn bad_quoted_name(span: Span, closed: bool) -> Issue {
    let message = if closed { "this is no quoted name" } else { "the quoted name has no closing `` ` ``" };
    with_help(
        error("bad_quoted_name", span, message.into(), ""),
        "letters, digits, `_`, `-`, `.`, `/` and blanks may stand in it",
    )
}

/// `'text`
pub(super) fn unterminated_text(span: Span, mark: &str, is_bytes: bool) -> Issue {
    let what = if is_bytes { "bytes literal" } else { "string" };
    let issue =
        error("unterminated_string", span, format!("the {what} has no closing `{mark}`"), "opened here");
    if mark.len() > 1 {
        return issue;
    }
    with_help(issue, format!("a {what} over several lines stands in `{mark}{mark}{mark}`"))
}

/// `'\d'`
pub(super) fn bad_escape(span: Span, found: &str, is_bytes: bool) -> Issue {
    let what = if is_bytes { "a bytes literal" } else { "a string" };
    let help = match found.chars().nth(1) {
        Some('u' | 'U') if is_bytes => "bytes are written `\\x41` or `\\101`",
        Some('u') => "a character is written with four digits, such as `\\u00e9`",
        Some('U') => "a character is written with eight digits, such as `\\U0001f431`",
        Some('x' | 'X') => "two digits follow, such as `\\x41`",
        Some('0'..='9') => "three octal digits follow, such as `\\101`",
        _ => "a backslash itself is written `\\\\`, or in a raw string: `r'…'`",
    };
    with_help(error("bad_escape", span, format!("`{found}` is no escape of {what}"), ""), help)
}

/// `)`
pub(super) fn unopened_bracket(span: Span, found: &str) -> Issue {
    error("syntax_error", span, format!("`{found}` closes nothing"), "")
}

/// `(a`
pub(super) fn unclosed_bracket(span: Span, opening: &str, closing: &str) -> Issue {
    error(
        "unclosed_bracket",
        span,
        format!("`{opening}` is never closed"),
        format!("expected a `{closing}` for it"),
    )
}

/// `(a]`
pub(super) fn mismatched_bracket(span: Span, found: &str, opening: &str, closing: &str) -> Issue {
    let message = format!("expected `{closing}`, found `{found}`");
    error("syntax_error", span, message, format!("to close the last `{opening}`"))
}

/// `for`
pub(super) fn reserved_word(span: Span, found: &str) -> Issue {
    let message = format!("`{found}` is a reserved word of CEL and names nothing");
    let help = format!("as a field it may be selected: `value.{found}`");
    with_help(error("reserved_word", span, message, ""), help)
}

/// What could stand where something else stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    /// A name, behind a dot.
    Field,
    /// An expression; the bracket just opened, if one was, may be closed as well.
    Operand {
        /// The bracket.
        opened: &'static str,
    },
    /// An operator, or a token that ends the operand before it.
    Operator {
        /// Whether a `?` waits for its `:`.
        asked: bool,
        /// The bracket around it; empty outside brackets.
        inside: &'static str,
        /// Whether that bracket belongs to a call, an index or a message.
        postfix: bool,
        /// Whether the key of this map entry has been read.
        keyed: bool,
    },
}

impl Expected {
    fn words(self) -> &'static str {
        match self {
            Self::Field => "a field name",
            Self::Operand { opened: "[" } => "an expression or `]`",
            Self::Operand { opened: "{" } => "an entry or `}`",
            Self::Operand { .. } => "an expression",
            Self::Operator { asked: true, .. } => "an operator or `:`",
            Self::Operator { inside: "(", postfix: true, .. } => "an operator, `,` or `)`",
            Self::Operator { inside: "(", .. } => "an operator or `)`",
            Self::Operator { inside: "[", postfix: true, .. } => "an operator or `]`",
            Self::Operator { inside: "[", .. } => "an operator, `,` or `]`",
            Self::Operator { inside: "{", keyed: false, .. } => "an operator or `:`",
            Self::Operator { inside: "{", .. } => "an operator, `,` or `}`",
            Self::Operator { .. } => "an operator or the end",
        }
    }
}

/// `a b`
pub(super) fn unexpected(
    found: Option<(Span, &str)>,
    end: u32,
    expected: Expected,
    before: Option<&str>,
) -> Issue {
    let (span, shown, word) = match found {
        Some((span, word)) => (span, format!("`{}`", word.lines().next().unwrap_or_default()), word),
        None => (Span { start: end, end }, "the end of the expression".to_owned(), ""),
    };
    let message = format!("expected {}, found {shown}", expected.words());
    let issue = error("syntax_error", span, message, "");
    let quoted = || {
        format!("a field of that name is selected with quotes: `` value.`{word}` ``, or `value['{word}']`")
    };
    let help = match (expected, word, before) {
        (Expected::Operator { .. }, "and" | "AND", _) => "for `and`, write `&&`".to_owned(),
        (Expected::Operator { .. }, "or" | "OR", _) => "for `or`, write `||`".to_owned(),
        (Expected::Operator { .. }, _, Some("not" | "NOT")) => "for `not`, write `!`".to_owned(),
        (Expected::Operator { asked: true, .. }, "?", _) => {
            "a condition inside a condition stands in brackets: `a ? (b ? c : d) : e`".to_owned()
        }
        (Expected::Operand { .. }, ")", Some(",")) => {
            "a call takes no comma behind its last argument".to_owned()
        }
        (Expected::Operand { .. }, _, Some("-" | "!")) => {
            "signs of two kinds need brackets between them: `!(-a)`".to_owned()
        }
        (Expected::Field, "in" | "true" | "false" | "null", _) => quoted(),
        _ => return issue,
    };
    with_help(issue, help)
}

/// `has(1)`
pub(super) fn has_of_neither(span: Span) -> Issue {
    let message = "`has` asks for a field, as in `has(value.field)`, or for a variable".to_owned();
    let issue = error("bad_macro", span, message, "this is neither");
    with_help(issue, "for a key that is no name, write `'key' in value`")
}

/// `list.all(x.y, true)`
pub(super) fn not_a_variable(of: &str, span: Span) -> Issue {
    error(
        "bad_macro",
        span,
        format!("`{of}` takes the name of a variable here"),
        "expected a name such as `x`",
    )
}

/// `cel.block(list, body)`
pub(super) fn not_a_list_of_values(span: Span) -> Issue {
    let message = "`cel.block` takes its values as a list that is written out".to_owned();
    error("bad_macro", span, message, "expected a list such as `[a, b]`, without `?`")
}

/// `cel.index(x)`
pub(super) fn not_a_number(of: &str, span: Span) -> Issue {
    let message = format!("`cel.{of}` takes a number that is written out");
    error("bad_macro", span, message, "expected a number such as `0`")
}

/// `list.all(x, x, true)`
pub(super) fn repeated_variable(of: &str, second: &Name) -> Issue {
    let message = format!("the variables of `{of}` have the same name `{}`", second.text);
    error("bad_macro", second.span, message, "needs a name of its own")
}
