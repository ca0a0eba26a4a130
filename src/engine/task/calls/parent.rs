//! Calls of a task that must be within its parent (`delegate: {within: parent}`): the parent task decides them as well.
//!
//! In: a call that the task's own steps allow, and the parent task as it is now ([`Task::set_parent`]). Out: the call goes on, or it is denied with
//! the message and the rule of the parent. The steps before the call are evaluated in a copy of the parent, with the arguments of the child: the
//! parent itself does not change. Counters of the parent are read with those of the call. A parent that has a parent of its own is bound in the same way.

use crate::context::Moment;
use crate::counter::{CounterId, CounterState};
use crate::manifest::mode::Mode;
use crate::policy::{CounterReader, InvocationTarget, Origin, Policy};
use crate::task::flow::{Flow, StopKind, Stopped};
use crate::task::messages;
use crate::task::state::{
    Answer, AskedCounter, CallCounters, CallId, CallUnderWay, CounterReading, Enforced, Extent, Finding,
    Holdings, Next, Request, Said, Stage, Subject, Task, TaskError, UnderWay, VerdictKind,
};
use std::sync::Arc;

/// The answer of a parent task about a call of its child.
enum ParentAnswer {
    Allowed,
    Denied(Box<ParentDenial>),
    /// It needs the state of these counters first.
    Counters(Vec<AskedCounter>),
}

/// The reason for which a parent task could not make a call itself.
struct ParentDenial {
    message: Said,
    user_message: Option<Said>,
    /// The rule; `None` if no rule of the parent denies the call.
    origin: Option<Origin>,
    findings: Vec<Finding>,
}

impl From<String> for ParentDenial {
    fn from(message: String) -> Self {
        Self { message: message.into(), user_message: None, origin: None, findings: Vec::new() }
    }
}

impl From<ParentDenial> for ParentAnswer {
    fn from(denial: ParentDenial) -> Self {
        Self::Denied(Box::new(denial))
    }
}

impl Task {
    /// The id of the parent task, if that decides the calls of this task as well. The host then gives the parent as it is now
    /// ([`Task::set_parent`]) before each step that may decide a call.
    #[must_use]
    pub fn bounding_parent(&self) -> Option<&str> {
        self.policy.delegation()?;
        self.parent.as_ref().map(|parent| &*parent.task)
    }

    /// Gives the parent task as it is now to a task whose calls must be within it. Later changes of the parent are not seen. Without its
    /// parent such a task may make no call. The parent's own parent, if it is needed, has been given to the parent before.
    ///
    /// ```
    /// use celador::{Call, Engine, Outcome, Parent, StartTask, User};
    /// # let manifests = r#"
    /// # kind: celador/v1/tools
    /// # namespace: shop
    /// # name: shop
    /// # tools: [{name: refund, inputSchema: {type: object, properties: {amount: {type: number}}, required: [amount]}}]
    /// # ---
    /// # kind: commonagents.info/v1beta2/agent
    /// # namespace: shop
    /// # name: lead
    /// # description: Answers customers.
    /// # prompt: You are careful.
    /// # capabilities: {shop: {before: [{assert: input.amount <= 50.0, error_message: At most 50.}]}, clerk: "*"}
    /// # ---
    /// # kind: commonagents.info/v1beta2/agent
    /// # namespace: shop
    /// # name: clerk
    /// # description: Pays back.
    /// # prompt: You are careful.
    /// # capabilities: {shop: "*"}
    /// # ---
    /// # kind: celador/v1/policy
    /// # namespace: shop
    /// # name: sub-agents
    /// # applies_to: {agents: [shop/clerk]}
    /// # delegate: {within: parent}
    /// # "#;
    /// # let engine = Engine::parse("shop.yaml", manifests)?;
    /// # let now = std::time::SystemTime::UNIX_EPOCH;
    /// // `sub-agents` says of `clerk`: `delegate: {within: parent}`, and a rule of `lead` allows at most 50
    /// let parent = engine.start(StartTask::new("t-1", "shop", "lead", User::default(), now))?;
    /// let start = StartTask::new("t-2", "shop", "clerk", User::default(), now);
    /// assert!(engine.start(start.clone()).is_err());
    /// let mut child = engine.start(StartTask { parent: Some(Parent::new("t-1")), ..start })?;
    ///
    /// child.set_parent(&parent)?;
    /// let refund = |amount: i64| Call::new("refund", serde_json::json!({"amount": amount}).into());
    /// assert!(child.before(&refund(40), now)?.outcome().is_allowed());
    /// let Outcome::Refused(refusal) = child.before(&refund(60), now)?.outcome() else { panic!("the lead may not") };
    /// assert_eq!(refusal.message(), "At most 50.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TaskError::OtherParent`] for a task that is not the parent, or that runs for another user, and [`TaskError::ParentNotAdmitted`] for a task
    /// of an agent that may not delegate to this agent. The task then has the parent that it had.
    ///
    /// # Cost
    /// Linear in the parent, if a policy bounds the calls of the task.
    pub fn set_parent(&mut self, parent: &Self) -> Result<(), TaskError> {
        let is_parent = self.parent.as_ref().is_some_and(|known| known.task == parent.id);
        let user = &self.context.start().user_id;
        if !is_parent || *user != parent.context.start().user_id {
            return Err(TaskError::OtherParent);
        }
        let Some(bound) = self.policy.delegation() else { return Ok(()) };
        let is_enforced = bound.mode == Mode::Enforce && !self.policy.observes();
        if is_enforced && !bound.admits(&self.policy, &parent.policy) {
            let [parent, child] = [&parent.policy, &self.policy].map(|policy| policy.full_name());
            return Err(TaskError::ParentNotAdmitted { parent, child });
        }
        self.above = Some(Arc::new(parent.fork()));
        Ok(())
    }

