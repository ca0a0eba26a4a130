//! What the command line says by itself; everything else is said by the library.

use celador::cel::{Assumptions, JsonError};
use celador::diagnostic::{Diagnostic, Standing, nearest};
use celador::evidence::{Evidence, Rejection};
use celador::replay::{FlipRow, NotJudged, RecordError, Tally};
use celador::scenario::{Mismatch, Report, SnapshotError, visible};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::time::Duration;

/// What becomes of a warning, if anything does.
pub(crate) fn standing(finding: &Diagnostic) -> Option<String> {
    match &finding.standing {
        Standing::Refused if !finding.is_error() => Some(format!(
            "error unless allowed: a rule may be lost here; to accept it, write `# celador: allow({}) reason` on the line above",
            finding.code
        )),
        Standing::Allowed(reason) => Some(format!("allowed: {reason}")),
        Standing::Told | Standing::Refused => None,
    }
}

/// How to learn more about a finding with this code.
pub(crate) fn explained(code: &str) -> String {
    format!("`celador explain-code {code}` explains the finding, with an example")
}

pub(crate) fn unknown_code(code: &str, near: Option<&str>) -> String {
    let meant = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`celador explain-code` lists all codes".to_owned(),
    };
    format!("no finding has the code `{code}`: {meant}")
}

/// A file as messages name it.
fn named(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

pub(crate) fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", named(path))
}

pub(crate) fn too_large(path: &Path, limit: usize) -> String {
    format!("{} is larger than {limit} bytes", named(path))
}

pub(crate) fn not_utf8(path: &Path) -> String {
    format!("{} is not UTF-8", named(path))
}

pub(crate) fn already_there(path: &Path) -> String {
    format!("`{}` is there already, so nothing was written", path.display())
}

pub(crate) fn cannot_create(path: &Path, error: &io::Error) -> String {
    format!("cannot create `{}`, so nothing was written: {error}", path.display())
}

pub(crate) fn cannot_write(error: &io::Error) -> String {
    format!("cannot write the output: {error}")
}

pub(crate) fn cannot_write_file(path: &Path, error: &io::Error) -> String {
    format!("cannot write `{}`: {error}", path.display())
}

pub(crate) fn no_report_form() -> String {
    "there are reports of the forms `junit=FILE`, `sarif=FILE` and `github`".to_owned()
}

pub(crate) fn no_report_file() -> String {
    "the file is missing that the report goes to, as in `junit=results.xml`".to_owned()
}

pub(crate) fn no_coverage_form() -> String {
    "coverage is written as `html=FILE`, `lcov=FILE`, `cobertura=FILE` or `json=FILE`".to_owned()
}

pub(crate) fn no_coverage_file() -> String {
    "the file is missing that the coverage goes to, as in `lcov=coverage.info`".to_owned()
}

pub(crate) fn wrote_cases(count: usize, folder: &Path) -> String {
    let cases = if count == 1 { "case" } else { "cases" };
    format!("wrote {count} {cases} into `{}` that would notice", folder.display())
}

pub(crate) fn no_percent() -> String {
    "a number from 0 to 100 is expected".to_owned()
}

pub(crate) fn below_threshold(percent: f64, threshold: f64) -> String {
    format!("{percent:.1} percent of the clauses were covered; {threshold} are asked for")
}

pub(crate) fn mixed_output() -> String {
    "annotations of GitHub are no JSON: `github=FILE` writes them into a file, `--format human` beside the text".to_owned()
}

/// What did not hold in a case: what is expected and what was found are those of the case's author.
pub(crate) fn mismatch(report: &Report, Mismatch { key, expected, found, .. }: &Mismatch) -> String {
    let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
    format!("{}: `{key}` should be {} and is {}", report.name, shown(expected), shown(found))
}

pub(crate) fn no_explained_step(step: &str) -> String {
    format!("there is no step `{step}`; without `--step` all of them are listed with their numbers and names")
}

#[cfg(feature = "store")]
pub(crate) fn not_explained(task: &str, why: &str) -> String {
    format!(
        "the task `{task}` cannot be explained: {why}; `--manifests` names the manifests that it was under"
    )
}

#[cfg(feature = "store")]
pub(crate) const fn event_tells_nothing() -> &'static str {
    "the event does not tell what its operation was about, or these rules cannot take it"
}

