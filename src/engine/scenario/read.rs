//! YAML to a case: every key of the format, and a finding with its place for every other.
//!
//! In: the fields of a case. Out: a [`Case`], or nothing and findings. A case is a test, so nothing in it is
//! guessed: an unknown key, a wrong word or a missing value is an error, and a case with an error is not run. It reads
//! no manifest; those stay trees until [`run`](super::run) loads them.

use super::arrival::{ArrivalKeys, read_delivery};
use super::background::{Background, ParentBackground, ParentKeys};
use super::case::{BoundVariables, Case, Manifests, ReviewAnswer, TestedOperation};
use super::case_step::{StorySteps, TestedSteps, read_steps, read_story};
use super::counted::{Counted, CountedAmount};
use super::environment::{Environment, EnvironmentKeys};
use super::expect::Expectations;
use super::host_answers::{Answers, HostAnswers};
use super::past::{PastKeys, read_state};
use super::values::{Entry, Mocks, ResultKeys, UsageKeys, Verdict};
use super::{expect, messages, values};
use crate::cel::Json;
use crate::context::Scope;
use crate::manifest::fields::{Fields, Key};
use crate::manifest::mode::Mode;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, ByName, Expression, List, Mapping, Object, OneOf, Part, Required, Row, Text, Vocabulary,
    closed, mapping, names, shape, with, words,
};
use crate::source::{Embedded, Place, Source};
use crate::task::{Call, CallResult, ModelCall, Next, Operation, TemplateKind, Usage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

mapping! {
    /// What should happen: a past, one operation or several steps, and what must come of it.
    #[rules = {
        "oneOf": [{ "required": ["call"] }, { "required": ["steps"] }, { "required": ["story"] }],
        "anyOf": [{ "required": ["expect"] }, { "required": ["story"] }],
        "dependentRequired": { "resume": ["call"] },
        "not": { "required": ["story", "state"] }
    }]
    pub(super) CaseKeys as "case" = "a case" {
        /// The name of the file.
        name: Required<Text>,
        _own: Part<OwnKeys>,
    }

    pub(super) OwnKeys = "a case" {
        /// One sentence about the case.
        about: Text,
        shared: Part<SharedKeys>,
        /// The operation under test.
        call: TestedCall,
        /// Verdicts that are given, one each time the operation waits.
        resume: List<NamedVerdict>,
        /// What happens, step by step, in the place of one operation.
        steps: TestedSteps,
        /// What happens from the beginning, step by step, each with what must come of it: nothing of it is claimed by `state`.
        story: StorySteps,
        /// What must hold in the end; an absent key is not looked at.
        expect: Expectations,
    }

    pub(super) SharedKeys = "a case" {
        /// The requirements that the case shows.
        requirements: List<Text>,
        /// The manifests of the task.
        manifest: ManifestsValue,
        /// `observe` for an engine that stops nothing and says what it would have done.
        mode: OneOf<Mode> => "enforce",
        /// Settings of the namespace, by their whole keys.
        settings: ByName<Anything>,
        /// Tokens by provider.
        auth: ByName<Text>,
        /// Who runs the task, where and when.
        env: EnvironmentKeys,
        /// By function, what executions give in turn; the last repeats.
        mocks: Mocks,
        /// By function of the host, what it gives for which arguments. A call without an answer breaks the case.
        functions: Answers,
        /// The verdicts of reviewers; one who is not named is undecided.
        reviews: ByName<OneOf<Verdict>>,
        /// Files below the mount prefix, by path.
        files: ByName<Text>,
        /// What counters across tasks hold at the beginning, by name: a number, or numbers by key.
        counters: ByName<Counted>,
        /// What happened so far.
        state: List<PastKeys>,
        /// The task that has delegated to it, for the same user.
        parent: ParentKeys,
    }

    FileKeys = "`manifest`" {
        /// Files and folders, relative to the case.
        files: Required<List<Text>>,
        /// The name of the agent under test.
        agent: Required<Text>,
    }

    InlineKeys = "`manifest`" {
        files: Elsewhere,
        /// The agent under test.
        agent: Object,
        /// Its tools.
        tools: List<Object>,
        /// Its sub-agents.
        agents: List<Object>,
        /// The policies beside them.
        policies: List<Object>,
        /// The mount.
        mount: Object,
        /// A trigger.
        trigger: Object,
        /// A schedule.
        schedule: Object,
    }
}

