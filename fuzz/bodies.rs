//! What each fuzz target does with its bytes. Nothing here may panic; what holds for every input is asserted.
//!
//! The targets are three lines long; `cargo test` runs the same bodies over seeds and their mutations. Where an input
//! needs an agent, it is one of `policies/`, which are read once.

mod foreign;
pub mod grammar;
mod guards;
mod host_function;
mod labels;
mod named;
mod pseudonyms;
mod redaction;
#[cfg(feature = "server")]
mod requests;
mod shell;
#[cfg(feature = "store")]
mod stored;

pub use foreign::foreign;
pub use host_function::host_function;
pub use labels::labels;
pub use named::named;
pub use pseudonyms::pseudonyms;
pub use redaction::redaction;
#[cfg(feature = "server")]
pub use requests::requests;
pub use shell::shell;
#[cfg(feature = "store")]
pub use stored::stored;

use celador::cel::{
    Activation, Code, Env, EnvBuilder, ErrorCode, Fault, Json, LANGUAGE, LIBRARIES, Meter, Program, STANDARD,
    Stop, Type, Value, parse, re2,
};
use celador::context::{Bound, Scope, ScopeDecl, ScopeEnv, TaskContext};
use celador::detect::{DETECTION, PII, SECRETS};
use celador::diagnostic::Diagnostic;
use celador::engine::Engine;
use celador::limits::{EngineLimits, EvalLimits};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin, load};
use celador::policy::{BadPlaceholder, Placeholder, Template};
use celador::scenario::{Background, Environment, Replay, Script, Unanswered, restore};
use celador::source::{Place, Source, Span};
use celador::task::{Given, StartTask, Task, TemplateKind, User, VerdictKind};
use celador_store::StoreLimits;
use std::path::Path;
use std::sync::LazyLock;

/// A scope with two variables of which nothing is known, within a small budget.
static SCOPE: LazyLock<Env> = LazyLock::new(|| {
    let limits = EngineLimits {
        eval: EvalLimits { max_cost: 20_000, max_built_bytes: 1 << 20, ..EvalLimits::default() },
        ..EngineLimits::default()
    };
    let scope =
        Env::builder().variable("input", Type::Dyn).variable("context", Type::Dyn).limits(limits.eval);
    STANDARD.iter().copied().fold(scope, EnvBuilder::library).build()
});

/// What the variables hold.
static STATE: LazyLock<Json> = LazyLock::new(|| {
    serde_json::json!({"a": 1, "list": [1, 2.5, "x", null], "text": "héllo", "map": {"k": [true]}}).into()
});

/// Traffic of the guard for MCP, a message a line: what goes on decodes to what rules were given.
#[cfg(feature = "gateway")]
pub fn mcp(data: &[u8]) {
    celador_gateway::mcp::check_traffic(data);
}

/// Reads, prints, checks and runs an expression over some JSON.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let limits = SCOPE.limits();
    if let Ok(expr) = parse(text, limits) {
        let printed = expr.to_string();
        if let Ok(again) = parse(&printed, limits) {
            assert_eq!(printed, again.to_string(), "printing is not stable");
        }
    }
    let Ok(program) = Program::compile(&SCOPE, text) else { return };
    let activation =
        Activation::new(&SCOPE).with(&SCOPE, "input", STATE.value()).with(&SCOPE, "context", STATE.value());
    let (result, cost) = program.run_metered(&activation, None);
    assert!(cost <= limits.max_cost);
    if let Ok(value) = result {
        if let Some(kind) = program.result_type().kind() {
            assert_eq!(value.kind(), kind, "the checker said otherwise");
        }
        let _ = Json::from_value(&value, &EvalLimits::default());
    }
}

