//! Switches of an operator: an agent, a tool or a user is stopped at once, for new tasks and for those that run.
//!
//! In: what is to stop. Out: for each step of a task, the switch that stands in its way, if one does. Nothing new begins
//! then; the result of what was let through before is still taken. One table is shared by all tasks of an engine, and costs
//! a task nothing but one look while no switch is on. The why is not here: it is the operator's, and no task tells it.

use super::messages;
use super::state::{
    Answer, Decision, Finding, Refused, Request, Subject, Switch, Switches, Task, UnderWay, Verdict,
};
use crate::cel::{HostFunctionSet, Timestamp};
use crate::context::{Moment, TurnKind};
use crate::manifest::capability_key::sanitise;
use crate::policy::{AgentFunction, InvocationTarget, Policy, Step};
use std::sync::Arc;

impl Task {
    /// Has the task heed these switches from now on. [`Engine::start`](crate::Engine::start) and
    /// [`Engine::restore`](crate::Engine::restore) do it with those of the engine.
    pub fn heed(&mut self, switches: Switches) {
        self.switches = switches;
    }

    /// Has functions of the host answer calls in expressions from now on, as [`Engine::open_with`](crate::Engine::open_with) gives them.
    pub(crate) fn ask_host(&mut self, functions: Arc<HostFunctionSet>) {
        self.functions = functions;
    }

    /// Why no step may begin now: [`Task::refusal`], or a switch that stops the agent or the user.
    pub(super) fn hindrance(&mut self, now: Timestamp) -> Option<Decision> {
        self.refusal(now).or_else(|| self.stopped().map(Decision::switched_off))
    }

    /// The same for what may begin while others ask.
    pub(super) fn hindrance_at_end(&mut self, now: Timestamp) -> Option<Decision> {
        self.refusal_at_end(now).or_else(|| self.stopped().map(Decision::switched_off))
    }

    /// The switch that stops the whole task.
    pub(super) fn stopped(&self) -> Option<Switch> {
        let agent = self.policy.agent();
        let user = self.context.start().user_id.clone();
        self.switches.find(|switch| match switch {
            Switch::Agent { namespace, name } => {
                **namespace == *agent.namespace.text && **name == *agent.name.text
            }
            Switch::User { name } => **name == *user,
            Switch::Tool { .. } => false,
        })
    }

    /// The switch that stops a function: its own, its tool's, or that of the agent to which it delegates.
    pub(super) fn stopped_function(&self, function: &AgentFunction) -> Option<Switch> {
        self.switches.find(|switch| match (switch, &function.target) {
            (
                Switch::Tool { namespace, name, function: only },
                InvocationTarget::Action { namespace: of, tool, action },
            ) => {
                let is_it = |name: &String| {
                    **name == **action || sanitise(name) == function.name || **name == *function.key
                };
                **namespace == **of && **name == **tool && only.as_ref().is_none_or(is_it)
            }
            (Switch::Agent { namespace, name }, InvocationTarget::Agent { namespace: of, agent }) => {
                **namespace == **of && **name == **agent
            }
            _ => false,
        })
    }

    /// The switch that stops what an operation is about, but for what it only records.
    pub(super) fn stopped_subject(&self, policy: &Policy, subject: &Subject) -> Option<Switch> {
        let of_call = || policy.function(subject.call()?.function).and_then(|it| self.stopped_function(it));
        self.stopped().or_else(of_call)
    }

    /// The switch that stands in the way of what an operation asks for. The size of a file is nobody's business.
    pub(super) fn stopped_request(&self, policy: &Policy, request: &Request) -> Option<Switch> {
        let function = match request {
            Request::Invoke(invocation) => policy.position(&invocation.function),
            Request::Review { .. }
            | Request::ReadMount { .. }
            | Request::WriteMount { .. }
            | Request::Counters { .. } => None,
            Request::MeasureFile { .. } => return None,
        };
        let function = function.and_then(|position| policy.function(position));
        self.stopped().or_else(|| function.and_then(|function| self.stopped_function(function)))
    }

    /// Why the answer to what is asked is not taken now. That of a call which has run always is.
    pub(super) fn unanswerable(&self, answer: &Answer) -> Option<Decision> {
        if matches!(answer, Answer::Result(_)) {
            return None;
        }
        self.stopped().map(Decision::switched_off)
    }

    /// Ends an operation that a switch stopped on its way.
    pub(super) fn switch_off(&mut self, operation: UnderWay, switch: Switch, now: Moment) -> Decision {
        self.revoke(&operation, now);
        let is_call = operation.subject.call().is_some();
        if is_call {
            self.context.turn(TurnKind::Capability);
        }
        let refused = Refused::by_switch(switch);
        let verdict = match operation.subject {
            Subject::Call(_) => Verdict::Block(refused),
            Subject::Event(_) => Verdict::Discard { stage: operation.course.stage.of_event(), refused },
            Subject::Input(_) | Subject::Output | Subject::Model(_) | Subject::Script(_) => {
                Verdict::rejected(refused)
            }
        };
        operation.decide(verdict)
    }

    /// What an invoke step comes to whose function is stopped: a failed step, so that its `on_fail` decides.
    pub(super) fn stopped_invoke(&self, function: &AgentFunction, step: &Step) -> Option<Finding> {
        let switch = self.stopped().or_else(|| self.stopped_function(function))?;
        Some(Finding::new("switched_off", messages::switched_off(&switch), Some(step.origin())))
    }
}

impl Decision {
    /// Not now, by an operator's switch. Nothing has happened.
    pub(super) fn switched_off(switch: Switch) -> Self {
        Self::new(Verdict::rejected(Refused::by_switch(switch)))
    }
}

impl Refused {
    fn by_switch(switch: Switch) -> Self {
        let told = messages::switched_off(&switch);
        Self { switch: Some(Box::new(switch)), ..Self::for_the_reason(told) }
    }
}
