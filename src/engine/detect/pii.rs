//! The kinds of personal data, one row each.
//!
//! A kind stands here if code can say of a text that it is one: by a check digit, by parts that are given out, by a shape that little
//! else has. Names, postal addresses, dates of birth and numbers of passports without their machine-readable line have none of these:
//! a rule that looked for them would miss most and stop much else. Doubt counts as a find.

use super::card::card;
use super::contact::{email, ip, mac, phone};
use super::iban::iban;
use super::identity::{passport_mrz, ssn_us};
use super::kind::Kind;

/// The kinds of personal data.
pub const PII: &[Kind] = &[
    Kind {
        name: "email",
        about: "an e-mail address, in letters of any script; a host without a dot has none, and a login is none: `https://kim@host`, `kim@host:dir/file`, `git@host`",
        source: "RFC 5321, RFC 6531",
        on_request: false,
        example: &["ann.lee+news@", "mail.example.com"],
        sign: "@",
        letters: &[],
        pattern: r#"(?:[\p{L}\p{N}._%+&~'-]*[\p{L}\p{N}._%+&~'!#$*/=?^`{|}"-])@(?:(?:[\p{L}\p{N}-]+\.)+\p{L}[\p{L}\p{N}-]*[\p{L}\p{N}]|\[[0-9A-Fa-f:.IPv]{2,45}\])"#,
        sift: email,
    },
    Kind {
        name: "credit_card",
        about: "the number of a payment card: 12 to 19 digits of a known issuer with a right check digit (Luhn), at once or in groups",
        source: "ISO/IEC 7812, the networks' published ranges",
        on_request: false,
        example: &["4111 1111", " 1111 1111"],
        sign: r"(?:[0-9][ \t\r\n._/+-]{0,2}){12}",
        letters: &[],
        pattern: r"[0-9](?:[ \t\r\n._/+-]{0,2}[0-9]){11,}",
        sift: card,
    },
    Kind {
        name: "iban",
        about: "an international bank account number of its country's length with right check digits, at once or in groups",
        source: "ISO 13616, the registry of SWIFT",
        on_request: false,
        example: &["DE89 3704 0044", " 0532 0130 00"],
        sign: r"(?-u:[A-Za-z]{2}[0-9]{2})",
        letters: &[],
        pattern: r"(?-u:[A-Za-z]{2}[0-9]{2})",
        sift: iban,
    },
    Kind {
        name: "phone",
        about: "a telephone number in its international form (`+` or `00`), or one of North America with its parts set apart",
        source: "ITU-T E.164, the North American Numbering Plan",
        on_request: false,
        example: &["+1 (212)", " 555-0100"],
        sign: r"\+[ (]{0,2}[1-9]|00[1-9]|[0-9]{3}[ ).\-/]{1,2}[0-9]{3}[ .\-/][0-9]{4}",
        letters: &[],
        pattern: r"(?:\+[ (]{0,2}|00)[1-9](?:[ ()./\t-]{0,3}[0-9]){6,}|(?:1[ ./-])?\(?[2-9][0-9]{2}[ ).\-/]{1,2}[2-9][0-9]{2}[ .\-/][0-9]{4}",
        sift: phone,
    },
    Kind {
        name: "ssn_us",
        about: "a social security number of the United States in its three parts, each a part that is given out",
        source: "Social Security Administration, POMS RM 10201.030",
        on_request: false,
        example: &["219-", "09-9999"],
        sign: r"[0-9]{3}[ .-][0-9]{2}[ .-][0-9]{4}",
        letters: &[],
        pattern: r"[0-9]{3}[ .-][0-9]{2}[ .-][0-9]{4}",
        sift: ssn_us,
    },
    Kind {
        name: "passport_mrz",
        about: "the second line of a passport's machine-readable zone with right check digits",
        source: "ICAO Doc 9303, part 4",
        on_request: false,
        example: &["L898902C36UTO7408122", "F1204159ZE184226B<<<<<10"],
        sign: "[MFX<][0-9]{7}",
        letters: &[],
        pattern: "[A-Z0-9<]{9}[0-9][A-Z<]{3}[0-9]{7}[MFX<][0-9]{7}[A-Z0-9<]{14}[0-9<][0-9]",
        sift: passport_mrz,
    },
    Kind {
        name: "ip_address",
        about: "an IPv4 address with four bytes, or an IPv6 address; a version with four numbers looks the same",
        source: "RFC 791, RFC 4291",
        on_request: true,
        example: &["192.168.", "0.1"],
        sign: r"[0-9]\.[0-9]{1,3}\.|:[0-9A-Fa-f]{0,4}:",
        letters: &[],
        pattern: r"[0-9]{1,3}(?:\.[0-9]{1,3}){3,8}|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,39}(?:[0-9]{0,3}\.[0-9.]{5,11})?",
        sift: ip,
    },
    Kind {
        name: "mac",
        about: "the address of a network card: six bytes in hexadecimal with colons or hyphens",
        source: "IEEE 802",
        on_request: true,
        example: &["00:1b:63:", "84:45:e6"],
        sign: "(?:[0-9A-Fa-f]{2}[:-]){5}",
        letters: &[],
        pattern: "(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
        sift: mac,
    },
];
