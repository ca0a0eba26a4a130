//! A line to words and signs, as POSIX (2.3, 2.2) and bash read them alike. Quotes are removed on the way.
//!
//! Linear in the line; never recurses. What the shell would replace when it runs is a [`Doubt`].

use super::doubt::Doubt;

/// A word or a sign.
#[derive(Debug)]
pub(super) enum Token {
    Word(Word),
    Redirect(Redirect),
    /// `;`, `&` or the end of a line.
    End(End),
    /// `&&`, `||`
    Then,
    /// `|`, `|&`
    Pipe,
    /// `(`
    Open,
    /// `)`
    Close,
}

/// The end of a list of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// `;` or `&`: a command stands before it.
    Sign,
    /// The end of a line, which may be empty.
    Line,
}

/// A word without its quotes.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether no part of it was quoted: only such a word can be a reserved one.
    pub(super) plain: bool,
    /// The bytes of the name, if the word sets a variable in front of a command.
    name: Option<usize>,
    /// The last character, if it was not quoted.
    last: Option<char>,
}

/// The sign of a redirection; its file or stream is the next word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    Both,
    /// `<&`, `>&`: of a stream.
    Join,
}

/// The line that has not been read.
pub(super) struct Tokens<'t> {
    rest: &'t str,
}

/// The sign that stands for bytes that were no text; nobody knows which.
const UNKNOWN_BYTES: char = '\u{fffd}';

impl<'t> Tokens<'t> {
    pub(super) fn of(line: &'t str) -> Result<Self, Doubt> {
        let unreadable = |c: char| (c.is_control() && !matches!(c, '\t' | '\n')) || c == UNKNOWN_BYTES;
        if line.contains(unreadable) { Err(Doubt::Unreadable) } else { Ok(Self { rest: line }) }
    }

