//! `set:` of policy documents: other values for arguments of a call that is about to run.
//!
//! In: the values that a step computes, one after the other or as one map of all arguments, from the arguments as the steps before have left them. Out: the arguments that
//! every other step sees and the call runs with. They keep to the schemas of their parameters after each step, and no value
//! reaches a parameter that the agent binds. Where somebody has approved of the arguments before, the approval lapses.

use super::compute::NotComputed;
use super::flow::StepEnd;
use super::size;
use super::state::{
    CallCounters, CallUnderWay, Exchange, Finding, Results, Rewriting, Subject, Task, UnderWay,
};
use crate::cel::{Json, Remembered};
use crate::context::Moment;
use crate::policy::{Policy, SetArguments, Step};

impl Task {
    /// Runs a step that sets arguments.
    pub(super) fn rewrite(
        &mut self,
        policy: &Policy,
        step: &Step,
        values: &SetArguments,
        operation: &mut UnderWay,
        now: &Moment,
    ) -> StepEnd {
        let UnderWay { subject, course, .. } = operation;
        let answers = (&*course.exchanges, &*course.approved);
        self.context.open_pseudonyms();
        let (set, cost) = self.set(policy, step, values, (subject, &course.results), answers, now);
        self.context.close_pseudonyms(set.is_ok());
        course.cost = course.cost.saturating_add(cost);
        let arguments = match set {
            Ok(arguments) => arguments,
            Err(why) => return why.end(course),
        };
        // what observed steps would have made of the arguments is rewritten as well
        if let Some(tried) = with_arguments(subject, course.tried.as_ref()) {
            let (set, cost) = self.set(policy, step, values, (&tried, &course.results), answers, now);
            course.cost = course.cost.saturating_add(cost);
            if let Ok(arguments) = set {
                course.tried = Some(arguments);
            }
        }
        if let Subject::Call(call) = subject
            && call.arguments != arguments
        {
            call.arguments = arguments;
            // what the call adds, and to whose counter, may be something else now
            call.counters = CallCounters::Unread;
            if !course.approved.is_empty() {
                course.rewriting = Rewriting::Lapsed;
            }
        }
        StepEnd::Passed
    }

    /// The arguments that a call has after a step that sets some of them, and what their values cost.
    pub(super) fn set(
        &self,
        policy: &Policy,
        step: &Step,
        computed: &SetArguments,
        (subject, results): (&Subject, &Results),
        answers: (&[Exchange], &[String]),
        now: &Moment,
    ) -> (Result<Json, NotComputed>, u64) {
        let about = (subject, results);
        let (values, cost) =
            self.compute(step, computed.expressions(), about, answers, &mut Remembered::default(), now);
        let set = values.and_then(|values| self.put(policy, step, subject, computed, values));
        (set, cost)
    }

    fn put(
        &self,
        policy: &Policy,
        step: &Step,
        subject: &Subject,
        computed: &SetArguments,
        values: Vec<Json>,
    ) -> Result<Json, NotComputed> {
        let failed = |code: &'static str, text: String| Finding::new(code, text, Some(step.origin()));
        let target = subject.call().and_then(|call| Some((call, policy.function(call.function)?)));
        let Some((call, function)) = target else { return Err(NotComputed::Failed(Vec::new())) };
        let limits = policy.limits();
        let (parameters, held, eval) = (&function.parameters, &call.arguments, &limits.eval);
        let arguments = match (computed, values.as_slice()) {
            (SetArguments::Each(computed), _) => {
                let names = computed.iter().map(|computed| computed.name.clone());
                parameters.rewrite(held, &names.zip(values).collect::<Vec<_>>(), eval)
            }
            (SetArguments::Whole(_), [whole]) => parameters.replace(held, whole, eval),
            (SetArguments::Whole(_), _) => Err(Vec::new()),
        };
        let arguments = arguments.map_err(|faults| {
            NotComputed::Failed(faults.into_iter().map(|fault| failed("bad_arguments", fault)).collect())
        })?;
        let more = size::of(&arguments).saturating_sub(size::of(&call.arguments));
        if self.bytes().saturating_add(more) > limits.max_task_bytes {
            let text = super::messages::no_room_for_arguments(limits.max_task_bytes);
            return Err(NotComputed::Failed(vec![failed("limit_exceeded", text)]));
        }
        Ok(arguments)
    }
}

/// The same subject with other arguments, if there are others.
pub(super) fn with_arguments(subject: &Subject, arguments: Option<&Json>) -> Option<Subject> {
    let (call, arguments) = (subject.call()?, arguments?.clone());
    Some(Subject::Call(CallUnderWay { arguments, ..call.clone() }))
}