/// Reads what stands behind the first line as a pattern in RE2's syntax: an error has a place in it, and a group around a pattern changes
/// nothing.
pub fn pattern(data: &[u8]) {
    static LAW: LazyLock<(Env, Program)> = LazyLock::new(|| {
        let scope = Env::builder().variable("text", Type::String).variable("pattern", Type::String);
        let env = LANGUAGE.iter().copied().fold(scope, EnvBuilder::library).build();
        let law = Program::compile(&env, "text.matches(pattern) == text.matches('(?:' + pattern + ')')");
        let law = law.unwrap_or_else(|issues| panic!("{issues:?}"));
        (env, law)
    });
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, pattern) = text.split_once('\n').unwrap_or((text, text));
    if let Err(error) = re2::parse(pattern) {
        assert!(pattern.get(error.span.clone()).is_some() && !error.to_string().is_empty(), "{error:?}");
        return;
    }
    let (env, law) = &*LAW;
    let activation =
        Activation::new(env).with(env, "text", Value::text(text)).with(env, "pattern", Value::text(pattern));
    match law.run(&activation, None) {
        Ok(value) => assert!(value.is_truthy(), "{pattern:?}"),
        // a quoted text without an end goes on behind the group, and nesting has a bound
        Err(Stop::Failed(error)) => assert!(
            error.code == ErrorCode::BudgetExceeded || pattern.contains("\\Q") || pattern.len() > 40,
            "{pattern:?}: {error:?}"
        ),
        Err(Stop::Asked) => panic!("nobody is asked"),
    }
}

/// Reads a text as a URL, a path, a version and a quantity, and what stands behind its first line as a glob: what is taken keeps to
/// laws, and what is refused is refused for a reason, never for its size.
pub fn formats(data: &[u8]) {
    static LAWS: LazyLock<(Env, Vec<Program>)> = LazyLock::new(|| {
        let scope = Env::builder().variable("text", Type::String).variable("glob", Type::String);
        let env = LANGUAGE.iter().copied().fold(scope, EnvBuilder::library).build();
        let laws = [
            "url(string(url(text))) == url(text) ? isURL(text) : false",
            "url(text).getHostname().contains(':') == url(text).getHost().startsWith('[')",
            "isIP(url(text).getHostname()) || !url(text).getHostname().contains(':')",
            "url(text).getHostname() == url(text).getHostname().lowerAscii() && url(text).getQuery().size() >= 0",
            "path.clean(path.clean(text)) == path.clean(text) && path.within(text, text) && path.clean(text).glob('**')",
            "text.glob(glob) == path.clean(text).glob(glob)",
            "glob.contains(',') || text.glob(glob) == text.glob('{' + glob + ',' + glob + '}')",
            "string(semver(text)) == text && semver(text).compareTo(semver(text, true)) == 0 ? isSemver(text) : false",
            "semver(string(semver(text, true))) == semver(text, true) ? isSemver(text, true) : false",
            "quantity(string(quantity(text))) == quantity(text) ? isQuantity(text) : false",
            "quantity(text).sub(quantity(text)).sign() == 0 && quantity(text).add(0) == quantity(text)",
        ];
        let program = |law| Program::compile(&env, law).unwrap_or_else(|issues| panic!("{law}: {issues:?}"));
        let laws = laws.into_iter().map(program).collect();
        (env, laws)
    });
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, glob) = text.split_once('\n').unwrap_or((text, text));
    // so short that nothing may cost too much
    if text.len() > 400 || glob.len() > 100 {
        return;
    }
    let (env, laws) = &*LAWS;
    let activation =
        Activation::new(env).with(env, "text", Value::text(text)).with(env, "glob", Value::text(glob));
    for law in laws {
        match law.run(&activation, None) {
            Ok(value) => assert!(value.is_truthy(), "{}", law.source()),
            // `&&` and `||` would take an error of one side for nothing if the other side decided, so laws have none that could
            Err(Stop::Failed(error)) => {
                let code = error.code.as_str();
                let is_refused = matches!(code, "invalid_argument" | "overflow");
                let is_large = code == "budget_exceeded" && law.source().contains("glob");
                assert!(is_refused || is_large, "{}: {code}", law.source());
            }
            Err(Stop::Asked) => panic!("nobody is asked"),
        }
    }
}

