//! Questions about texts that find more than their author meant.
//!
//! In: a regular expression, or what a text is to begin or end with. Out: what stands in it that is hardly ever meant so. Nothing is guessed of the texts that it
//! is asked of. Linear in the text; what is no regular expression is said elsewhere.

use crate::cel::re2::{Anchor, Ast, parse};
use regex_syntax::hir::ClassUnicode;

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
    /// Any address that has it somewhere: `contains('example.com')`.
    Part(String),
    /// Any address with it at its end, in a path or a query: `endsWith('.example.com')`.
    EndOfUrl(String),
    /// Any host, as what stands ahead of it takes any sign: `^https://.*[.]example[.]com`.
    Any,
}

impl LooseHost {
    /// Whether any part of a text may match.
    pub(super) fn is_of_any_part(&self) -> bool {
        matches!(self, Self::Part(_))
    }
}

/// Side on which a regular expression without an anchor allows further text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoosePattern {
    /// `[0-9]+`
    Anywhere,
    /// `[0-9]+$`
    Begin,
    /// `^[0-9]+`
    End,
    /// `(?m)^[0-9]+$`
    Lines,
}

/// A beginning that texts have which its author hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoosePrefix {
    /// `/work`, with which `/workshop` begins.
    Path(String),
    /// `/work/`, behind which `..` may follow.
    Folder(String),
    /// `/work/`, ahead of which anything may be.
    PartOfPath(String),
    /// `select`, behind which another statement may follow.
    Statement,
    /// `git status`, behind which another command may follow.
    Command,
    /// `1.2`, with which `1.20` begins.
    Version(String),
    /// `https://`, which stands in the query of any address.
    Scheme(String),
    /// `.md`, behind which the name may go on.
    Extension(String),
    /// `frontend`, as a part of a name that can be longer.
    PartOfName(String),
    /// A value that may be the beginning, or the end, of another one.
    Value { is_end: bool },
}

/// Words with which statements of SQL begin that read.
const READING_STATEMENTS: [&str; 4] = ["select", "with", "show", "explain"];