    /// Takes the parent away from a task: it may make no call until it has it again.
    pub fn clear_parent(&mut self) {
        self.above = None;
    }

    /// The counters by which the tasks above decide a call, each once.
    pub(in crate::task) fn counters_of_parents(
        &self,
        policy: &Policy,
        subject: &Subject,
        now: &Moment,
    ) -> Vec<AskedCounter> {
        let (Some(bound), Some(parent), Subject::Call(call)) = (policy.delegation(), &self.above, subject)
        else {
            return Vec::new();
        };
        let Some(function) = policy.function(call.function) else { return Vec::new() };
        if !parent.counts_in_tree(&function.target) {
            return Vec::new();
        }
        let is_tried = policy.observes() || bound.mode == Mode::Observe;
        match parent.decide_for_child((&function.target, call), &[], &self.holdings, now) {
            ParentAnswer::Counters(asked) => {
                let reader = CounterReading::Parent;
                let of_parent = |asked: AskedCounter| AskedCounter { add: None, reader, is_tried, ..asked };
                asked.into_iter().map(of_parent).collect()
            }
            // what denies the call denies it again when its steps are through
            ParentAnswer::Allowed | ParentAnswer::Denied(_) => Vec::new(),
        }
    }

    /// Whether the task, or one above that bounds it, reads counters for calls of a function.
    fn counts_in_tree(&self, target: &InvocationTarget) -> bool {
        let position = self.policy.position_of_target(target);
        let reader = position.map(CounterReader::Function);
        let reads = reader.is_some_and(|reader| self.policy.counters().of(reader).next().is_some());
        let above = self.above.as_ref().filter(|_| self.policy.delegation().is_some());
        reads || above.is_some_and(|above| above.counts_in_tree(target))
    }