#[cfg(feature = "store")]
pub(crate) fn events_tell_nothing(count: usize) -> String {
    format!(
        "{count} event(s) do not tell what their operation was about, such as results and turns of several calls"
    )
}

#[cfg(feature = "store")]
pub(crate) fn was_decided(verdict: &str) -> String {
    format!("   it was decided as `{verdict}` then: somebody has answered meanwhile, or the rules are others")
}

/// A tool that a document of tools cannot have.
pub(crate) fn left_out(tool: &str, reason: &str) -> String {
    format!("`{tool}` is left out: {reason}")
}

pub(crate) fn no_tools(path: &Path) -> String {
    format!(
        "{} is no list of tools as MCP has it: `[{{\"name\": …, \"inputSchema\": …}}]` or `{{\"tools\": […]}}`",
        named(path)
    )
}

pub(crate) const NO_TOOL_LEFT: &str = "no tool is left, so nothing was written";

pub(crate) const NO_COMMAND: &str = "there is no command; it stands behind `--`";

pub(crate) fn cannot_run(program: &str, error: &io::Error) -> String {
    format!("cannot run `{program}`: {error}")
}

pub(crate) fn no_list_of_tools(program: &str, problem: &str) -> String {
    format!("`{program}` lists no tools: {problem}")
}

pub(crate) fn no_openapi(path: &Path) -> String {
    format!("`{}` is no document of OpenAPI 3.0 or 3.1", path.display())
}

pub(crate) fn too_many_operations(limit: usize) -> String {
    format!("the document has more than {limit} operations; the rest is left out")
}

pub(crate) fn tools_too_large(problem: &str) -> String {
    format!("the tools do not fit into one document ({problem}); choose some of them with `--only`")
}

pub(crate) fn unknown_variable(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no variable or field `{name}`; did you mean `{near}`?"),
        None => format!("there is no variable or field `{name}`"),
    }
}

pub(crate) fn unknown_function(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no function `{name}`; did you mean `{near}`?"),
        None => format!("there is no function `{name}`"),
    }
}

/// What the most that an expression costs takes for granted.
pub(crate) fn assumptions(assumes: &Assumptions) -> Vec<&'static str> {
    let texts = assumes.short_texts.then_some("texts have at most 1,000 bytes");
    let sizes = assumes.sizes_of_schemas.then_some("arguments keep to the sizes of their schemas");
    texts.into_iter().chain(sizes).collect()
}

pub(crate) fn if_assumed(assumption: &str) -> String {
    format!("if {assumption}")
}

/// Why a cost has no most: the part that may be of any size.
pub(crate) fn unbounded(part: &str) -> String {
    format!("no size is known that bounds `{part}`; `max_cost` does when it runs")
}

/// No case matches `--filter`, among these names.
pub(crate) fn no_filtered_case(filter: &str, known: &[&str]) -> String {
    format!("no case has `{filter}` in its name{}", meant_case(filter, known))
}

/// No case of a file has the name of `--case`.
pub(crate) fn no_such_case(name: &str, known: &[&str]) -> String {
    format!("the file has no case `{name}`{}", meant_case(name, known))
}

/// The nearest name, and all names where a person reads them.
fn meant_case(name: &str, known: &[&str]) -> String {
    const MOST: usize = 20;
    // of a file of several cases, the part behind its name counts as well
    let parts = known.iter().filter_map(|known| Some(known.rsplit_once('/')?.1));
    let near = nearest(name, known.iter().copied().chain(parts));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    match known.len() {
        0 => "; there is no case".to_owned(),
        1..=MOST => format!("{near}; there are `{}`", known.join("`, `")),
        count => format!("{near}; there are {count} cases"),
    }
}

pub(crate) fn no_cases() -> String {
    "there is no case: a case has `name`, `manifest`, `call` and `expect`".to_owned()
}

pub(crate) fn not_a_file_of_cases(path: &Path) -> String {
    format!("`{}` is a recorded task, and `--case` names a case of a file of cases", path.display())
}

pub(crate) fn nothing_to_explain() -> String {
    "there is nothing to explain: no operation of the file is decided by steps".to_owned()
}

pub(crate) fn expression_too_long(limit: usize, found: usize) -> String {
    format!("`max_source_bytes` {limit} exceeded: the expression has {found} bytes")
}

