//! What is said of clauses and steps. One function a message; a value of task data is never repeated, constants of authors are.

use super::argument_names::{CaselessText, TextFormat};
use super::claim::{Claim, Verdict};
use super::ordered::Ordered;
use super::pattern::{LooseHost, LoosePattern, LoosePrefix, Wide};
use super::step_questions::Demand;
use crate::diagnostic::Diagnostic;
use crate::policy::ReadMap;
use crate::source::Place;

/// The most clauses that a message repeats.
const MAX_REASONS: usize = 3;

/// A part that is never true, never false, or always fails, because of these clauses.
pub(super) fn verdict(place: Place, verdict: &Verdict, reasons: &[&str], part: &str) -> Diagnostic {
    let because = because(reasons, part);
    if verdict.by_schema {
        return by_schema(place, verdict, &because);
    }
    match verdict.claim {
        Claim::NeverTrue => {
            let finding =
                Diagnostic::warning("never_true", format!("no input makes this true{because}"), place);
            match reasons {
                [_, _, ..] if part.contains("&&") => finding.help("did you mean `||`, or another constant?"),
                _ => match number_in_quotes(part) {
                    Some(number) => {
                        finding.help(format!("a number is no text: write `{number}` without quotes"))
                    }
                    None => finding.help("write what is meant, or `false` to say never"),
                },
            }
        }
        Claim::NeverFalse => {
            let message = format!("this is true whenever it has a value{because}");
            let finding = Diagnostic::warning("never_false", message, place);
            match reasons {
                [_, _, ..] if part.contains("||") => finding.help("did you mean `&&`, or another constant?"),
                _ => finding.help("it checks nothing: write what is meant, or take it out"),
            }
        }
        Claim::Moot => {
            let message =
                format!("this decides nothing: what stands beside it answers the same without it{because}");
            Diagnostic::warning("moot_part", message, place)
                .help("did you mean another constant, or the other one of `&&` and `||`? If not, take it out")
        }
        Claim::NeverTrueHere => {
            let message =
                format!("no input makes this true for which the parts around it let it decide{because}");
            Diagnostic::warning("never_true_here", message, place)
                .help("did you mean another constant, or the conditions in another order?")
        }
        Claim::NeverFalseHere => {
            let message = format!(
                "this decides nothing: it is true wherever the parts around it let it decide{because}"
            );
            Diagnostic::warning("moot_part", message, place)
                .help("did you mean another constant? If not, take it out")
        }
        Claim::NeverMember => {
            let item = reasons.first().copied().unwrap_or_default();
            let message = format!(
                "no input makes {} equal to this, so the list asks the same without it",
                one_line(item)
            );
            Diagnostic::warning("never_member", message, place).help("did you mean another constant?")
        }
        Claim::NeverOfElement | Claim::AlwaysOfElement => {
            let predicate = one_line(reasons.first().copied().unwrap_or_default());
            let answer = if verdict.claim == Claim::NeverOfElement { "true" } else { "false" };
            let message = format!("no input makes {predicate} {answer} for this constant");
            Diagnostic::warning("never_member", message, place).help("did you mean another constant?")
        }
        Claim::AlwaysFails => {
            let message = format!("this fails whatever the input is{because}");
            let finding = Diagnostic::warning("always_fails", message, place);
            match number_in_quotes(part) {
                Some(number) => finding.help(format!("a number is no text: write `{number}` without quotes")),
                None => finding.help("compare values of one type, such as a number with a number"),
            }
        }
    }
}

/// The same, where it holds of what the schemas of arguments let by. A rule that says again what a schema says stops nothing more, and is no fault; one that can never
/// fire is.
fn by_schema(place: Place, verdict: &Verdict, because: &str) -> Diagnostic {
    let held = |answer: &str| {
        let message = format!("this is {answer} for all values that the schema allows{because}");
        Diagnostic::warning("held_by_schema", message, place.clone())
            .help("it stops nothing more than the schema does: write what is meant, or take it out")
    };
    match verdict.claim {
        Claim::NeverFalse | Claim::Moot | Claim::NeverFalseHere | Claim::AlwaysOfElement => held("true"),
        Claim::NeverTrueHere | Claim::NeverMember | Claim::NeverOfElement => held("false"),
        Claim::NeverTrue if !verdict.is_whole => held("false"),
        Claim::NeverTrue => {
            let message = format!("no value that the schema allows makes this true{because}");
            Diagnostic::warning("never_true", message, place)
                .help("compare with values that the schema allows, or change the schema")
        }
        Claim::AlwaysFails => {
            let message = format!("this fails for all values that the schema allows{because}");
            Diagnostic::warning("always_fails", message, place)
                .help("compare values of one type, such as a number with a number")
        }
    }
}

