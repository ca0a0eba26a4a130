//! Every message of the policy layer, one function each: diagnostics about manifests, and words for the model.
//!
//! A message names parameters and types and never a value of a task. What a model reads names nothing that it does not
//! see in its functions' schemas.

use super::definitions::Names;
use super::misfit::Misfit;
use super::template::BadPlaceholder;
use crate::amount::AmountError;
use crate::cel::{Issue, Kind, Signature, Type};
use crate::context::Root;
use crate::diagnostic::{Diagnostic, Severity, nearest};
use crate::manifest::comment_behind;
use crate::manifest::host_function::DeclaredFunction;
use crate::manifest::schema::SchemaKind;
use crate::source::{Embedded, Place, Span};

// About reviews.

pub(super) fn bad_review(place: Place, why: &str) -> Diagnostic {
    Diagnostic::error("bad_review", format!("the review cannot be asked: {why}"), place)
}

// About delegated tasks.

/// A bound within a parent that no agent can be.
pub(super) fn no_parent(place: Place, child: &str) -> Diagnostic {
    let message = format!("no agent delegates to `{child}`, so none of its tasks can begin");
    Diagnostic::error("no_parent", message, place)
        .help("name the sub-agents under `applies_to`, and under `agents` the agents whose tasks delegate")
}

/// A call of an agent that a task of one of its parents cannot decide.
pub(super) struct OutsideParent<'a> {
    pub(super) place: &'a Place,
    pub(super) child: &'a str,
    pub(super) parent: &'a str,
    pub(super) function: &'a str,
}

impl OutsideParent<'_> {
    fn finding(&self, why: &str) -> Diagnostic {
        let Self { place, child, parent, function } = self;
        let message = format!("`{child}` may call `{function}`, and {why} `{parent}`");
        Diagnostic::error("outside_parent", message, (*place).clone())
    }

    pub(super) fn unknown(&self) -> Diagnostic {
        let Self { child, parent, .. } = self;
        self.finding("there is no such function of")
            .help(format!("take it from the capabilities of `{child}`, or add it to those of `{parent}`"))
    }

    pub(super) fn effect(&self, step: &str, other: &Place) -> Diagnostic {
        let why = format!("the step `{step}` before it does more than to decide, in tasks of");
        self.finding(&why)
            .related(other.clone(), "it asks a person, calls a tool, or changes or adds something")
            .help("bound calls only by steps that decide, or take the function from the sub-agent")
    }

    pub(super) fn uncounted(&self, counter: &str, policy: &str) -> Diagnostic {
        let why = format!(
            "its calls do not add to the counter `{counter}` of `{policy}`, by which it is decided in tasks of"
        );
        self.finding(&why).help(format!("let `{policy}` apply to `{}`, too", self.child))
    }
}

// For the model.

pub(super) fn arguments_not_an_object(found: Kind) -> String {
    format!("expected an object of arguments, found {found}")
}

pub(super) fn missing_parameter(name: &str) -> String {
    format!("the parameter `{name}` is missing")
}

pub(super) fn not_settable() -> String {
    "a parameter that only the policy can set has no value".to_owned()
}

pub(super) fn nested_too_deeply(bound: usize) -> String {
    format!("`max_json_depth` {bound} exceeded")
}

pub(super) fn misfit(parameter: &str, misfit: &Misfit) -> String {
    of_misfit(&format!("the parameter `{parameter}"), misfit)
}

/// Arguments that each fit and that do not fit together.
pub(super) fn misfit_of_all(misfit: &Misfit) -> String {
    of_misfit("`arguments", misfit)
}

/// An argument beside those that the schema of a tool declares, where it allows no others.
pub(super) fn no_other_arguments<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "the tool takes no arguments".to_owned(),
        names => format!("the tool takes no arguments other than {}", names.join(", ")),
    }
}

/// An argument that no parameter takes.
pub(super) fn undeclared_argument(name: &str) -> String {
    format!("there is no parameter `{name}`")
}

/// What of a result does not fit the schema of its action.
pub(super) fn output_misfit(misfit: &Misfit) -> String {
    of_misfit("`output", misfit)
}

/// What of an event's payload does not fit its schema.
pub(super) fn payload_misfit(misfit: &Misfit) -> String {
    of_misfit("`payload", misfit)
}

/// What of a user's claims does not fit the schema of a policy.
pub(super) fn claim_misfit(misfit: &Misfit) -> String {
    of_misfit("`claims", misfit)
}

/// What of a request to a model, or of its answer, does not fit; `whose` opens a quotation.
pub(super) fn model_misfit(whose: &str, misfit: &Misfit) -> String {
    let said = of_misfit(whose, misfit);
    match misfit {
        Misfit::Undeclared { .. } => {
            format!("{said}; what rules need not know by a name stands under `other`")
        }
        _ => said,
    }
}

