//! Texts that stand for numbers, versions or dates, whose order as texts is another one.
//!
//! In: a text. Out: its kind. Linear in the text.

/// What a text stands for that is put in order as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordered {
    /// `10`
    Number,
    /// `1.10.2`
    Version,
    /// `31.12.2027`
    Date,
    /// `now + '72h'`
    Sum,
}

impl Ordered {
    pub(super) fn of(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(['.', '/']).collect();
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        match (parts.iter().all(digits), sizes.as_slice()) {
            // a year begins a date or a time
            (true, [4]) if text.starts_with("19") || text.starts_with("20") => None,
            (true, [1 | 2, 1 | 2, 2 | 4]) if !text.contains('/') && text.starts_with('0') => Some(Self::Date),
            (true, [1 | 2, 1 | 2, 4]) => Some(Self::Date),
            _ if text.contains('/') => None,
            (true, [_] | [_, _]) => Some(Self::Number),
            (true, [_, _, _] | [_, _, _, _]) => Some(Self::Version),
            _ => None,
        }
    }
}