/// What a text is asked: each is true of every text.
static DETECTED: LazyLock<(Env, Vec<Program>)> = LazyLock::new(|| {
    let limits = EvalLimits { max_cost: 1_000_000, max_built_bytes: 1 << 22, ..EvalLimits::default() };
    let scope = Env::builder().variable("input", Type::String).limits(limits);
    let env = LANGUAGE.iter().copied().fold(scope, EnvBuilder::library).library(DETECTION).build();
    let mut laws = Vec::new();
    for (family, kinds) in [("pii", PII), ("secrets", SECRETS)] {
        let names: Vec<String> = kinds.iter().map(|kind| format!("'{}'", kind.name)).collect();
        let all = format!(", [{}]", names.join(", "));
        for kinds in ["", &*all] {
            laws.push(format!("!{family}.has({family}.redact(input{kinds}){kinds})"));
            laws.push(format!("{family}.has(input{kinds}) == ({family}.redact(input{kinds}) != input)"));
            laws.push(format!("{family}.has([{{'a': input}}]{kinds}) == {family}.has(input{kinds})"));
            laws.push(format!(
                "{family}.has({{input: 1}}{kinds}) == ({family}.find(input{kinds}).size() > 0)"
            ));
            laws.push(format!(
                "{family}.find(input{kinds}).all(f, f.start < f.end && f.end <= input.size() && f.path == '')"
            ));
        }
    }
    laws.push("!pii.has(pii.mask(input)) && pii.has(input) == (pii.mask(input) != input)".to_owned());
    laws.push("pii.find(input).map(f, input.substring(f.start, f.end)) == pii.texts(input)".to_owned());
    let laws = laws.iter().map(|law| Program::compile(&env, law).expect("a law compiles")).collect();
    (env, laws)
});

/// Looks for personal data and secrets in a text and takes them away: nothing of them is left, and all functions are of one mind.
pub fn detect(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (env, laws) = &*DETECTED;
    let activation = Activation::new(env).with(env, "input", Value::text(&text));
    for law in laws {
        match law.holds(&activation, None) {
            Ok(holds) => assert!(holds, "{}", law.expr()),
            Err(Stop::Failed(error)) => assert_eq!(error.code, ErrorCode::BudgetExceeded, "{}", law.expr()),
            Err(Stop::Asked) => panic!("nobody is asked"),
        }
    }
}