/// A part that has one answer because of the value of a parameter, and would not have it with any other value.
pub(super) fn held_by_parameter(place: Place, verdict: &Verdict) -> Diagnostic {
    let answer = match verdict.claim {
        Claim::NeverFalse => "never false",
        Claim::NeverMember | Claim::NeverOfElement => "never equal to an element of the value",
        _ => "never true",
    };
    let why = if verdict.by_schema { ", as the schema of the arguments sets the other bound" } else { "" };
    Diagnostic::warning(
        "held_by_parameter",
        format!("with the value of the parameter this is {answer}{why}"),
        place,
    )
    .help("give the parameter another value, or take the part out")
}

/// `timeOfDay(now, 'UTC') < duration('24h')`
pub(super) fn time_of_day(place: Place, is_true: bool) -> Diagnostic {
    let (code, answer) = if is_true { ("never_false", "true") } else { ("never_true", "false") };
    Diagnostic::warning(
        code,
        format!("a time of day is from 0h to less than 24h, so this is always {answer}"),
        place,
    )
    .help("compare with a time within a day, such as `duration('18h')`")
}

/// A division by nothing.
pub(super) fn division_by_zero(place: Place) -> Diagnostic {
    Diagnostic::warning("always_fails", "a division by zero fails whatever the input is", place)
        .help("divide by another number")
}

/// `within(c.cap.orders_find, '1h')`
pub(super) fn no_time(place: Place, record: &str) -> Diagnostic {
    let message = format!("`{record}` has no time, so this fails whatever the input is");
    Diagnostic::warning("always_fails", message, place).help("name one call, such as the latest: `calls[0]`")
}

/// `outputs[-1]`
pub(super) fn negative_index(place: Place) -> Diagnostic {
    Diagnostic::warning("always_fails", "a list has no element at an index below zero, so this fails whatever the input is", place)
        .help("count from the front: `list[0]` is the first element, and of calls on record the latest; `list[list.size() - 1]` is the last")
}

/// The number that a clause has as a text.
fn number_in_quotes(part: &str) -> Option<&str> {
    part.split(['\'', '"']).skip(1).step_by(2).find(|text| text.parse::<f64>().is_ok())
}

/// The clauses that it takes, if they are not the part itself.
fn because(reasons: &[&str], part: &str) -> String {
    let shown: Vec<String> =
        reasons.iter().filter(|reason| **reason != part).take(MAX_REASONS).map(|it| one_line(it)).collect();
    match shown.as_slice() {
        [] => String::new(),
        [one] => format!(", because of {one}"),
        [all @ .., last] => {
            let more = if reasons.len() > MAX_REASONS { " and others" } else { "" };
            format!(", because of {} and {last} together{more}", all.join(", "))
        }
    }
}

