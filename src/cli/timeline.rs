//! One decision of a recorded task, for people and for programs.
//!
//! In: an event. Out: a few lines: when, what, the verdict, and below it what explains it; or JSON. Values are shown
//! compactly, at most one line each.

use celador::cel::{Json, Timestamp};
use celador::context::MASK;
use celador::counter::{CounterBook, CounterId, CounterState};
use celador::policy::Policy;
use celador::scenario::{Happened, Palette, ReplayedEvent, visible};
use celador::task::{
    CallId, CounterUse, Decision, Delivery, ModelCall, Operation, Ran, ReportedCall, StepOutcome, TaskState,
    Termination, VerdictKind,
};
use celador::{ObservedStep, Terms};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The most characters of a value.
const VALUE_WIDTH: usize = 96;

pub(crate) fn render(event: &ReplayedEvent, palette: &Palette) -> String {
    let Palette { bold, dim, reset, .. } = palette;
    let mut text = String::new();
    let (what, about) = subject(&event.happened);
    let time = event.at.to_string();
    let _ = writeln!(text, "{dim}{time}{reset}  {bold}{what}{reset}  {}", shorten(&about));
    let decision = &event.decision;
    let color = match decision.verdict.kind() {
        VerdictKind::Allow | VerdictKind::Route => palette.green,
        VerdictKind::Suspend | VerdictKind::Wait | VerdictKind::Discard => palette.yellow,
        _ => palette.red,
    };
    let said = decision.verdict.message().map(visible).unwrap_or_default();
    let _ = writeln!(text, "  {color}{bold}{}{reset}  {said}", decision.verdict.kind());
    for (label, line) in explanations(event) {
        let _ = writeln!(text, "  {dim}{label:<9}{reset} {line}");
    }
    text.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n") + "\n"
}

/// What happened: a word, and what it is about.
fn subject(happened: &Happened) -> (String, String) {
    let of_call =
        |word: &str, id: &CallId, about: String| (format!("{word} {}", visible(id.as_str())), about);
    match happened {
        Happened::Operation(operation) => subject_of_operation(operation),
        Happened::Decided { id } => of_call("call", id, "is decided now".to_owned()),
        Happened::Result { function, reported: ReportedCall { call, result } } => {
            of_call("result", call, format!("{function} {}", compact(&result.output)))
        }
        Happened::Review { reviewer, call, verdict, recorded } => {
            let whose = call.as_ref().map(|call| format!("review of call {}", visible(call)));
            let by = if *recorded { "by" } else { "by --reviews in the place of" };
            (whose.unwrap_or_else(|| "review".to_owned()), format!("{verdict} {by} {reviewer}"))
        }
    }
}

fn subject_of_operation(operation: &Operation) -> (String, String) {
    let id = operation.call().map(|id| format!(" {}", visible(id.as_str()))).unwrap_or_default();
    let (word, about) = match operation {
        Operation::Input(message) | Operation::Output(message) => (operation.name(), message_text(message)),
        Operation::ModelBefore(call) => ("request", compact(&call.request)),
        Operation::ModelAfter { answer, .. } => ("answer", compact(answer)),
        Operation::ModelTurn(usage) => {
            let mut about = format!("{} + {} tokens", usage.prompt_tokens, usage.completion_tokens);
            if !usage.cost.is_zero() {
                let _ = write!(about, ", cost {}", usage.cost);
            }
            ("model turn", about)
        }
        Operation::Before(call) | Operation::Invoke(call) => {
            ("call", format!("{} {}", call.function, compact(&call.arguments)))
        }
        Operation::Event(Delivery { capability, event, .. }) => {
            ("event", format!("{} of {}", visible(event), visible(capability)))
        }
        Operation::Withdraw { ran: Ran::Never, .. } => ("withdrawal", "it has not run".to_owned()),
        Operation::Withdraw { ran: Ran::Unknown, .. } => {
            ("withdrawal", "nobody knows whether it has run".to_owned())
        }
        _ => (operation.name(), String::new()),
    };
    (format!("{word}{id}"), about)
}