/// Reads an expression with our grammar and with that of the `cel` crate, which must agree.
pub fn grammar(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // more brackets than this are beyond the stack of their parser
    if text.len() <= 400 {
        grammar::agree(text).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

/// Asks a guard of some JSON and of a live task, as it is asked where it lies and step by step.
pub fn guard(data: &[u8]) {
    static TASK: LazyLock<(Task, ScopeEnv)> = LazyLock::new(|| {
        let recorded = Source::new("task.yaml", include_str!("../policies/support-desk/task.yaml"));
        let script = Script::read(&recorded, &EngineLimits::default()).expect("it is a script");
        let mut replay = Replay::start(&script, &DESK.engine, &DESK.catalog).expect("its agent is there");
        for step in &script.steps {
            replay.step(step, &[], &mut Vec::new()).expect("it is a step");
        }
        let task = DESK.engine.restore(replay.task().save()).expect("a stored task can be restored");
        let limits = EvalLimits { max_cost: 20_000, ..EvalLimits::default() };
        let scope = ScopeDecl {
            schema: Some(task.policy().schema()),
            libraries: STANDARD,
            limits,
            ..ScopeDecl::new(Scope::AfterCondition, EvalLimits::default())
        };
        let scope = ScopeEnv::new(&scope);
        (task, scope)
    });
    let (task, scope) = &*TASK;
    let guard = guards::Guard::of(data);
    let (Ok(asked), Ok(walked)) =
        (Program::compile(scope.env(), &guard.asked), Program::compile(scope.env(), &guard.walked))
    else {
        return;
    };
    let input = Json::from(guard.input);
    let bound = Bound { context: Some(task.context()), input: Some(input.value()), ..Bound::default() };
    let activation = scope.activation(&bound).expect("no root of the scope fails");
    // a build with assertions compares each answer in place with the steps, and their costs
    let (holds, _) = asked.holds_metered(&activation, None);
    let truth = asked.run(&activation, None).map(|value| value.is_truthy());
    assert_eq!(holds.as_ref().ok(), truth.as_ref().ok(), "{}", guard.asked);
    let at_length = walked.holds(&activation, None);
    // the longer form costs more
    let spent = [&holds, &at_length].into_iter().any(
        |answer| matches!(answer, Err(Stop::Failed(error)) if error.code.to_string().contains("budget")),
    );
    assert!(spent || holds.as_ref().ok() == at_length.as_ref().ok(), "{}\n{}", guard.asked, guard.walked);
}

/// Reads the bytes as a file of manifests and links them.
pub fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let source = Source::new("fuzz.yaml", text.as_ref());
    let (_, findings) =
        Catalog::parse(&[File { source, origin: FileOrigin::Named }], &EngineLimits::default());
    tell(&findings);
}

/// Reads JSON, looks at every part, and writes it again. An expression that finds it in a text reads the same, or refuses a
/// key that stands twice.
pub fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let limits = EvalLimits::default();
    let parsed = call("json.parse", &Value::text(text), &limits);
    let Ok(document) = Json::parse(text, &limits) else {
        assert!(parsed.is_err(), "JSON in a text that is none by itself");
        return;
    };
    match parsed {
        Ok(value) => {
            let again = Json::from_value(&value, &limits).map(|again| again.to_string());
            assert_eq!(again.ok(), Some(document.to_string()));
            assert_eq!(whole_text(&value, &limits), whole_text(&document.value(), &limits));
        }
        Err(fault) => {
            assert!(matches!(fault.code, ErrorCode::DuplicateKey | ErrorCode::BudgetExceeded), "{fault}");
        }
    }
    for (key, value) in document.root().entries() {
        assert_eq!(document.root().get(key).map(|found| found.to_string()), Some(value.to_string()));
    }
    let again = Json::parse(&document.to_string(), &EvalLimits::default());
    assert_eq!(again.ok().map(|again| again.to_string()), Some(document.to_string()));
}

/// The text of a value, which has no line more than the texts in it.
fn whole_text(value: &Value<'_>, limits: &EvalLimits) -> Option<String> {
    let text = call("text", value, limits).ok()?;
    let text = text.as_str()?;
    if let Value::List(items) = value {
        assert!(items.iter().all(|item| item.as_str().is_none_or(|item| text.contains(item))));
    }
    Some(text.to_owned())
}

/// What a function of the library gives for one argument.
fn call<'a>(name: &str, argument: &Value<'a>, limits: &EvalLimits) -> Result<Value<'a>, Fault> {
    let row = LIBRARIES.iter().flat_map(|(_, rows)| *rows).find(|row| row.name == name);
    match row.map(|row| row.code) {
        Some(Code::Pure(code)) => code(&mut Meter::new(limits), &[argument]),
        _ => panic!("`{name}` is a function"),
    }
}

/// Reads a template both ways, renders it on its own words, and on a task as each kind of template.
pub fn template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let is_root = |root: &str| matches!(root, "context" | "input" | "auth" | "now");
    let lenient = Template::lenient(text, is_root);
    let written = |placeholder: &Placeholder| text.get(placeholder.span.range()).map(Value::text);
    assert_eq!(lenient.render(&EvalLimits::default(), written), text, "the parts are not the text");
    assert_eq!(
        Template::lenient(text, |_| false).render(&EvalLimits::default(), |_| None),
        text,
        "what is no placeholder was changed"
    );
    let spans = |template: &Template| template.placeholders().map(|found| found.span).collect::<Vec<_>>();
    match Template::strict(text, is_root) {
        Ok(strict) => assert_eq!(spans(&strict), spans(&lenient), "two readings of one template"),
        Err(bad) => assert!(bad.iter().all(|group| opens(text, group)), "a bad group that is none"),
    }
    let input =
        Json::from(serde_json::json!({"amount": 250, "list": [{"k": "{input.amount}"}], "none": null}));
    let given = Given { parameters: Some(&input), input: Some(&input), ..Given::default() };
    for kind in [TemplateKind::Tool, TemplateKind::Prompt, TemplateKind::Event, TemplateKind::ErrorMessage] {
        let _ = DESK.task.interpolate(kind, text, &given, DESK.task.context().started_at());
    }
}