/// A text of an author in one line, in quotes.
fn one_line(text: &str) -> String {
    format!("`{}`", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A step that no call reaches, or whose condition no call that reaches it fulfils.
pub(super) fn dead_step(place: Place, because: &[Place]) -> Diagnostic {
    let message = "no call gets here with this condition true: steps ahead of it stop all of them";
    let finding = Diagnostic::warning("dead_step", message, place);
    related(finding, because, "what it lets by does not fulfil the condition")
        .help("put the step ahead of those that stop the calls, or take it out")
}

/// A step that lets by nothing that those before it let by.
pub(super) fn never_passes(place: Place, because: &[Place]) -> Diagnostic {
    let message = "no call passes both this step and those ahead of it";
    related(Diagnostic::warning("never_passes", message, place), because, "what it lets by is stopped below")
        .help("write `assert: \"false\"` to stop every call, or change a constant")
}

/// A step that stops nothing which those before it let by.
pub(super) fn moot_step(place: Place, because: &[Place]) -> Diagnostic {
    let message = "this step stops nothing: steps ahead of it stop all that it would stop";
    related(Diagnostic::warning("moot_step", message, place), because, "this is stricter")
        .help("take one of the two out, or change a constant")
}

/// `{condition: input.amount > 1000, assert: input.amount <= 500}`
pub(super) fn contrary_condition(place: Place, condition: Place) -> Diagnostic {
    let message = "this is false wherever the condition of the step holds, so the step stops every such call";
    Diagnostic::warning("contrary_condition", message, place)
        .related(condition, "the condition")
        .help("write `assert: \"false\"` to stop all of them, leave the condition out, or change a constant")
}

/// `{condition: input.amount < 50, assert: input.amount < 100}`
pub(super) fn implied_by_condition(place: Place, condition: Place) -> Diagnostic {
    let message = "this step stops nothing: the assert is true wherever its condition holds";
    Diagnostic::warning("moot_step", message, place)
        .related(condition, "the condition")
        .help("did you mean the condition the other way round, or another constant?")
}

fn related(finding: Diagnostic, places: &[Place], text: &str) -> Diagnostic {
    places.iter().fold(finding, |finding, place| finding.related(place.clone(), text))
}

/// `assert: review(…)` under `on_fail: continue`
pub(super) fn unheeded_review(place: Place) -> Diagnostic {
    let message = "a person is asked, and a denial changes nothing, as the step continues on failure";
    Diagnostic::warning("unheeded_review", message, place)
        .help("take `on_fail: continue` out, so that a denial stops the call")
}

/// `assert: review(…) || input.amount <= 10`
pub(super) fn early_review(place: Place, behind: &str, spares: bool) -> Diagnostic {
    let answer = if spares { "true" } else { "false" };
    let message = format!("a person is asked also where `{behind}` is {answer}, which decides it alone");
    Diagnostic::warning("early_review", message, place)
        .help(format!("put the review behind `{behind}`, so that nobody is asked for nothing"))
}

/// A review in a step before one that rejects some of the same calls, or in vain before one of any document that rejects all of them.
pub(super) fn early_step(place: Place, behind: Place, is_vain: bool) -> Diagnostic {
    let (message, help) = match is_vain {
        true => (
            "a person is asked in vain: a later step rejects all of these calls without a review",
            "change a constant or a condition, so that some of these calls are allowed, or take the review out",
        ),
        false => (
            "a person is also asked about calls that a later step rejects without a review",
            "put the step with the review after this other step",
        ),
    };
    Diagnostic::warning("early_review", message, place)
        .related(behind, "rejects them whatever the person answers")
        .help(help)
}

/// The calls without an argument that fail at a step which reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fails {
    /// All of them.
    Always,
    /// Those for which the condition of the step holds.
    UnderCondition,
    /// Those for which no other operand of an `||` is true.
    UnlessExempt,
}

/// `assert: input.reason != ''`, where `reason` is not required
pub(super) fn read_without_has(
    place: Place,
    function: &str,
    (map, argument): (ReadMap, &str),
    fails: Fails,
) -> Diagnostic {
    let fails = match fails {
        Fails::Always if map == ReadMap::Result => "each result without it is withheld here",
        Fails::Always => "each call without it fails here",
        Fails::UnderCondition => "each call without it for which the condition holds fails here",
        Fails::UnlessExempt => "a call without it fails here unless the rest of `||` is true",
    };
    let (message, root, without, required) = match map {
        ReadMap::Arguments => (
            format!("calls of `{function}` may omit `{argument}`, and {fails}"),
            "input",
            "calls",
            "the schema of the tool",
        ),
        ReadMap::Claims => (
            format!("users may lack the claim `{argument}`, and {fails}"),
            "context.user.claims",
            "users",
            "`claims`",
        ),
        ReadMap::Result => (
            format!("results of `{function}` may lack `{argument}`, and {fails}"),
            "output",
            "results",
            "the schema of the result",
        ),
    };
    let help = match argument.contains("[]") {
        true => format!("ask for it first with `has(…)`, or require it in {required}"),
        false => format!(
            "write `has({root}.{argument}) && …` to require it, `!has({root}.{argument}) || …` to allow {without} without it, or `required` in {required}"
        ),
    };
    Diagnostic::warning("read_without_has", message, place).help(help)
}

/// An assert in `after` that reads arguments only.
pub(super) fn late_assert(place: Place, of_model: bool) -> Diagnostic {
    let (what, ran, list) = match of_model {
        true => ("the answer", "the model has answered", "model.before"),
        false => ("the result", "the call has run", "before"),
    };
    let message = format!("this reads nothing of {what} and runs when {ran}, so it cannot prevent anything");
    Diagnostic::warning("late_assert", message, place).help(format!("move the step to `{list}`"))
}

/// A review in `after` of a call that may have done something.
pub(super) fn late_review(place: Place) -> Diagnostic {
    let message =
        "a person is asked when the call has run, so a denial withholds the result and prevents nothing";
    Diagnostic::warning("late_assert", message, place)
        .help("move the step to `before`; a review of the result reads `output` in the step or its question")
}

/// The kind of value that an assert in `before_first` reads and that is not checked for later calls, or is not there yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum FirstCall {
    Arguments,
    Counter,
    Time,
    OwnCalls,
}

