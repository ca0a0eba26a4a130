//! Counters of a call of a function or of the model: asked for before the first step that reads one, reserved with the answer, spent
//! with the result.
//!
//! In: a call on its way, and the states of the counters that it needs. Out: their values for its steps, and what the call holds
//! until its result is on record or it is over. All counters of a call are read at once and once: so its steps agree, and a
//! call that waits for a person has reserved what it was judged by. Where there is no value the call is refused.

use crate::cel::Timestamp;
use crate::context::{Activations, CounterValue, Moment};
use crate::counter::{CounterChanges, CounterId, CounterState, HoldEnd, Reservation};
use crate::manifest::counter::Decrease;
use crate::policy::{Counter, CounterFault, DelegationBound, Origin, Policy, counted};
use crate::task::flow::{Flow, StopKind, Stopped};
use crate::task::messages;
use crate::task::state::{
    Answer, AskedCounter, CallCounters, CounterReading, CounterUse, Decision, Finding, Pending, Progress,
    QuestionId, Request, Subject, Task, TaskState, UnderWay,
};
use std::collections::BTreeMap;

impl Task {
    /// Sees to it that a call has read its counters: passes, asks for them, or stops the call.
    pub(in crate::task) fn read_counters(
        &self,
        policy: &Policy,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> Flow {
        let Some(reader) = operation.subject.counter_reader() else { return Flow::Passed };
        let Some(counters) = operation.subject.counters() else { return Flow::Passed };
        let is_unavailable = match counters {
            CallCounters::Read(_) => return Flow::Passed,
            CallCounters::Unavailable => true,
            // a question whose answer was taken back is put again
            CallCounters::Unread | CallCounters::Asked(_) => false,
        };
        let of_parents = self.counters_of_parents(policy, &operation.subject, now);
        let first = policy.counters().of(reader).next().map(Counter::origin);
        let bound = || policy.delegation().map(DelegationBound::origin);
        let Some(first) = first.or_else(|| bound().filter(|_| !of_parents.is_empty())) else {
            return Flow::Passed;
        };
        if is_unavailable {
            let mut deciding = policy.counters().of(reader).filter(|counter| counter.decides(reader));
            let origin = deciding.next().map_or(first, Counter::origin).clone();
            return refused(operation, "counters_unavailable", messages::no_counters(), origin);
        }
        let mut values = Activations::new(self.bound(&operation.subject, &operation.course.results, now));
        let (mut asked, mut cost, mut fault) = (Vec::new(), 0_u64, None);
        // of counters by which nothing is decided
        let mut without = Vec::new();
        for counter in policy.counters().of(reader) {
            let (needed, spent) = counter.needed(reader, self.tree_root(), &mut values);
            cost = cost.saturating_add(spent);
            match needed {
                Ok(needed) => asked.push(AskedCounter {
                    policy: counter.policy.clone(),
                    name: counter.name.clone(),
                    id: needed.id,
                    window: counter.window,
                    add: needed.add,
                    is_whole: needed.is_whole,
                    is_secret: counter.is_secret,
                    is_below_zero: counter.decrease == Decrease::BelowZero,
                    is_observed: counter.is_observed,
                    is_tried: !counter.decides(reader),
                    reader: CounterReading::Own,
                }),
                Err(failed) if !counter.decides(reader) => without.push(failed),
                Err(failed) => {
                    fault = Some(failed);
                    break;
                }
            }
        }
        drop(values);
        operation.course.cost = operation.course.cost.saturating_add(cost);
        if let Some(CounterFault { code, message, origin }) = fault {
            return refused(operation, code, message, origin);
        }
        let told = without
            .into_iter()
            .map(|CounterFault { code, message, origin }| Finding::new(code, message, Some(origin)));
        operation.course.findings.extend(told);
        for counter in of_parents {
            match asked.iter_mut().find(|known| known.id == counter.id) {
                Some(known) => {
                    known.reader = CounterReading::Both;
                    known.is_tried &= counter.is_tried;
                }
                None => asked.push(counter),
            }
        }
        if asked.is_empty() {
            if let Some(counters) = operation.subject.counters_mut() {
                *counters = CallCounters::Read(Vec::new());
            }
            return Flow::Passed;
        }
        let counters = asked.iter().map(|counter| counter.id.clone()).collect();
        if let Some(known) = operation.subject.counters_mut() {
            *known = CallCounters::Asked(asked);
        }
        Flow::Asks(Request::Counters { counters })
    }

    /// Takes the counters that a call has asked for, and reserves what it adds.
    pub(in crate::task) fn count(&mut self, operation: &mut UnderWay, answer: Answer, now: Timestamp) {
        let id = operation.name().cloned();
        let UnderWay { subject, course, .. } = operation;
        let Some(known) = subject.counters_mut() else { return };
        let asked = match std::mem::replace(known, CallCounters::Unavailable) {
            CallCounters::Asked(asked) => asked,
            other => {
                *known = other;
                return;
            }
        };
        let states = match answer {
            Answer::Counters(states) if states.len() == asked.len() => states,
            _ => {
                if asked.iter().all(|counter| counter.is_tried) {
                    // the steps that are tried out fail, and nothing else does
                    course.findings.push(Finding::new("counters_unavailable", messages::no_counters(), None));
                    *known = CallCounters::Read(Vec::new());
                }
                return;
            }
        };
        let Some(id) = id else { return };
        // its own, too: of arguments that were changed, or under a policy of before
        self.release_what_is_over();
        self.holdings.end(id.as_str(), HoldEnd::Released);
        let mut values = Vec::with_capacity(asked.len());
        course.counters.clear();
        let mut of_parent = Vec::new();
        for (counter, state) in asked.into_iter().zip(states) {
            let AskedCounter {
                policy,
                name,
                id: counter,
                window,
                add,
                is_whole,
                is_secret,
                is_below_zero,
                is_observed: observed,
                is_tried,
                reader,
            } = counter;
            if !is_tried {
                // nothing is decided by the others, so nothing is to be decided anew because of them
                self.holdings.read(&counter, state.version);
            }
            let amount = counted(&state, window, is_below_zero, now);
            let amount = self.holdings.with_untold(&counter, amount);
            let shown = |amount| if is_secret { None } else { Some(amount) };
            course.counters.push(CounterUse {
                policy: policy.clone(),
                name: name.clone(),
                counted: shown(amount),
                adds: add.and_then(shown),
                observed,
            });
            if reader != CounterReading::Own {
                of_parent.push((counter.clone(), state));
            }
            if reader == CounterReading::Parent {
                continue;
            }
            values.push(CounterValue { policy, name, amount, is_whole });
            if let Some(amount) = add {
                let call = id.as_str().to_owned();
                self.holdings.reserve(Reservation { counter, window, call, amount });
            }
        }
        *known = CallCounters::Read(values);
        if let Subject::Call(call) = subject {
            call.parent_counters = of_parent;
        }
    }

    /// Gives back what calls hold that are under way no more.
    fn release_what_is_over(&mut self) {
        let (open, waiting, queue) = (&self.open, &self.waiting, &self.queue.waiting);
        let model = &self.model;
        self.holdings.release_unless(|call| {
            let under_way = |operation: &UnderWay| operation.name().is_some_and(|name| name.as_str() == call);
            open.iter().any(|open| open.id.as_str() == call)
                || model.open.iter().any(|open| open.id.as_str() == call)
                || waiting.iter().any(|pending| under_way(&pending.operation))
                || queue.iter().any(|queued| queued.held.as_deref().is_some_and(under_way))
        });
    }

    /// The counters that operations ask for, each once, in the order in which they asked. [`Task::settle_counters`] answers them.
    pub fn asked_counters(&self) -> Vec<CounterId> {
        let mut all: Vec<CounterId> = Vec::new();
        for (_, counters) in self.counter_questions() {
            for counter in counters {
                if !all.contains(counter) {
                    all.push(counter.clone());
                }
            }
        }
        all
    }

    fn counter_questions(&self) -> impl Iterator<Item = (QuestionId, &Vec<CounterId>)> {
        self.waiting.iter().filter_map(|Pending { id, request, .. }| match request {
            Request::Counters { counters } => Some((*id, counters)),
            _ => None,
        })
    }

    /// Answers each question for counters that an operation has put, and goes on with it, until no such question is open. In: how far the
    /// operation came, also one of several calls ([`Turned::into_decision`](crate::task::Turned::into_decision)), and a
    /// function that reads counters, which is asked for each counter once. Out: how far it came then: calls that have asked
    /// have their decisions in the places of their questions.
    ///
    /// What it reserves is in [`Task::take_counter_changes`]: a host makes these changes with the step or not at all.
    ///
    /// ```
    /// use celador::counter::{CounterBook, CounterId};
    /// use celador::{Engine, StartTask, Turn, Turned, Usage, User, VerdictKind, Call};
    /// # let manifests = r#"
    /// # kind: commonagents.info/v1beta2/tool
    /// # namespace: shop
    /// # name: payments
    /// # description: Moves money.
    /// # actions:
    /// #   - name: refund
    /// #     description: Pays money back.
    /// #     parameters: {properties: {amount: {type: number}}}
    /// #     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
    /// # ---
    /// # kind: commonagents.info/v1beta2/agent
    /// # namespace: shop
    /// # name: clerk
    /// # description: Answers customers.
    /// # prompt: You are a careful clerk.
    /// # capabilities:
    /// #   payments: {include: [refund]}
    /// # ---
    /// # kind: celador/v1/policy
    /// # namespace: shop
    /// # name: money
    /// # counters:
    /// #   spend: {on: payments, key: context.user.id, window: 24h, add: input.amount}
    /// # capabilities:
    /// #   payments:
    /// #     before:
    /// #       - assert: counters.spend + input.amount <= 100
    /// # "#;
    /// # let engine = Engine::parse("shop.yaml", manifests)?;
    /// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
    /// # let user = User { id: "u-7".into(), email: None, ..User::default() };
    /// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
    /// let mut book = CounterBook::default();
    /// let pay = |amount: i64| Call::new("payments", serde_json::json!({"amount": amount}).into());
    /// let turn = Turn { usage: Usage::default(), calls: vec![pay(70), pay(40), pay(30)] };
    /// let turned = task.turn(&turn, now)?.into_decision();
    /// let read = |counters: &[CounterId]| Ok::<_, celador::TaskError>(counters.iter().map(|counter| book.read(counter)).collect());
    /// let told = task.settle_counters(turned.into(), read, now)?;
    /// let celador::Progress::Decided(told) = told else { panic!("nobody is asked") };
    ///
    /// // what the first call reserves counts for the second, which gives it back for the third
    /// let verdicts: Vec<VerdictKind> = told.decided.iter().map(|call| call.decision.verdict.kind()).collect();
    /// assert_eq!(verdicts, [VerdictKind::Allow, VerdictKind::Block, VerdictKind::Allow]);
    /// let changes = task.take_counter_changes();
    /// assert_eq!(changes.reserve.iter().map(|it| it.amount.to_int()).collect::<Vec<_>>(), [70, 30]);
    /// book.apply("t-1", &changes, now)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the function: the task is then no more than an attempt, as the counters are still asked for.
    pub fn settle_counters<E>(
        &mut self,
        mut progress: Progress,
        mut read: impl FnMut(&[CounterId]) -> Result<Vec<CounterState>, E>,
        now: impl Into<Timestamp>,
    ) -> Result<Progress, E> {
        let now = now.into();
        let mut known: BTreeMap<CounterId, CounterState> = BTreeMap::new();
        loop {
            let mut unknown = self.asked_counters();
            unknown.retain(|counter| !known.contains_key(counter));
            if !unknown.is_empty() {
                let states = read(&unknown)?;
                known.extend(unknown.into_iter().zip(states));
            }
            let next = self.counter_questions().next();
            let Some((question, counters)) = next.map(|(id, counters)| (id, counters.clone())) else {
                return Ok(progress);
            };
            let states: Option<Vec<CounterState>> =
                counters.iter().map(|counter| known.get(counter).cloned()).collect();
            let answer = states.map_or(Answer::Failed, Answer::Counters);
            let came = match self.go_on_with(question, answer, now) {
                Ok(came) => came,
                Err(error) => Progress::Decided(Decision::turned_away(error.to_string())),
            };
            if self.counter_questions().any(|(id, _)| id == question) {
                // it takes no answer now, such as while an operator has stopped it
                return Ok(came);
            }
            progress = self.in_place_of(question, progress, came);
        }
    }

    /// How far an operation came, with what became of the question that it or one of its calls had put.
    fn in_place_of(&self, question: QuestionId, progress: Progress, came: Progress) -> Progress {
        let mut decision = match progress {
            Progress::Asks(asked) if asked.id == question => return came,
            asks @ Progress::Asks(_) => return asks,
            Progress::Decided(decision) => decision,
        };
        let mut told = self.told(came);
        let mut more = std::mem::take(&mut told.decided);
        let place =
            decision.decided.iter_mut().find(|call| call.decision.verdict.question() == Some(question));
        place.into_iter().for_each(|call| call.decision = told.clone());
        decision.decided.append(&mut more);
        Progress::Decided(decision)
    }

    /// What its operations have done to counters since this was last asked: what calls have reserved, spent and given back. A host makes
    /// these changes where it keeps its counters, in the transaction of the step, before it lets the step go on. When a
    /// change is refused ([`CounterConflict`](crate::counter::CounterConflict)) somebody was first: the task is dropped as it was before the step is
    /// restored, and the step decided anew.
    ///
    /// # Cost
    /// Linear in what its calls hold, times its calls under way.
    #[must_use]
    pub fn take_counter_changes(&mut self) -> CounterChanges {
        if self.holdings.is_empty() {
            return CounterChanges::default();
        }
        self.release_what_is_over();
        self.holdings.tell(matches!(self.state(), TaskState::Terminated(_)))
    }
}

/// A call is stopped because it has no counter to be judged by.
fn refused(operation: &mut UnderWay, code: &'static str, message: String, origin: Origin) -> Flow {
    operation.course.findings.push(Finding::new(code, message, Some(origin.clone())));
    Flow::Stopped(Stopped {
        kind: StopKind::Block,
        message: messages::blocked().into(),
        user_message: None,
        origin,
    })
}