shape! {
    /// A key that is there only in the other form of the mapping.
    Elsewhere = |_| json!({ "not": {} });
    /// Where the manifests of a case stand.
    ManifestsValue = |definitions| {
        let (files, inline) = (FileKeys::schema(definitions), InlineKeys::schema(definitions));
        json!({ "anyOf": [{ "type": "null" }, files, inline] })
    };
    /// One reviewer and the verdict.
    NamedVerdict = |definitions| {
        let one = with(<ByName<OneOf<Verdict>>>::schema(definitions), "minProperties", 1);
        with(one, "maxProperties", 1)
    };
    /// The operation under test.
    TestedCall as "call" = |definitions| {
        let operations = OPERATIONS.iter().map(|(word, rows)| {
            let mut schema = closed(OperationKeys::ROWS.iter().chain(*rows), definitions);
            if let Some(Value::Object(keys)) = schema.get_mut("properties") {
                keys.insert("op".to_owned(), json!({ "const": word }));
            }
            Value::Object(schema)
        });
        json!({ "oneOf": operations.collect::<Value>() })
    };
}

/// What several cases may share.
pub(super) struct Shared {
    requirements: Vec<String>,
    manifests: Option<Manifests>,
    mode: Mode,
    settings: BTreeMap<String, Json>,
    auth: BTreeMap<String, String>,
    mocks: BTreeMap<String, Vec<CallResult>>,
    functions: HostAnswers,
    reviews: BTreeMap<String, bool>,
    files: BTreeMap<String, String>,
    counters: Vec<CountedAmount>,
    background: Background,
}

/// Reads what several cases may share.
pub(super) fn read_shared(fields: &Fields<'_, SharedKeys>, reader: &mut Reader) -> Shared {
    let requirements = fields
        .requirements()
        .items(reader, |node, path, reader| Some(reader.text(node, path)?.text.to_string()));
    let manifests = read_manifests(&fields.manifest(), reader);
    let mode = fields.mode().mode(Mode::Enforce, reader);
    let settings = fields.settings().values(reader);
    let auth = fields.auth().strings(reader);
    let environment = Environment::read(&fields.env(), reader);
    let mocks = fields.mocks().mocks(reader);
    let functions = fields.functions().answers(reader);
    let reviews = fields.reviews().by_name(reader, |node, path, reader| {
        let verdict = reader.text(node, path)?;
        values::one_of(&verdict, path, Verdict::WORDS, reader)
    });
    let files = fields.files().strings(reader);
    let counters = fields.counters().counted(reader);
    let parent = ParentBackground::read(&fields.parent(), reader);
    let background = Background { environment, state: read_state(&fields.state(), reader), parent };
    Shared {
        requirements,
        manifests,
        mode,
        settings,
        auth,
        mocks,
        functions,
        reviews,
        files,
        counters,
        background,
    }
}

/// Reads the keys of a case, which are those of `node`; its name is the caller's to say.
pub(super) fn read_case(node: &Node, fields: &Fields<'_, OwnKeys>, reader: &mut Reader) -> Option<Case> {
    let about = fields.about().string(reader).unwrap_or_default();
    let shared = fields.shared().part();
    let past = shared.state().get().map(|state| state.key.place.clone());
    let Shared {
        requirements,
        manifests,
        mode,
        settings,
        auth,
        mocks,
        functions,
        reviews,
        files,
        counters,
        background,
    } = read_shared(&shared, reader);
    let resume = fields.resume().items(reader, read_verdict);
    let operation = read_operation(fields, reader);
    if let (Some(story), Some(past)) = (fields.story().get(), past) {
        reader.report(&story.path, messages::state_of_story(&past));
    }
    let expect = match fields.expect().get() {
        None if fields.story().get().is_some() => Vec::new(),
        None => {
            reader.report(&fields.expect().path(), messages::no_expect(fields.place));
            Vec::new()
        }
        Some(field) => expect::read(field.node, &field.path, reader),
    };
    let (operation, operation_place) = operation?;
    if matches!(manifests, Some(Manifests::None)) && operation.name() != "bundle" {
        reader
            .report(&fields.path.key("manifest"), messages::no_manifest(&operation_place, operation.name()));
    }
    Some(Case {
        name: Embedded::new("", fields.place.clone(), []),
        requirements,
        about,
        manifests: manifests?,
        mode,
        settings,
        auth,
        background,
        mocks,
        functions,
        reviews,
        files,
        counters,
        operation,
        operation_place,
        resume,
        expect,
        written: node.clone(),
    })
}

/// The name, which must be that of the file: a report names the case, and a reader looks for the file.
pub(super) fn read_name(fields: &Fields<'_, CaseKeys>, reader: &mut Reader) -> Option<Embedded> {
    let key = fields.name();
    let name = key.required_text(reader)?;
    hold_to_file(&name, &key.path(), reader);
    Some(name)
}

