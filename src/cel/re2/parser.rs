//! Parser of RE2's syntax: one pass from left to right, with a stack of open groups.

use super::ast::{Anchor, Ast, BracketClass};
use super::class;
use super::error::{SyntaxError, SyntaxErrorKind};
use super::flags::{Flags, Question};
use regex_syntax::hir::{ClassUnicode, Hir};

/// How deep groups, repetitions, alternations and rows of parts nest: analysis and compilation recurse on them.
pub const MAX_NESTING: u32 = 100;

/// Most times that a part is repeated by counted repetitions, nested ones multiplied.
const MAX_REPETITION: u32 = 1_000;

pub(super) type Result<T> = std::result::Result<T, SyntaxError>;

/// A pattern that RE2 accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The syntax tree.
    pub ast: Ast,
    /// The number of groups that capture.
    pub captures: u32,
}

impl Parsed {
    /// Lowers the pattern to what the engine compiles. The names of groups are left out.
    #[must_use]
    pub fn hir(&self) -> Hir {
        super::lower::hir(&self.ast)
    }
}

/// Parses a pattern. Linear in its length, and in the tables of the Unicode properties that it names.
///
/// ```
/// use celador_cel::re2::parse;
///
/// assert_eq!(parse("^(a|b)+$")?.captures, 1);
/// assert!(parse("(?=a)").is_err());
/// # Ok::<(), celador_cel::re2::SyntaxError>(())
/// ```
///
/// # Errors
/// The first place that RE2 does not accept.
pub fn parse(pattern: &str) -> Result<Parsed> {
    let mut parser = Parser {
        pattern,
        rest: pattern,
        flags: Flags::default(),
        captures: 0,
        open: Vec::new(),
        group: Group::default(),
        repetition: None,
        ends_named_class: true,
    };
    while !parser.rest.is_empty() {
        parser.part()?;
    }
    if let Some(open) = parser.open.last() {
        let start = open.start;
        return Err(parser.error(SyntaxErrorKind::OpenGroup, start));
    }
    let ast = parser.close()?.ast;
    Ok(Parsed { ast, captures: parser.captures })
}

pub(super) struct Parser<'p> {
    pattern: &'p str,
    rest: &'p str,
    pub(super) flags: Flags,
    captures: u32,
    /// The groups around the innermost one, which is `group`.
    open: Vec<Open>,
    group: Group,
    /// Where the repetition began that was read last, if nothing was read since.
    repetition: Option<usize>,
    /// Whether a `:]` may follow. Without one, `[:` is looked at once and not each time to the end of the pattern.
    ends_named_class: bool,
}

/// A group that is to be closed.
struct Open {
    start: usize,
    /// `None` for `(?:`.
    capture: Option<u32>,
    /// The flags before it, which hold again after it.
    flags: Flags,
    around: Group,
}

/// What was read of a group.
#[derive(Default)]
struct Group {
    /// Alternatives before the last `|`.
    alternatives: Vec<Part>,
    /// Parts since.
    parts: Vec<Part>,
}

struct Part {
    ast: Ast,
    depth: u32,
    /// How often its innermost parts are repeated by counted repetitions.
    copies: u32,
}

impl Part {
    fn leaf(ast: Ast) -> Self {
        Self { ast, depth: 1, copies: 1 }
    }
}

impl<'p> Parser<'p> {
    pub(super) fn at(&self) -> usize {
        self.pattern.len().saturating_sub(self.rest.len())
    }

    pub(super) fn rest(&self) -> &'p str {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_prefix(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// An error about what was read since `start`.
    pub(super) fn error(&self, kind: SyntaxErrorKind, start: usize) -> SyntaxError {
        SyntaxError::new(kind, self.pattern, start..self.at())
    }

    fn part(&mut self) -> Result<()> {
        let start = self.at();
        let repetition = self.repetition.take();
        match self.peek() {
            Some('(') => return self.open_group(),
            Some(')') => return self.close_group(),
            Some('|') => {
                self.next();
                let alternative = self.row()?;
                self.group.alternatives.push(alternative);
            }
            Some('*' | '+' | '?') => return self.sign(start, repetition),
            Some('{') => {
                if let Some((length, min, max)) = counts(self.rest) {
                    self.skip(length);
                    return self.repeat(start, repetition, min, max, true);
                }
                self.next();
                self.literal('{');
            }
            Some('[') => {
                let class = self.bracket()?;
                self.push(Ast::Bracket(Box::new(class)));
            }
            Some('\\') => return self.backslash(),
            Some('^') => {
                self.next();
                self.anchor(if self.flags.multi_line { Anchor::LineStart } else { Anchor::TextStart });
            }
            Some('$') => {
                self.next();
                self.anchor(if self.flags.multi_line { Anchor::LineEnd } else { Anchor::TextEnd });
            }
            Some('.') => {
                self.next();
                self.push(Ast::Dot { line_feed: self.flags.dot_line_feed });
            }
            Some(char) => {
                self.next();
                self.literal(char);
            }
            None => {}
        }
        Ok(())
    }