/// What of an answer does not fit whose usage has another number than a count.
pub(super) fn bad_token_count() -> String {
    "`answer.usage`: a number of tokens is a whole number, 0 or more".to_owned()
}

pub(super) fn bad_cost() -> String {
    "`answer.usage.cost`: a cost is a number from 0 to 10^18".to_owned()
}

/// The message of a trigger whose event does not fit.
pub(super) fn unfit_payload(why: &str) -> String {
    format!("the payload is not what the trigger declares: {why}")
}

/// `whose` opens a quotation, which the place within the value continues.
fn of_misfit(whose: &str, misfit: &Misfit) -> String {
    match misfit {
        Misfit::Kind { at, expected, found } => {
            format!("{whose}{at}`: expected {}, found {found}", schema_kind(*expected))
        }
        Misfit::NotAllowed { at } => {
            format!("{whose}{at}`: the value is none of those that its `enum` allows")
        }
        Misfit::Missing { at } => format!("{whose}{at}` is missing"),
        Misfit::Undeclared { at } => {
            format!("{whose}{at}`: it has a field that its schema does not declare")
        }
        Misfit::NoAlternative { at } => {
            format!("{whose}{at}`: the value is nothing that its schema allows")
        }
        Misfit::Broken { at, keyword, expected } => {
            let says = expected.as_ref().map(|expected| format!(": {expected}")).unwrap_or_default();
            format!("{whose}{at}`: the value does not keep to `{keyword}{says}`")
        }
    }
}

fn schema_kind(kind: SchemaKind) -> &'static str {
    match kind {
        SchemaKind::String => "string",
        SchemaKind::Number => "number",
        SchemaKind::Integer => "integer",
        SchemaKind::Boolean => "boolean",
        SchemaKind::Object => "object",
        SchemaKind::Array => "array",
    }
}

// About schedules and triggers.

pub(super) fn input_misfit(place: &Place, name: &str, found: &Misfit) -> Diagnostic {
    Diagnostic::error("input_misfit", misfit(name, found), place.clone()).rule("PAR-08")
}

// About scripts of the model.

/// A macro, a type or a sign that standard expressions of other scopes have.
pub(super) fn not_in_scripts(what: &str, span: Span, allowed: &str) -> Issue {
    refused(format!("`{what}` is not part of scripts"), span, allowed)
}

pub(super) fn one_argument(function: &str, argument: &str, span: Span, allowed: &str) -> Issue {
    refused(format!("`{function}` takes one {argument}, as in `{function}(…)`"), span, allowed)
}

fn refused(message: String, span: Span, allowed: &str) -> Issue {
    Issue {
        code: "not_in_scripts",
        severity: Severity::Error,
        message,
        span,
        label: String::new(),
        help: Some(allowed.to_owned()),
    }
}

/// What a script may name, for the help of a refusal; of many functions the first.
pub(super) fn allowed_in_scripts(functions: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = functions.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = functions.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more functions") } else { String::new() };
    let names = if shown.is_empty() { "no functions".to_owned() } else { shown.join(", ") };
    format!("a script knows {names}{more}, besides literals, operators and the standard macros")
}

// About expressions and templates.

pub(super) fn misplaced_pseudonyms(place: Place, function: &str) -> Diagnostic {
    let message = format!("`pii.{function}` stands where no value is replaced");
    Diagnostic::error("misplaced_pseudonyms", message, place)
        .help("only `set` and `transform` call it; steps behind them judge the value that they leave")
}

pub(super) fn no_hash_key(place: Place) -> Diagnostic {
    let message = "`pii.hash` needs a key, and the host has given none";
    Diagnostic::error("no_hash_key", message, place).help(
        "give one, at least 16 random bytes: `--hash-key-file FILE` or `CELADOR_HASH_KEY` of the command, `hash_key` of the packages, `Catalog::with_hash_key` in Rust",
    )
}

/// An issue of an expression in its file, with the rule that makes it one.
pub(super) fn of_issue(issue: &Issue, text: &Embedded) -> Diagnostic {
    let mut diagnostic = issue.locate(text);
    if is_cut(issue, text) {
        diagnostic = diagnostic.help(
            "YAML takes ` #` for the beginning of a comment: put the whole expression in quotes, or on a line of its own below `>-`",
        );
    }
    match issue.code {
        code if code.starts_with("undeclared") => diagnostic.rule("CEL-23"),
        "syntax_error" | "empty_expression" | "unterminated_string" | "reserved_word" => {
            diagnostic.rule("CEL-24")
        }
        code if code.starts_with("bad_") => diagnostic.rule("CEL-24"),
        _ => diagnostic,
    }
}