/// The lines below the verdict, each with its label.
fn explanations(event: &ReplayedEvent) -> Vec<(&'static str, String)> {
    let ReplayedEvent { decision, invoked, .. } = event;
    let mut lines = Vec::new();
    if let Some(limit) = decision.verdict.limit() {
        lines.push(("limit", limit.to_string()));
    }
    if let Some(stage) = decision.verdict.stage() {
        lines.push(("stage", stage.as_str().to_owned()));
    }
    if let Some(reviewer) = decision.verdict.reviewer() {
        lines.push(("reviewer", visible(reviewer)));
    }
    if let Some(told) = decision.verdict.user_message() {
        lines.push(("user", visible(told)));
    }
    if let Some(reason) =
        decision.verdict.reason().filter(|reason| Some(*reason) != decision.verdict.message())
    {
        lines.push(("reason", visible(reason)));
    }
    if let Some(value) = shown_value(event) {
        lines.push(("value", shorten(&value)));
    }
    lines.extend(decision.counters.iter().map(|counter| ("counter", describe_use(counter))));
    lines.extend(decision.verdict.terms().iter().flat_map(|terms| describe_terms(terms)));
    if let Some(exposes) = decision.verdict.exposes().filter(|exposes| !exposes.root().is_empty()) {
        lines.push(("exposes", shorten(&compact(exposes))));
    }
    if let Some(origin) = &decision.decided_by {
        let place = format!("{}:{}:{}", origin.file, origin.line, origin.column);
        let step = origin.policy.as_ref().map(|step| format!("{step}, ")).unwrap_or_default();
        lines.push(("by", format!("{step}{} at {place}", origin.path)));
    }
    let executed = invoked
        .iter()
        .map(|(function, arguments)| ("invoked", shorten(&format!("{function} {}", compact(arguments)))));
    lines.extend(executed);
    if let Some(trace) = describe_trace(decision) {
        lines.push(("trace", trace));
    }
    lines.extend(decision.observed.iter().map(|observed| ("observed", describe_observed(observed))));
    for finding in &decision.findings {
        let at = finding
            .origin
            .as_ref()
            .map(|origin| format!(" at {}:{}:{}", origin.file, origin.line, origin.column));
        lines.push(("note", format!("{}{}", visible(&finding.message), at.unwrap_or_default())));
    }
    lines
}

/// What goes on, if it is not what came in: arguments that a binding or a default changed, a result that a transform
/// changed.
fn shown_value(event: &ReplayedEvent) -> Option<String> {
    let value = event.decision.verdict.value()?;
    let unchanged = match &event.happened {
        Happened::Operation(Operation::Before(call) | Operation::Invoke(call)) => *value == call.arguments,
        Happened::Result { reported, .. } => *value == reported.result.output,
        Happened::Operation(Operation::Input(message) | Operation::Output(message)) => {
            return Some(message_text(value)).filter(|text| *text != message_text(message));
        }
        Happened::Operation(Operation::Event(_)) => return Some(message_text(value)),
        Happened::Operation(Operation::ModelBefore(ModelCall { request: given, .. }))
        | Happened::Operation(Operation::ModelAfter { answer: given, .. }) => goes_on_as_given(given, value),
        Happened::Operation(_) | Happened::Review { .. } | Happened::Decided { .. } => false,
    };
    (!unchanged).then(|| compact(value))
}

/// Whether every key that was given goes on as it came; what was left out and filled in is no news.
fn goes_on_as_given(given: &Json, value: &Json) -> bool {
    value.root().entries().all(|(key, value)| match given.root().get(key) {
        Some(given) => given.to_json() == value.to_json(),
        None => value.is_empty(),
    })
}

fn describe_trace(decision: &Decision) -> Option<String> {
    let steps = decision.trace.iter().map(|entry| {
        let note = entry.message.as_deref().filter(|message| Some(*message) != decision.verdict.message());
        let note = note.map(|note| format!(" ({})", visible(note))).unwrap_or_default();
        match entry.outcome {
            StepOutcome::Pass => entry.called(),
            outcome => format!("{} {}{note}", entry.called(), outcome.as_str()),
        }
    });
    let steps: Vec<String> = steps.collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// A counter that a decision has read; its amounts are in no view where they may be secrets.
fn describe_use(counter: &CounterUse) -> String {
    let CounterUse { policy, name, counted, adds, observed } = counter;
    let counted = match (counted, adds) {
        (Some(counted), _) => format!(" was {counted}"),
        // a turn of the model is counted whatever there was
        (None, Some(_)) => String::new(),
        (None, None) => format!(" was {MASK}"),
    };
    let adds = adds.map(|adds| format!(", the call adds {adds}")).unwrap_or_default();
    let observed = if *observed { " (observed)" } else { "" };
    format!("{policy}#{name}{observed}{counted}{adds}")
}

/// What the host has to do for a call.
fn describe_terms(terms: &Terms) -> Vec<(&'static str, String)> {
    let delay = terms.delay_ms.map(|delay| ("delay", format!("{delay} ms")));
    let obligations = terms.obligations.iter();
    let obligations =
        obligations.map(|it| ("obliges", shorten(&format!("{} {}", it.id, compact(&it.values)))));
    let credentials = terms.credentials.iter();
    let credentials = credentials
        .map(|it| ("credential", shorten(&format!("for {}: {}", it.audience, it.scopes.join(" ")))));
    delay.into_iter().chain(obligations).chain(credentials).collect()
}

/// What an observed step would have done.
fn describe_observed(observed: &ObservedStep) -> String {
    let end = observed.verdict.map_or(observed.outcome.as_str(), VerdictKind::as_str);
    let notes = observed.reviewer.iter().chain(&observed.message).map(String::as_str).map(visible);
    let labels = observed.labels.iter().map(|label| format!("label {}", visible(label)));
    let errors = observed.findings.iter().map(|finding| visible(&finding.message));
    let notes: Vec<_> = notes.chain(labels).chain(errors).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{} would {end}{notes}", observed.called())
}

/// The text of a message in any of its forms.
fn message_text(entry: &Json) -> String {
    let Some(message) = entry.root().get("message") else { return compact(entry) };
    match message.as_str() {
        Some(text) => text.to_owned(),
        None => message.items().filter_map(|part| part.get("text")?.as_str()).collect(),
    }
}

fn compact(value: &Json) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// One line of at most [`VALUE_WIDTH`] characters.
fn shorten(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(VALUE_WIDTH) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// What a counter holds at the end of a recorded task.
struct Held<'b> {
    counter: &'b CounterId,
    /// What counts and how much of it calls hold; nothing where amounts may be secrets.
    amounts: Option<[String; 2]>,
}

fn held<'b>(book: &'b CounterBook, policy: &Policy, now: Timestamp) -> Vec<Held<'b>> {
    let amounts = |counter: &CounterId, state: &CounterState| {
        let is_secret = policy.counters().declared(counter).is_none_or(|declared| declared.is_secret);
        (!is_secret).then(|| [state.counted(state.window, now), state.tally.held()].map(|it| it.to_string()))
    };
    book.iter().map(|(counter, state)| Held { counter, amounts: amounts(counter, state) }).collect()
}

