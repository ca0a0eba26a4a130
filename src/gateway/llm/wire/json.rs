//! JSON as it is read from clients and from APIs of models: strictly, with U+FFFD for half a surrogate pair, which some programs write where a
//! text was cut.

pub(crate) use celador_server::strict_json::from_slice_lossy as read;

/// Whether two texts of JSON are the same but for blanks between what they say.
pub(crate) fn is_same_but_for_blanks(text: &str, written: &str) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    let tokens = text.chars().filter(|letter| {
        if quoted {
            quoted = escaped || *letter != '"';
            escaped = !escaped && *letter == '\\';
            return true;
        }
        quoted = *letter == '"';
        !matches!(letter, ' ' | '\t' | '\n' | '\r')
    });
    tokens.eq(written.chars())
}

#[cfg(test)]
mod tests {
    use super::is_same_but_for_blanks;

    #[test]
    fn blanks_between_tokens_alone_make_no_difference() {
        let written = r#"{"a":"b \" c","d":[1,2.5]}"#;
        assert!(is_same_but_for_blanks("{ \"a\": \"b \\\" c\",\n  \"d\": [1, 2.5]\n}", written));
        for other in [
            r#"{"a":"b\" c","d":[1,2.5]}"#,
            r#"{"a":"\u0062 \" c","d":[1,2.5]}"#,
            r#"{"a":"b \" c","d":[1,2.50]}"#,
            "{}",
        ] {
            assert!(!is_same_but_for_blanks(other, written), "{other}");
        }
    }
}