fn opens(text: &str, group: &BadPlaceholder) -> bool {
    let (BadPlaceholder::Malformed(span) | BadPlaceholder::UnknownRoot { span, .. }) = group;
    text.get(span.range()).is_some_and(|written| written.starts_with('{'))
}

/// Reads the bytes as the state of a task, in each of the forms that `celador eval --context` takes; asks it what
/// policies ask, and writes it again.
pub fn context(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let limits = EngineLimits::default();
    let Ok(snapshot) = Json::parse(text, &limits.eval) else {
        let source = Source::new("fuzz.yaml", text);
        match Background::read(&source, &limits) {
            Ok(background) => {
                let place = Place::new(&source, Span::default());
                match background.start(&DESK.engine, DESK.task.policy().agent(), &place) {
                    Ok(task) => look(task.context()),
                    Err(finding) => tell(&[*finding]),
                }
            }
            Err(findings) => tell(&findings),
        }
        return;
    };
    for schema in [None, Some(DESK.task.policy().schema().clone())] {
        let Ok(context) = restore(&snapshot, schema.clone()) else { continue };
        look(&context);
        let Ok(written) = context.to_json() else { continue };
        let again = restore(&written, schema).map(|again| again.to_json());
        assert_eq!(
            again.ok().and_then(Result::ok).map(|again| again.to_string()),
            Some(written.to_string()),
            "a context is read otherwise than it is written"
        );
    }
}

/// Evaluates on a context what policies ask of one.
fn look(context: &TaskContext) {
    let schema = context.schema();
    let scope = ScopeDecl {
        schema: Some(schema),
        libraries: STANDARD,
        ..ScopeDecl::new(Scope::Exposes, EvalLimits::default())
    };
    let scope = ScopeEnv::new(&scope);
    for text in [
        "context.input[0].message.exists(part, has(part.text) && size(part.text) > 2)",
        "context.capabilities._meta.invocations.filter(name, name.contains('e')).size()",
        "context._history.turn_count == size(context._history.turns)",
        "timestamp(context.agent.started_at) + duration('1h') > timestamp(now)",
        "context",
    ] {
        let Ok(program) = Program::compile(scope.env(), text) else { continue };
        let bound = Bound { context: Some(context), ..Bound::default() };
        let Ok(activation) = scope.activation(&bound) else { continue };
        let Ok(value) = program.run(&activation, None) else { continue };
        let _ = Json::from_value(&value, &EvalLimits::default());
    }
}

/// Plays the bytes as a recorded task, as `celador run` does, and takes the task to a store and back after each step.
pub fn script(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let source = Source::new("fuzz.yaml", text.as_ref());
    let script = match Script::read(&source, &EngineLimits::default()) {
        Ok(script) => script,
        Err(findings) => return tell(&findings),
    };
    let replay = match Replay::start(&script, &DESK.engine, &DESK.catalog) {
        Ok(replay) => replay,
        Err(finding) => return tell(&[*finding]),
    };
    let reviews = [Unanswered::Open, Unanswered::Approve, Unanswered::Deny, Unanswered::Stop];
    let unanswered = data.last().and_then(|byte| reviews.get(usize::from(byte % 4)));
    let mut replay = replay.with_unanswered(unanswered.copied().unwrap_or_default());
    let mut ahead = script.steps.get(..60).unwrap_or(&script.steps);
    while let Some((step, behind)) = ahead.split_first() {
        ahead = behind;
        let mut events = Vec::new();
        let taken = replay.step(step, ahead, &mut events);
        for event in events {
            let decision = event.decision;
            let is_open = matches!(
                decision.verdict.kind(),
                VerdictKind::Allow | VerdictKind::Suspend | VerdictKind::Wait
            );
            assert!(decision.call.is_none() || is_open, "a call that was not let through");
        }
        if let Err(finding) = taken {
            return tell(&[*finding]);
        }
        let task = replay.task();
        let state = |task: &Task| serde_json::to_string(&(task.state(), task.save())).ok();
        let restored = DESK.engine.restore(task.save()).ok();
        assert_eq!(restored.as_ref().and_then(state), state(task), "a stored task is another");
    }
}