/// Whether an expression breaks off where YAML sees a comment.
fn is_cut(issue: &Issue, text: &Embedded) -> bool {
    let breaks_off = match issue.code {
        "unterminated_string" => true,
        "syntax_error" => issue.span.range().end >= text.text.len(),
        _ => false,
    };
    breaks_off && comment_behind(text).is_some()
}

/// An assert that is decided before it runs.
pub(super) fn constant(place: Place, truth: bool) -> Diagnostic {
    let message = format!("this is always {truth}, whatever the task does");
    let finding = Diagnostic::warning("constant", message, place);
    if truth {
        finding
    } else {
        finding.help("to say never, write `assert: \"false\"`, without `on_fail: continue`")
    }
}

/// A condition that never holds.
pub(super) fn constant_condition(place: Place) -> Diagnostic {
    let message = "this is always false, whatever the task does";
    Diagnostic::warning("constant", message, place)
}

/// A condition that always holds: the step is what it would be without.
pub(super) fn needless_condition(place: Place) -> Diagnostic {
    let message = "this is always true, whatever the task does";
    Diagnostic::warning("needless_condition", message, place).help("leave the condition out")
}

/// A variable or a parameter that the policy does not have.
pub(super) fn unknown_name(place: Place, names: Names, name: &str, near: Option<&str>) -> Diagnostic {
    let (one, root) = (names.one(), names.root());
    let message = format!("the policy has no {one} `{name}`");
    let code = match names {
        Names::Variables => "unknown_variable",
        Names::Parameters => "unknown_parameter",
        Names::Expressions => "unknown_expression",
    };
    let finding = Diagnostic::error(code, message, place);
    match near {
        Some(near) => finding.help(format!("did you mean `{root}.{near}`?")),
        None => finding.help(format!("a policy declares them under `{root}`")),
    }
}

