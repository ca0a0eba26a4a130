//! `mail.addresses` and `mail.domain`: the addresses of a list of recipients, as every mail program reads it.
//!
//! RFC 5322 lets a list hold comments, groups, quoted local parts, routes and addresses of hosts, which programs read differently. This
//! reader accepts what all of them read alike: addresses with commas between them, each plain (`ann@example.com`) or in angle
//! brackets behind a name (`"Doe, Ann" <ann@example.com>`). Everything else is an error.

use super::{Lists, check_size, each_string, texts};
use crate::cel::{Code, Fault, Function, Meter, Value};
use email_address::{EmailAddress, Options};

const COST: &str = "1 for each part, two tenths of the length of the texts, and what is built";

/// The row of `mail.addresses`.
pub(super) const ADDRESSES: Function = Function {
    name: "mail.addresses",
    doc: "the e-mail addresses of a list of recipients, a text or a list of texts, with their domains in small letters; an error for anything but \
          addresses with commas between them, each plain or in `<>` behind a name: semicolons, groups, comments, line ends, quoted \
          local parts, routes (`%`, `!`), letters beyond ASCII in an address, and a text without an address",
    cost: COST,
    overloads: &[("mail_addresses", "mail.addresses(dyn) -> list(string)")],
    examples: &[
        (
            "mail.addresses('ann@Example.com, \"Doe, Bob\" <bob@example.org>')",
            "['ann@example.com', 'bob@example.org']",
        ),
        ("mail.addresses(['ann@example.com', 'bob@example.org'])", "['ann@example.com', 'bob@example.org']"),
        ("mail.addresses([])", "[]"),
        ("mail.addresses('ann@example.com; bob@example.org')", "error: invalid_argument"),
        ("mail.addresses('friends: ann@example.com;')", "error: invalid_argument"),
        ("mail.addresses('\"eve@evil.test\" <ann@example.com>')", "error: invalid_argument"),
        ("mail.addresses('ann@example.com (at work)')", "error: invalid_argument"),
        ("mail.addresses('')", "error: invalid_argument"),
    ],
    code: Code::Pure(|meter, args| match args {
        [value] => {
            let addresses = addresses(meter, value)?;
            texts(
                meter,
                addresses
                    .into_iter()
                    .map(|address| format!("{}@{}", address.local, address.domain))
                    .collect(),
            )
        }
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

/// The row of `mail.domain`.
pub(super) const DOMAIN: Function = Function {
    name: "mail.domain",
    doc: "the domain of one e-mail address, plain or in `<>` behind a name, in small letters; an error for anything that `mail.addresses` refuses, and for several addresses",
    cost: COST,
    overloads: &[("mail_domain_string", "mail.domain(string) -> string")],
    examples: &[
        ("mail.domain('\"Doe, Ann\" <ann@Example.com>')", "'example.com'"),
        (
            "mail.addresses('ann@example.com, bob@Example.ORG').map(a, mail.domain(a))",
            "['example.com', 'example.org']",
        ),
        ("mail.addresses('eve@evil.test,x@example.com').all(a, mail.domain(a) in ['example.com'])", "false"),
        ("mail.domain('eve@evil.test,x@example.com')", "error: invalid_argument"),
        ("mail.domain('eve@evil.test x@example.com')", "error: invalid_argument"),
        ("mail.domain('ann@example.com.')", "error: invalid_argument"),
        ("mail.domain('ann@еxample.com')", "error: invalid_argument"),
    ],
    code: Code::Pure(|meter, args| match args {
        [address @ Value::String(_)] => {
            let mut addresses = addresses(meter, address)?.into_iter();
            match (addresses.next(), addresses.next()) {
                (Some(Address { domain, .. }), None) => {
                    meter.charge_built(domain.len())?;
                    Ok(Value::owned_text(domain))
                }
                _ => Err(Fault::refused("one address, plain or in `<>` behind a name")),
            }
        }
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }),
};

struct Address {
    local: String,
    /// In small letters.
    domain: String,
}

fn addresses(meter: &mut Meter<'_>, value: &Value<'_>) -> Result<Vec<Address>, Fault> {
    let mut addresses = Vec::new();
    match value {
        Value::String(_) => {}
        Value::List(list) if list.iter().all(|item| matches!(item, Value::String(_))) => {}
        _ => return Err(unreadable()),
    }
    each_string(meter, value, Lists::Apart, &mut |meter, text| {
        check_size(meter, text)?;
        meter.charge_text(text.len())?;
        let parts = split(text).ok_or_else(unreadable)?;
        for part in parts {
            addresses.push(address(part).ok_or_else(unreadable)?);
        }
        Ok(())
    })?;
    Ok(addresses)
}

fn unreadable() -> Fault {
    Fault::refused("addresses with commas between them, each plain or in `<>` behind a name")
}

/// The texts between the commas that stand outside of quotes. Nothing where a quote is not closed.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut is_quoted = false;
    let is_separator = |letter: char| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    };
    let parts = text.split(is_separator).collect();
    (!is_quoted).then_some(parts)
}

/// One address, plain or behind a name.
fn address(part: &str) -> Option<Address> {
    let part = part.trim_matches(' ');
    let plain = match part.strip_suffix('>') {
        Some(named) => {
            let (name, plain) = named.split_once('<')?;
            if !is_name(name.trim_matches(' ')) {
                return None;
            }
            plain
        }
        None => part,
    };
    let (local, domain) = plain.split_once('@')?;
    // `%` and `!` are routes: a relay sends `a%evil.test@example.com` on to `evil.test`
    let is_plain = plain.is_ascii() && !local.contains(['"', '%', '!', '\\', '/', '=', '|', '`']);
    let options = Options::default().with_required_tld().without_domain_literal().without_display_text();
    let is_address = EmailAddress::parse_with_options(plain, options).is_ok();
    (is_plain && is_address && is_host(domain))
        .then(|| Address { local: local.to_owned(), domain: domain.to_ascii_lowercase() })
}

/// The name before an address: words, or a quoted text. No sign that a list or an address has.
fn is_name(name: &str) -> bool {
    let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let has_sign = |name: &str, signs: &[char]| name.contains(signs) || name.contains("=?");
    match quoted {
        Some(quoted) => !has_sign(quoted, &['"', '\\', '@', '<', '>', ';']) && is_printed(quoted),
        None => {
            !has_sign(name, &['"', '\\', '@', '<', '>', ';', ':', ',', '(', ')', '[', ']'])
                && is_printed(name)
        }
    }
}

/// Whether each character is shown on one line.
fn is_printed(name: &str) -> bool {
    name.chars().all(|letter| {
        !letter.is_control()
            && !crate::detect::is_invisible(letter)
            && (letter == ' ' || !letter.is_whitespace())
    })
}

/// Whether each label of a host begins and ends with a letter or digit and has hyphens between them.
fn is_host(domain: &str) -> bool {
    domain.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}