pub(crate) fn not_json(what: &str, error: &JsonError) -> String {
    format!("`{what}` is no JSON: {error}")
}

pub(crate) fn no_context(path: &Path, error: &SnapshotError) -> String {
    format!("`{}` is no task context: {error}", path.display())
}

pub(crate) fn state_needs_manifests() -> String {
    "a `state` names functions of an agent, so it needs the manifests".to_owned()
}

pub(crate) fn which_agent(named: Option<&str>, known: &[String]) -> String {
    let known = match known {
        [] => "the manifests have none".to_owned(),
        known => format!("there are `{}`", known.join("`, `")),
    };
    match named {
        Some(name) => format!("not exactly one agent is called `{name}`; {known}"),
        None => format!("`--agent` must say which agent is meant; {known}"),
    }
}

pub(crate) fn not_a_time(text: &str) -> String {
    format!("`{text}` is no point in time; write it as RFC 3339 has it, such as `2026-06-01T12:00:00Z`")
}

pub(crate) fn no_clock() -> String {
    "the clock shows no year from 1 to 9999; give a time with `--now`".to_owned()
}

#[cfg(feature = "gateway")]
pub(crate) fn proxy_listening(address: std::net::SocketAddr) -> String {
    format!("guarding http://{address}")
}

#[cfg(feature = "gateway")]
pub(crate) fn proxy_reviews(address: std::net::SocketAddr) -> String {
    format!("reviews at http://{address}/reviews")
}

pub(crate) fn review_pending(reviewer: &str) -> String {
    format!("the expression asks `{reviewer}` for a review")
}

#[cfg(feature = "gateway")]
pub(crate) fn mcp_listening(address: std::net::SocketAddr) -> String {
    format!("listening on http://{address}/mcp")
}

#[cfg(feature = "gateway")]
pub(crate) fn nothing_holds() -> String {
    "no policy says what holds: expected `--policies`, `--server`, or `--observe` to let everything through and judge it".to_owned()
}

#[cfg(feature = "gateway")]
pub(crate) fn no_headers() -> String {
    "a file of headers has a line that is none: expected `Name: value`".to_owned()
}

#[cfg(feature = "gateway")]
pub(crate) fn accepted(path: &Path, tools: usize) -> String {
    format!("{tools} tools are accepted in `{}`", path.display())
}

#[cfg(feature = "gateway")]
pub(crate) fn cannot_serve(error: &io::Error) -> String {
    format!("the process has no threads for it: {error}")
}

#[cfg(feature = "server")]
pub(crate) fn serving(address: std::net::SocketAddr) -> String {
    format!("listening on {address}")
}

pub(crate) fn no_limit(written: &str) -> String {
    format!(
        "`--limit {written}` does not change a bound: expected NAME=VALUE, with a name of `celador limits`"
    )
}

#[cfg(feature = "server")]
pub(crate) fn no_rule(error: &celador_store::RetentionError) -> String {
    format!("`--retain`: {error}")
}

#[cfg(feature = "server")]
pub(crate) fn no_settings(path: &Path, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    format!("`{}` is not an object of objects as JSON, at line {line}, column {column}", path.display())
}

#[cfg(feature = "store")]
pub(crate) fn no_store(path: &str) -> String {
    format!("there is no store at `{path}`")
}

#[cfg(feature = "store")]
pub(crate) fn several_owners(task: &str) -> String {
    format!("several callers have or had a task `{task}`; say whose is meant with `--owner`")
}

#[cfg(feature = "store")]
pub(crate) fn about_task(task: &str, error: &celador_store::StoreError) -> String {
    format!("task `{task}`: {error}")
}

#[cfg(feature = "store")]
pub(crate) fn waits(task: &str) -> String {
    format!("task `{task}` waits for an answer: name the manifests of its agent with `--manifests`")
}

#[cfg(feature = "store")]
pub(crate) fn ended(task: &str, version: u64) -> String {
    format!("ended task {task}, event {version}")
}

#[cfg(feature = "store")]
pub(crate) fn task_or_age() -> String {
    "expected either the id of a task or `--older-than`, with the store before it or in `CELADOR_STORE`"
        .to_owned()
}

#[cfg(feature = "store")]
pub(crate) fn purged_in_all(dry_run: bool, tasks: u64, events: u64) -> String {
    let what = if dry_run { "would be purged; nothing was changed" } else { "purged" };
    format!("{tasks} task(s) with {events} event(s) {what}")
}