/// An assert in `before_first` that checks the first call only.
pub(super) fn first_call_only(place: Place, reads: FirstCall) -> Diagnostic {
    let message = match reads {
        FirstCall::Arguments => {
            "`before_first` runs before the first call only, so the arguments of later calls are not checked"
        }
        FirstCall::Counter => {
            "`before_first` runs before the first call only, so the counter is not checked for later calls"
        }
        FirstCall::Time => {
            "`before_first` runs before the first call only, so the time of later calls is not checked"
        }
        FirstCall::OwnCalls => {
            "`before_first` runs before the first call only, so it finds no earlier call of the function"
        }
    };
    Diagnostic::warning("first_call_only", message, place).help("move the step to `before`")
}

/// `{assert: input.amount <= 100, on_fail: continue}`
pub(super) fn unheeded_assert(place: Place) -> Diagnostic {
    let message = "this assert stops nothing, as the step continues on failure";
    Diagnostic::warning("unheeded_assert", message, place).help(
        "remove `on_fail: continue`; in a policy, write `mode: observe` to try a rule, or a `severity` up to `medium` to report failures",
    )
}

/// `{transform: "output.put('card', mask(output.card))", on_fail: continue}`
pub(super) fn unheeded_transform(place: Place) -> Diagnostic {
    let message = "where this transform fails the value goes on as it is, as the step continues on failure";
    Diagnostic::warning("unheeded_transform", message, place)
        .help("remove `on_fail: continue`, so that a value that cannot be rewritten is withheld")
}

/// `review(input.approver)`
pub(super) fn chosen_reviewer(place: Place) -> Diagnostic {
    let message = "the model writes this argument, so it chooses who approves its call";
    Diagnostic::warning("chosen_reviewer", message, place)
        .help("name the reviewer, or take it from `context.user` or from a parameter of the policy")
}

/// `default: deny`, and a function that an `after` step alone mentions
pub(super) fn opened_behind(place: Place, function: &str) -> Diagnostic {
    let message = format!(
        "no step ahead of calls of `{function}` checks them, and this step makes `default: deny` let them by"
    );
    Diagnostic::warning("opened_by_after", message, place)
        .help("add a step to `before` that says which calls are allowed, such as `assert: 'true'` for all")
}

/// `assert: input.order`
pub(super) fn truth_of_value(place: Place, (kind, is_false): (&str, &str), other: &str) -> Diagnostic {
    let message = format!("a {kind} is true here unless it is {is_false}, so this asks for nothing else");
    Diagnostic::warning("truth_of_value", message, place)
        .help(format!("compare it with what is meant, such as `!= {other}`"))
}

/// `input.version >= '1.10.0'`
pub(super) fn text_order(place: Place, kind: Ordered) -> Diagnostic {
    let (message, help) = match kind {
        Ordered::Number => (
            "texts are compared sign by sign, so `9` comes behind `10`",
            "compare numbers: `double(…) >= 10.0`",
        ),
        Ordered::Version => (
            "texts are compared sign by sign, so `1.9.0` comes behind `1.10.0`",
            "compare versions: `semver(…).isLessThan(semver('1.10.0'))`",
        ),
        Ordered::Date => (
            "texts are compared sign by sign, and a date in this form begins with its day or month",
            "write the date as `2027-12-31`, or compare with `timestamp(…)`",
        ),
        Ordered::Sum => (
            "this joins two texts, and computes no time",
            "compute with times: `timestamp(now) + duration('72h')`",
        ),
    };
    Diagnostic::warning("text_order", message, place).help(help)
}

/// `assert: input.?reason`
pub(super) fn truth_of_optional(place: Place) -> Diagnostic {
    let message =
        "an optional value is true here where it is present and not empty, so this asks for nothing else";
    Diagnostic::warning("truth_of_value", message, place)
        .help("ask for its presence with `.hasValue()`, or compare `.orValue(…)` with what is meant")
}

/// `assert: input.approved` where no type is declared: `'false'`, `'deny'` and `{'allow': false}` are true
pub(super) fn truth_of_unknown(place: Place) -> Diagnostic {
    let message =
        "no type is declared for this value, and any value is true here unless it is false, null, 0 or empty";
    Diagnostic::warning("truth_of_unknown", message, place)
        .help("declare its type, or compare it with what is meant, such as `== true`")
}

/// `has(input.order)` of a required parameter
pub(super) fn always_given(place: Place, name: &str) -> Diagnostic {
    let message = format!("every call has the argument `{name}`, so this is always true");
    Diagnostic::warning("always_given", message, place)
        .help(format!("ask for what it is, such as `input.{name} != ''`, or take this out"))
}

/// `review('')`
pub(super) fn no_reviewer(place: Place) -> Diagnostic {
    let message = "nobody has this name, so the review fails each time";
    Diagnostic::warning("no_reviewer", message, place).help("name a user, by id or by e-mail address")
}

