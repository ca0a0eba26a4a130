//! One step of a task, as recorded tasks and cases have it: what happened, and when.
//!
//! In: a mapping with `at` and one of `input`, `model`, `llm`, `call`, `result`, `results`, `withdraw`, `review`, `event` and `output`. Out: a
//! [`ScriptStep`], or findings with their places. Whether a step is possible shows only when it is played.

use super::arrival::{ArrivalKeys, read_delivery};
use super::model_step::{ModelStepKeys, read_model};
use super::values::{Entry, ResultKeys, Time, UsageKeys, Verdict};
use super::{messages, values};
use crate::cel::Timestamp;
use crate::manifest::fields::{Field, Fields};
use crate::manifest::node::{Data, Node};
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, List, Mapping, Object, OneOf, Part, Required, Text, Vocabulary, mapping, names, shape,
};
use crate::source::{Embedded, Place};
use crate::task::{Call, CallId, CallResult, Operation, Ran, ReportedCall, ReviewChoice, ReviewWord, Turn};
use serde_json::json;

/// One step.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// Where it stands.
    pub place: Place,
    /// When it happens; when the step before did, if it does not say.
    pub at: Option<Timestamp>,
    /// The step.
    pub action: ScriptAction,
}

/// A step of a task.
#[derive(Clone, Debug)]
pub enum ScriptAction {
    /// An operation on the task.
    Operation {
        /// The operation; its calls have ids.
        operation: Operation,
        /// The ids of the calls that it names, in its order, with their places in the file.
        ids: Vec<Embedded>,
    },
    /// The model calls a function. Whether the engine evaluates the call is the policy's to say.
    Call {
        /// The call.
        call: Call,
        /// Its id: the name by which later steps know it.
        id: Embedded,
        /// Its result, if it is let through at once, and the place in the file.
        result: Option<(CallResult, Place)>,
    },
    /// A reviewer decides.
    Review(ScriptReview),
}

impl From<Operation> for ScriptAction {
    /// An operation that names no call.
    fn from(operation: Operation) -> Self {
        Self::Operation { operation, ids: Vec::new() }
    }
}

/// The answer to a review: the open one of a call, of a reviewer, or of both.
#[derive(Clone, Debug)]
pub struct ScriptReview {
    /// Who decides. The first review that they are asked for is meant if no call is named.
    pub reviewer: Option<Embedded>,
    /// The call that the review is about.
    pub call: Option<Embedded>,
    /// What they decide.
    pub choice: ReviewChoice,
    /// Who answers, where several people are asked; without a name somebody else with each answer.
    pub by: Option<Embedded>,
    /// The names of the review that are theirs.
    pub addressed_as: Vec<String>,
    /// What they add, which rules find in `context.reviews`.
    pub note: Option<Embedded>,
}