/// Reports a name that is not that of the file.
pub(super) fn hold_to_file(name: &Embedded, path: &Path, reader: &mut Reader) {
    let stem = stem(&name.place.source);
    if *name.text != *stem {
        reader.report(path, messages::other_name(name, &stem));
    }
}

/// The name of a file without its ending.
pub(super) fn stem(source: &Source) -> String {
    let path = std::path::Path::new(source.name());
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(source.name()).to_owned()
}

fn read_manifests(key: &Key<'_, '_, ManifestsValue>, reader: &mut Reader) -> Option<Manifests> {
    let Some(field) = key.get() else { return Some(Manifests::None) };
    let Some(fields) = reader.fields::<InlineKeys>(field.node, &field.path) else {
        return Some(Manifests::None);
    };
    if fields.files().get().is_some() {
        let fields = fields.read_as::<FileKeys>();
        let paths = fields.files().required("", reader);
        let paths = paths.and_then(|key| key.texts(reader)).unwrap_or_default();
        let agent = fields.agent().required_text(reader);
        fields.refuse_others(reader);
        return Some(Manifests::Files { paths, agent: agent? });
    }
    let mut documents: Vec<(String, Node)> = Vec::new();
    documents.extend(fields.agent().get().map(|field| (String::new(), field.node.clone())));
    for list in [fields.tools(), fields.agents(), fields.policies()] {
        let found = list.items(reader, |node, _, _| Some(node.clone()));
        let found = found.into_iter().enumerate();
        documents.extend(found.map(|(at, node)| (format!("{}[{at}]", list.name()), node)));
    }
    for one in [fields.mount(), fields.trigger(), fields.schedule()] {
        documents.extend(one.get().map(|field| (one.name().to_owned(), field.node.clone())));
    }
    fields.refuse_others(reader);
    Some(Manifests::Inline(documents))
}

fn read_verdict(node: &Node, path: &Path, reader: &mut Reader) -> Option<ReviewAnswer> {
    let Some((reviewer, verdict)) = values::only_key(node, &[]) else {
        reader.report(path, messages::one_verdict(&node.place));
        return None;
    };
    let path = path.key(&reviewer.text);
    let verdict = reader.text(verdict, &path)?;
    let approved = values::one_of(&verdict, &path, Verdict::WORDS, reader)?;
    Some(ReviewAnswer { reviewer: reviewer.clone(), approved })
}

/// The scopes of `cel`, by their words in a case.
pub const SCOPES: [(&str, Scope); 12] = [
    ("before", Scope::Before),
    ("after", Scope::After),
    ("guardrail_before", Scope::GuardrailBefore),
    ("guardrail_after", Scope::GuardrailAfter),
    ("model_before", Scope::ModelBefore),
    ("model_after", Scope::ModelAfter),
    ("binding", Scope::Binding),
    ("exposes", Scope::Exposes),
    ("cel_tool", Scope::CelTool),
    ("filter", Scope::Filter),
    ("tools", Scope::Tools),
    ("trigger", Scope::Trigger),
];

impl Vocabulary for Scope {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &SCOPES;
}

impl Vocabulary for TemplateKind {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tool", Self::Tool),
        ("prompt", Self::Prompt),
        ("event", Self::Event),
        ("error_message", Self::ErrorMessage),
    ];
}

impl Vocabulary for Next {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] =
        &[("llm", Self::ModelTurn), ("capability", Self::Capability), ("none", Self::Other)];
}

