//! Which operation each event of Claude Code is, and what its decision means there.
//!
//! In: an event of a session. Out: the answer that Claude Code reads. A call is judged before and after it is made, what is said and
//! answered by guardrails, and the end of a turn counts as a turn of the model. What Celador allows, Claude Code still judges by its own
//! rules of permission, unless the operator has it grant. Where nothing can be decided, nothing goes on, unless the operator lets it.

use super::answer::{HookAnswer, Specific, refused};
use super::decode::{self, UnknownEvent};
use super::event::Event;
use super::events::Kind;
use super::messages;
use super::query::{HookQuery, Reviews};
use super::result_shape::is_alike;
use super::session::{Asks, Named, Outcome, Session};
use super::subagent::is_of_subagent;
use crate::problem::{Kind as ProblemKind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use celador::cel::Json;
use celador::task::{
    Answer as TaskAnswer, Call, CallResult, CallStatus, Decision, Operation, Ran, ReportedCall,
    Request as Asked, ReviewAnswer, Task, TaskState, Usage, Verdict, VerdictKind,
};
use celador_store::decision_log::Notice;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tracing::warn;

/// How often it is looked whether a review was answered.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The most questions of one call that are passed on.
const MAX_QUESTIONS: usize = 32;

/// `POST /hooks/claude-code`
pub(crate) fn claude_code(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let query: HookQuery = request.query()?;
    let limits = &service.settings.limits.store.engine;
    if let Some(UnknownEvent { form, reason }) = decode::stranger(&request.body) {
        warn!(reason, "an event of a hook is unknown");
        if service.settings.observe {
            let notice = Notice {
                subject: Some(&form),
                count: Some(1),
                ..Notice::new(service.now(), Notice::UNJUDGED)
            };
            if let Err(problem) = service.tasks.note(&notice) {
                warn!(form, %problem, "an unjudged event is not counted");
            }
            return Answer::json(200, &HookAnswer::nothing());
        }
        return match query.fails_open() {
            true => Err(Problem::new(ProblemKind::BadRequest, reason)),
            false => refuse(&request.body, &reason),
        };
    }
    let event = match decode::event(&request.body, limits.eval.max_json_depth) {
        Ok(event) => event,
        Err(problem) if query.fails_open() => return Err(problem),
        Err(problem) => return refuse(&request.body, &problem.to_string()),
    };
    let hook = Hook { session: Session::new(service, request, &event, &query), event: &event, query: &query };
    match hook.answer() {
        Ok(answer) => Answer::json(200, &answer),
        Err(problem) if query.fails_open() => Err(problem),
        Err(problem) => {
            warn!(event = event.hook_event_name, %problem, "nothing could be decided about an event of a hook");
            Answer::json(200, &refused(&event, &problem.to_string()))
        }
    }
}

/// The answer to an event that no rule can judge.
fn refuse(event: &[u8], why: &str) -> Result<Answer, Problem> {
    Ok(Answer { body: super::refusal(event, why), ..Answer::json(200, &())? })
}

/// One event.
pub(super) struct Hook<'h> {
    pub(super) session: Session<'h>,
    pub(super) event: &'h Event,
    query: &'h HookQuery,
}

/// What a call came to, and what its user is still to be asked.
pub(super) struct Settled {
    pub(super) decision: Decision,
    pub(super) asked: Vec<String>,
}

/// Whose approval answers a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// That of the user at the prompt, or of the reviewers.
    OfPrompt,
    /// That of the same call, which was allowed before and whose later result this is.
    CarriedOver,
}

/// What the report of a call came to.
pub(super) enum Reported {
    /// The decision about the result.
    Judged(Decision),
    /// Nobody had asked about the call, and it would not have been made: the decision about that.
    NotToBeMade(Decision),
}