mapping! {
    /// Something that happens, and when.
    pub(super) StepKeys as "step" = "a step" {
        /// When it happens, RFC 3339; as the step before without it.
        at: Time,
        /// Somebody says something.
        input: Entry,
        /// Something is sent to the model, or has come back; rules on either are in policies.
        model: ModelStepKeys,
        /// The model has answered, and asks for calls.
        llm: TurnKeys,
        /// The model calls a function.
        call: NamedCallKeys,
        /// A function that was let through has run; beside `call`, that call at once.
        result: StepResult,
        /// Functions that were let through have run, and are reported together.
        results: List<NamedResultKeys>,
        /// A call is taken back: it will never be reported.
        withdraw: WithdrawKeys,
        /// A reviewer decides.
        review: ReviewKeys,
        /// Something happens outside.
        event: ArrivalKeys,
        /// The model has a response.
        output: Entry,
    }

    /// A turn of the model.
    TurnKeys as "turn" = "a model turn" {
        usage: Part<UsageKeys>,
        /// The calls that it asks for, in their order.
        calls: List<NamedCallKeys>,
    }

    /// A call of the model.
    NamedCallKeys as "namedCall" = "a call" {
        /// The name by which later steps know the call.
        id: Required<Text>,
        /// The function.
        function = "fn": Required<Text>,
        /// The arguments.
        args: Object,
    }

    NamedResultKeys as "namedResult" = "a result" {
        /// The call.
        id: Required<Text>,
        result: Part<ResultKeys>,
    }

    WithdrawKeys = "`withdraw`" {
        /// The call.
        id: Required<Text>,
        /// `false` if it has not run and never will, `unknown` if nobody knows.
        ran: Required<RanWord>,
    }

    /// The answer to the review of a call, or to the first one that a reviewer is asked for.
    #[rules = {
        "anyOf": [{ "required": ["call"] }, { "required": ["reviewer"] }],
        "oneOf": [
            {
                "properties": { "verdict": { "enum": ["approved", "denied"] } },
                "not": { "anyOf": [{ "required": ["args"] }, { "required": ["output"] }] }
            },
            {
                "properties": { "verdict": { "const": "edited" } },
                "required": ["args"],
                "not": { "required": ["output"] }
            },
            {
                "properties": { "verdict": { "const": "responded" } },
                "required": ["output"],
                "not": { "required": ["args"] }
            }
        ]
    }]
    ReviewKeys = "a review" {
        /// Who decides.
        reviewer: Text,
        /// The call that the review is about.
        call: Text,
        /// Who answers, where several people are asked; without it somebody else with each answer.
        by: Text,
        /// The names of the review that are those of who answers, such as `group:leads`.
        addressed_as: List<Text>,
        /// What they add, for the model unless the policy keeps it private; rules find it in `context.reviews`.
        note: Text,
        /// What they decide.
        verdict: Required<OneOf<ReviewVerdict>>,
        /// The new arguments, of `edited` alone.
        args: Object,
        /// The result in the place of the tool, of `responded` alone.
        output: Anything,
    }
}

shape! {
    /// The result of a call that an earlier step names, or of the call beside it.
    StepResult = |definitions| {
        json!({ "anyOf": [NamedResultKeys::schema(definitions), ResultKeys::schema(definitions)] })
    };
    /// Whether a call that is taken back has run.
    RanWord = |_| json!({ "enum": [false, "unknown"] });
}

/// What a reviewer decides.
enum ReviewVerdict {}

impl Vocabulary for ReviewVerdict {
    type Meaning = ReviewWord;
    const WORDS: &'static [(&'static str, ReviewWord)] = &[
        (Verdict::APPROVED, ReviewWord::Approve),
        (Verdict::DENIED, ReviewWord::Deny),
        ("edited", ReviewWord::Edit),
        ("responded", ReviewWord::Respond),
    ];
}

