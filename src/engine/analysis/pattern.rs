//! Questions about texts that find more than their author meant.
//!
//! In: a regular expression, or what a text is to begin or end with. Out: what stands in it that is hardly ever meant so. Nothing is guessed of the texts that it
//! is asked of. Linear in the text; what is no regular expression is said elsewhere.

use crate::cel::re2::{Anchor, Ast, parse};

/// What a regular expression finds that was hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    /// `[A-z]`, with its ends
    Range(char, char),
    /// `^a|b$`
    Anchors,
}

/// The name of a host that others have, too, as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LooseHost {
    /// `example.com` in a regular expression, whose dot is any character
    Dot(String),
    /// Any host that ends so: `endsWith('example.com')`.
    End(String),
    /// Any host that begins so: `startsWith('https://example.com')`.
    Begin(String),
}

/// What hosts end with. A dot ahead of one of these is one of a name.
const ENDS_OF_HOSTS: [&str; 28] = [
    "com", "org", "net", "edu", "gov", "mil", "io", "dev", "app", "ai", "eu", "uk", "de", "fr", "nl", "es",
    "ch", "pl", "se", "jp", "info", "biz", "xyz", "cloud", "internal", "local", "test", "example",
];

pub(super) fn wide(pattern: &str) -> Vec<Wide> {
    let mut found = Vec::new();
    if let Ok(parsed) = parse(pattern) {
        found.extend(loose_anchors(&parsed.ast).then_some(Wide::Anchors));
        each_part(&parsed.ast, &mut |part| {
            if let Ast::Bracket(class) = part {
                // between the two alphabets lie six signs
                let wide = class
                    .ranges
                    .iter()
                    .filter(|(first, last)| first.is_ascii_uppercase() && last.is_ascii_lowercase());
                found.extend(wide.map(|(first, last)| Wide::Range(*first, *last)));
            }
        });
    }
    found
}