/// `known` are the names of the policy.
pub(super) fn not_named<'n>(place: Place, names: Names, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    const SHOWN: usize = 5;
    let (one, root) = (names.one(), names.root());
    let message = format!("`{root}` is no value of its own: each {one} is read by its name");
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let shown: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{root}.{name}`")).collect();
    let finding = Diagnostic::error("not_named", message, place);
    match shown.as_slice() {
        [] => finding.help(format!("the policy declares none: put one under `{root}`")),
        shown => finding.help(format!("read one of them, such as {}", shown.join(" or "))),
    }
}

/// `has(variables.x)`
pub(super) fn presence_of_name(place: Place, names: Names, name: &str) -> Diagnostic {
    let (one, root) = (names.one(), names.root());
    let message = format!("the policy declares the {one} `{name}`, so whether it is there is no question");
    let help = format!("write `{root}.{name}`, or ask `has` of a field of it: `has({root}.{name}.FIELD)`");
    Diagnostic::error("not_named", message, place).help(help)
}

/// The value of a parameter of a policy.
pub(super) fn value_misfit(place: &Place, name: &str, found: &Misfit, declared: &Place) -> Diagnostic {
    let finding = Diagnostic::error("value_misfit", misfit(name, found), place.clone());
    finding.related(declared.clone(), "declared here")
}

pub(super) fn review_in_exception(place: Place) -> Diagnostic {
    Diagnostic::error("review_in_exception", "an exception cannot ask for a review", place)
        .help("write the review into the rule: `assert: input.amount < 100 || review('lead@example.com')`")
}

pub(super) fn impure_variable(place: Place, names: Names) -> Diagnostic {
    let message = format!("a {} cannot ask for a review", names.one());
    Diagnostic::error("impure_variable", message, place).help("ask in the `assert` of a step")
}

/// Variables and named expressions of which each reads the next, and the last one the first.
pub(super) fn circle_of_variables(place: &Place, circle: &[(Names, &str)]) -> Diagnostic {
    let are_mixed = circle.iter().any(|(names, _)| *names != Names::Variables);
    let name = |(names, name): &(Names, &str)| match are_mixed {
        true => format!("`{}.{name}`", names.root()),
        false => format!("`{name}`"),
    };
    let chain: Vec<String> = circle.iter().chain(circle.first()).map(name).collect();
    let one = circle.first().map_or("name", |(names, _)| names.one());
    let message = format!("the {one} reads itself: {}", chain.join(" reads "));
    Diagnostic::error("circle_of_variables", message, place.clone())
}

/// A call of a named expression of a use that the policy does not have.
pub(super) fn unknown_use(place: Place, name: &str, is_ambiguous: bool, near: Option<&str>) -> Diagnostic {
    let message = match is_ambiguous {
        true => format!("several policies in `uses` are called `{name}`"),
        false => format!("no policy in `uses` with named expressions is called `{name}`"),
    };
    let finding = Diagnostic::error("unknown_expression", message, place);
    match near {
        _ if is_ambiguous => finding.help("give each of them a name of its own by `as`"),
        Some(near) => finding.help(format!("did you mean `expressions.{near}`?")),
        None => finding.help(format!("add a use with `as: {name}`, or the policy under `uses`")),
    }
}

/// A call of a named expression that the used policy does not have.
pub(super) fn unknown_of_use(place: Place, library: &str, name: &str, near: Option<&str>) -> Diagnostic {
    let message = format!("the policy `{library}` in `uses` has no named expression `{name}`");
    let finding = Diagnostic::error("unknown_expression", message, place);
    match near {
        Some(near) => finding.help(format!("did you mean `expressions.{library}.{near}`?")),
        None => finding,
    }
}

pub(super) fn argument_count(place: Place, name: &str, expected: usize, found: usize) -> Diagnostic {
    let arguments = if expected == 1 { "argument" } else { "arguments" };
    let message = format!("`expressions.{name}` takes {expected} {arguments}, found {found}");
    Diagnostic::error("argument_count", message, place)
}

/// An argument whose type is not that of its parameter.
pub(super) fn argument_type(
    place: Place,
    (name, parameter): (&str, &str),
    expected: &Type,
    found: &str,
) -> Diagnostic {
    let message = format!("`expressions.{name}` takes `{expected}` for `{parameter}`, found `{found}`");
    let finding = Diagnostic::error("argument_type", message, place);
    match (expected, found) {
        (Type::Double, "int" | "uint") => finding.help("write `5.0` for `5`, or `double(…)`"),
        (Type::Int, "uint" | "double") => finding.help("write `int(…)`"),
        _ => finding,
    }
}

/// A named expression of another policy that reads what only its own policy has: counters, or results of `invoke` steps.
pub(super) fn own_of_use(place: Place, name: &str, root: Root) -> Diagnostic {
    let (code, what, one) = match root {
        Root::Counters => ("counters_of_use", "counters", "counter"),
        _ => ("results_of_use", "results of `invoke` steps", "result"),
    };
    let message = format!("`expressions.{name}` reads {what}, and only its own policy has them");
    Diagnostic::error(code, message, place)
        .help(format!("give the named expression a parameter, and pass the {one} as an argument"))
}

/// Signature of a function of the host with what a call costs.
fn with_cost(signature: &Signature) -> String {
    format!("{signature} at {} + {} for each unit of size", signature.cost.call, signature.cost.size)
}

/// A function that two policies of an agent declare differently.
pub(super) fn functions_differ(declared: &DeclaredFunction, other: &Signature) -> Diagnostic {
    let message = format!(
        "another policy declares `{}`, and this one `{}`",
        with_cost(other),
        with_cost(&declared.signature)
    );
    Diagnostic::error("other_signature", message, declared.place.clone())
        .help("a host registers one function of a name: declare it alike in all policies")
}

/// A function that the host has registered with another signature.
pub(super) fn registered_otherwise(declared: &DeclaredFunction, registered: &Signature) -> Diagnostic {
    let message = format!(
        "the host has registered `{}`, and the policy declares `{}`",
        with_cost(registered),
        with_cost(&declared.signature)
    );
    Diagnostic::error("other_signature", message, declared.place.clone())
        .help("declare the function as the host has it")
}

/// A function that the host has not registered.
pub(super) fn unregistered_function(declared: &DeclaredFunction) -> Diagnostic {
    let message = format!("this host has registered no function `{}`", declared.name.text);
    Diagnostic::error("unregistered_function", message, declared.place.clone())
        .help("a program that embeds the engine registers it; the commands `serve`, `hook`, `mcp` and `llm` have no functions of a host")
}

/// A result that is read ahead of the step that gives it.
pub(super) fn result_ahead_of_step(place: Place, id: &str, sets: bool) -> Diagnostic {
    let message = format!("`invoked.{id}` is read ahead of step `{id}`, so it is never there");
    let help = match sets {
        true => {
            "steps that set arguments run ahead of all others in `before`: move the `invoke` step to `before_first`"
        }
        false => "move the `invoke` step ahead of this one",
    };
    Diagnostic::error("result_ahead_of_step", message, place).help(help)
}

/// A result of a step that no operation of the reader passes.
pub(super) fn result_of_other_operation(place: Place, id: &str) -> Diagnostic {
    let message =
        format!("step `{id}` runs for nothing that passes this step, so `invoked.{id}` is never there");
    Diagnostic::warning("result_never_there", message, place)
        .help("results are those of the call, the message or the model call at hand; earlier ones are in `context.invoked`")
}

/// A result of a step that is only tried out.
pub(super) fn result_of_observed_step(place: Place, id: &str) -> Diagnostic {
    let message = format!("step `{id}` is only tried out, so `invoked.{id}` is never there");
    Diagnostic::warning("result_never_there", message, place)
        .help("an observed step invokes nothing: enforce the `invoke` step, or observe this one as well")
}

/// A named expression without brackets behind it.
pub(super) fn not_called(place: Place, name: &str) -> Diagnostic {
    let message =
        format!("`expressions.{name}` is no value: a named expression is called with its arguments");
    Diagnostic::error("not_named", message, place).help(format!("write `expressions.{name}(…)`"))
}

/// `cel.block` in a named expression.
pub(super) fn block_of_expression(place: Place) -> Diagnostic {
    Diagnostic::error("bad_named_expression", "`cel.block` cannot be used in a named expression", place)
        .help("use `cel.bind(name, value, expression)`")
}

/// `has(parameter)` in a named expression.
pub(super) fn presence_of_argument(place: Place, name: &str) -> Diagnostic {
    let message = format!("`has({name})` asks whether an argument is there, and every call has it");
    Diagnostic::error("bad_named_expression", message, place).help(format!(
        "ask for a field of it, as in `has({name}.FIELD)`, or ask where the expression is called"
    ))
}

pub(super) fn unused_parameter(name: &Embedded) -> Diagnostic {
    let message = format!("the named expression does not read its parameter `{}`", name.text);
    Diagnostic::error("unused_parameter", message, name.place.clone())
        .help("read it in `value`, or remove it")
}

pub(super) fn variables_too_large(place: Place, limit: usize) -> Diagnostic {
    let message = format!("`max_plan_nodes` {limit} exceeded once each name is written out");
    Diagnostic::error("variables_too_large", message, place)
}

pub(super) fn variables_too_deep(place: Place, limit: usize) -> Diagnostic {
    let message = format!("`max_depth` {limit} exceeded once each name is written out");
    Diagnostic::error("variables_too_deep", message, place)
}

pub(super) fn bare_word(place: Place, word: &str) -> Diagnostic {
    let message = format!("the bare word `{word}` is taken as text");
    Diagnostic::warning("bare_word", message, place)
        .label("no expression")
        .help(format!("write `\"'{word}'\"` to say so"))
        .rule("BND-10")
}