/// `input.amount * 2 <= 100`, where the amount may be 10.5
pub(super) fn mixed_numbers(place: Place, name: &str) -> Diagnostic {
    let sign = name.trim_matches('_');
    let message = format!(
        "this fails for some numbers: one is an int, such as 10, or a double, such as 10.5, and `{sign}` does not mix them"
    );
    Diagnostic::warning("mixed_numbers", message, place)
        .help("write `double(…)` around each number, and constants with a point, such as `2.0`")
}

/// `claims: {properties: {roles: {type: string}}}`, where another policy says that it is a list
pub(super) fn contrary_claims(place: Place, claim: &str, policy: &str, first: Place) -> Diagnostic {
    let message = format!(
        "the policy `{policy}` gives `{claim}` another type, and no value has both: no task begins for a user with this claim"
    );
    Diagnostic::warning("contrary_claims", message, place)
        .related(first, "the claim is of another type here")
        .help("give the claim one type in both policies")
}

/// `text.contains('^rm.*')`
pub(super) fn looks_like_pattern(place: Place, function: &str) -> Diagnostic {
    let message = format!("`{function}` takes a text as it is, and this looks like a regular expression");
    Diagnostic::warning("looks_like_pattern", message, place).help("use `matches` for a regular expression")
}

/// `text.matches('^[A-z]+$')`, `text.matches('^a|b$')`
pub(super) fn wide_pattern(place: Place, wide: &Wide) -> Diagnostic {
    match wide {
        Wide::Range(first, last) => {
            let message =
                format!("`{first}-{last}` takes the signs between the two alphabets, too: ``[\\]^_` ``");
            Diagnostic::warning("wide_range", message, place)
                .help(format!("write `{first}-Za-{last}` for letters alone"))
        }
        Wide::Anchors => {
            let message = "`^` holds for the first alternative alone and `$` for the last one alone, so texts are found that have more on the other side";
            Diagnostic::warning("loose_anchors", message, place)
                .help("put the alternatives in parentheses: `^(a|b)$`")
        }
    }
}

/// `text.matches('@example.com$')`, `host.endsWith('example.com')`, `url.startsWith('https://example.com')`, where these let something by
pub(super) fn loose_host(place: Place, host: &LooseHost) -> Diagnostic {
    let (message, help) = match host {
        LooseHost::Dot(name) => (
            format!(
                "the dot in `{name}` stands for any character, so `{}` is let by, too",
                name.replacen('.', "x", 1)
            ),
            format!(
                "write `{}` in a text with `r` ahead of it, or `[.]` for the dot",
                name.replacen('.', "\\.", 1)
            ),
        ),
        LooseHost::Any => (
            "what stands ahead of the name also takes `/`, so the address of any host is let by that has the name in its path".to_owned(),
            "write `[^/]` for a sign of a host, or ask for `url(…).getHostname()`".to_owned(),
        ),
        LooseHost::End(name) => (
            format!("hosts of others end so, too, such as `not-{name}`"),
            format!(
                "compare with `{name}` itself, and ask whether it ends with `.{name}`, or with `@{name}` for an address"
            ),
        ),
        LooseHost::Begin(address) => (
            format!("addresses of others begin so, too, such as `{address}.example.org`"),
            format!("write `{address}/`, or compare the host that `url` gives"),
        ),
        LooseHost::Part(name) => (
            format!("other addresses contain `{name}`, too, in a path or in a longer name"),
            "compare the host that `url(…).getHostname()` returns, or `mail.domain(…)` of an e-mail address".to_owned(),
        ),
        LooseHost::EndOfUrl(name) => (
            format!("the path of any address can end so, too, such as `https://example.org/?{name}`"),
            format!("write `url(…).getHostname().endsWith('{name}')`"),
        ),
    };
    Diagnostic::warning("loose_host", message, place).help(help)
}

