//! Scripts of the model (SCR): one expression whose function calls are calls of capabilities.
//!
//! In: a text. Out: its result, or the decision of the call that ended it. Each call is an operation of its own and runs
//! the whole pipeline, inner calls first, each one invocation (SCR-04, SCR-11). The script is evaluated anew after each
//! call, with the results so far in their order: a script has no variables, so it asks the same each time, and a finished
//! call never runs twice. What is asked is absorbed by nothing, neither `||` nor a macro.

use crate::cel::{Issue, Json, JsonRef, Program, Timestamp, Value};
use crate::context::{Bound, Scope};
use crate::policy::{Policy, run_to_json};
use crate::task::evaluation::file_reference::FileReference;
use crate::task::evaluation::replay::{Halt, Replay};
use crate::task::messages;
use crate::task::state::{
    Answer, Call, CallResult, Decision, Exchange, Extent, Finding, Next, Pending, Progress, QuestionId,
    Request, ReviewState, Reviewed, ScriptUnderWay, Sender, Stage, Subject, Task, TaskError, UnderWay,
    Verdict,
};
use std::borrow::Cow;

impl Task {
    pub(in crate::task) fn begin_script(
        &mut self,
        source: &str,
        now: Timestamp,
    ) -> Result<Progress, Vec<Issue>> {
        if let Some(refusal) = self.hindrance(now) {
            return Ok(refusal.into());
        }
        self.policy.script(source, &self.cache)?;
        if let Some(decision) = self.beyond(Next::Other, now) {
            return Ok(decision.into());
        }
        self.take_step(now);
        let script = ScriptUnderWay { source: source.to_owned(), call: None };
        Ok(self.run_script(UnderWay::new(Subject::Script(script), Stage::Execute), now))
    }

    /// Goes on with the operation whose question was answered.
    pub(in crate::task) fn go_on_with(
        &mut self,
        question: QuestionId,
        mut answer: Answer,
        now: Timestamp,
    ) -> Result<Progress, TaskError> {
        if let Some(call) = self.in_hands(question) {
            let Answer::Result(result) = answer else { return Err(TaskError::WrongAnswer) };
            let progress = self.begin_after(&call, result, now)?;
            return Ok(self.with_decided(progress, now));
        }
        let (_, pending) = self.waiting_at(question)?;
        if !answer.fits(&pending.request) {
            return Err(TaskError::WrongAnswer);
        }
        if pending.has_expired(now) {
            return Err(TaskError::ReviewExpired(question.0));
        }
        let edited = match &answer {
            Answer::Review(answer) => self.edited(pending, answer, now)?,
            _ => None,
        };
        // from here on something happens, and what is wrong is a decision
        if let Some(decision) = self.refusal_at_end(now).or_else(|| self.unanswerable(&answer)) {
            return Ok(Progress::Decided(self.decision_with_decided(decision, now)));
        }
        if let Answer::Review(answer) = &mut answer
            && self.is_one_of_several(question, answer, now)?
        {
            self.take_step(now);
            let (_, pending) = self.waiting_at(question)?;
            return Ok(Progress::Asks(pending.question()));
        }
        let (position, _) = self.waiting_at(question)?;
        let pending = self.waiting.remove(position);
        let notes = self.notes_of(&pending, &answer);
        if let Answer::Review(answer) = &answer {
            self.close_review(
                &pending,
                ReviewState::after(answer),
                Some(Reviewed { answer: answer.clone(), at: now }),
            );
        }
        let Pending { mut operation, request, script, .. } = pending;
        let named = self.named(&operation);
        self.give(&mut operation, request, answer, edited, now);
        operation.course.add_notes(notes);
        let of_event = matches!(operation.subject, Subject::Event(_) | Subject::Input(Sender::Event));
        if !of_event {
            self.take_step(now);
        }
        let is_of_script = script.is_some();
        let progress = self.go_on(operation, script, now);
        let progress = self.settle_event(progress, now);
        if let Progress::Decided(decision) = &progress {
            // a call of a script is nobody's to make or to report again
            if is_of_script {
                self.close_unless_open(
                    named.as_ref().map(|named| &named.id),
                    &Decision::new(Verdict::allow(None)),
                );
            } else {
                self.settle_answered(named, decision);
            }
        }
        Ok(self.with_decided(progress, now))
    }