/// A brace group of a text that should be a placeholder; `known` are the roots that there are, and `why` says why another
/// is none of them.
pub(super) fn of_placeholder<'a>(
    bad: &BadPlaceholder,
    text: &Embedded,
    known: impl IntoIterator<Item = &'a str>,
    why: impl FnOnce(&str) -> Option<&'a str>,
) -> Diagnostic {
    match bad {
        BadPlaceholder::Malformed(span) => malformed_placeholder(text.locate(*span)),
        BadPlaceholder::UnknownRoot { root, span } => {
            unknown_root(text.locate(*span), root, nearest(root, known), why(root))
        }
    }
}

fn malformed_placeholder(place: Place) -> Diagnostic {
    Diagnostic::error("malformed_placeholder", "this is no placeholder", place)
        .label("expected a path such as `{input.items[0].id}`")
        .help("a placeholder is a path, not an expression; a lone `{` cannot stand in a message")
        .rule("INT-19")
}

/// A brace of a policy's text behind which no expression ends.
pub(super) fn unclosed_placeholder(place: Place) -> Diagnostic {
    Diagnostic::error("unclosed_placeholder", "no expression in braces stands here", place)
        .label("expected a path or an expression, such as `{100 - input.amount}`")
        .help("to show a brace, write `{'{'}`")
}

pub(super) fn question_never_asked(place: Place) -> Diagnostic {
    Diagnostic::warning(
        "question_never_asked",
        "no part of the step asks for a review, so nobody is asked this",
        place,
    )
    .help("call `review` in the step, or take the question out")
}

pub(super) fn asking_placeholder(place: Place) -> Diagnostic {
    Diagnostic::error("asking_placeholder", "a text cannot ask for a review", place)
        .help("ask in the `assert` of a step")
}

fn unknown_root(place: Place, root: &str, near: Option<&str>, why: Option<&str>) -> Diagnostic {
    let finding =
        Diagnostic::error("unknown_root", format!("`{root}` is not known here"), place).rule("INT-19");
    match (why, near) {
        (Some(why), _) => finding.help(why),
        (None, Some(near)) => finding.help(format!("did you mean `{near}`?")),
        (None, None) => finding,
    }
}

pub(super) fn template_too_long(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("source_too_long", format!("`max_source_bytes` {limit} exceeded"), place)
}