#[cfg(feature = "store")]
pub(crate) fn bad_reason(bound: usize) -> String {
    format!("expected a `--reason` that is not empty and has at most {bound} bytes (`max_reason_bytes`)")
}

#[cfg(feature = "store")]
pub(crate) const fn task_has_ended() -> &'static str {
    "it has ended, and takes no step under any policy"
}

#[cfg(feature = "store")]
pub(crate) const fn task_is_busy() -> &'static str {
    "a server takes steps of it all the time; try again"
}

#[cfg(feature = "store")]
pub(crate) const fn manifests_not_kept() -> &'static str {
    "the store does not have its manifests"
}

#[cfg(feature = "store")]
pub(crate) fn no_such_policy(why: &str) -> String {
    format!("it cannot go on under that policy: {why}")
}

#[cfg(feature = "store")]
pub(crate) fn about_policy(task: &str, why: &str) -> String {
    format!("task `{task}`: {why}")
}

#[cfg(feature = "store")]
pub(crate) fn not_on(switch: &str) -> String {
    format!("{switch} is not stopped")
}

#[cfg(feature = "store")]
pub(crate) fn no_counter(counter: &str) -> String {
    format!(
        "there is no counter `{counter}` with this key and this caller; `celador counters list` shows those that there are"
    )
}

#[cfg(feature = "store")]
pub(crate) fn no_counter_name(text: &str) -> String {
    format!("`{text}` is not the name of a counter: expected `NAMESPACE/POLICY#NAME`")
}

#[cfg(feature = "store")]
pub(crate) fn no_qualified_name(text: &str) -> String {
    format!("`{text}` is not a name: expected `NAMESPACE/NAME`")
}

/// A difference between decision logs and their store.
#[cfg(feature = "store")]
pub(super) fn difference(difference: &celador_store::Difference) -> String {
    use celador_store::Difference;
    let of = |owner: &str| if owner.is_empty() { String::new() } else { format!(" of {owner}") };
    match difference {
        Difference::Missing { owner, task, version, at, operation } => {
            format!("missing: no log has version {version} of task {task}{} ({operation}, {at})", of(owner))
        }
        Difference::WithoutDecision { folder, line } => {
            let version = line.version.map(|version| format!("version {version} of ")).unwrap_or_default();
            format!(
                "without a decision: line {} of `{}` is about {version}task {}, and the store does not have it",
                line.number,
                folder.display(),
                line.task
            )
        }
        Difference::Different { folder, line } => format!(
            "different: line {} of `{}` says something else of version {} of task {} than the store",
            line.number,
            folder.display(),
            line.version.unwrap_or_default(),
            line.task
        ),
    }
}

#[cfg(feature = "server")]
pub(crate) fn refused_by_server(status: u16, told: Option<&str>) -> String {
    match told {
        Some(told) => format!("the server answered {status}: {told}"),
        None => format!("the server answered {status}"),
    }
}

#[cfg(feature = "server")]
pub(crate) fn no_json_of_server() -> String {
    "the answer is not one of a Celador server".to_owned()
}

#[cfg(feature = "server")]
pub(crate) fn no_reviews(state: &str) -> &'static str {
    if state == "open" { "nothing waits for an answer" } else { "there is no such review" }
}

#[cfg(feature = "server")]
pub(crate) fn answered(id: &str, state: &str, verdict: &str) -> String {
    format!("{id} is {state}; the decision is {verdict}")
}

#[cfg(feature = "server")]
pub(crate) fn waits_for_others(id: &str, repeated: bool, progress: Option<&str>) -> String {
    let who = if repeated { "you have approved already" } else { "you have approved" };
    let progress = progress.map(|progress| format!("{progress} have approved; ")).unwrap_or_default();
    format!("{id}: {who}; {progress}somebody else has to approve as well")
}

#[cfg(feature = "server")]
pub(crate) fn arguments_are_an_object() -> String {
    "the arguments are a JSON object, such as {\"amount\": 12}".to_owned()
}

#[cfg(feature = "server")]
pub(crate) fn not_json_text(error: &serde_json::Error) -> String {
    format!("the text is not JSON at line {}, column {}", error.line(), error.column())
}