    fn push(&mut self, ast: Ast) {
        self.group.parts.push(Part::leaf(ast));
    }

    fn literal(&mut self, char: char) {
        self.push(Ast::Literal { char, fold_case: self.flags.fold_case });
    }

    fn anchor(&mut self, anchor: Anchor) {
        self.push(Ast::Anchor(anchor));
    }

    fn open_group(&mut self) -> Result<()> {
        let start = self.at();
        let flags = self.flags;
        let capture = if self.rest.starts_with("(?") {
            match self.question()? {
                Question::Flags(flags) => {
                    self.flags = flags;
                    return Ok(());
                }
                Question::Group(flags) => {
                    self.flags = flags;
                    None
                }
                Question::Named => Some(()),
            }
        } else {
            self.next();
            Some(())
        };
        if self.open.len() >= MAX_NESTING as usize {
            return Err(self.error(SyntaxErrorKind::Nesting, start));
        }
        let capture = capture.map(|()| {
            self.captures = self.captures.saturating_add(1);
            self.captures
        });
        let around = std::mem::take(&mut self.group);
        self.open.push(Open { start, capture, flags, around });
        Ok(())
    }

    fn close_group(&mut self) -> Result<()> {
        let start = self.at();
        self.next();
        let Some(Open { capture, flags, around, .. }) = self.open.pop() else {
            return Err(self.error(SyntaxErrorKind::UnopenedGroup, start));
        };
        let Part { ast, depth, copies } = self.close()?;
        let ast = match capture {
            Some(number) => Ast::Capture(number, Box::new(ast)),
            None => Ast::Group(Box::new(ast)),
        };
        self.group = around;
        self.flags = flags;
        let part = self.nested(ast, depth, copies)?;
        self.group.parts.push(part);
        Ok(())
    }

    /// A part around others that are nested so deep.
    fn nested(&self, ast: Ast, depth: u32, copies: u32) -> Result<Part> {
        let depth = depth.saturating_add(1);
        if depth > MAX_NESTING {
            return Err(self.error(SyntaxErrorKind::Nesting, self.at()));
        }
        Ok(Part { ast, depth, copies })
    }

    /// The parts since the last `|` in a row.
    fn row(&mut self) -> Result<Part> {
        let parts = std::mem::take(&mut self.group.parts);
        self.several(parts, Ast::Concat)
    }

    /// All of the group.
    fn close(&mut self) -> Result<Part> {
        let last = self.row()?;
        let mut alternatives = std::mem::take(&mut self.group.alternatives);
        alternatives.push(last);
        self.several(alternatives, Ast::Alternate)
    }

    fn several(&self, mut parts: Vec<Part>, join: fn(Vec<Ast>) -> Ast) -> Result<Part> {
        if parts.len() < 2 {
            return Ok(parts.pop().unwrap_or(Part::leaf(Ast::Empty)));
        }
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(1);
        let copies = parts.iter().map(|part| part.copies).max().unwrap_or(1);
        self.nested(join(parts.into_iter().map(|part| part.ast).collect()), depth, copies)
    }