/// What counters hold at the end, a line each.
pub(crate) fn render_counters(book: &CounterBook, policy: &Policy, now: Timestamp) -> String {
    held(book, policy, now).into_iter().fold(String::new(), |mut text, Held { counter, amounts }| {
        let amounts = match amounts {
            Some([counted, held]) => format!("{counted}, of which calls hold {held}"),
            None => MASK.to_owned(),
        };
        let _ = writeln!(text, "counter {}: {amounts}", visible(&counter.to_string()));
        text
    })
}

/// The same as a list of JSON objects.
pub(crate) fn counters_json(book: &CounterBook, policy: &Policy, now: Timestamp) -> Vec<Value> {
    let row = |Held { counter, amounts }: Held<'_>| {
        let [counted, held] = amounts.map_or([None, None], |amounts| amounts.map(Some));
        json!({
            "policy": counter.policy(), "name": counter.name(), "key": counter.key(), "counted": counted, "held": held,
        })
    };
    held(book, policy, now).into_iter().map(row).collect()
}

pub(crate) fn render_end(decisions: usize, refused: usize, state: &TaskState) -> String {
    let end = match state {
        TaskState::Active | TaskState::Suspended => state.as_str().to_owned(),
        TaskState::Locked { reason } => format!("{}: {}", state.as_str(), visible(reason)),
        TaskState::Terminated(Termination { reason, message }) => {
            format!("{} ({reason}): {}", state.as_str(), visible(message))
        }
    };
    format!("{decisions} decisions, {refused} refused; the task is {end}")
}

pub(crate) fn to_json(event: &ReplayedEvent) -> Value {
    let happened = match &event.happened {
        Happened::Operation(operation) => operation_to_json(operation),
        Happened::Result { function, reported: ReportedCall { call, result } } => {
            json!({ "result": { "id": call, "fn": function, "status": result.status, "output": result.output } })
        }
        Happened::Decided { id } => json!({ "decided": { "id": id } }),
        Happened::Review { reviewer, call, verdict, recorded } => json!({ "review": {
            "reviewer": reviewer, "call": call, "verdict": verdict, "recorded": recorded,
        } }),
    };
    let invoked: Vec<Value> =
        event.invoked.iter().map(|(function, input)| json!({ "fn": function, "input": input })).collect();
    json!({
        "line": event.place.position().line,
        "at": event.at.to_string(),
        "step": happened,
        "decision": event.decision,
        "invoked": invoked,
        "task": event.state,
    })
}

/// An operation with the keys of a recorded task.
fn operation_to_json(operation: &Operation) -> Value {
    match operation {
        Operation::Input(input) => json!({ "input": input }),
        Operation::Output(output) => json!({ "output": output }),
        Operation::ModelTurn(usage) => {
            let cost = Some(usage.cost).filter(|cost| !cost.is_zero()).map(|cost| ("cost", json!(cost)));
            let tokens = [
                ("prompt_tokens", json!(usage.prompt_tokens)),
                ("completion_tokens", json!(usage.completion_tokens)),
            ];
            let llm = tokens.into_iter().chain(cost).map(|(key, number)| (key.to_owned(), number));
            json!({ "llm": llm.collect::<Map<_, _>>() })
        }
        Operation::ModelBefore(call) => json!({ "model": { "id": call.id, "request": call.request } }),
        Operation::ModelAfter { call, answer } => json!({ "model": { "id": call, "answer": answer } }),
        Operation::Before(call) | Operation::Invoke(call) => {
            json!({ "call": { "id": call.id, "fn": call.function, "args": call.arguments } })
        }
        Operation::Event(Delivery { capability, event, .. }) => {
            json!({ "event": { "capability": capability, "event": event } })
        }
        Operation::Withdraw { call, ran } => json!({ "withdraw": { "id": call, "ran": ran } }),
        // a recorded task has no such step
        _ => json!({ "operation": operation.name() }),
    }
}
