//! Escapes and flags: the parts of a pattern that begin with `\` or `(?`.

use super::error::SyntaxErrorKind;
use super::flags::Question;
use super::parser::{Parser, Result};

const LARGEST: u32 = char::MAX as u32;

impl Parser<'_> {
    /// The number of the character that an escape stands for, in a class or outside. A `\` is next.
    pub(super) fn escape(&mut self) -> Result<u32> {
        let start = self.at();
        self.next();
        let Some(letter) = self.next() else {
            return Err(self.error(SyntaxErrorKind::TrailingBackslash, start));
        };
        let number = match letter {
            '0'..='7' => self.octal(letter),
            'x' => self.hexadecimal(),
            'n' => Some(0x0A),
            'r' => Some(0x0D),
            't' => Some(0x09),
            'a' => Some(0x07),
            'f' => Some(0x0C),
            'v' => Some(0x0B),
            sign if sign.is_ascii() && !sign.is_ascii_alphanumeric() => Some(u32::from(sign)),
            _ => None,
        };
        number.ok_or_else(|| self.error(SyntaxErrorKind::Escape, start))
    }

    /// Up to three digits, the first of which is read. One digit but zero would be a back reference.
    fn octal(&mut self, first: char) -> Option<u32> {
        let mut number = first.to_digit(8)?;
        let mut is_octal = first == '0';
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|digit| digit.to_digit(8)) else { break };
            self.next();
            number = number.checked_mul(8)?.checked_add(digit)?;
            is_octal = true;
        }
        is_octal.then_some(number)
    }

    /// Two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let hex = |sign: Option<char>| sign.and_then(|sign| sign.to_digit(16));
        let first = self.next()?;
        if first != '{' {
            let (high, low) = (hex(Some(first))?, hex(self.next())?);
            return high.checked_mul(16)?.checked_add(low);
        }
        let mut number = hex(self.next())?;
        loop {
            match self.next()? {
                '}' => return Some(number),
                digit => {
                    number = number.checked_mul(16)?.checked_add(hex(Some(digit))?)?;
                    if number > LARGEST {
                        return None;
                    }
                }
            }
        }
    }

    /// `(?` is next.
    pub(super) fn question(&mut self) -> Result<Question> {
        let start = self.at();
        let rest = self.rest();
        if let Some(length) =
            ["(?=", "(?!", "(?<=", "(?<!"].iter().find(|it| rest.starts_with(**it)).map(|it| it.len())
        {
            self.skip(length);
            return Err(self.error(SyntaxErrorKind::LookAround, start));
        }
        if let Some(open) = ["(?P<", "(?<"].iter().find(|open| rest.starts_with(**open)) {
            let name = rest.get(open.len()..).unwrap_or_default();
            let name = name.split_once('>').map(|(name, _)| name);
            let Some(name) = name.filter(|name| super::class::is_group_name(name)) else {
                self.skip(
                    name.map_or(rest.len(), |name| open.len().saturating_add(name.len()).saturating_add(1)),
                );
                return Err(self.error(SyntaxErrorKind::GroupName, start));
            };
            self.skip(open.len().saturating_add(name.len()).saturating_add(1));
            return Ok(Question::Named);
        }
        self.skip(2);
        let mut flags = self.flags;
        let (mut on, mut is_complete) = (true, true);
        loop {
            let flag = match self.next() {
                Some('i') => &mut flags.fold_case,
                Some('m') => &mut flags.multi_line,
                Some('s') => &mut flags.dot_line_feed,
                Some('U') => &mut flags.swap_greed,
                Some('-') if on => {
                    (on, is_complete) = (false, false);
                    continue;
                }
                Some(')') if is_complete => return Ok(Question::Flags(flags)),
                Some(':') if is_complete => return Ok(Question::Group(flags)),
                Some('P') => {
                    // `(?P=`, `(?P>`: shown with the sign that tells them apart
                    self.next();
                    return Err(self.error(SyntaxErrorKind::GroupFlag, start));
                }
                _ => return Err(self.error(SyntaxErrorKind::GroupFlag, start)),
            };
            *flag = on;
            is_complete = true;
        }
    }
}