/// What is loose about the name of a host that a text is asked for by this function.
pub(super) fn loose_hosts(function: &str, text: &str) -> Vec<LooseHost> {
    match function {
        "matches" => {
            let mut found = Vec::new();
            if let Ok(parsed) = parse(text) {
                each_part(&parsed.ast, &mut |part| {
                    if let Ast::Concat(parts) = part {
                        found.extend(dots(parts).map(LooseHost::Dot));
                    }
                });
            }
            found
        }
        "endsWith" if is_host(text) => vec![LooseHost::End(text.to_owned())],
        "startsWith" if text.split_once("://").is_some_and(|(_, host)| is_host(host)) => {
            vec![LooseHost::Begin(text.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// Whether it is the name of a host and nothing else, which begins where a name does.
fn is_host(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let ends = labels.last().is_some_and(|last| ENDS_OF_HOSTS.contains(&last.to_lowercase().as_str()));
    labels.len() > 1 && labels.iter().all(is_label) && ends
}

/// Hands over a part of a regular expression, and those in it.
fn each_part(ast: &Ast, of: &mut dyn FnMut(&Ast)) {
    of(ast);
    match ast {
        Ast::Repeat { part, .. } | Ast::Group(part) | Ast::Capture(_, part) => each_part(part, of),
        Ast::Alternate(parts) | Ast::Concat(parts) => parts.iter().for_each(|part| each_part(part, of)),
        _ => {}
    }
}

/// The names of hosts in which a dot stands for any character: a letter ahead of it, and what hosts end with behind it, as a whole word.
fn dots(parts: &[Ast]) -> impl Iterator<Item = String> {
    let letter = |ast: &Ast| match ast {
        Ast::Literal { char, .. } if char.is_alphanumeric() || *char == '-' => Some(*char),
        _ => None,
    };
    let positions = parts.iter().enumerate().filter(|(_, ast)| matches!(ast, Ast::Dot { .. }));
    positions.filter_map(move |(at, _)| {
        let (ahead, behind) = (parts.get(..at)?, parts.get(at.checked_add(1)?..)?);
        let end: String = behind.iter().map_while(letter).collect();
        let mut begin: Vec<char> = ahead.iter().rev().map_while(letter).collect();
        begin.reverse();
        let is_repeated = matches!(behind.get(end.chars().count()), Some(Ast::Repeat { .. }));
        let is_host =
            !begin.is_empty() && ENDS_OF_HOSTS.contains(&end.to_lowercase().as_str()) && !is_repeated;
        is_host.then(|| format!("{}.{end}", begin.iter().collect::<String>()))
    })
}

/// Whether the first of several ways alone begins at the start, and the last one alone ends at the end. One anchor alone may be meant so:
/// `^rm|;rm` finds a command in two places.
fn loose_anchors(ast: &Ast) -> bool {
    let Ast::Alternate(alternatives) = ast else { return false };
    let ways: Vec<[bool; 2]> = alternatives.iter().map(|way| [begins(way), ends(way)]).collect();
    match ways.as_slice() {
        [[true, false], between @ .., [false, true]] => between.iter().all(|anchors| *anchors == [false; 2]),
        _ => false,
    }
}

fn begins(way: &Ast) -> bool {
    matches!(first_and_last(way), [Some(Ast::Anchor(Anchor::LineStart | Anchor::TextStart)), _])
}

fn ends(way: &Ast) -> bool {
    matches!(first_and_last(way), [_, Some(Ast::Anchor(Anchor::LineEnd | Anchor::TextEnd))])
}

fn first_and_last(way: &Ast) -> [Option<&Ast>; 2] {
    match way {
        Ast::Concat(parts) => [parts.first(), parts.last()],
        other => [Some(other), Some(other)],
    }
}

#[cfg(test)]
mod tests {
    use super::{LooseHost, Wide, loose_hosts, wide};

    #[test]
    fn what_is_hardly_meant_is_found() {
        let cases: [(&str, &[Wide]); 11] = [
            ("^[A-z]+$", &[Wide::Range('A', 'z')]),
            ("([^a-zA-Z0-9])+", &[]),
            // no intersection in RE2's syntax: a class, and a `]`
            ("[0-9&&[B-y]]", &[Wide::Range('B', 'y')]),
            (r"\Q[A-z]\E", &[]),
            (r"(?i)[[:^alpha:]A-z]", &[Wide::Range('A', 'z')]),
            ("^a|b$", &[Wide::Anchors]),
            ("^a|b|c$", &[Wide::Anchors]),
            ("^(a|b)$", &[]),
            ("^a$|^b$", &[]),
            ("^rm|;rm", &[]),
            ("(", &[]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(wide(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn names_of_hosts_that_others_have_are_found() {
        let dot = |name: &str| Some(LooseHost::Dot(name.to_owned()));
        let end = |name: &str| Some(LooseHost::End(name.to_owned()));
        let begin = |name: &str| Some(LooseHost::Begin(name.to_owned()));
        let cases = [
            ("matches", "@example.com$", dot("example.com")),
            ("matches", r"@example\.com$", None),
            ("matches", "^https://(www.shop.de|x)/", dot("shop.de")),
            ("matches", "drop.table", None),
            ("matches", "x.*com", None),
            ("matches", "x.+com", None),
            ("matches", "a.community", None),
            ("matches", "a.comm*", None),
            ("endsWith", "bank.com", end("bank.com")),
            ("endsWith", "@bank.com", None),
            ("endsWith", ".bank.com", None),
            ("endsWith", "report.pdf", None),
            ("endsWith", "com", None),
            ("startsWith", "https://api.bank.com", begin("https://api.bank.com")),
            ("startsWith", "https://api.bank.com/", None),
            ("startsWith", "https://", None),
            ("startsWith", "bank.com", None),
            ("contains", "bank.com", None),
        ];
        for (function, text, expected) in cases {
            assert_eq!(loose_hosts(function, text).first(), expected.as_ref(), "{function} {text}");
        }
    }
}