    fn waiting_at(&self, question: QuestionId) -> Result<(usize, &Pending), TaskError> {
        let mut waiting = self.waiting.iter().enumerate();
        waiting.find(|(_, pending)| pending.id == question).ok_or(TaskError::UnknownQuestion(question.0))
    }

    /// Goes on with an operation that was answered, and with the script whose call it is.
    pub(in crate::task) fn go_on(
        &mut self,
        operation: UnderWay,
        script: Option<Box<UnderWay>>,
        now: Timestamp,
    ) -> Progress {
        if matches!(operation.subject, Subject::Script(_)) {
            return self.run_script(operation, now);
        }
        self.script_bytes = script.as_deref().map_or(0, UnderWay::bytes);
        let progress = self.advance(operation, now.into());
        self.script_bytes = 0;
        match script {
            Some(script) => match self.take_up(*script, progress) {
                Ok(script) => self.run_script(script, now),
                Err(progress) => *progress,
            },
            None => progress,
        }
    }

    /// Takes a script as far as it goes.
    fn run_script(&mut self, mut script: UnderWay, now: Timestamp) -> Progress {
        let policy = self.policy.clone();
        let source = if let Subject::Script(script) = &script.subject { &*script.source } else { "" };
        let program = match policy.script(source, &self.cache) {
            Ok(program) => program,
            Err(issues) => {
                let issue = issues.first().map_or("", |issue| &issue.message);
                return script.decide(Verdict::error(messages::script_failed(issue))).into();
            }
        };
        loop {
            let request = match evaluate(&policy, &program, &script.course.exchanges) {
                Ok(value) => {
                    let value = Some(with_summaries(value, &script.course.exchanges));
                    let secret = self.hidden_of_script();
                    return Decision { secret, ..script.decide(Verdict::allow(value)) }.into();
                }
                Err(Halt::Failed(error)) => {
                    let code = Cow::Borrowed(error.code.as_str());
                    script.course.findings.push(Finding { code, message: error.to_string(), origin: None });
                    let message = messages::script_failed(&error.to_string());
                    return script.decide(Verdict::error(message)).into();
                }
                Err(Halt::Asks(request, _)) => request,
            };
            let Request::Invoke(invocation) = &request else {
                return self.ask(script, request, &now.into());
            };
            let arguments = for_parameters(&policy, &invocation.function, &invocation.arguments);
            let call = Call::new(&*invocation.function, arguments);
            if let Subject::Script(script) = &mut script.subject {
                script.call = Some(request);
            }
            self.script_bytes = script.bytes();
            let progress = if self.must_wait(&call.function) || self.is_in_review() {
                Decision::new(Verdict::block(messages::call_again())).into()
            } else {
                self.begin(&call, Extent::Whole, now)
            };
            self.script_bytes = 0;
            script = match self.take_up(script, progress) {
                Ok(script) => script,
                Err(progress) => return *progress,
            };
        }
    }

    /// The script with the result of its call; what came of it instead, if the call asks or was not let through.
    fn take_up(&mut self, mut script: UnderWay, progress: Progress) -> Result<UnderWay, Box<Progress>> {
        let decision = match progress {
            Progress::Decided(decision) => decision,
            Progress::Asks(question) => {
                if let Some(pending) = self.waiting.iter_mut().find(|pending| pending.id == question.id) {
                    pending.script = Some(Box::new(script));
                }
                return Err(Progress::Asks(question).into());
            }
        };
        let question = match &mut script.subject {
            Subject::Script(script) => script.call.take(),
            Subject::Call(_)
            | Subject::Event(_)
            | Subject::Input(_)
            | Subject::Output
            | Subject::Model(_) => None,
        };
        let Some(question) = question.filter(|_| decision.is_allowed()) else {
            return Err(Progress::Decided(script.told_before(decision)).into());
        };
        script.course.trace.extend(decision.trace);
        script.course.observed.extend(decision.observed);
        script.course.findings.extend(decision.findings);
        script.course.counters.extend(decision.counters);
        let result = CallResult::successful(decision.verdict.into_value().unwrap_or_else(Json::null));
        script.course.exchanges.push(Exchange { question, answer: Answer::Result(result) });
        Ok(script)
    }
}