/// `input.path.startsWith('/work')`
pub(super) fn loose_prefix(place: Place, loose: &LoosePrefix) -> Diagnostic {
    let (message, help) = match loose {
        LoosePrefix::Path(path) => (
            format!("other paths begin so, too, such as `{path}-other`"),
            format!("write `path.within(…, '{path}')`, which follows `..`, too"),
        ),
        LoosePrefix::Folder(path) => (
            format!("a path that begins so may leave the folder, such as `{path}../../etc/passwd`"),
            format!("write `path.within(…, '{path}')`, which follows `..`, too"),
        ),
        LoosePrefix::PartOfPath(path) => (
            format!("other paths contain `{path}`, too, such as `/tmp{path}x` and `{path}../../etc/passwd`"),
            format!("write `path.within(…, '{path}')`"),
        ),
        LoosePrefix::Command => (
            "a command line that begins so, or has this in it, may have another command, too, such as `; rm -rf .`".to_owned(),
            "write `shell.commands(…).all(c, …)`, which has the words of each command".to_owned(),
        ),
        LoosePrefix::Statement => (
            "a text that begins so, or has this in it, may have another statement, too, such as `; drop table orders`"
                .to_owned(),
            "write `sql.parse(…).all(s, s.kinds == ['select'])`".to_owned(),
        ),
        LoosePrefix::Version(version) => (
            format!("others begin so, too, such as `{version}0`"),
            format!("write `{version}.`, or compare versions with `semver(…)` and addresses with `cidr(…)`"),
        ),
        LoosePrefix::Scheme(scheme) => (
            format!("other addresses contain `{scheme}`, too, such as `ftp://example.org/?{scheme}`"),
            "compare what `url(…).getScheme()` and `url(…).getHostname()` return".to_owned(),
        ),
        LoosePrefix::Extension(end) => (
            format!("other names contain `{end}`, too, such as `a{end}.exe`"),
            format!("write `endsWith('{end}')`"),
        ),
        LoosePrefix::PartOfName(name) => (
            format!("other names contain `{name}`, too, such as `not-{name}`"),
            "compare with `==`, or with the names of a list by `in`".to_owned(),
        ),
        LoosePrefix::Value { is_end } => {
            let (side, sign) = if *is_end { ("end", "ahead of") } else { ("beginning", "behind") };
            (
                format!(
                    "the value may be the {side} of another one: `a` also lets by what is of `ab` or `ba`"
                ),
                format!("add the sign that stands {sign} it, such as `+ ':'`, or compare with `==`"),
            )
        }
    };
    Diagnostic::warning("loose_prefix", message, place).help(help)
}

/// `input.to.join(',').endsWith('@example.com')`
pub(super) fn list_as_text(place: Place) -> Diagnostic {
    let message = "the elements are one text here, so one that fits is enough";
    Diagnostic::warning("list_in_text", message, place).help("ask each element with `all`")
}

/// `input.to.exists(a, mail.domain(a) == 'example.com')`, where a match lets the call by
pub(super) fn one_is_enough(place: Place) -> Diagnostic {
    let message = "one element that fits is enough here, and the others can be anything";
    Diagnostic::warning("one_is_enough", message, place).help("ask each element with `all`")
}

/// `'cat ls wc'.contains(input.program)`
pub(super) fn list_in_text(place: Place) -> Diagnostic {
    let message = "each part of this text is let by, also a single letter and the empty text";
    Diagnostic::warning("list_in_text", message, place).help("write a list, and ask with `in`")
}

/// `text.matches('[0-9]+')`, where a match allows a call
pub(super) fn loose_pattern(place: Place, loose: LoosePattern) -> Diagnostic {
    let (message, help) = match loose {
        LoosePattern::Anywhere => (
            "the regular expression has neither `^` nor `$`, so any text that contains a match is allowed",
            "write `^(…)$` around it, or `.*` where any text is allowed",
        ),
        LoosePattern::Begin => (
            "the regular expression has no `^`, so any text before the match is allowed",
            "begin it with `^`, or with `.*` if anything may come before",
        ),
        LoosePattern::End => (
            "the regular expression has no `$`, so any text after the match is allowed",
            "end it with `$`, or with `.*` if anything may follow",
        ),
        LoosePattern::Lines => (
            "with `(?m)`, `^` and `$` match at each line, so a text with one such line among others is allowed",
            "remove the flag `m`, or write `\\A` and `\\z`",
        ),
    };
    Diagnostic::warning("loose_pattern", message, place).help(help)
}

/// `transform: output`, `set: {amount: input.amount}`
pub(super) fn same_again(place: Place) -> Diagnostic {
    let message = "this puts in the place of a value the same value again, so the step changes nothing";
    Diagnostic::warning("same_again", message, place)
        .help("write what the value is to become, or take the step out")
}

/// `text.matches('\bdelete\b')`, whose `\b` is a backspace
pub(super) fn eaten_backslash(place: Place) -> Diagnostic {
    let message = "the regular expression asks for a control character, where a backslash was meant to stay";
    Diagnostic::warning("eaten_backslash", message, place)
        .help("write `r'\\b'` without double quotes around the expression in YAML: there and in CEL, `\\b` is a backspace")
}

/// `assert: input.amount > 0 # && input.amount < 5`
pub(super) fn cut_expression(rest: Place) -> Diagnostic {
    let message = "YAML takes this for a comment, so the expression ends ahead of it";
    Diagnostic::warning("cut_expression", message, rest)
        .help("put the expression in quotes, or write it below `|-`; take the text out if it is a remark")
}