/// Whether a text is the word with which a statement begins that reads.
pub(super) fn is_reading_statement(text: &str) -> bool {
    READING_STATEMENTS.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Returns what is loose about a beginning.
pub(super) fn loose_prefix(text: &str) -> Option<LoosePrefix> {
    if is_reading_statement(text) {
        return Some(LoosePrefix::Statement);
    }
    if is_numbers(text) {
        return Some(LoosePrefix::Version(text.to_owned()));
    }
    match text.chars().next_back() {
        Some('/') if is_folder(text) => Some(LoosePrefix::Folder(text.to_owned())),
        Some(end) if is_rooted(text) && end.is_alphanumeric() => Some(LoosePrefix::Path(text.to_owned())),
        _ => None,
    }
}

/// `1.2`, `10.0`: numbers with dots between them, the last of which may go on.
fn is_numbers(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.contains('.') && text.split('.').all(is_number)
}

/// `.md`: the end of the name of a file.
pub(super) fn is_extension(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|end| {
        (1..=5).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `/work`
fn is_rooted(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//")
}

/// `/work/`
pub(super) fn is_folder(text: &str) -> bool {
    text.len() > 2 && is_rooted(text) && text.ends_with('/')
}

/// Whether a regular expression begins at the start of a text and says nothing of its end: `^(ls|cat) `.
pub(super) fn is_open_behind(pattern: &str) -> bool {
    parse(pattern).is_ok_and(|parsed| {
        let is_end = |ast: &Ast| edge(ast, Side::End) == Edge::Anchored;
        edge(&parsed.ast, Side::Begin) == Edge::Anchored && !is_end(&parsed.ast)
    })
}

/// Kind of the start or the end of a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// An anchor of the text.
    Anchored,
    /// `.*`, or a character that separates words: further text is allowed on purpose.
    Divided,
    /// An anchor of a line.
    Line,
    /// A letter, a digit or a class of these.
    Open,
}

/// Returns the side on which a regular expression allows further text, hardly on purpose.
pub(super) fn loose_pattern(pattern: &str) -> Option<LoosePattern> {
    let parsed = parse(pattern).ok().filter(|parsed| !loose_anchors(&parsed.ast))?;
    let [begin, end] = [Side::Begin, Side::End].map(|side| edge(&parsed.ast, side));
    match (begin, end) {
        (Edge::Line, _) | (_, Edge::Line) => Some(LoosePattern::Lines),
        (Edge::Anchored, Edge::Open) => Some(LoosePattern::End),
        (Edge::Open, Edge::Anchored) => Some(LoosePattern::Begin),
        (Edge::Open, _) | (_, Edge::Open) => Some(LoosePattern::Anywhere),
        (Edge::Anchored | Edge::Divided, Edge::Anchored | Edge::Divided) => None,
    }
}

#[derive(Clone, Copy)]
enum Side {
    Begin,
    End,
}

/// Returns the kind of a start or an end; of several alternatives the loosest.
fn edge(ast: &Ast, side: Side) -> Edge {
    match ast {
        Ast::Anchor(Anchor::TextStart | Anchor::TextEnd) => Edge::Anchored,
        Ast::Anchor(Anchor::LineStart | Anchor::LineEnd) => Edge::Line,
        Ast::Anchor(Anchor::WordBoundary | Anchor::NotWordBoundary) | Ast::Empty | Ast::Dot { .. } => {
            Edge::Divided
        }
        Ast::Literal { char, .. } if char.is_alphanumeric() => Edge::Open,
        Ast::Literal { .. } => Edge::Divided,
        Ast::Class(class) => of_class(class),
        Ast::Bracket(class) => of_class(&class.set),
        Ast::Capture(_, part) | Ast::Group(part) | Ast::Repeat { part, .. } => edge(part, side),
        Ast::Concat(parts) => {
            let outer = match side {
                Side::Begin => parts.first(),
                Side::End => parts.last(),
            };
            outer.map_or(Edge::Divided, |part| edge(part, side))
        }
        Ast::Alternate(ways) => ways.iter().map(|way| edge(way, side)).max().unwrap_or(Edge::Divided),
    }
}

/// Returns the kind of a class. One of letters or digits was hardly meant to be followed by others.
fn of_class(class: &ClassUnicode) -> Edge {
    let takes = |begin: char, end: char| {
        class.ranges().iter().any(|range| range.start() <= end && begin <= range.end())
    };
    if takes('a', 'z') || takes('A', 'Z') || takes('0', '9') { Edge::Open } else { Edge::Divided }
}

/// Returns the text that an anchored literal matches: `https://a.b` of `^https://a\.b`.
fn anchored_literal(pattern: &str) -> Option<String> {
    let Ast::Concat(parts) = parse(pattern).ok()?.ast else { return None };
    let (first, rest) = parts.split_first()?;
    if !matches!(first, Ast::Anchor(Anchor::TextStart)) {
        return None;
    }
    let literal = |part: &Ast| match part {
        Ast::Literal { char, .. } => Some(*char),
        _ => None,
    };
    rest.iter().map(literal).collect()
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
                        found.extend(open_hosts(parts));
                    }
                });
            }
            let begin = anchored_literal(text).filter(|_| found.is_empty());
            found.extend(begin.iter().flat_map(|begin| loose_hosts("startsWith", begin)));
            found
        }
        "contains" => {
            let name = text.split_once("://").map_or(text, |(_, rest)| rest).trim_start_matches(['@', '.']);
            let name = name.split(['/', ':']).next().unwrap_or_default();
            if is_host(name) { vec![LooseHost::Part(name.to_owned())] } else { Vec::new() }
        }
        "endsWith" if is_host(text) => vec![LooseHost::End(text.to_owned())],
        "startsWith" if text.split_once("://").is_some_and(|(scheme, rest)| is_open_host(scheme, rest)) => {
            vec![LooseHost::Begin(text.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// Whether an address begins so that its host may go on.
fn is_open_host(scheme: &str, rest: &str) -> bool {
    let is_web = ["http", "https", "ws", "wss"].contains(&scheme.to_lowercase().as_str());
    let is_begun = rest.starts_with(|first: char| first.is_ascii_alphanumeric());
    is_host(rest) || is_web && is_begun && !rest.contains(['/', '?', '#'])
}

/// Whether it is the name of a host and nothing else, which begins where a name does.
pub(super) fn is_host(text: &str) -> bool {
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

/// Hosts ahead of whose names any letters may stand: `.*example[.]com`, and whole addresses with `.*` in the place of a host.
fn open_hosts(parts: &[Ast]) -> Option<LooseHost> {
    let takes = |part: &Ast, wanted: char| match part {
        Ast::Dot { .. } => true,
        Ast::Class(class) => holds(class, wanted),
        Ast::Bracket(class) => holds(&class.set, wanted),
        _ => false,
    };
    let repeated = |ast: &Ast| match ast {
        Ast::Repeat { part, .. } => Some((takes(part, 'a'), takes(part, '/'))),
        _ => None,
    };
    parts.iter().enumerate().find_map(|(at, ast)| {
        let (takes_letters, takes_slash) = repeated(ast)?;
        let ahead: String = parts.get(..at)?.iter().filter_map(sign).collect();
        let name: String = parts.get(at.checked_add(1)?..)?.iter().map_while(sign).collect();
        let name = name.split(['/', ':']).next().unwrap_or_default();
        if takes_slash && ahead.ends_with("://") {
            return Some(LooseHost::Any);
        }
        (takes_letters && is_host(name)).then(|| LooseHost::End(name.to_owned()))
    })
}

/// The one character that a part takes: `a`, `\\.` or `[.]`.
fn sign(ast: &Ast) -> Option<char> {
    match ast {
        Ast::Literal { char, .. } => Some(*char),
        Ast::Bracket(class) => match class.set.ranges() {
            [range] if range.start() == range.end() => Some(range.start()),
            _ => None,
        },
        _ => None,
    }
}

fn holds(class: &ClassUnicode, char: char) -> bool {
    class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char))
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
    use super::{LooseHost, LoosePattern, Wide, loose_hosts, loose_pattern, wide};

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
    fn open_ends_are_found() {
        for (pattern, expected) in [
            ("[0-9]+", Some(LoosePattern::Anywhere)),
            ("visa|amex", Some(LoosePattern::Anywhere)),
            // found as loose anchors
            ("^visa|amex$", None),
            ("[0-9]+$", Some(LoosePattern::Begin)),
            ("^[0-9]+", Some(LoosePattern::End)),
            ("^(visa|amex)", Some(LoosePattern::End)),
            ("^/srv/data", Some(LoosePattern::End)),
            (r"\A[0-9]+", Some(LoosePattern::End)),
            ("(?m)^[0-9]+$", Some(LoosePattern::Lines)),
            (r"(?m)\A[0-9]+\z", None),
            ("^[0-9]+$", None),
            ("^(visa|amex)$", None),
            ("^visa$|^amex$", None),
            ("^git .*", None),
            ("^/srv/data/", None),
            (r"^ls\b", None),
            (r"\.pdf$", None),
            (r"@example\.com$", None),
            (".*x.*", None),
            (r"\bvisa\b", None),
            ("", None),
            ("(", None),
        ] {
            assert_eq!(loose_pattern(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn names_of_hosts_that_others_have_are_found() {
        let dot = |name: &str| Some(LooseHost::Dot(name.to_owned()));
        let end = |name: &str| Some(LooseHost::End(name.to_owned()));
        let begin = |name: &str| Some(LooseHost::Begin(name.to_owned()));
        let part = |name: &str| Some(LooseHost::Part(name.to_owned()));
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
            ("contains", "bank.com", part("bank.com")),
            ("contains", "@bank.com", part("bank.com")),
            ("contains", "https://bank.com/pay", part("bank.com")),
            ("contains", "bank", None),
            ("contains", "report.pdf", None),
            ("startsWith", "https://10.0.0.1", begin("https://10.0.0.1")),
            ("startsWith", "https://bank.com:8443", begin("https://bank.com:8443")),
            ("startsWith", "https://intranet", begin("https://intranet")),
            ("startsWith", "file://etc", None),
            ("matches", r"^https://bank\.com", begin("https://bank.com")),
            ("matches", r"^https://bank\.com/", None),
        ];
        for (function, text, expected) in cases {
            assert_eq!(loose_hosts(function, text).first(), expected.as_ref(), "{function} {text}");
        }
    }
}