mapping! {
    OperationKeys = "`call`" {
        /// The operation.
        op: Required<Text>,
    }

    NoKeys = "an operation of `call`" {}

    FunctionKeys = "an operation of `call`" {
        /// A function.
        function = "fn": Required<Text>,
    }

    CallKeys = "an operation of `call`" {
        function: Part<FunctionKeys>,
        /// The arguments.
        args: Object,
    }

    AfterKeys = "an operation of `call`" {
        call: Part<CallKeys>,
        result: Part<ResultKeys>,
    }

    InputKeys = "an operation of `call`" {
        /// The input.
        input: Required<Entry>,
    }

    OutputKeys = "an operation of `call`" {
        /// The response.
        output: Required<Entry>,
    }

    RequestKeys = "an operation of `call`" {
        /// What is sent to the model.
        request: Required<Object>,
        /// What the call is expected to use.
        estimate: UsageKeys,
    }

    AnswerKeys = "an operation of `call`" {
        /// What was sent to the model.
        request: Required<Object>,
        /// What the call was expected to use.
        estimate: UsageKeys,
        /// What the model has answered.
        answer: Required<Object>,
    }

    LimitsKeys = "an operation of `call`" {
        /// What comes next.
        next: Required<OneOf<Next>>,
    }

    EventKeys = "an operation of `call`" {
        arrival: Part<ArrivalKeys>,
    }

    SubscriptionKeys = "an operation of `call`" {
        /// The capability.
        capability: Required<Text>,
        /// The event.
        event: Required<Text>,
    }

    AllowListKeys = "an operation of `call`" {
        /// The capability.
        capability: Required<Text>,
    }

    TriggerKeys = "an operation of `call`" {
        /// The name of the trigger; without it the first one of the agent.
        name: Text,
        /// The payload of the event.
        payload: Required<Anything>,
    }

    CelKeys = "an operation of `call`" {
        /// Where the expression would stand.
        scope: Required<OneOf<Scope>>,
        expr: Required<Expression>,
        bound: Part<BoundKeys>,
    }

    InterpolateKeys = "an operation of `call`" {
        /// Where the template would stand.
        scope: Required<OneOf<TemplateKind>>,
        template: Required<Text>,
        /// The resolved parameters.
        parameters: Object,
        bound: Part<BoundKeys>,
    }

    BoundKeys = "an operation of `call`" {
        /// The variable `input`.
        input: Anything,
        /// The variable `output`.
        output: Anything,
        /// The variable `event`.
        event: Anything,
    }

    ScriptKeys = "an operation of `call`" {
        /// The script of the model.
        source: Required<Expression>,
    }

    BundleKeys = "an operation of `call`" {
        /// The documents of the bundle, as one text.
        text: Required<Text>,
    }
}