/// `input.tags.all(tag, input.amount < 5)`
pub(super) fn unused_variable(place: Place, name: &str) -> Diagnostic {
    let message = format!(
        "the predicate does not mention `{name}`, so it is the same for every element, and is not asked where there is no element"
    );
    Diagnostic::warning("unused_variable", message, place)
        .help(format!("ask for something of `{name}`, or ask it without the macro; a name that begins with `_` says that this is meant"))
}

/// `cel.bind(total, input.amount * 2, input.amount < 5)`
pub(super) fn unused_name(place: Place, name: &str) -> Diagnostic {
    let message = format!("nothing mentions `{name}`, so its value decides nothing");
    Diagnostic::warning("unused_variable", message, place)
        .help("mention it, or leave `cel.bind` out; a name that begins with `_` says that this is meant")
}

/// `{type: number, minimum: 10, maximum: 1}`
pub(super) fn impossible_schema(place: Place) -> Diagnostic {
    let message = "no value fits this schema: the least that it allows is above the greatest";
    Diagnostic::warning("impossible_schema", message, place).help("did you mean it the other way round?")
}

/// `{type: string, enum: [1, 2]}`
pub(super) fn impossible_constants(place: Place) -> Diagnostic {
    let message = "no value fits this schema: the rest of it allows none of its constants";
    Diagnostic::warning("impossible_schema", message, place)
        .help("write constants of the type that the schema names")
}

/// `{type: number, default: many}`
pub(super) fn default_misfit(place: Place) -> Diagnostic {
    let message = "the default is not what its own schema allows";
    Diagnostic::warning("default_misfit", message, place)
        .help("write a default that fits: steps see it in the place of a value that nobody gives")
}

/// `assert: secrets.has(input.body)`
pub(super) fn missing_negation(place: Place, demanded: Demand<'_>) -> Diagnostic {
    let message = |what: String| format!("this allows the calls {what}, and stops the others");
    let doubtful = |what: String| Diagnostic::warning("doubtful_negation", message(what), place.clone());
    let finding = match demanded {
        Demand::Find(function) => {
            let what = format!("in which `{function}` finds something");
            Diagnostic::warning("missing_negation", message(what), place)
        }
        Demand::Label(label) => doubtful(format!("that have the label `{label}`")),
        Demand::Name(name) => doubtful(format!("for which `{name}` is true or has an element")),
        Demand::Named(name) => doubtful(format!("that `{name}` is there to stop, by its name")),
        Demand::Text(text) => doubtful(format!("in which `{text}` stands")),
        Demand::Forbidden(text) => doubtful(format!("with `{text}`, which the message of the step forbids")),
    };
    finding.help("write `!` before it to stop them")
}

/// `!pii.has(input.body) || !secrets.has(input.body)`
pub(super) fn one_absence_is_enough(place: Place) -> Diagnostic {
    let message = "one of these is enough here, so a value in which the other one finds something is allowed";
    Diagnostic::warning("one_is_enough", message, place).help("write `&&` in place of `||`")
}

/// `input.to[0].endsWith('@example.com')`
pub(super) fn one_element_asked(place: Place) -> Diagnostic {
    let message = "one element of the list is checked here, and the others can be anything";
    Diagnostic::warning("one_is_enough", message, place)
        .help("check each element with `all`, or the size of the list, too")
}

/// `input.to.split('@')[1] == 'example.com'`
pub(super) fn parsed_by_hand(place: Place, parsed: TextFormat) -> Diagnostic {
    let (what, other, help) = match parsed {
        TextFormat::Address => (
            "an e-mail address",
            "`a@example.com@evil.org` and `\"a@example.com\"@evil.org`",
            "write `mail.domain(…)`, which fails for a text that is no address",
        ),
        TextFormat::Url => (
            "a URL",
            "`https://example.com@evil.org` and `https:/\\evil.org`",
            "write `url(…).getHostname()` and the other functions of `url`",
        ),
        TextFormat::Path => ("a path", "`/work/../etc/passwd`", "write `path.within(…, '/work')`"),
        TextFormat::Command => (
            "a command line",
            "`ls;rm` and `ls\\\n rm`",
            "write `shell.commands(…)`, which has the words of each command",
        ),
    };
    let message = format!("this takes {what} apart by hand, and is wrong for texts such as {other}");
    Diagnostic::warning("parsed_by_hand", message, place).help(help)
}