pub(super) fn unknown_field(place: Place, record: &str, field: &str, near: Option<&str>) -> Diagnostic {
    let message = format!("`{record}` has no field `{field}`");
    let finding = Diagnostic::warning("unknown_field", message, place).label("renders as nothing");
    match near {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

/// The secret of a webhook that is no secret: an empty text, or one that was to name a setting.
pub(super) fn literal_secret(text: &Embedded) -> Diagnostic {
    let message = if text.text.is_empty() {
        "the secret is an empty text, which signs nothing"
    } else {
        "the secret is this very text, which everybody can read here"
    };
    Diagnostic::warning("literal_secret", message, text.place.clone())
        .help("a setting is named in braces and quotes: `\"{settings.hook_secret}\"`")
        .rule("WH-01")
}

/// A binding that gives a secret to a parameter that views show.
pub(super) fn shown_secret(place: Place, parameter: &str, declared: Place) -> Diagnostic {
    let message = format!("this reads a secret, and `{parameter}` is not marked as one, so views show it");
    Diagnostic::warning("shown_secret", message, place)
        .related(declared, "declared here, without `secret: true`")
        .help("mark the parameter with `secret: true`, or bind something else")
}

// About results.

/// `output.put('ibna', '***')`
pub(super) fn put_beside(place: Place, record: &str, key: &str, near: &str) -> Diagnostic {
    let message = format!("`{record}` has no field `{key}`");
    Diagnostic::warning("unknown_field", message, place)
        .label("is added beside the others")
        .help(format!("did you mean `{near}`?"))
}

/// `output.put('crad', '***')`, where other fields than `card` may be
pub(super) fn put_near(place: Place, record: &str, key: &str, near: &str) -> Diagnostic {
    let message = format!("`{record}` has a field `{near}`, and `put` adds `{key}` beside it");
    Diagnostic::warning("near_field", message, place)
        .label(format!("`{near}` stays as it is"))
        .help(format!("did you mean `{near}`?"))
}

/// `redact(output, ['salery'])`
pub(super) fn redact_near(place: Place, key: &str, near: &str) -> Diagnostic {
    let message = format!("no key of the value is called `{key}`, and one is called `{near}`");
    Diagnostic::warning("near_field", message, place)
        .label(format!("`{near}` stays as it is"))
        .help(format!("did you mean `{near}`?"))
}

/// `{'emial': output.email}`, where the result has `email`
pub(super) fn map_near(place: Place, key: &str, near: &str) -> Diagnostic {
    let message = format!("the schema of the result lists `{near}`, and this map has `{key}`");
    Diagnostic::warning("near_field", message, place).help(format!("did you mean `{near}`?"))
}

pub(super) fn transform_misfit(place: Place, declared: &Place) -> Diagnostic {
    let message = "what this transform makes does not fit what the action returns";
    Diagnostic::warning("transform_misfit", message, place)
        .related(declared.clone(), "as the tool declares it")
        .help("the model is told that results fit; nothing else is held to it")
}

pub(super) fn model_transform_misfit(place: Place, is_request: bool) -> Diagnostic {
    let (message, help) = if is_request {
        (
            "what this transform makes is no request to a model",
            "a map takes the place of the request, a list that of its messages",
        )
    } else {
        (
            "what this transform makes is no answer of a model",
            "a map takes the place of the answer, a text that of its text",
        )
    };
    Diagnostic::warning("model_transform_misfit", message, place).label("the step fails here").help(help)
}

pub(super) fn message_transform_misfit(place: Place, root: &str) -> Diagnostic {
    let message = "what this transform makes is no message: expected a text, a list of content parts, or an object with `message`";
    Diagnostic::warning("message_transform_misfit", message, place)
        .label("the step fails here")
        .help(format!("`{root}` is a list of one entry; its content parts are `{root}.message`"))
}

pub(super) fn tool_output_misfit(text: &Embedded, declared: &Place) -> Diagnostic {
    let message = "what this expression gives does not fit what the action returns";
    Diagnostic::warning("tool_output_misfit", message, text.place.clone())
        .label("every call fails here")
        .related(declared.clone(), "as the tool declares it")
}

// About the templates of tools.

pub(super) fn no_session(place: Place) -> Diagnostic {
    Diagnostic::error("no_session", "only `stateful_session` has a session", place).rule("INT-06")
}

pub(super) fn not_subscribed_yet(place: Place) -> Diagnostic {
    Diagnostic::error("not_subscribed_yet", "what subscribing gave is known in `unsubscribe` only", place)
        .rule("INT-14")
}

pub(super) fn no_mount(place: Place) -> Diagnostic {
    Diagnostic::warning("no_mount", "`mount` has no value: the agent's mount is `none`", place)
        .label("every call fails here")
        .rule("INT-07")
}

pub(super) fn undeclared_setting<'d>(
    place: Place,
    key: &str,
    declared: impl Iterator<Item = &'d str>,
) -> Diagnostic {
    let message = format!("the tool declares no setting `{key}`");
    let finding = Diagnostic::warning("undeclared_setting", message, place).rule("TOOL-14");
    match nearest(key, declared) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

/// Braces in a prompt, or in the message of an event, that stay as they are written.
pub(super) fn literal_placeholder(
    place: Place,
    name: &str,
    meant: Option<String>,
    roots: &[&str],
) -> Diagnostic {
    let message = format!("`{name}` is no root here, so the braces stay as they are written");
    let finding = Diagnostic::warning("literal_placeholder", message, place).rule("INT-18");
    match meant {
        Some(meant) => finding.help(format!("did you mean `{{{meant}}}`?")),
        None => finding.help(format!("a placeholder here begins with `{}`", roots.join("` or `"))),
    }
}

/// The same of braces that are nearly a placeholder.
pub(super) fn misspelt_placeholder(place: Place, path: &str) -> Diagnostic {
    let message = "this is no placeholder, so the brace stays as it is written";
    let finding = Diagnostic::warning("literal_placeholder", message, place).rule("INT-18");
    finding.help(format!("did you mean `{{{path}}}`? No blank stands in the braces of a placeholder"))
}

/// `'{context.user.id}'` as the value of an expression
pub(super) fn braces_in_text(span: Span, path: &str) -> Issue {
    Issue {
        code: "literal_placeholder",
        severity: Severity::Warning,
        message: "an expression is no template, so the braces in this text stay as they are written"
            .to_owned(),
        span,
        label: String::new(),
        help: Some(format!("put the parts together: `'…' + string({path})`")),
    }
}

/// `error_message: "'too much: ' + string(input.amount)"`
pub(super) fn message_is_expression(place: Place) -> Diagnostic {
    let message = "this text is an expression, and is shown as it is written";
    let help = "write the text without quotes, with each value in braces: `too much: {input.amount}`";
    Diagnostic::warning("message_is_expression", message, place).help(help)
}

/// Braces that are sent as they are written.
pub(super) fn literal_braces(place: Place, name: &str, meant: Option<String>) -> Diagnostic {
    let message = format!("`{name}` is no root of a template, so the braces are sent as they are written");
    let finding = Diagnostic::warning("literal_braces", message, place).rule("INT-18");
    match meant {
        Some(meant) => finding.help(format!("did you mean `{{{meant}}}`?")),
        None => finding.help("a template names `{parameters.NAME}` or `{settings.NAME}`"),
    }
}

pub(super) fn undeclared_parameter<'d>(
    place: Place,
    name: &str,
    declared: impl Iterator<Item = &'d str>,
) -> Diagnostic {
    let message = format!("the action has no parameter `{name}`");
    let finding = Diagnostic::warning("undeclared_parameter", message, place)
        .label("every call fails here")
        .rule("INT-20");
    match nearest(name, declared) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

// Of counters.

pub(super) fn key_of_kind(counter: &str, found: Kind) -> String {
    format!("the key of the counter `{counter}` is a text, found {found}")
}

pub(super) fn amount_of_kind(counter: &str, found: Kind) -> String {
    format!("what the counter `{counter}` adds is a number, found {found}")
}

pub(super) fn no_amount(counter: &str, why: AmountError) -> String {
    format!("the counter `{counter}`: {why}")
}

pub(super) fn bad_counter_type(text: &Embedded, key: &str, expected: &str, found: &Type) -> Diagnostic {
    let message = format!("`{key}` of a counter gives {expected}, and this is `{found}`");
    Diagnostic::error("bad_counter_type", message, text.place.clone())
}

pub(super) fn observed_counters(place: Place) -> Diagnostic {
    let message =
        "the counters of a policy that is only tried out reach observed steps alone, and this step decides";
    Diagnostic::error("observed_counters", message, place)
        .help("say `mode: observe` of the step too, or `mode: enforce` of the policy")
}

/// `key: "'context.user.id'"`
pub(super) fn constant_key(text: &Embedded) -> Diagnostic {
    let message = "the key of a counter is this text for every call, so one counter counts for all";
    Diagnostic::warning("constant_key", message, text.place.clone())
        .help("write an expression without quotes, such as `context.user.id`, or leave `key` out")
}

/// `add: "-1"`
pub(super) fn bad_counter_amount(text: &Embedded) -> Diagnostic {
    let message = "a call adds more than 0 to a counter: else the counter bounds nothing";
    Diagnostic::error("bad_counter_amount", message, text.place.clone())
        .help("leave `add` out to count calls, or name an argument, such as `input.amount`")
}

pub(super) fn unread_counter(name: &Embedded) -> Diagnostic {
    let message = format!("no step of the policy reads the counter `{}`, so it counts nothing", name.text);
    Diagnostic::warning("unread_counter", message, name.place.clone()).help(format!(
        "read it in `assert` or `condition` of a step ahead of calls: `counters.{} <= 100`",
        name.text
    ))
}

// About the steps of policy documents.

pub(super) fn not_an_argument(name: &str) -> String {
    format!("the model can give this function no argument `{name}`, and neither can a policy")
}

pub(super) fn set_bound(place: Place, name: &str, namespace: &str, agent: &str) -> Diagnostic {
    let message = format!(
        "`{name}` is for the agent `{namespace}/{agent}` to bind, and `set` gives no other value to it"
    );
    Diagnostic::error("set_bound", message, place)
        .help("leave it out, or give the step a key that selects the calls of others")
}

pub(super) fn set_undeclared<'d>(
    place: Place,
    name: &str,
    declared: impl Iterator<Item = &'d str>,
) -> Diagnostic {
    let message = format!("no function that the key selects has a parameter `{name}`");
    let finding = Diagnostic::warning("set_undeclared", message, place).label("every call fails here");
    match nearest(name, declared) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

/// Which calls fail as their functions have no parameter of this name.
fn lacking(name: &str, first: &str, others: usize) -> String {
    let which = match others {
        0 => format!("`{first}` fails here, as it has"),
        1 => format!("`{first}` and of another function fails here, as they have"),
        _ => format!("`{first}` and of {others} other functions fails here, as they have"),
    };
    format!("each call of {which} no parameter `{name}`")
}

/// `"*": [{set: {tenant: "'acme'"}}]`, where some functions have no such parameter
pub(super) fn set_not_by_all(place: Place, name: &str, first: &str, others: usize) -> Diagnostic {
    let message = lacking(name, first, others);
    Diagnostic::warning("set_not_by_all", message, place)
        .help("choose a key that selects the functions which have it, or give the step a condition")
}

pub(super) fn binding_misfit(place: Place, name: &str, function: &str) -> Diagnostic {
    let message = format!("`{function}` does not take this value for `{name}`, so each call of it fails");
    Diagnostic::warning("binding_misfit", message, place)
        .help("give a value that the schema of the parameter allows")
}

/// `"*": [{assert: input.amount < 5}]`, where some functions have no such parameter
pub(super) fn read_not_by_all(place: Place, name: &str, first: &str, others: usize) -> Diagnostic {
    let message = lacking(name, first, others);
    Diagnostic::warning("read_not_by_all", message, place).help(format!(
        "choose the functions that have it, with `match` or another key, or give the step `condition: has(input.{name})`"
    ))
}

pub(super) fn invoke_misfit(place: Place, name: &str, function: &str) -> Diagnostic {
    let message = format!("`{function}` does not take this value for `{name}`, so the step never calls it");
    Diagnostic::warning("invoke_misfit", message, place)
        .help("give a value that the schema of the parameter allows")
}

/// `set` with one expression that gives no map.
pub(super) fn set_not_a_map(place: Place, found: &str) -> Diagnostic {
    let message = format!("`set` with one expression expects a map of all arguments, found `{found}`");
    Diagnostic::warning("set_misfit", message, place)
        .label("every call fails here")
        .help("write `set: {NAME: …}` for one argument, or `input.put('NAME', …)`")
}

pub(super) fn set_misfit(place: Place, name: &str) -> Diagnostic {
    let message = format!("what this expression gives does not fit the parameter `{name}`");
    Diagnostic::warning("set_misfit", message, place).label("every call fails here")
}

pub(super) fn delay_too_long(place: Place, bound: u64) -> Diagnostic {
    let message = format!("the host would wait longer than `max_delay_ms` {bound}");
    Diagnostic::error("delay_too_long", message, place)
}

pub(super) fn delay_unheeded(place: Place, function: &str) -> Diagnostic {
    let message = format!("the engine itself evaluates `{function}`, so nobody waits before its calls");
    Diagnostic::error("delay_unheeded", message, place)
        .help(format!("leave it out: `condition: call.fn != '{function}'`, or another key"))
}

pub(super) fn respond_misfit(place: Place) -> Diagnostic {
    let message = "what this expression gives is not what the selected functions declare as their result";
    Diagnostic::warning("respond_misfit", message, place).label("every call fails here")
}

pub(super) fn label_misfit(place: Place) -> Diagnostic {
    let message = "labels are a text or a list of texts, and this gives something else";
    Diagnostic::error("label_misfit", message, place)
}

pub(super) fn credential_misfit(place: Place) -> Diagnostic {
    let message = "the audience and the scopes of a credential are texts";
    Diagnostic::error("credential_misfit", message, place)
}

pub(super) fn secret_in_credential(place: Place) -> Diagnostic {
    let message = "this reads a secret, and views and logs show the audience and the scopes of a credential";
    Diagnostic::error("secret_in_credential", message, place)
}

pub(super) fn tool_refused(check: &str, said: Option<&str>) -> String {
    match said.filter(|said| !said.is_empty()) {
        Some(said) => format!("{check}: {said}"),
        None => format!("{check} does not hold of it"),
    }
}