    /// `*`, `+` or `?`
    fn sign(&mut self, start: usize, repetition: Option<usize>) -> Result<()> {
        let (min, max) = match self.next() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            _ => (0, Some(1)),
        };
        self.repeat(start, repetition, min, max, false)
    }

    /// Repeats the last part. `start` is where the repetition begins, and `before` where the one right before it does.
    fn repeat(
        &mut self,
        start: usize,
        before: Option<usize>,
        min: u32,
        max: Option<u32>,
        is_counted: bool,
    ) -> Result<()> {
        let greedy = self.skip_prefix("?") == self.flags.swap_greed;
        if let Some(before) = before {
            return Err(self.error(SyntaxErrorKind::RepeatedRepetition, before));
        }
        let times = max.unwrap_or(min).max(min);
        if is_counted && (max.is_some_and(|max| max < min) || times > MAX_REPETITION) {
            return Err(self.error(SyntaxErrorKind::RepetitionSize, start));
        }
        let Some(Part { ast, depth, copies }) = self.group.parts.pop() else {
            return Err(self.error(SyntaxErrorKind::NothingToRepeat, start));
        };
        let copies = if is_counted { copies.saturating_mul(times.max(1)) } else { copies };
        if copies > MAX_REPETITION {
            return Err(self.error(SyntaxErrorKind::RepetitionSize, start));
        }
        let part = self.nested(Ast::Repeat { part: Box::new(ast), min, max, greedy }, depth, copies)?;
        self.group.parts.push(part);
        self.repetition = Some(start);
        Ok(())
    }

    /// An escape outside of classes.
    fn backslash(&mut self) -> Result<()> {
        let start = self.at();
        let anchor = [
            (r"\b", Anchor::WordBoundary),
            (r"\B", Anchor::NotWordBoundary),
            (r"\A", Anchor::TextStart),
            (r"\z", Anchor::TextEnd),
        ];
        if let Some((escape, anchor)) = anchor.into_iter().find(|(escape, _)| self.rest.starts_with(escape)) {
            self.skip(escape.len());
            self.anchor(anchor);
        } else if self.skip_prefix(r"\C") {
            return Err(self.error(SyntaxErrorKind::Byte, start));
        } else if self.skip_prefix(r"\Q") {
            while !self.rest.is_empty() && !self.skip_prefix(r"\E") {
                if let Some(char) = self.next() {
                    self.literal(char);
                }
            }
        } else if let Some(class) = self.named_class()? {
            self.push(Ast::Class(Box::new(class)));
        } else {
            let number = self.escape()?;
            match char::from_u32(number) {
                Some(char) => self.literal(char),
                None => self.push(Ast::Class(Box::new(ClassUnicode::empty()))),
            }
        }
        Ok(())
    }

    /// `\d`, `\pL`, `\p{Greek}` and the like, in a class or outside.
    fn named_class(&mut self) -> Result<Option<ClassUnicode>> {
        let start = self.at();
        let fold_case = self.flags.fold_case;
        let Some(letter) = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) else {
            return Ok(None);
        };
        if let Some(class) = class::perl(letter, fold_case) {
            self.skip(2);
            return Ok(Some(class));
        }
        if !matches!(letter, 'p' | 'P') {
            return Ok(None);
        }
        self.skip(2);
        let names = self.rest;
        let name = match self.next() {
            Some('{') => match self.rest.split_once('}') {
                Some((name, rest)) => {
                    self.rest = rest;
                    name
                }
                None => {
                    self.rest = "";
                    return Err(self.error(SyntaxErrorKind::Property, start));
                }
            },
            _ => names.get(..names.len().saturating_sub(self.rest.len())).unwrap_or_default(),
        };
        let (name, is_negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let class = class::property(name, is_negated != (letter == 'P'), fold_case);
        class.map(Some).ok_or_else(|| self.error(SyntaxErrorKind::Property, start))
    }

    /// A class in brackets. A `[` is next. The set is built once, at the end: to add to it takes time in its size.
    fn bracket(&mut self) -> Result<BracketClass> {
        let start = self.at();
        self.next();
        let negated = self.skip_prefix("^");
        let (mut written, mut named, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        let begin = self.at();
        while self.at() == begin || !self.rest.starts_with(']') {
            if self.rest.is_empty() {
                return Err(self.error(SyntaxErrorKind::OpenClass, start));
            }
            if let Some(class) = self.class_by_name()? {
                named.extend(class.iter().copied());
                continue;
            }
            let (first, last) = self.class_range(start)?;
            written.extend(class::range(first, last));
            if first != last {
                ranges.extend(char::from_u32(first).zip(char::from_u32(last)));
            }
        }
        self.next();
        let set = class::bracket(written, named, negated, self.flags.fold_case);
        Ok(BracketClass { set, ranges })
    }

    /// A named class in a class: one of POSIX, or one that may stand outside as well.
    fn class_by_name(&mut self) -> Result<Option<ClassUnicode>> {
        let start = self.at();
        let Some(inner) = self.rest.strip_prefix("[:").filter(|_| self.ends_named_class) else {
            return self.named_class();
        };
        let Some((name, rest)) = inner.split_once(":]") else {
            self.ends_named_class = false;
            return Ok(None);
        };
        self.rest = rest;
        let known = class::posix(name, self.flags.fold_case);
        known.map(Some).ok_or_else(|| self.error(SyntaxErrorKind::PosixClass, start))
    }

    /// A character or a range in the class that begins at `class`.
    fn class_range(&mut self, class: usize) -> Result<(u32, u32)> {
        let start = self.at();
        let first = self.class_character(class)?;
        // a `-` at the end of the class is the character
        if !self.rest.starts_with('-') || self.rest.starts_with("-]") || self.rest.len() < 2 {
            return Ok((first, first));
        }
        self.next();
        let last = self.class_character(class)?;
        if last < first {
            return Err(self.error(SyntaxErrorKind::ReversedRange, start));
        }
        Ok((first, last))
    }

    fn class_character(&mut self, class: usize) -> Result<u32> {
        if self.rest.starts_with('\\') {
            return self.escape();
        }
        self.next().map(u32::from).ok_or_else(|| self.error(SyntaxErrorKind::OpenClass, class))
    }
}

/// The length of `{2}`, `{2,}` or `{2,5}` in front of a text and its bounds. Other braces are plain characters.
fn counts(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let (min, rest) = number(text.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => number(rest).map(|(max, rest)| (Some(max), rest))?,
    };
    let rest = rest.strip_prefix('}')?;
    Some((text.len().saturating_sub(rest.len()), min, max))
}

/// A number in front of a text, and the rest. RE2 reads a number with a zero in front or with more than nine digits as characters.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit())?;
    let (digits, rest) = text.split_at_checked(end)?;
    let is_plain = digits.len() <= 9 && (digits.len() == 1 || !digits.starts_with('0'));
    is_plain.then(|| Some((digits.parse().ok()?, rest))).flatten()
}