impl Decision {
    /// A script that [`Task::script`] refused, as a decision: the model is told what is wrong with what it wrote.
    #[must_use]
    pub fn refused_script(issues: &[Issue]) -> Self {
        let finding = |issue: &Issue| {
            let code = Cow::Borrowed(issue.code);
            Finding { code, message: issue.message.clone(), origin: None }
        };
        let told: Vec<&str> = issues.iter().map(|issue| &*issue.message).collect();
        let verdict = Verdict::error(messages::script_failed(&told.join("; ")));
        Self { findings: issues.iter().map(finding).collect(), ..Self::new(verdict) }
    }
}

/// Evaluates a script with the answers that it was given.
fn evaluate(policy: &Policy, program: &Program, exchanges: &[Exchange]) -> Result<Json, Halt> {
    let mut replay = Replay::of_script(exchanges, policy);
    let scope = policy.trial_scope(Scope::Script);
    let (result, _) = run_to_json(program, &scope, &Bound::default(), &mut replay);
    replay.settle(result).map(|(value, _)| value)
}

/// Arguments as the function's parameters take them: a reference to a file is an object, and where only text fits it is
/// the path, for no schema has a type for files.
fn for_parameters(policy: &Policy, function: &str, arguments: &Json) -> Json {
    let function = policy.position(function).and_then(|position| policy.function(position));
    let takes = |name: &str, value: JsonRef<'_>| {
        let mut parameters = function.into_iter().flat_map(|function| function.parameters.iter());
        parameters.all(|it| *it.name != *name || it.shape.check(&value.value()).is_ok())
    };
    let path_instead = |name: &str, value: JsonRef<'_>| {
        let reference = FileReference::read(value).filter(|_| !takes(name, value))?;
        let path = Json::string(reference.path());
        takes(name, path.root()).then_some(path)
    };
    if !arguments.root().entries().any(|(name, value)| path_instead(name, value).is_some()) {
        return arguments.clone();
    }
    let member = |(name, value)| (name, path_instead(name, value).unwrap_or_else(|| value.to_json()));
    Json::object(arguments.root().entries().map(member))
}

/// The result with the summaries of files in the place of the references that the script made to them.
fn with_summaries(value: Json, exchanges: &[Exchange]) -> Json {
    let references = exchanges.iter().filter_map(|exchange| match &exchange.question {
        Request::MeasureFile { path } => Some(FileReference::measured(path, &exchange.answer)),
        _ => None,
    });
    let references: Vec<FileReference> = references.collect();
    if references.is_empty() { value } else { summarised(value.root(), &references) }
}

/// Recurses as deep as the document, which `max_json_depth` bounds.
fn summarised(value: JsonRef<'_>, references: &[FileReference]) -> Json {
    let reference = FileReference::read(value).filter(|reference| references.contains(reference));
    if let Some(reference) = reference {
        return Json::string(&reference.summary());
    }
    if value.is_object() {
        return Json::object(value.entries().map(|(name, value)| (name, summarised(value, references))));
    }
    if value.is_array() {
        let items: Vec<Json> = value.items().map(|item| summarised(item, references)).collect();
        let list = Value::list(items.iter().map(Json::value).collect());
        // no larger than the value itself, which was packed within the bounds
        return Json::from_host(&list).unwrap_or_else(|_| Json::null());
    }
    value.to_json()
}