    /// The next word or sign; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Doubt> {
        while let Some(' ' | '\t') = self.peek() {
            self.take();
        }
        let Some(first) = self.peek() else { return Ok(None) };
        Ok(Some(match first {
            '#' => {
                let Some((_, rest)) = self.rest.split_once('\n') else { return Ok(None) };
                self.rest = rest;
                Token::End(End::Line)
            }
            '\n' => self.sign(Token::End(End::Line)),
            ';' => {
                self.take();
                // `;;` and `;&` are signs of `case`
                if matches!(self.peek(), Some(';' | '&')) {
                    return Err(Doubt::Order);
                }
                Token::End(End::Sign)
            }
            '|' => {
                self.take();
                match self.peek() {
                    Some('|') => self.sign(Token::Then),
                    Some('&') => self.sign(Token::Pipe),
                    _ => Token::Pipe,
                }
            }
            '&' => {
                self.take();
                match self.peek() {
                    Some('&') => self.sign(Token::Then),
                    Some('>') => Token::Redirect(self.redirect_all()?),
                    _ => Token::End(End::Sign),
                }
            }
            '(' => {
                self.take();
                if self.peek() == Some('(') {
                    return Err(Doubt::Bracket);
                }
                Token::Open
            }
            ')' => self.sign(Token::Close),
            '<' | '>' => Token::Redirect(self.redirect()?),
            _ => {
                let word = self.word()?;
                let redirects = matches!(self.peek(), Some('<' | '>'));
                let number = word.plain && word.text.bytes().all(|byte| byte.is_ascii_digit());
                match (redirects && number, word.text.len()) {
                    (true, 1) => Token::Redirect(self.redirect()?),
                    (true, _) => return Err(Doubt::Descriptor),
                    (false, _) => Token::Word(word),
                }
            }
        }))
    }

    /// The next character that counts: a backslash and the end of a line after it are as if they were not there.
    fn peek(&mut self) -> Option<char> {
        while let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest;
        }
        self.rest.chars().next()
    }

    /// Goes past one character and gives it.
    fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    /// Goes past the last character of a sign.
    fn sign(&mut self, sign: Token) -> Token {
        self.take();
        sign
    }

    /// `&>` or `&>>`, of which `&` is behind.
    fn redirect_all(&mut self) -> Result<Redirect, Doubt> {
        self.take();
        match self.peek() {
            Some('&' | '|') => return Err(Doubt::Order),
            Some('(') => return Err(Doubt::InlineInput),
            Some('>') => {
                self.take();
            }
            _ => {}
        }
        Ok(Redirect::Write)
    }

    /// The sign of a redirection, of which a digit may be behind.
    fn redirect(&mut self) -> Result<Redirect, Doubt> {
        let first = self.take();
        let redirect = match (first, self.peek()) {
            (_, Some('(')) | (Some('<'), Some('<')) => return Err(Doubt::InlineInput),
            (Some('<'), Some('>')) => Redirect::Both,
            (_, Some('&')) => Redirect::Join,
            (Some('>'), Some('>' | '|')) => Redirect::Write,
            (Some('<'), _) => return Ok(Redirect::Read),
            _ => return Ok(Redirect::Write),
        };
        self.take();
        Ok(redirect)
    }

    fn word(&mut self) -> Result<Word, Doubt> {
        let mut word = Word { text: String::new(), plain: true, name: None, last: None };
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            self.take();
            match c {
                '\'' => {
                    let (quoted, rest) = self.rest.split_once('\'').ok_or(Doubt::Unfinished)?;
                    self.rest = rest;
                    word.quote(quoted);
                }
                '"' => self.double_quoted(&mut word)?,
                '\\' => {
                    let escaped = self.take().ok_or(Doubt::Unfinished)?;
                    word.quote(escaped.encode_utf8(&mut [0; 4]));
                }
                '$' | '`' => return Err(Doubt::Expansion),
                '*' | '?' => return Err(Doubt::Pattern),
                '[' | '{' | '}' => self.bracket(c, &mut word)?,
                '~' if word.text.is_empty() || matches!(word.last, Some('=' | ':')) => {
                    return Err(Doubt::Home);
                }
                '!' if !matches!(self.peek(), None | Some(' ' | '\t' | '\n' | '=')) => {
                    return Err(Doubt::History);
                }
                c if c.is_whitespace() => return Err(Doubt::Blank),
                c => word.push(c),
            }
        }
        Ok(word)
    }

    /// `[`, `{` and `}` are themselves if they are a whole word; so is `{}`, which no shell replaces.
    fn bracket(&mut self, bracket: char, word: &mut Word) -> Result<(), Doubt> {
        if bracket == '{' && self.peek() == Some('}') && !word.text.contains("{}") {
            self.take();
            word.push('{');
            word.push('}');
            return Ok(());
        }
        let alone = word.text.is_empty() && word.plain && self.peek().is_none_or(ends_word);
        if !alone {
            return Err(Doubt::Pattern);
        }
        word.push(bracket);
        Ok(())
    }

    /// The part of a word up to the closing quote, of which the opening one is behind.
    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Doubt> {
        word.quote("");
        loop {
            // the end of a line after a backslash goes here, too
            self.peek();
            match self.take().ok_or(Doubt::Unfinished)? {
                '"' => return Ok(()),
                '$' | '`' => return Err(Doubt::Expansion),
                '!' if !matches!(self.peek(), Some(' ' | '\t' | '\n' | '=' | '"')) => {
                    return Err(Doubt::History);
                }
                '\\' => match self.take().ok_or(Doubt::Unfinished)? {
                    escaped @ ('$' | '`' | '"' | '\\') => word.text.push(escaped),
                    // a terminal's shell and a script's keep different parts of this
                    '!' => return Err(Doubt::History),
                    other => word.text.extend(['\\', other]),
                },
                other => word.text.push(other),
            }
        }
    }
}

impl Word {
    /// The name and the value, if the word sets a variable in front of a command; `+` ends a name that is added to.
    pub(super) fn variable(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_at_checked(self.name?)?;
        Some((name, value.strip_prefix('=')?))
    }

    /// A character that was not quoted.
    fn push(&mut self, c: char) {
        if c == '=' && self.name.is_none() && self.plain && is_name(&self.text) {
            self.name = Some(self.text.len());
        }
        self.text.push(c);
        self.last = Some(c);
    }

    /// Characters that were quoted.
    fn quote(&mut self, quoted: &str) {
        self.plain = false;
        self.last = None;
        self.text.push_str(quoted);
    }
}

/// Whether a text in front of `=` is the name of a variable, or one and the sign that adds to it.
fn is_name(text: &str) -> bool {
    let name = text.strip_suffix('+').unwrap_or(text);
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Whether a character that is not quoted stands behind a word.
fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}