/// The word, the keys and the reader of each operation, in one row.
macro_rules! operations {
    ($($word:literal: $keys:ty => $read:expr,)*) => {
        const OPERATIONS: &[(&str, &[Row])] = &[$(($word, <$keys as Mapping>::ROWS)),*];

        fn read_keys_of(
            op: &Embedded,
            fields: &Fields<'_, OperationKeys>,
            reader: &mut Reader,
        ) -> Option<TestedOperation> {
            match &*op.text {
                $($word => {
                    let fields = fields.read_as::<$keys>();
                    let read: fn(&Fields<'_, $keys>, &Embedded, &mut Reader) -> Option<TestedOperation> = $read;
                    let operation = read(&fields, op, reader)?;
                    fields.refuse_others_of(&format!("`{}`", op.text), &names(OperationKeys::ROWS), reader);
                    Some(operation)
                })*
                _ => {
                    reader.report(&fields.op().path(), messages::unknown_word(op, &words(OPERATIONS)));
                    None
                }
            }
        }
    };
}

operations! {
    "validate": NoKeys => |_, _, _| Some(TestedOperation::Validate),
    "functions": NoKeys => |_, _, _| Some(TestedOperation::Functions),
    "schema": FunctionKeys => |fields, _, reader| {
        Some(TestedOperation::Schema(fields.function().required_text(reader)?))
    },
    "binding": CallKeys => |fields, _, reader| Some(TestedOperation::Binding(read_call(fields, reader)?)),
    "before": CallKeys => |fields, _, reader| {
        Some(TestedOperation::Operation(Operation::Before(read_call(fields, reader)?)))
    },
    "after": AfterKeys => |fields, _, reader| {
        let result = values::call_result(&fields.result().part(), reader);
        Some(TestedOperation::After(read_call(&fields.call().part(), reader)?, result))
    },
    "invoke": CallKeys => |fields, _, reader| {
        Some(TestedOperation::Operation(Operation::Invoke(read_call(fields, reader)?)))
    },
    "input": InputKeys => |fields, _, reader| {
        let field = fields.input().required("", reader)?.get()?;
        let input = values::entry(field.node, &field.path, reader)?;
        Some(TestedOperation::Operation(Operation::Input(input)))
    },
    "output": OutputKeys => |fields, _, reader| {
        let field = fields.output().required("", reader)?.get()?;
        let output = values::entry(field.node, &field.path, reader)?;
        Some(TestedOperation::Operation(Operation::Output(output)))
    },
    "model_before": RequestKeys => |fields, _, reader| {
        let request = fields.request().required("", reader)?.object(reader)?;
        let estimate = read_estimate(&fields.estimate(), reader);
        let call = ModelCall { estimate, ..ModelCall::new(request) };
        Some(TestedOperation::Operation(Operation::ModelBefore(call)))
    },
    "model_after": AnswerKeys => |fields, _, reader| {
        let request = fields.request().required("", reader).and_then(|key| key.object(reader));
        let answer = fields.answer().required("", reader).and_then(|key| key.object(reader));
        let estimate = read_estimate(&fields.estimate(), reader);
        Some(TestedOperation::ModelAfter(ModelCall { estimate, ..ModelCall::new(request?) }, answer?))
    },
    "prompt": NoKeys => |_, _, _| Some(TestedOperation::Prompt),
    "limits": LimitsKeys => |fields, _, reader| {
        let next = fields.next().required("", reader)?.word(reader)?;
        Some(TestedOperation::Operation(Operation::Limits { next }))
    },
    "event": EventKeys => |fields, op, reader| {
        let delivery = read_delivery(op, &fields.arrival().part(), reader)?;
        Some(TestedOperation::Operation(Operation::Event(delivery)))
    },
    "subscription": SubscriptionKeys => |fields, _, reader| {
        let capability = fields.capability().required_text(reader);
        let event = fields.event().required_text(reader);
        Some(TestedOperation::Subscription { capability: capability?, event: event? })
    },
    "allowlist": AllowListKeys => |fields, _, reader| {
        Some(TestedOperation::AllowList(fields.capability().required_text(reader)?))
    },
    "trigger": TriggerKeys => |fields, _, reader| {
        let name = fields.name().text(reader);
        let payload = fields.payload().required("", reader)?.json()?;
        Some(TestedOperation::Trigger { name, payload })
    },
    "cel": CelKeys => |fields, _, reader| {
        let scope = fields.scope().required("", reader)?.word(reader);
        let expr = fields.expr().required_expression(reader);
        let bound = read_bound(&fields.bound().part());
        Some(TestedOperation::Cel { scope: scope?, expr: expr?, bound })
    },
    "interpolate": InterpolateKeys => |fields, _, reader| {
        let kind = fields.scope().required("", reader)?.word(reader);
        let template = fields.template().required_text(reader);
        let parameters = fields.parameters().object(reader);
        let bound = read_bound(&fields.bound().part());
        Some(TestedOperation::Interpolate { kind: kind?, template: template?, parameters, bound })
    },
    "script": ScriptKeys => |fields, _, reader| {
        let source = fields.source().required_expression(reader)?.text.to_string();
        Some(TestedOperation::Operation(Operation::Script { source }))
    },
    "bundle": BundleKeys => |fields, _, reader| {
        Some(TestedOperation::Bundle(fields.text().required_text(reader)?))
    },
}

/// `call`, `steps` or `story`, with its place.
fn read_operation(fields: &Fields<'_, OwnKeys>, reader: &mut Reader) -> Option<(TestedOperation, Place)> {
    match (fields.call().get(), fields.steps().get(), fields.story().get()) {
        (Some(call), None, None) => {
            let fields = reader.fields::<OperationKeys>(call.node, &call.path)?;
            let op = fields.op().required_text(reader)?;
            Some((read_keys_of(&op, &fields, reader)?, op.place))
        }
        (None, Some(steps), None) => {
            refuse_resume(fields, reader);
            Some((read_steps(&steps, reader)?, steps.key.place.clone()))
        }
        (None, None, Some(story)) => {
            refuse_resume(fields, reader);
            Some((read_story(&story, reader)?, story.key.place.clone()))
        }
        _ => {
            let keys = [fields.call().name(), fields.steps().name(), fields.story().name()];
            reader.report(&fields.path, messages::one_key_of(fields.place, CaseKeys::OWNER, &keys));
            None
        }
    }
}

fn read_estimate(key: &Key<'_, '_, UsageKeys>, reader: &mut Reader) -> Option<Usage> {
    let fields = key.fields(reader)?;
    let usage = values::usage(&fields, reader);
    fields.refuse_others(reader);
    Some(usage)
}

fn refuse_resume(fields: &Fields<'_, OwnKeys>, reader: &mut Reader) {
    if let Some(resume) = fields.resume().get() {
        reader.report(&resume.path, messages::resume_of_steps(&resume.key.place));
    }
}

fn read_call(fields: &Fields<'_, CallKeys>, reader: &mut Reader) -> Option<Call> {
    let function = fields.function().part().function().required_text(reader);
    let arguments = fields.args().object_or_empty(reader);
    Some(Call::new(&*function?.text, arguments))
}

fn read_bound(fields: &Fields<'_, BoundKeys>) -> BoundVariables {
    BoundVariables {
        input: fields.input().json(),
        output: fields.output().json(),
        event: fields.event().json(),
    }
}