#[cfg(feature = "server")]
pub(crate) fn no_json_in(path: &Path, error: &serde_json::Error) -> String {
    format!("`{}` is not JSON at line {}, column {}", path.display(), error.line(), error.column())
}

#[cfg(feature = "store")]
pub(crate) fn decisions_read(count: u64) -> String {
    format!("{count} decision(s)")
}

#[cfg(feature = "store")]
pub(crate) fn would_have_stopped() -> &'static str {
    "would have been stopped"
}

#[cfg(feature = "store")]
pub(crate) fn forwarded_unjudged() -> &'static str {
    "forwarded unjudged"
}

#[cfg(feature = "store")]
pub(crate) fn would_have_changed() -> &'static str {
    "would have gone on changed, or once a tool or a file had answered"
}

#[cfg(feature = "store")]
pub(crate) fn was_stopped() -> &'static str {
    "was stopped"
}

pub(crate) fn cannot_watch(error: &notify::Error) -> String {
    format!("this system does not tell of changes: {error}")
}

pub(crate) fn nothing_to_watch() -> String {
    "none of the paths is there, so there is nothing to watch".to_owned()
}

pub(crate) fn watching() -> String {
    "waiting for changes; end it with Ctrl-C\n".to_owned()
}

pub(crate) fn formatted(file: &str, is_check: bool) -> String {
    if is_check { format!("{file} would change") } else { format!("{file} formatted") }
}

pub(crate) fn formatted_files(files: usize, changed: usize, is_check: bool) -> String {
    let word = if is_check { "would change" } else { "changed" };
    format!("{files} file(s), {changed} {word}")
}

pub(crate) fn several_cases(path: &Path) -> String {
    format!("`{}` has several cases, and one is needed: write it into a file of its own", path.display())
}

pub(crate) const fn nothing_to_compare() -> &'static str {
    "neither side has an agent, so there is nothing to compare"
}

/// How many operations were compared, and what came of it.
pub(crate) fn compared(operations: usize, differ: usize, unknown: usize) -> String {
    format!("{operations} operation(s), {differ} decided otherwise, {unknown} unknown")
}

/// How an answer was found, such as `proof; 3,000 tasks tried, 2,996 reached the rule`.
pub(crate) fn found_by(method: &str, what: &str, evidence: &Evidence) -> String {
    match evidence.tried {
        0 => method.to_owned(),
        _ => format!("{method}; {}", evidence_of(what, evidence)),
    }
}

/// What was tried, and how much of it reached the rule, such as `1,500 tasks tried, 1,500 refused before the rule`.
fn evidence_of(what: &str, evidence: &Evidence) -> String {
    let Evidence { tried, reached, .. } = evidence;
    let tried = format!("{} tried", count_of(*tried, what));
    match (reached, evidence.refused()) {
        (_, 0) => format!("{tried}, all reached the rule"),
        (0, refused) => format!("{tried}, {} refused before the rule", grouped(refused)),
        (reached, refused) => {
            format!("{tried}, {} reached the rule, {} refused before it", grouped(*reached), grouped(refused))
        }
    }
}

/// The line of a reason for which tasks did not reach a rule.
pub(crate) fn refused_before_rule(rejection: &Rejection) -> String {
    format!("  {} refused before the rule: {}", grouped(rejection.count), visible(&rejection.reason))
}

pub(crate) fn no_difference_shown(evidence: &Evidence) -> String {
    match (evidence.tried, evidence.reached) {
        (0, _) => "  the rules differ, and no task was tried".to_owned(),
        (_, 0) => "  the rules differ, and no task that was tried reached them".to_owned(),
        (_, reached) => format!(
            "  the rules differ, and none of the {} that reached them shows a difference",
            count_of(reached, "task")
        ),
    }
}

/// `1 task`, `1,500 tasks`.
fn count_of(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with a comma between each three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `celador prove` with one path and without `--within`.
pub(crate) const fn no_invariants() -> &'static str {
    "expected manifests and a file of invariants, or `--within` and two agents"
}

pub(crate) const fn nothing_to_prove() -> &'static str {
    "no invariant is about an agent that is loaded, so there is nothing to prove"
}

/// How many invariants hold, are broken, and are not known.
pub(crate) fn proved(holds: usize, broken: usize, unknown: usize) -> String {
    format!("{holds} proved, {broken} broken, {unknown} unknown")
}