    /// Lets a call go on that its own steps allow if the parent task may make it, too, where a policy bounds it.
    pub(in crate::task) fn hold_within_parent(
        &self,
        policy: &Policy,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Flow {
        let (Some(bound), Subject::Call(call)) = (policy.delegation(), &operation.subject) else {
            return Flow::Passed;
        };
        let Some(function) = policy.function(call.function) else { return Flow::Passed };
        let answer = match &self.above {
            Some(parent) => {
                let call = (&function.target, call);
                parent.decide_for_child(call, &call.1.parent_counters, &self.holdings, now)
            }
            None => ParentDenial::from(messages::no_parent_at_hand()).into(),
        };
        let denial = match answer {
            ParentAnswer::Allowed => return Flow::Passed,
            ParentAnswer::Denied(denial) => *denial,
            ParentAnswer::Counters(_) => messages::no_counters().into(),
        };
        let ParentDenial { message, user_message, origin, findings } = denial;
        let origin = origin.unwrap_or_else(|| bound.origin().clone());
        let course = &mut operation.course;
        let agent = self.above.as_ref().map(|parent| parent.policy.full_name());
        let outside = messages::outside_parent(agent.as_deref());
        course.findings.extend(findings);
        course.findings.push(Finding::new("outside_parent", outside, Some(origin.clone())));
        if policy.observes() || bound.mode == Mode::Observe {
            let shown = message.shown.clone();
            let enforced = Enforced::new(VerdictKind::Block, message.text);
            course.would_stop(Enforced { decided_by: Some(origin), shown, ..enforced });
            return Flow::Passed;
        }
        Flow::Stopped(Stopped { kind: StopKind::Block, message, user_message, origin })
    }

    /// Decides whether this task may make a call of its child now: its limits, then its steps before the call. `counters` are those that were read,
    /// and `holdings` those of the child.
    fn decide_for_child(
        &self,
        (target, child): (&InvocationTarget, &CallUnderWay),
        counters: &[(CounterId, CounterState)],
        holdings: &Holdings,
        now: &Moment,
    ) -> ParentAnswer {
        let denied = |message: String| ParentAnswer::from(ParentDenial::from(message));
        let Some(time) = now.timestamp() else { return denied(messages::blocked()) };
        if self.end.is_some() {
            return denied(messages::parent_ended());
        }
        let policy = &self.policy;
        let position = policy.position_of_target(target);
        let Some((position, function)) = position.and_then(|at| Some((at, policy.function(at)?))) else {
            return denied(messages::not_of_parent());
        };
        if let Some(switch) = self.stopped().or_else(|| self.stopped_function(function)) {
            return denied(messages::switched_off(&switch));
        }
        if let Some(limit) = self.limit_before(Next::Capability, time) {
            return denied(messages::limit_of_parent(limit));
        }
        if let Some(step) = policy.step_with_effect(position) {
            let origin = Some(step.origin());
            return ParentDenial { origin, ..messages::parent_cannot_decide().into() }.into();
        }
        let arguments = &child.arguments;
        let resolution = self.resolve_parameters(function, arguments, now, &mut Vec::new());
        if !resolution.faults.is_empty() {
            return denied(messages::bad_arguments(&resolution.faults));
        }
        // a binding of the parent gives an argument another value
        if !resolution.unbound.is_empty() || resolution.arguments != *arguments {
            return denied(messages::other_arguments());
        }
        let mut copy = self.fork();
        copy.holdings.count_reservations(holdings, child.id.as_ref().map_or("", CallId::as_str));
        let mut call = CallUnderWay::new(None, position, resolution.arguments, Extent::Before);
        // by its name it asks for counters
        call.id = Some("of a child".into());
        let mut operation = UnderWay::new(Subject::Call(call), Stage::BeforeFirst);
        loop {
            match copy.run_steps(policy, &mut operation, now) {
                Flow::Passed if operation.course.stage == Stage::BeforeFirst => {
                    operation.course.enter(Stage::Before);
                }
                Flow::Passed => return ParentAnswer::Allowed,
                Flow::Asks(Request::Counters { counters: needed }) => {
                    let state = |id: &CounterId| counters.iter().find(|(known, _)| known == id);
                    let states: Option<Vec<CounterState>> =
                        needed.iter().map(|id| Some(state(id)?.1.clone())).collect();
                    let Some(states) = states else {
                        return match operation.subject.counters() {
                            Some(CallCounters::Asked(asked)) => ParentAnswer::Counters(asked.clone()),
                            _ => denied(messages::no_counters()),
                        };
                    };
                    copy.count(&mut operation, Answer::Counters(states), time);
                }
                Flow::Stopped(Stopped { message, user_message, origin, .. }) => {
                    let findings = operation.course.findings;
                    return ParentDenial { message, user_message, origin: Some(origin), findings }.into();
                }
                Flow::Answered | Flow::Again | Flow::Held | Flow::Ended(_) | Flow::Asks(_) => {
                    return denied(messages::parent_cannot_decide());
                }
            }
        }
    }
}
