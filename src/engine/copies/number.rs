//! Numbers as copies of them are compared: by value, not by how they are written.

/// Digits that a number is written out with. A longer one is compared as it is written.
const MAX_DIGITS: usize = 40;

/// Longest number that is read: sign, digits, point and exponent.
const MAX_LENGTH: usize = MAX_DIGITS + 8;

/// Letters that are a number of JSON, or one with a plus sign, written without exponent and without zeros that add nothing: `1e4` and `10000.0`
/// are `10000`. Nothing for other texts, and for a number that is written so already.
pub(super) fn plain_decimal(letters: &[char]) -> Option<String> {
    if letters.len() > MAX_LENGTH || !letters.iter().all(char::is_ascii) {
        return None;
    }
    let text: String = letters.iter().collect();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<isize>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = !whole.is_empty()
        && (rest.len() > whole.len())
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
        && (mantissa.len() == whole.len() || !fraction.is_empty());
    // zeros in front are ids, not numbers
    if !is_number || (whole.len() > 1 && whole.starts_with('0')) || mantissa.len() > MAX_DIGITS {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let point = isize::try_from(whole.len()).ok()?.checked_add(exponent)?;
    if point.unsigned_abs() > MAX_DIGITS {
        return None;
    }
    let (whole, fraction) = if point <= 0 {
        (String::new(), format!("{}{digits}", "0".repeat(point.unsigned_abs())))
    } else {
        let point = point.unsigned_abs();
        let padded = format!("{digits:0<point$}");
        let (whole, fraction) = padded.split_at_checked(point)?;
        (whole.to_owned(), fraction.to_owned())
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::plain_decimal;

    #[test]
    fn numbers_are_written_out() {
        let rows = [
            ("4711.0", Some("4711")),
            ("1e10", Some("10000000000")),
            ("1E+3", Some("1000")),
            ("47.110e2", Some("4711")),
            ("-1.50", Some("-1.5")),
            ("471100e-2", Some("4711")),
            ("5e-3", Some("0.005")),
            ("0.0", Some("0")),
            ("+4711.0", Some("4711")),
            ("+-1.0", None),
            ("4711", None),
            ("1e400", None),
            ("007.0", None),
            ("1.2.3", None),
            ("e10", None),
            (".5", None),
            ("1.", None),
            ("1e", None),
            ("", None),
            ("-", None),
            ("10.0.0.1", None),
        ];
        for (written, expected) in rows {
            let letters: Vec<char> = written.chars().collect();
            assert_eq!(plain_decimal(&letters).as_deref(), expected, "{written}");
        }
    }
}