/// The agents of `policies/`, and a task of one of them.
struct Desk {
    catalog: Catalog,
    engine: Engine,
    task: Task,
}

static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let limits = EngineLimits::default();
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("policies"));
    let policies = above.find(|folder| folder.is_dir()).expect("the project's folder");
    let (files, _) = load(&[policies], &limits).expect("the project's policies can be read");
    let (catalog, _) = Catalog::parse(&files, &limits);
    let (engine, _) = Engine::from_catalog(&catalog, limits);
    let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
    let start = StartTask::new("t-1", "support", "support-desk", user, Environment::default().now);
    let task = engine.start(start).expect("an agent of the project");
    Desk { catalog, engine, task }
});

/// Renders findings: their places must lie in the text.
fn tell(findings: &[Diagnostic]) {
    for finding in findings {
        let _ = finding.render(false);
    }
}

/// A store with a context of somebody, which a caller without an identity may read and not clear.
#[cfg(feature = "store")]
static CONVERSATIONS: LazyLock<celador_store::conversation::Conversations> = LazyLock::new(|| {
    use celador_store::conversation::{Conversations, Incoming, Message};
    let database = celador_store::Database::open(&celador_store::Location::Memory, &StoreLimits::default());
    let ids = std::sync::atomic::AtomicU64::new(1);
    let chance = move || ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed).into();
    let conversations = Conversations::new(database.expect("a store in memory opens"), chance);
    let said =
        serde_json::json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}, {"data": [1]}]});
    let said = serde_json::value::to_raw_value(&said).expect("it is JSON");
    let said = Message::read(&said).expect("it is a message");
    let incoming = Incoming { context_id: Some("c"), task_id: Some("t"), message: Some(&said) };
    let now = "2026-01-15T12:00:00Z".parse().expect("it is a time");
    conversations.send(Some("somebody"), &incoming, now).expect("the store takes it");
    conversations
});

/// Reads the bytes as a request to the API of a model, and as its answer, whole or in events: what goes on is what rules read.
#[cfg(feature = "gateway")]
pub fn exchange(data: &[u8]) {
    celador_gateway::llm::probe(data);
}

/// Answers the bytes as a request of JSON-RPC under every setting: always one whole answer of JSON-RPC, with the id of the
/// request or none.
#[cfg(feature = "store")]
pub fn rpc(data: &[u8]) {
    use celador_store::conversation::{
        ConversationSettings, HistoryOrder, ListShape, answer, needed_scope, unauthenticated,
    };
    let now = "2026-01-15T12:00:00Z".parse().expect("it is a time");
    let deployed = ConversationSettings {
        bindu_list_shape: ListShape::Deployed,
        aion_history_order: HistoryOrder::NewestFirst,
    };
    let answered = [ConversationSettings::default(), deployed]
        .map(|settings| answer(&CONVERSATIONS, &settings, None, data, now));
    for bytes in answered.iter().chain([&unauthenticated(data)]) {
        let answer: serde_json::Value = serde_json::from_slice(bytes).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer.get("result").is_some() != answer.get("error").is_some());
        let id = answer.get("id").expect("an answer has an id");
        assert!(id.is_null() || id.is_string() || id.is_number());
        assert!(
            answer.get("error").is_none_or(|error| error["code"].is_i64() && error["message"].is_string())
        );
        assert!(
            needed_scope(data).is_some() || answer.get("error").is_some(),
            "what no scope allows has no result"
        );
    }
}