pub(crate) fn not_broken(depth: usize, operations: usize) -> String {
    format!(
        "  not proved; no task of up to {depth} calls was found that breaks it ({operations} calls tried)"
    )
}

pub(crate) fn never_called(function: &str) -> String {
    format!("  no call of {} is ever let by", visible(function))
}

pub(crate) fn rests_on_limit(limit: &str) -> String {
    format!("  rests on the limit {limit}")
}

pub(crate) fn unrounded() -> &'static str {
    "  for sums without rounding: one of doubles may be beyond by its last digit"
}

pub(crate) fn broken_at_once() -> &'static str {
    "  it is false ahead of the first call"
}

pub(crate) fn saved(path: &Path) -> String {
    format!("  written to {}", path.display())
}

pub(crate) fn no_revision(revision: &str) -> String {
    format!("`{revision}` is no revision")
}

pub(crate) fn no_git(why: &str) -> String {
    format!("git does not give these files: {why}")
}

/// How much was judged anew, and how much of it would be otherwise.
pub(crate) fn replayed(tally: &Tally) -> String {
    let (decisions, tasks, flips) = (tally.decisions, tally.tasks, tally.flips());
    format!("{decisions} decision(s) of {tasks} task(s) judged anew, {flips} decided otherwise")
}

/// The same while the work goes on, and how fast.
pub(crate) fn replayed_so_far(tally: &Tally, took: Duration) -> String {
    let each_second =
        u128::from(tally.decisions).saturating_mul(1_000).checked_div(took.as_millis()).unwrap_or_default();
    format!("{}, {each_second} a second", replayed(tally))
}

pub(crate) fn not_judged(count: u64, why: NotJudged) -> String {
    format!("{count} not judged: {}", why.as_str())
}

/// Nothing of a recording could be judged, and why most of it could not.
pub(crate) fn nothing_judged(tally: &Tally) -> String {
    let most = tally.not_judged.iter().max_by_key(|(_, count)| **count);
    let why = most.map(|(why, count)| format!(": {}", not_judged(*count, *why))).unwrap_or_default();
    let help = match most {
        Some((NotJudged::NothingToCompare, _)) => "; `--against` names the policies to compare with",
        _ => "",
    };
    format!("no decision could be judged{why}{help}")
}

pub(crate) fn no_recorded_step(path: &Path, line: u64, error: &RecordError) -> String {
    format!("{}:{line}: {error}", path.display())
}

#[cfg(not(feature = "store"))]
pub(crate) fn no_recording(path: &Path) -> String {
    format!("`{}` is a folder, and this build reads no decision logs", path.display())
}

#[cfg(feature = "store")]
pub(crate) fn summed_by(title: &str, by: &str) -> String {
    format!("{title}, by {by}")
}

#[cfg(feature = "store")]
pub(crate) fn passed_by_exceptions() -> &'static str {
    "passed by exceptions"
}

#[cfg(feature = "store")]
pub(crate) fn one_of(words: &[&str]) -> String {
    format!("it is one of {}", words.join(", "))
}

#[cfg(feature = "store")]
pub(crate) fn name_and_text() -> String {
    "a label is written as `owner=payments`".to_owned()
}

#[cfg(feature = "store")]
pub(crate) fn log_without_content(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "the log `{folder}` has no content of requests, so nothing can be judged: `celador serve --log-content` writes it"
    )
}

/// A difference in the words of a report.
pub(crate) fn flip(row: &FlipRow) -> String {
    let FlipRow { kind, count, task, step } = row;
    let what = kind
        .function
        .as_deref()
        .map_or_else(|| kind.operation.clone(), |function| format!("{} {function}", kind.operation));
    let by = kind.is_by.as_ref().or(kind.was_by.as_ref()).map(|by| format!(" ({by})")).unwrap_or_default();
    format!("{what}: {} becomes {}{by}, {count} time(s), first in {task} at step {step}", kind.was, kind.is)
}

pub(crate) fn rows_left_out(count: u64) -> String {
    format!("{count} more have no row, as there are too many")
}

#[cfg(feature = "store")]
pub(crate) fn no_rule_speaks_of() -> &'static str {
    "tools that no rule speaks of"
}

#[cfg(feature = "store")]
pub(crate) fn no_manifest_names() -> &'static str {
    "tools that no manifest names"
}
