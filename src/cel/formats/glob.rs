//! Patterns for paths, in the words of `.gitignore` and of shells: what one says, as a regular expression.
//!
//! In: a pattern. Out: a regular expression that matches the same paths, or what was expected instead. So globs are linear in the path,
//! bounded and priced as regular expressions are, and there is one engine. What the signs mean is what git's `wildmatch` and
//! shells with `globstar` agree on:
//!
//! - `?` is one character but `/`; `*` any number of them; a dot in front is a character like any other;
//! - `**` is a whole segment: `**/a` is `a` at any depth, `a/**` everything below `a`, `a/**/b` any number of folders between;
//! - `[a-z]`, `[!a-z]` and `[^a-z]` are one character of a class, or one that is not of it, but never `/`; `[[:alpha:]]` and its kin
//!   are the classes of POSIX, in ASCII;
//! - `{a,b}` is either, as if the pattern were written twice;
//! - `\` in front of a sign makes it a plain character.
//!
//! Where they do not agree, or a pattern is not what it looks like, it is refused: `**` beside other characters (one segment to git,
//! whatever its author hopes for), braces without a comma or that are open, classes that are open, turned round or hold a brace or a
//! slash, `!` in front (a negation to git), `*(…)` and its kin (repetition to shells), a `\` at the end. So is a pattern that no plain path
//! matches, for it has a segment that is empty, `.` or `..`.

use crate::fault::Fault;
use std::iter::Peekable;
use std::str::Chars;
use std::vec::IntoIter;

const STARS: &str = "`**` in a glob stands alone between slashes";
const BRACES: &str = "braces in a glob hold alternatives with commas between them, and are closed";
const CLASS: &str =
    "a class in a glob is closed and has neither slashes, braces nor a range that is turned round";
const ESCAPE: &str = "a backslash in a glob stands before a character";
const GROUP: &str = "a glob has neither `!` in front nor groups such as `*(a)`";
const SEGMENTS: &str = "a glob is not empty and has no segment that is empty, `.` or `..`";
const MANY: &str = "the braces of a glob make at most 64 patterns, and nest at most 8 deep";

/// The most patterns that the braces of one glob stand for: their numbers multiply.
const MOST_ALTERNATIVES: usize = 64;
/// How deep braces nest.
const DEEPEST_BRACES: u32 = 8;

/// The classes of POSIX, without the slash.
const CLASSES: [(&str, &str); 12] = [
    ("alnum", "[:alnum:]"),
    ("alpha", "[:alpha:]"),
    ("blank", "[:blank:]"),
    ("cntrl", "[:cntrl:]"),
    ("digit", "[:digit:]"),
    ("graph", r"\x21-\x2e\x30-\x7e"),
    ("lower", "[:lower:]"),
    ("print", r"\x20-\x2e\x30-\x7e"),
    ("punct", r"\x21-\x2e\x3a-\x40\x5b-\x60\x7b-\x7e"),
    ("space", "[:space:]"),
    ("upper", "[:upper:]"),
    ("xdigit", "[:xdigit:]"),
];

/// A sign of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Plain(char),
    Slash,
    /// `?`
    One,
    /// `*`
    Many,
    /// `**`
    Folders,
    /// A class, as a regular expression has it.
    Class(String),
    Open,
    Comma,
    Close,
}

/// The regular expression of a glob. Linear in what its braces come to.
///
/// # Errors
/// `invalid_argument` with what was expected.
pub(crate) fn to_regex(glob: &str) -> Result<String, Fault> {
    if glob.starts_with('!') {
        return Err(Fault::refused(GROUP));
    }
    let mut tokens = read(glob)?.into_iter().peekable();
    let globs = alternatives(&mut tokens, 0)?;
    let patterns: Vec<String> = globs.iter().map(|glob| pattern(glob)).collect::<Result<_, _>>()?;
    Ok(format!("(?s)^(?:{})$", patterns.join("|")))
}

/// The signs of a pattern.
fn read(glob: &str) -> Result<Vec<Token>, Fault> {
    let (mut tokens, mut depth, mut before) = (Vec::new(), 0_u32, None);
    let mut signs = glob.chars().peekable();
    while let Some(sign) = signs.next() {
        tokens.push(match sign {
            '\\' => Token::Plain(signs.next().filter(|sign| *sign != '/').ok_or(Fault::refused(ESCAPE))?),
            '/' => Token::Slash,
            '?' => Token::One,
            '*' if signs.next_if_eq(&'*').is_none() => Token::Many,
            '*' if signs.peek() == Some(&'*') => return Err(Fault::refused(STARS)),
            '*' => Token::Folders,
            '[' => Token::Class(class(&mut signs).ok_or(Fault::refused(CLASS))?),
            '(' if before.is_some_and(|before| "?*+@!".contains(before)) => {
                return Err(Fault::refused(GROUP));
            }
            '{' => {
                depth = depth.saturating_add(1);
                Token::Open
            }
            '}' => {
                depth = depth.checked_sub(1).ok_or(Fault::refused(BRACES))?;
                Token::Close
            }
            ',' if depth > 0 => Token::Comma,
            sign => Token::Plain(sign),
        });
        before = Some(sign);
    }
    if depth > 0 { Err(Fault::refused(BRACES)) } else { Ok(tokens) }
}