/// `!input.query.contains('DROP TABLE')`
pub(super) fn other_case_passes(place: Place, text: &str, kind: CaselessText) -> Diagnostic {
    let other = match text.chars().any(|letter| letter.is_ascii_uppercase()) {
        true => text.to_ascii_lowercase(),
        false => text.to_ascii_uppercase(),
    };
    let (what, help) = match kind {
        CaselessText::Sql => (
            "SQL has its words in any letters",
            "ask for what the statement does with `sql.parse(…)`, or compare `.lowerAscii()` with small letters",
        ),
        CaselessText::Method => {
            ("many servers and clients take a method in any letters", "compare `.upperAscii()` with capitals")
        }
        CaselessText::Host => (
            "the name of a host means the same in any letters",
            "compare what `url(…).getHostname()` returns, which is in small letters",
        ),
        CaselessText::Address => (
            "the domain of an address means the same in any letters",
            "compare what `mail.domain(…)` returns, which is in small letters",
        ),
        CaselessText::Program => (
            "the end of a name means the same to Windows in any letters",
            "compare `.lowerAscii()` with small letters",
        ),
    };
    let message = format!("{what}, and `{other}` passes this check");
    Diagnostic::warning("other_case_passes", message, place).help(help)
}

/// `{label: [private]}`, and a step behind it with `declassify: [private]`
pub(super) fn undone_label(place: Place, label: &str, given: Place) -> Diagnostic {
    Diagnostic::warning(
        "undone_label",
        format!("this takes the label `{label}` away whenever it is given"),
        place,
    )
    .related(given, "given here")
    .help("give this step a condition, or take one of the two out")
}

/// `'web' in labels(input)`, where `label_task` gives the label
pub(super) fn label_of_other_kind(place: Place, of_task: bool) -> Diagnostic {
    let (message, help) = match of_task {
        true => (
            "no step gives this label to the task: it is given to values",
            "ask for the labels of a value with `labels(…)`, or give the label with `label_task`",
        ),
        false => (
            "no step gives this label to a value: it is given to the task",
            "ask for the labels of the task with `taskLabels()`, or give the label with `label`",
        ),
    };
    Diagnostic::warning("unknown_label", message, place).help(help)
}

/// `within(t, '0s')`
pub(super) fn empty_window(place: Place) -> Diagnostic {
    Diagnostic::warning("never_true", "no time is within a window of this length", place)
        .help("write a length above zero, such as `'1h'`")
}

/// `input.to.all(a, true)`
pub(super) fn constant_predicate(place: Place, macro_name: &str, truth: bool) -> Diagnostic {
    let message =
        format!("the predicate of `{macro_name}` is always {truth}, so this asks nothing of the elements");
    Diagnostic::warning("unused_variable", message, place).help("ask for something of each element")
}

/// `!review('lead@example.com')`
pub(super) fn negated_review(place: Place) -> Diagnostic {
    let message = "the step fails where this is approved, and passes where it is denied";
    Diagnostic::warning("negated_review", message, place)
        .help("write `review(…)` without `!`: it is true where the person approves")
}

/// `'privat' in labels(input)`
pub(super) fn unknown_label(place: Place, near: Option<&str>) -> Diagnostic {
    let message = "no step of a loaded agent gives this label";
    let finding = Diagnostic::warning("unknown_label", message, place);
    match near {
        Some(near) => finding.help(format!("did you mean `'{near}'`?")),
        None => finding.help(
            "a `label` step gives labels; a runtime may pass others on from the task of an agent that is not loaded here",
        ),
    }
}

/// `max_turns: 0`
pub(super) fn no_turns(place: Place, limit: &str) -> Diagnostic {
    let message = format!("`{limit}` is zero, so no turn of the model is ever let by");
    Diagnostic::warning("no_turns", message, place)
        .help("give the number of turns, or switch the agent off where nothing of it shall run")
}

/// `max_completion_tokens: 0`
pub(super) fn no_tokens(place: Place, limit: &str) -> Diagnostic {
    let message = format!("`{limit}` is zero, so a task ends with the first turn of its model");
    Diagnostic::warning("no_turns", message, place)
        .help("give the number of tokens, or switch the agent off where nothing of it shall run")
}

/// `max_tool_calls: 0` of an agent with capabilities
pub(super) fn no_calls(place: Place) -> Diagnostic {
    let message = "`max_tool_calls` is zero, so none of the agent's capabilities is ever called";
    Diagnostic::warning("no_calls", message, place)
        .help("give the number of calls, or take the capabilities out")
}

/// `max_turns_per_message: 20` under `max_turns: 10`
pub(super) fn hidden_limit(place: Place, hidden: &str, by: &str) -> Diagnostic {
    Diagnostic::warning(
        "hidden_limit",
        format!("`{hidden}` is never reached: `{by}` is reached first"),
        place,
    )
    .help("lower it, or take it out")
}
