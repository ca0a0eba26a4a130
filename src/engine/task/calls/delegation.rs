//! Delegation (DEL): what a child task begins with, and what comes of it for its parent.
//!
//! In: an invocation of an agent, later the child's last decision. Out: the start of the child, whose first input is the
//! invocation's arguments, and the result that the parent's call is answered with, both with the labels that they carry. Nothing else goes
//! from one to the other: a child has a context, limits and guardrails of its own (CTX-24, DEL-06), and its end is a result to its parent.

use crate::cel::{Json, Timestamp};
use crate::context::{LabelChange, LabelSet, Labelling, ValueSource};
use crate::policy::InvocationTarget;
use crate::task::messages;
use crate::task::state::{
    CallResult, CallStatus, Decision, Invocation, Parent, Pending, Request, StartTask, Task, User,
};

impl Task {
    /// The start of the child task of a delegation: the invoked agent, for the same user (DEL-06), on the same platform.
    /// It keeps as much of its calls as this task. `None` if the invocation is of a tool. The child's first input is [`Invocation::arguments`].
    #[must_use]
    pub fn child(&self, id: &str, invocation: &Invocation, started_at: Timestamp) -> Option<StartTask> {
        let InvocationTarget::Agent { namespace, agent } = &invocation.target else { return None };
        let parent = self.context.start();
        let user = User {
            id: parent.user_id.to_string(),
            email: parent.user_email.as_deref().map(str::to_owned),
            claims: parent.user_claims.clone(),
        };
        let is_it = |pending: &&Pending| pending.request == Request::Invoke(invocation.clone());
        let call =
            self.waiting.iter().find(is_it).and_then(|pending| pending.operation.subject.call()?.id.clone());
        let labels = self.labels_carried_by(&invocation.arguments);
        let parent = Some(Parent { task: self.id.clone(), call, labels });
        let start = StartTask::new(id, namespace, agent, user, started_at);
        Some(StartTask { runtime: self.runtime.clone(), parent, retain: self.retain, ..start })
    }
}

impl Task {
    /// The labels that a document takes along to another task. Where they cannot be found, all that the task has ever given.
    fn labels_carried_by(&self, document: &Json) -> LabelSet {
        let found = self.context.labels_of(document.root(), &self.policy.limits().eval);
        found.unwrap_or_else(|_| self.context.labellings().flat_map(|it| it.labels.iter().cloned()).collect())
    }

    /// Gives the first input the labels that came along with the delegation.
    pub(in crate::task) fn label_first_input(&mut self) {
        let labels = self.parent.as_ref().map(|parent| parent.labels.clone()).unwrap_or_default();
        let of = self.context.last_input_source();
        if let Some(of @ ValueSource::Input(0)) = of
            && !labels.is_empty()
        {
            self.context.label(Labelling { of, change: LabelChange::Given, labels, by: None });
        }
    }
}

impl CallResult {
    /// The result of a delegation (DEL-02): the response that the child delivered, `{message, …exposes}`, or an error with the
    /// reason why there is no response. A child that was locked or ran into a limit leaves its parent at work.
    #[must_use]
    pub fn delegated(child: &Task, decision: &Decision) -> Self {
        let (status, output) = match &decision.value {
            Some(response) if decision.is_allowed() => (CallStatus::Successful, response.clone()),
            _ => {
                let why = decision.message.as_deref().unwrap_or(decision.verdict.as_str());
                let output = Json::object([("error", Json::string(&messages::child_failed(why)))]);
                (CallStatus::Errored, output)
            }
        };
        let labels = child.labels_carried_by(&output);
        Self { status, output, task_id: Some(child.id.clone()), labels }
    }
}