/// Reads a step that has these keys of other readers beside its own.
pub(super) fn read_step(
    node: &Node,
    fields: &Fields<'_, StepKeys>,
    others: &[&'static str],
    reader: &mut Reader,
) -> Option<ScriptStep> {
    let at = fields.at().time(reader);
    let call = fields.call().written();
    let mut beside = vec![fields.at().name()];
    beside.extend(others);
    let mut actions = names(StepKeys::ROWS);
    actions.retain(|name| !beside.contains(name));
    if call.is_some() {
        beside.push(fields.result().name());
    }
    let Some((key, _)) = values::only_key(node, &beside) else {
        reader.report(&fields.path, messages::one_key_of(&node.place, StepKeys::OWNER, &actions));
        return None;
    };
    let action = if let Some(field) = call {
        let result = fields.result().get().and_then(|field| {
            let result = reader.fields(field.node, &field.path)?;
            let read = values::call_result(&result, reader);
            result.refuse_others(reader);
            Some((read, field.key.place.clone()))
        });
        let (call, id) = read_call(field.node, &field.path, reader)?;
        ScriptAction::Call { call, id, result }
    } else if let Some(field) = fields.input().written() {
        Operation::Input(values::entry(field.node, &field.path, reader)?).into()
    } else if let Some(field) = fields.output().written() {
        Operation::Output(values::entry(field.node, &field.path, reader)?).into()
    } else if let Some(field) = fields.model().written() {
        let (operation, id) = read_model(&field, reader)?;
        ScriptAction::Operation { operation, ids: vec![id] }
    } else if let Some(field) = fields.llm().written() {
        read_turn(&field, reader)?
    } else if let Some(field) = fields.result().written() {
        reported([read_result(field.node, &field.path, reader)?])
    } else if let Some(field) = fields.results().written() {
        reported(values::list(field.node, &field.path, reader, read_result))
    } else if let Some(field) = fields.withdraw().written() {
        read_withdraw(&field, reader)?
    } else if let Some(field) = fields.event().written() {
        let fields = reader.fields(field.node, &field.path)?;
        let delivery = read_delivery(field.key, &fields, reader);
        fields.refuse_others(reader);
        Operation::Event(delivery?).into()
    } else if let Some(field) = fields.review().written() {
        ScriptAction::Review(read_review(&field, reader)?)
    } else {
        let path = fields.path.key(&key.text);
        reader.report(&path, messages::unknown_key(key, StepKeys::OWNER, &actions));
        return None;
    };
    Some(ScriptStep { place: key.place.clone(), at, action })
}

fn read_turn(field: &Field<'_>, reader: &mut Reader) -> Option<ScriptAction> {
    let fields = reader.fields::<TurnKeys>(field.node, &field.path)?;
    let usage = values::usage(&fields.usage().part(), reader);
    let (calls, ids) = fields.calls().items(reader, read_call).into_iter().unzip();
    fields.refuse_others(reader);
    Some(ScriptAction::Operation { operation: Operation::Turn(Turn { usage, calls }), ids })
}

fn read_call(node: &Node, path: &Path, reader: &mut Reader) -> Option<(Call, Embedded)> {
    let fields = reader.fields::<NamedCallKeys>(node, path)?;
    let id = fields.id().required_text(reader);
    let function = fields.function().required_text(reader);
    let arguments = fields.args().object_or_empty(reader);
    fields.refuse_others(reader);
    let id = id?;
    Some((Call::new(&*function?.text, arguments).with_id(&*id.text), id))
}

fn read_result(node: &Node, path: &Path, reader: &mut Reader) -> Option<(ReportedCall, Embedded)> {
    let fields = reader.fields::<NamedResultKeys>(node, path)?;
    let id = fields.id().required_text(reader);
    let result = values::call_result(&fields.result().part(), reader);
    fields.refuse_others(reader);
    let id = id?;
    Some((ReportedCall { call: CallId::from(&*id.text), result }, id))
}

fn reported(results: impl IntoIterator<Item = (ReportedCall, Embedded)>) -> ScriptAction {
    let (results, ids) = results.into_iter().unzip();
    ScriptAction::Operation { operation: Operation::Results { results }, ids }
}

fn read_withdraw(field: &Field<'_>, reader: &mut Reader) -> Option<ScriptAction> {
    let fields = reader.fields::<WithdrawKeys>(field.node, &field.path)?;
    let id = fields.id().required_text(reader);
    let ran = fields.ran().required("", reader).and_then(|key| key.get()).and_then(|field| {
        let unknown = field.node.as_string().is_some_and(|word| &*word.text == "unknown");
        match field.node.data {
            Data::Bool(false) => Some(Ran::Never),
            _ if unknown => Some(Ran::Unknown),
            _ => {
                reader.report(&field.path, messages::not_whether_it_ran(field.node));
                None
            }
        }
    });
    fields.refuse_others(reader);
    let id = id?;
    let operation = Operation::Withdraw { call: CallId::from(&*id.text), ran: ran? };
    Some(ScriptAction::Operation { operation, ids: vec![id] })
}

fn read_review(field: &Field<'_>, reader: &mut Reader) -> Option<ScriptReview> {
    let fields = reader.fields::<ReviewKeys>(field.node, &field.path)?;
    let (reviewer, call) = (fields.reviewer().text(reader), fields.call().text(reader));
    let verdict = fields.verdict().required("", reader);
    let verdict = verdict.and_then(|key| key.word(reader));
    let (arguments, result) = (fields.args().object(reader), fields.output().json());
    let (by, note) = (fields.by().text(reader), fields.note().text(reader));
    let names = fields.addressed_as().get().and_then(|field| reader.texts(field.node, &field.path));
    let addressed_as = names.unwrap_or_default().iter().map(|name| name.text.to_string()).collect();
    fields.refuse_others(reader);
    if reviewer.is_none() && call.is_none() {
        reader.report(&field.path, messages::whose_review(&field.node.place));
    }
    let Ok(choice) = ReviewChoice::of(verdict?, arguments, result) else {
        reader.report(&field.path, messages::other_verdict(&field.node.place));
        return None;
    };
    Some(ScriptReview { reviewer, call, choice, by, addressed_as, note })
}