impl Hook<'_> {
    fn answer(&self) -> Result<HookAnswer, Problem> {
        match self.event.kind() {
            Kind::Start => {
                self.session.begin()?;
                Ok(self.at_end()?.unwrap_or_else(HookAnswer::nothing))
            }
            Kind::Prompt => self.said(),
            Kind::Before => self.before(),
            Kind::SkillCommand => self.skill_command(),
            Kind::After => self.after(
                CallStatus::Successful,
                self.event.required(&self.event.tool_response, "tool_response")?,
            ),
            Kind::Failed => self.after(CallStatus::Errored, self.event.required(&self.event.error, "error")?),
            Kind::Denied => self.denied(),
            Kind::Batch => self.turn(),
            Kind::Stop => self.stop(),
            Kind::SubagentStop | Kind::End => {
                self.withdraw_open(|_, id| self.event.is_own(id))?;
                Ok(self.at_end()?.unwrap_or_else(HookAnswer::nothing))
            }
            Kind::Elicitation => self.elicits(),
            Kind::ElicitationResult => self.elicited(),
            Kind::Settings => Ok(self.settings_changed()),
            Kind::Passed => Ok(HookAnswer::nothing()),
            // refused before there is a session
            Kind::Unknown | Kind::Unsupported => Err(ProblemKind::BadRequest.into()),
        }
    }

    /// Settings have changed. A session goes on with those that it began with, unless its operator lets undecided events go on.
    fn settings_changed(&self) -> HookAnswer {
        // the text of a skill is no setting; its command lines are judged where they are run
        if self.event.source.as_deref() == Some("skills")
            || self.query.fails_open()
            || self.session.observes()
        {
            return HookAnswer::nothing();
        }
        HookAnswer::block(messages::SETTINGS_CHANGED.to_owned())
    }

    /// Something is said: an input.
    fn said(&self) -> Result<HookAnswer, Problem> {
        let prompt = &**self.event.required(&self.event.prompt, "prompt")?;
        if let Some(answer) = self.notified(prompt)? {
            return Ok(answer);
        }
        if self.event.agent_id.is_none() {
            // whatever else is open of the turn before will not be reported any more
            self.withdraw_open(|task, id| self.event.is_own(id) && !is_of_subagent(task, id))?;
        }
        let outcome = self.session.step(&Operation::Input(Json::string(prompt)))?;
        let Settled { decision, .. } = self.settle(outcome, Approval::OfPrompt)?;
        match decision.verdict.kind() {
            VerdictKind::Allow if decision.text().as_deref() == Some(prompt) => Ok(HookAnswer::nothing()),
            VerdictKind::Allow => Ok(HookAnswer::refuse_prompt(self.event, messages::cannot_rewrite())),
            VerdictKind::Wait => {
                // it is said anew
                decision.call.iter().try_for_each(|id| self.withdraw(id.as_str(), Ran::Never))?;
                Ok(HookAnswer::refuse_prompt(self.event, messages::said_too_early()))
            }
            _ => {
                let why = told_to_user(&decision);
                Ok(ended(HookAnswer::refuse_prompt(self.event, why), &decision))
            }
        }
    }

    /// A call is about to be made.
    fn before(&self) -> Result<HookAnswer, Problem> {
        let tool = self.event.required(&self.event.tool_name, "tool_name")?;
        let id = self.event.required(&self.event.tool_use_id, "tool_use_id")?;
        let named = self.tool(tool)?;
        let Settled { decision, asked } = self.judge(&named, &self.event.call_id(id), Approval::OfPrompt)?;
        match decision.verdict.kind() {
            VerdictKind::Allow => Ok(self.allowed(&named, &decision, asked)),
            VerdictKind::Respond => {
                let value = decision.verdict.value().map(|value| match value.root().as_str() {
                    Some(text) => text.to_owned(),
                    None => value.to_string(),
                });
                Ok(HookAnswer::deny(self.event, value.unwrap_or_default()))
            }
            VerdictKind::Wait => {
                let open = decision.verdict.waits_for().iter().map(ToString::to_string).collect::<Vec<_>>();
                Ok(HookAnswer::deny(self.event, messages::call_again(&open)))
            }
            VerdictKind::Error if self.is_undeclared(&named)? => {
                Ok(HookAnswer::deny(self.event, messages::undeclared(tool)))
            }
            _ => Ok(ended(HookAnswer::deny(self.event, told_to_model(&decision)), &decision)),
        }
    }

    /// A skill is about to run a command line of its text: a call of the shell tool, of whose output no event tells. Claude Code neither asks its user about such a line nor takes another one.
    fn skill_command(&self) -> Result<HookAnswer, Problem> {
        let tool = self.event.required(&self.event.tool_name, "tool_name")?;
        let id = self.event.call_id(self.event.required(&self.event.tool_use_id, "tool_use_id")?);
        let named = self.tool(tool)?;
        let given = &named.arguments;
        let Settled { decision, asked } = self.judge(&named, &id, Approval::OfPrompt)?;
        let why = match decision.verdict.kind() {
            VerdictKind::Allow
                if asked.is_empty() && decision.verdict.value().is_none_or(|value| value == given) =>
            {
                self.withdraw(&id, Ran::Unknown)?;
                return Ok(HookAnswer::nothing());
            }
            VerdictKind::Allow => {
                self.withdraw(&id, Ran::Never)?;
                messages::no_review_of_skills(&asked.join("\n"))
            }
            VerdictKind::Error if self.is_undeclared(&named)? => messages::undeclared(tool),
            _ => told_to_model(&decision),
        };
        Ok(ended(HookAnswer::deny(self.event, why), &decision))
    }

    /// The call that the event is about.
    fn tool(&self, tool: &str) -> Result<Named, Problem> {
        let arguments = self.event.required(&self.event.tool_input, "tool_input")?.clone();
        let server = tool.strip_prefix("mcp__").and_then(|rest| Some(rest.split_once("__")?.0));
        self.session.named(tool, server.unwrap_or_default(), arguments)
    }

    pub(super) fn is_undeclared(&self, named: &Named) -> Result<bool, Problem> {
        self.session.look(|task| task.policy().position(&named.function).is_none())
    }

    /// Has a call judged, as far as a hook can.
    pub(super) fn judge(&self, named: &Named, id: &str, approval: Approval) -> Result<Settled, Problem> {
        let call = Call::new(&*named.function, named.arguments.clone()).with_id(id);
        let outcome = self.session.step(&Operation::Before(call))?;
        let settled = self.settle(outcome, approval)?;
        if settled.decision.verdict.kind() == VerdictKind::Wait {
            // the model makes it anew, under another id
            self.withdraw(id, Ran::Never)?;
        }
        Ok(settled)
    }

    /// The answer to a call that is allowed: with the arguments that rules have left it, asked where somebody has to be.
    fn allowed(&self, named: &Named, decision: &Decision, asked: Vec<String>) -> HookAnswer {
        let given = &named.arguments;
        let changed = decision.verdict.value().filter(|value| *value != given);
        let is_granted = self.query.grants();
        let mut specific = Specific::of(self.event);
        if let Some(arguments) = changed {
            let own =
                if named.is_any { arguments.root().get("arguments").map(|it| it.to_json()) } else { None };
            specific.updated_input = Some(own.unwrap_or_else(|| arguments.clone()));
        }
        let (word, why) = match asked.is_empty() {
            false => (Some("ask"), Some(asked.join("\n"))),
            true if is_granted => (Some("allow"), None),
            // without a decision changed arguments would not be taken
            true if changed.is_some() => (Some("ask"), Some(messages::changed())),
            true => return HookAnswer::nothing(),
        };
        (specific.permission_decision, specific.permission_decision_reason) = (word, why);
        HookAnswer::nothing().with(specific)
    }

    /// Has the result of a call judged. One that nobody had asked about is judged ahead of it.
    pub(super) fn reported(
        &self,
        id: &str,
        named: impl FnOnce() -> Result<Named, Problem>,
        status: CallStatus,
        output: &Json,
        approval: Approval,
    ) -> Result<Reported, Problem> {
        let result = CallResult { status, ..CallResult::successful(output.clone()) };
        let result = Operation::After(ReportedCall { call: id.into(), result });
        let outcome = match self.session.step(&result) {
            Err(problem) if problem.kind == ProblemKind::UnknownCall => {
                let Settled { decision, asked } = self.judge(&named()?, id, approval)?;
                let is_asked = approval == Approval::OfPrompt && !asked.is_empty();
                if decision.verdict.kind() != VerdictKind::Allow || is_asked {
                    return Ok(Reported::NotToBeMade(decision));
                }
                self.session.step(&result)?
            }
            outcome => outcome?,
        };
        Ok(Reported::Judged(self.settle(outcome, Approval::OfPrompt)?.decision))
    }

    /// A call has run, or was tried. What one has given that may not have been made is withheld.
    fn after(&self, status: CallStatus, output: &Json) -> Result<HookAnswer, Problem> {
        let tool = self.event.required(&self.event.tool_name, "tool_name")?;
        let id = self.event.call_id(self.event.required(&self.event.tool_use_id, "tool_use_id")?);
        if self.event.is_launch()
            && self.session.look(|task| task.open_calls().any(|open| open.as_str() == id))?
        {
            // the call returns with the notification of its subagent
            return Ok(HookAnswer::nothing());
        }
        let reported = self.reported(&id, || self.tool(tool), status, output, Approval::OfPrompt)?;
        let decision = match reported {
            Reported::Judged(decision) => decision,
            Reported::NotToBeMade(decision) => {
                let withheld = HookAnswer::withhold(self.event, told_to_model(&decision));
                return Ok(ended(withheld, &decision));
            }
        };
        let is_failure = self.event.kind() == Kind::Failed;
        match decision.verdict.kind() {
            VerdictKind::Allow if is_failure => Ok(HookAnswer::nothing()),
            VerdictKind::Allow => self.result(output, decision.verdict.value()),
            // no hook can take back what a failed call has said
            _ if is_failure => {
                let told = Specific {
                    additional_context: Some(told_to_model(&decision)),
                    ..Specific::of(self.event)
                };
                Ok(ended(HookAnswer::nothing().with(told), &decision))
            }
            _ => Ok(ended(HookAnswer::withhold(self.event, told_to_model(&decision)), &decision)),
        }
    }

    /// The answer with the result that rules have left. Claude Code takes over what has the shape of the first result, and shows that otherwise.
    fn result(&self, before: &Json, after: Option<&Json>) -> Result<HookAnswer, Problem> {
        if after == Some(before) {
            return Ok(HookAnswer::nothing());
        }
        let value =
            |json: &Json| serde_json::to_value(json).map_err(|_| Problem::from(ProblemKind::Internal));
        let Some(after) = after.map(value).transpose()? else {
            return Ok(HookAnswer::withhold(self.event, messages::changed_shape().to_owned()));
        };
        if !self.event.is_of_server() && !is_alike(&value(before)?, &after) {
            return Ok(HookAnswer::withhold(self.event, messages::changed_shape().to_owned()));
        }
        let specific = Specific { updated_tool_output: Some(after), ..Specific::of(self.event) };
        Ok(HookAnswer::nothing().with(specific))
    }

    /// A call will not be made.
    fn denied(&self) -> Result<HookAnswer, Problem> {
        if let Some(id) = &self.event.tool_use_id {
            self.withdraw(&self.event.call_id(id), Ran::Never)?;
        }
        Ok(HookAnswer::nothing())
    }

    /// Counts a turn of the model. Gives the decision if it was one too many.
    pub(super) fn model_turn(&self) -> Result<Option<Decision>, Problem> {
        // hooks do not say what it has used
        let outcome = self.session.step(&Operation::ModelTurn(Usage::default()))?;
        let Settled { decision, .. } = self.settle(outcome, Approval::OfPrompt)?;
        Ok(Some(decision).filter(|decision| !decision.is_allowed()))
    }

    /// The model has answered, and stops: a turn without calls, and a response.
    fn stop(&self) -> Result<HookAnswer, Problem> {
        if self.event.has_no_subagents() {
            self.withdraw_open(|task, id| self.event.is_own(id) && is_of_subagent(task, id))?;
        }
        if let Some(decision) = self.model_turn()? {
            return Ok(ended(HookAnswer::nothing(), &decision));
        }
        let Some(message) = &self.event.last_assistant_message else { return Ok(HookAnswer::nothing()) };
        let outcome = self.session.step(&Operation::Output(Json::string(message)))?;
        let Settled { decision, .. } = self.settle(outcome, Approval::OfPrompt)?;
        let why = told_to_model(&decision);
        match decision.verdict.kind() {
            // the user has it before them: whatever a guardrail has made of it comes too late
            VerdictKind::Allow => Ok(HookAnswer::nothing()),
            VerdictKind::Block if !self.event.stop_hook_active => {
                Ok(HookAnswer { decision: Some("block"), reason: Some(why), ..HookAnswer::nothing() })
            }
            _ => {
                let shown =
                    HookAnswer { system_message: Some(told_to_user(&decision)), ..HookAnswer::nothing() };
                Ok(ended(shown, &decision))
            }
        }
    }

    /// Takes an operation as far as it goes without its host: reviews are passed on to the prompt of Claude Code, or waited for.
    fn settle(&self, mut outcome: Outcome, approval: Approval) -> Result<Settled, Problem> {
        let mut asked = Vec::new();
        for _ in 0..MAX_QUESTIONS {
            let asks = match outcome {
                Outcome::Decided(decided) => {
                    // the call was put to the prompt before and comes again: nobody knows what the user has said
                    if asked.is_empty() && decided.notes.iter().any(|note| note == messages::passed_on()) {
                        asked.push(messages::asks_again());
                    }
                    return Ok(Settled { decision: *decided, asked });
                }
                Outcome::Asks(asks) => asks,
            };
            let Asked::Review { reviewer, panel } = &asks.question.request else {
                return self.give_up(&asks, messages::beyond_a_hook());
            };
            if approval == Approval::CarriedOver && panel.is_none() {
                outcome = self.approve(&asks, messages::carried_over())?;
                continue;
            }
            if self.query.reviews() == Reviews::Wait {
                outcome = match self.wait(&asks)? {
                    Some(decided) => Outcome::Decided(decided),
                    None => return self.give_up(&asks, messages::unanswered(reviewer)),
                };
                continue;
            }
            // only a call can be put to whoever sits there, and the question of a server, which is put to them anyway
            if panel.is_some() || !matches!(self.event.kind(), Kind::Before | Kind::Elicitation) {
                return self.give_up(&asks, messages::asks_several(reviewer));
            }
            let question = asks.question.id;
            let text = self.session.look(|task| {
                task.reviews().find(|review| review.question == question).and_then(|review| review.text)
            })?;
            asked.push(text.unwrap_or_else(|| messages::asks(reviewer)));
            outcome = self.approve(&asks, messages::passed_on())?;
        }
        Err(ProblemKind::Internal.into())
    }

    fn approve(&self, asks: &Asks, note: &str) -> Result<Outcome, Problem> {
        let answer = ReviewAnswer { note: Some(note.to_owned()), ..ReviewAnswer::from(true) };
        let (question, answer) = (Some(asks.question.id), TaskAnswer::Review(answer));
        self.session.step(&Operation::Resume { question, answer })
    }

    /// Waits until a review is answered, here or by another process. Nothing if nobody does.
    fn wait(&self, asks: &Asks) -> Result<Option<Box<Decision>>, Problem> {
        let Some(call) = &asks.call else { return Ok(None) };
        let most = self.query.review_time(self.session.max_request_ms());
        let begun = Instant::now();
        loop {
            let standing = self.session.look(|task: &Task| task.standing(call))?;
            match standing {
                Some(decision)
                    if !matches!(decision.verdict, Verdict::Suspend { .. } | Verdict::Wait { .. }) =>
                {
                    return Ok(Some(Box::new(decision)));
                }
                Some(_) if begun.elapsed() < most => sleep(LOOK_EVERY),
                _ => return Ok(None),
            }
        }
    }

    /// Takes back what a hook cannot answer.
    fn give_up(&self, asks: &Asks, why: String) -> Result<Settled, Problem> {
        let decision = match &asks.call {
            Some(call) => {
                match self.session.step(&Operation::Withdraw { call: call.clone(), ran: Ran::Never })? {
                    Outcome::Decided(decided) => *decided,
                    Outcome::Asks(_) => return Err(ProblemKind::Internal.into()),
                }
            }
            None => return Err(ProblemKind::Internal.into()),
        };
        // what taking it back came to stays: the task may have ended by it
        let verdict = decision.verdict.with_message(why);
        Ok(Settled { decision: Decision { verdict, ..decision }, asked: Vec::new() })
    }

    /// Withdraws open calls that no event will report.
    fn withdraw_open(&self, is_over: impl Fn(&Task, &str) -> bool) -> Result<(), Problem> {
        let open = self.session.look(|task| {
            task.open_calls().map(ToString::to_string).filter(|id| is_over(task, id)).collect::<Vec<_>>()
        })?;
        // whoever refused the call told nobody, and neither did whoever stopped it half-way
        open.iter().try_for_each(|id| self.withdraw(id, Ran::Unknown))
    }

    /// Takes a call back. One that is not open any more stays what it is.
    pub(super) fn withdraw(&self, id: &str, ran: Ran) -> Result<(), Problem> {
        match self.session.step(&Operation::Withdraw { call: id.into(), ran }) {
            Ok(_) => Ok(()),
            Err(problem) if problem.kind == ProblemKind::UnknownCall => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// The answer of a session whose task takes no step any more; nothing of any other.
    fn at_end(&self) -> Result<Option<HookAnswer>, Problem> {
        let said = self.session.look(|task| match task.state() {
            TaskState::Locked { reason } => Some(reason),
            TaskState::Terminated(termination) => Some(termination.message),
            _ => None,
        })?;
        Ok(said.map(|why| HookAnswer::nothing().ending(&why)))
    }
}

/// What the model is told.
pub(super) fn told_to_model(decision: &Decision) -> String {
    decision.verdict.message().unwrap_or_default().to_owned()
}

/// What the person is told.
pub(super) fn told_to_user(decision: &Decision) -> String {
    decision.verdict.user_message().map(str::to_owned).unwrap_or_else(|| told_to_model(decision))
}

/// The same answer, and the end of the session's turn where the task has come to its end.
pub(super) fn ended(answer: HookAnswer, decision: &Decision) -> HookAnswer {
    match decision.verdict.kind() {
        VerdictKind::LockTask | VerdictKind::Terminate => answer.ending(&told_to_user(decision)),
        _ => answer,
    }
}
