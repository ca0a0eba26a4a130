//! The places of errors, and the bound of nesting.

use super::{MAX_NESTING, SyntaxErrorKind, parse};

#[test]
fn an_error_names_its_place_and_what_was_expected() {
    let cases = [
        ("ab[c", "at character 3, expected a class that ends with `]`, found `[c`"),
        ("é(a", "at character 2, expected a group that ends with `)`, found `(a`"),
        ("a)", "at character 2, expected a `)` that ends a group, found `)`"),
        ("a\\", "at character 2, expected a character after `\\`, found `\\`"),
        (r"a\Zb", r"at character 2, expected an escape of RE2's syntax, found `\Z`"),
        (r"(a)\1", r"at character 4, expected an escape of RE2's syntax, found `\1`"),
        (r"[\d\8]", r"at character 4, expected an escape of RE2's syntax, found `\8`"),
        (r"\x{110000}", r"at character 1, expected an escape of RE2's syntax, found `\x{110000`"),
        (r"a\C", r"at character 2, expected a character, found `\C`"),
        (
            "[a-c-a]b[z-a]",
            "at character 10, expected a range whose first character is not after its last, found `z-a`",
        ),
        ("[[:letter:]]", "at character 2, expected a class of POSIX such as `[:alpha:]`, found `[:letter:]`"),
        (
            r"\p{greek}",
            r"at character 1, expected a general category or script of Unicode, found `\p{greek}`",
        ),
        ("a|*", "at character 3, expected a character or group before the repetition, found `*`"),
        ("a**", "at character 2, expected one repetition, found `**`"),
        (
            "(a{100}){11}",
            "at character 9, expected a repetition of at most 1000 times in all, whose first bound is not above its last, found `{11}`",
        ),
        ("a(?=b)", "at character 2, expected a group without look-around, found `(?=`"),
        ("a(?<!b)", "at character 2, expected a group without look-around, found `(?<!`"),
        ("(?ix)a", "at character 1, expected `(?:`, `(?P<name>` or flags among `imsU`, found `(?ix`"),
        ("(?P<a-b>c)", "at character 1, expected a name of letters, digits and `_`, found `(?P<a-b>`"),
        ("(?i", "at character 1, expected `(?:`, `(?P<name>` or flags among `imsU`, found `(?i`"),
        ("a\n\t**", "at character 4, expected one repetition, found `**`"),
    ];
    for (pattern, expected) in cases {
        let error = parse(pattern).unwrap_err();
        assert_eq!(error.to_string(), expected, "{pattern}");
        assert!(pattern.get(error.span.clone()).is_some() && !error.help().is_empty(), "{pattern}");
    }
}

#[test]
fn nesting_is_bounded_however_it_is_written() {
    let depth = MAX_NESTING as usize;
    let kind = |pattern: &str| parse(pattern).err().map(|error| error.kind);
    for nested in ["(", "(?:", "(a|b", "(?i:", "(?P<a>"] {
        assert_eq!(kind(&nested.repeat(100_000)), Some(SyntaxErrorKind::Nesting), "{nested}");
    }
    // a repetition of a repetition needs no group
    assert_eq!(kind(&format!("a{}", r"{1}\Q\E".repeat(depth))), Some(SyntaxErrorKind::Nesting));
    assert_eq!(kind(&format!("a{}", r"*(?i)".repeat(100_000))), Some(SyntaxErrorKind::Nesting));
    assert_eq!(kind(&format!("{}a{}", "(".repeat(50), ")".repeat(50))), None);
    // what is long is not deep
    assert_eq!(kind(&"a|b*".repeat(10_000)), None);
}
