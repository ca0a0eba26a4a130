//! Texts that stand for numbers, versions or dates, whose order as texts is another one.
//!
//! In: a text. Out: its kind. Linear in the text.

/// The kind of a text whose order as a text is not that of its values.
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
        if is_short_date(text) {
            return Some(Self::Date);
        }
        let parts: Vec<&str> = text.split(['.', '/']).collect();
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        match (parts.iter().all(digits), sizes.as_slice()) {
            // a year begins a date or a time
            (true, [4]) if text.starts_with("19") || text.starts_with("20") => None,
            (true, [1 | 2, 1 | 2, 4]) => Some(Self::Date),
            _ if text.contains('/') => None,
            (true, [_] | [_, _]) => Some(Self::Number),
            (true, [_, _, _] | [_, _, _, _]) => Some(Self::Version),
            _ => None,
        }
    }
}

/// `2027-6-1`, which is before `2027-12-1` as a date and behind it as a text.
fn is_short_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        [year, month, day] => {
            let sizes = [year, month, day].map(|part| part.len());
            [year, month, day].into_iter().all(|part| is_number(part))
                && matches!(sizes, [4, 1, 1 | 2] | [4, 2, 1])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Ordered;

    #[test]
    fn the_kind_of_a_text_is_told_by_its_digits() {
        for (text, kind) in [
            ("10", Some(Ordered::Number)),
            ("1.5", Some(Ordered::Number)),
            ("2027", None),
            ("1.10.2", Some(Ordered::Version)),
            ("0.1.22", Some(Ordered::Version)),
            ("31.12.2027", Some(Ordered::Date)),
            ("1/2/2027", Some(Ordered::Date)),
            ("2027-12-31", None),
            ("2027-6-1", Some(Ordered::Date)),
            ("2027-06-1", Some(Ordered::Date)),
            ("2027-6", None),
            ("1-2-3", None),
            ("10/8", None),
            ("", None),
            ("v1", None),
        ] {
            assert_eq!(Ordered::of(text), kind, "{text}");
        }
    }
}