/// A class behind its bracket. Nothing if it is refused.
fn class(signs: &mut Peekable<Chars<'_>>) -> Option<String> {
    let negated = signs.next_if(|sign| matches!(sign, '!' | '^')).is_some();
    let mut items = String::new();
    let mut first = true;
    loop {
        let sign = signs.next()?;
        if sign == ']' && !first {
            break;
        }
        first = false;
        if sign == '[' && signs.peek() == Some(&':') {
            items.push_str(posix_class(signs)?);
            continue;
        }
        let least = class_sign(sign, signs)?;
        let mut ahead = signs.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|sign| sign != ']');
        if is_range {
            signs.next();
            let sign = signs.next().filter(|sign| *sign != '[' || signs.peek() != Some(&':'))?;
            let most = class_sign(sign, signs)?;
            if most < least {
                return None;
            }
            items.push_str(&range(least, most));
        } else {
            items.push_str(&escaped(least));
        }
    }
    Some(if negated { format!("[^{items}/]") } else { format!("[{items}]") })
}

/// A range without the slash that it may go past: no end of it is one.
fn range(least: char, most: char) -> String {
    if least < '/' && '/' < most {
        return format!("{}-\\x2e\\x30-{}", escaped(least), escaped(most));
    }
    format!("{}-{}", escaped(least), escaped(most))
}

/// `[:alpha:]` behind its bracket.
fn posix_class(signs: &mut Peekable<Chars<'_>>) -> Option<&'static str> {
    signs.next_if_eq(&':')?;
    let mut name = String::new();
    while let Some(letter) = signs.next_if(char::is_ascii_alphabetic) {
        name.push(letter);
    }
    let closed = signs.next() == Some(':') && signs.next() == Some(']');
    let (_, class) = CLASSES.iter().find(|(known, _)| *known == name)?;
    closed.then_some(*class)
}

/// A character of a class, without the backslash in front of it.
fn class_sign(sign: char, signs: &mut Peekable<Chars<'_>>) -> Option<char> {
    let sign = if sign == '\\' { signs.next()? } else { sign };
    // a shell looks for braces first, and for slashes
    (!matches!(sign, '/' | '{' | '}')).then_some(sign)
}

/// A character that means itself in a regular expression.
fn escaped(sign: char) -> String {
    if sign.is_ascii_alphanumeric() { sign.to_string() } else { format!("\\x{{{:x}}}", u32::from(sign)) }
}

/// What a pattern with braces stands for, without them: from here up to a comma or a brace that closes.
fn alternatives(tokens: &mut Peekable<IntoIter<Token>>, depth: u32) -> Result<Vec<Vec<Token>>, Fault> {
    let mut all = vec![Vec::new()];
    while let Some(token) = tokens.next_if(|token| !matches!(token, Token::Comma | Token::Close)) {
        if token != Token::Open {
            all.iter_mut().for_each(|tokens| tokens.push(token.clone()));
            continue;
        }
        if depth >= DEEPEST_BRACES {
            return Err(Fault::refused(MANY));
        }
        let mut either = alternatives(tokens, depth.saturating_add(1))?;
        let mut commas = 0_usize;
        while tokens.next_if_eq(&Token::Comma).is_some() {
            commas = commas.saturating_add(1);
            either.extend(alternatives(tokens, depth.saturating_add(1))?);
        }
        tokens.next_if_eq(&Token::Close).filter(|_| commas > 0).ok_or(Fault::refused(BRACES))?;
        if all.len().saturating_mul(either.len()) > MOST_ALTERNATIVES {
            return Err(Fault::refused(MANY));
        }
        let with = |before: &Vec<Token>| {
            either.iter().map(|inner| [before.as_slice(), inner].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// The regular expression of a pattern without braces, without anchors.
fn pattern(tokens: &[Token]) -> Result<String, Fault> {
    let is_plain_segment = |segment: &[Token]| {
        let dots = segment.iter().all(|token| *token == Token::Plain('.'));
        !(dots && segment.len() <= 2)
    };
    // the empty segment in front is the root
    let below = if let [Token::Slash, below @ ..] = tokens { below } else { tokens };
    let is_root = below.is_empty() && !tokens.is_empty();
    if !is_root && !below.split(|token| *token == Token::Slash).all(is_plain_segment) {
        return Err(Fault::refused(SEGMENTS));
    }
    let mut pattern = String::new();
    let (mut before, mut rest) = (None::<&Token>, tokens.iter().peekable());
    while let Some(token) = rest.next() {
        match token {
            Token::Folders => {
                let alone = matches!(before, None | Some(Token::Slash))
                    && matches!(rest.peek(), None | Some(Token::Slash));
                if !alone {
                    return Err(Fault::refused(STARS));
                }
                pattern.push_str(match rest.next() {
                    Some(_) => "(?:.*/)?",
                    None => ".+",
                });
                before = Some(&Token::Slash);
                continue;
            }
            Token::Slash => pattern.push('/'),
            Token::One => pattern.push_str("[^/]"),
            Token::Many => pattern.push_str("[^/]*"),
            Token::Class(class) => pattern.push_str(class),
            Token::Plain(sign) => pattern.push_str(&escaped(*sign)),
            Token::Open | Token::Comma | Token::Close => return Err(Fault::refused(BRACES)),
        }
        before = Some(token);
    }
    Ok(pattern)
}
