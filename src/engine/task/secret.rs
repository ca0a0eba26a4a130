//! What views show of a task: the one place that decides what is masked.
//!
//! In: decisions, requests and bodies as they are. Out: the same with `***` in the place of whatever a manifest marks as
//! secret. Everything that shows a task to somebody who does not carry it out goes through here or, for its context, through
//! [`TaskContext::page`](crate::context::TaskContext::page): both ask the schema of the task's policy. What is decided,
//! carried out and stored is never masked. A decision carries the places of its secrets along, so it can be shown when its policy
//! is not there any more.

use super::flow::function_id;
use super::state::{
    Allowed, CallStatus, CallUnderWay, DecidedCall, Decision, Hidden, Invocation, Made, ObservedStep,
    Request, Subject, Task, Terms, TraceEntry, Verdict,
};
use crate::cel::{Json, JsonRef};
use crate::context::{MASK, SecretView, TaskSecrets, mask_places};
use crate::policy::{Expression, Policy, Shown, Step, reads_secret};
use serde::Deserialize;

impl Decision {
    /// The decision as views show it. The same places are named in it, so that who reads `***` knows that it was masked.
    #[must_use]
    pub fn masked(mut self) -> Self {
        for TraceEntry { message, shown, .. } in &mut self.trace {
            if let Some(shown) = shown.take() {
                *message = Some(shown);
            }
        }
        if let Verdict::Allow(Allowed { terms: Some(terms), .. }) = &mut self.verdict {
            terms.mask();
        }
        for ObservedStep { message, shown, .. } in &mut self.observed {
            if let Some(shown) = shown.take() {
                *message = Some(shown);
            }
        }
        if let Some(enforced) = &mut self.enforced
            && let Some(shown) = enforced.shown.take()
        {
            enforced.message = Some(shown);
        }
        let shown = |call: DecidedCall| DecidedCall { decision: call.decision.masked(), ..call };
        self.decided = self.decided.into_iter().map(shown).collect();
        let Some(mut hidden) = self.secret.take() else { return self };
        if let Some(value) = self.verdict.value_mut() {
            *value = mask_places(value, &hidden.value);
        }
        if let Verdict::Allow(Allowed { exposes: Some(exposes), .. }) = &mut self.verdict {
            *exposes = mask_places(exposes, &hidden.exposes);
        }
        let (message, user_message) = (hidden.message.take(), hidden.user_message.take());
        if let Some(refused) = self.verdict.refused_mut() {
            if let Some(shown) = message {
                if refused.reason.as_deref() == Some(&*refused.message) {
                    refused.reason = Some(shown.clone());
                }
                refused.message = shown;
            }
            refused.user_message = user_message.or_else(|| refused.user_message.take());
        }
        self.secret = hidden.some();
        self
    }

    /// A stored decision, as JSON, as views show it. A decision without secrets comes back unchanged, to the byte.
    ///
    /// # Errors
    /// The text is not a decision, or not one of this release.
    pub fn masked_json(stored: String) -> Result<String, serde_json::Error> {
        #[derive(Deserialize)]
        struct Marks {
            #[serde(default)]
            secret: Option<serde::de::IgnoredAny>,
            #[serde(default)]
            trace: Vec<Mark>,
            #[serde(default)]
            observed: Vec<Mark>,
            #[serde(default)]
            enforced: Option<Mark>,
            #[serde(default)]
            terms: Option<Terms>,
            #[serde(default)]
            decided: Vec<Nested>,
        }
        #[derive(Deserialize)]
        struct Nested {
            decision: Marks,
        }
        #[derive(Deserialize)]
        struct Mark {
            #[serde(default)]
            shown: Option<serde::de::IgnoredAny>,
        }
        impl Marks {
            fn none(&self) -> bool {
                self.secret.is_none()
                    && self.terms.as_ref().is_none_or(|terms| !terms.has_secrets())
                    && self
                        .trace
                        .iter()
                        .chain(&self.observed)
                        .chain(&self.enforced)
                        .all(|it| it.shown.is_none())
                    && self.decided.iter().all(|nested| nested.decision.none())
            }
        }
        if serde_json::from_str::<Marks>(&stored)?.none() {
            return Ok(stored);
        }
        serde_json::to_string(&serde_json::from_str::<Self>(&stored)?.masked())
    }
}

impl Request {
    /// The request as views show it where no policy says what of it is secret: the names in it are there and no value.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mask = || MASK.to_owned();
        match self {
            Self::Invoke(invocation) => {
                let names = invocation.arguments.root().entries().map(|(name, _)| (name, Json::string(MASK)));
                let terms = invocation.terms.clone().map(Terms::masked);
                Self::Invoke(Invocation { arguments: Json::object(names), terms, ..invocation.clone() })
            }
            Self::Review { .. } | Self::Counters { .. } => self.clone(),
            Self::ReadMount { .. } => Self::ReadMount { path: mask() },
            Self::WriteMount { .. } => Self::WriteMount { path: mask(), text: mask() },
            Self::MeasureFile { .. } => Self::MeasureFile { path: mask() },
        }
    }
}

impl Policy {
    /// Which places of its tasks are secret.
    #[must_use]
    pub fn secrets(&self) -> &TaskSecrets {
        self.schema().secrets()
    }

    /// A request to the host as views show it. Files hold what a tool reads and writes, which no schema is about: where
    /// anything of the task is secret, their paths and texts are.
    #[must_use]
    pub fn masked_request(&self, request: &Request) -> Request {
        let function = |invocation: &Invocation| self.position(&invocation.function).map(function_id);
        match request {
            _ if self.secrets().is_empty() => request.clone(),
            Request::Invoke(invocation) if let Some(function) = function(invocation) => {
                let arguments = self.secrets().arguments(Some(function)).mask(&invocation.arguments);
                let terms = invocation.terms.clone().map(Terms::masked);
                Request::Invoke(Invocation { arguments, terms, ..invocation.clone() })
            }
            other => other.masked(),
        }
    }

    /// Where [`Policy::masked_request`] masks a request, as JSON pointers into it.
    #[must_use]
    pub fn secret_places(&self, request: &Request) -> Vec<String> {
        if self.secrets().is_empty() {
            return Vec::new();
        }
        let whole = |members: &[&str]| members.iter().map(|member| (*member).to_owned()).collect();
        match request {
            Request::Invoke(invocation) => {
                let arguments = invocation.arguments.root();
                let places = match self.position(&invocation.function) {
                    Some(function) => self.secrets().arguments(Some(function_id(function))).places(arguments),
                    None => arguments.entries().map(|(name, _)| place(name)).collect(),
                };
                places.into_iter().map(|place| format!("/invoke/arguments{place}")).collect()
            }
            // a counter goes by its key, and by a digest of one that is made of a secret
            Request::Review { .. } | Request::Counters { .. } => Vec::new(),
            Request::ReadMount { .. } => whole(&["/read_mount/path"]),
            Request::WriteMount { .. } => whole(&["/write_mount/path", "/write_mount/text"]),
            Request::MeasureFile { .. } => whole(&["/measure_file/path"]),
        }
    }

    /// Arguments as the model wrote them, as views show them. What the function does not declare may be a misspelt secret
    /// if it has any; so may all arguments of a function that is not known.
    #[must_use]
    pub fn masked_arguments(&self, function: &str, given: &Json) -> Json {
        let position = self.position(function);
        let view = self.secrets().arguments(position.map(function_id));
        let function = position.and_then(|position| self.function(position));
        let declares = |name: &str| {
            let mut parameters = function.into_iter().flat_map(|function| function.parameters.iter());
            function.is_some_and(|function| function.parameters.is_open())
                || parameters.any(|parameter| *parameter.name == *name)
        };
        masked_members(&view, given, declares)
    }

    /// The result of a call, as views show it. A result that breaks its schema is masked like that of a failed call, because it may
    /// hold a secret anywhere.
    #[must_use]
    pub fn masked_result(&self, function: &str, status: CallStatus, output: &Json) -> Json {
        let position = self.position(function);
        let declared = position.and_then(|position| self.function(position)?.output.as_ref());
        let fits = declared.is_none_or(|declared| declared.check(output).is_ok());
        let is_success = status == CallStatus::Successful && fits;
        self.secrets().outcome(position.map(function_id), is_success).mask(output)
    }

    /// What is sent to a model, or what it has answered, as views show it: nothing of it where anything of a task is secret, as nobody
    /// knows what of the task it repeats.
    #[must_use]
    pub fn masked_of_model(&self, document: &Json) -> Json {
        if self.secrets().is_empty() { document.clone() } else { Json::string(MASK) }
    }

    /// An input as it was sent, or as it was admitted, as views show it: a text alone is its message.
    #[must_use]
    pub fn masked_input(&self, given: &Json) -> Json {
        let view = self.secrets().input.view();
        if given.root().as_str().is_some() {
            return view.member("message").mask(given);
        }
        let declares =
            |name: &str| name == "message" || self.input().iter().any(|parameter| *parameter.name == *name);
        masked_members(&view, given, declares)
    }
}

/// The JSON pointer to a member of an object.
fn place(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The members of an object, of which those that are not declared are secret if any is.
fn masked_members(view: &SecretView<'_>, given: &Json, declares: impl Fn(&str) -> bool) -> Json {
    if view.is_empty() || given.root().is_null() {
        return given.clone();
    }
    if view.is_whole() || !given.root().is_object() {
        return Json::string(MASK);
    }
    let shown = |(name, value): (_, JsonRef<'_>)| {
        let value =
            if declares(name) { view.member(name).mask(&value.to_json()) } else { Json::string(MASK) };
        (name, value)
    };
    Json::object(given.root().entries().map(shown))
}

impl Task {
    /// The request of the pending operation, as views show it.
    #[must_use]
    pub fn masked_request(&self) -> Option<Request> {
        self.request().map(|request| self.policy.masked_request(request))
    }

    /// What is secret of the arguments of a call that is let through.
    pub(super) fn hidden_arguments(&self, function: usize, arguments: &Json) -> Option<Box<Hidden>> {
        let view = self.policy.secrets().arguments(Some(function_id(function)));
        Hidden { value: view.places(arguments.root()), ..Hidden::default() }.some()
    }

    /// What is secret of what the model receives of a call. What a transform made is not what the function's schema is
    /// about: it is secret as a whole if a secret went into it.
    pub(super) fn hidden_result(&self, call: &CallUnderWay, value: Option<&Json>) -> Option<Box<Hidden>> {
        let view = match call.made {
            Made::ByFunction => self.policy.secrets().result(Some(function_id(call.function))),
            Made::OfSecrets => SecretView::whole(),
            Made::OfOthers => SecretView::nothing(),
        };
        let places = value.map(|value| view.places(value.root())).unwrap_or_default();
        Hidden { value: places, ..Hidden::default() }.some()
    }

    /// What is secret of an admitted input.
    pub(super) fn hidden_input(&self, entry: Option<&Json>) -> Option<Box<Hidden>> {
        let view = self.policy.secrets().input.view();
        let value = entry.map(|entry| view.places(entry.root())).unwrap_or_default();
        Hidden { value, ..Hidden::default() }.some()
    }

    /// What is secret of a delivered response: exposed values that are made of secrets.
    pub(super) fn hidden_response(&self, exposes: Option<&Json>) -> Option<Box<Hidden>> {
        let secrets = self.policy.secrets();
        let names = exposes.into_iter().flat_map(|exposes| exposes.root().entries().map(|(name, _)| name));
        let secret = names.filter(|name| !secrets.exposed(name).is_empty());
        let places: Vec<String> = secret.map(place).collect();
        Hidden { value: places.clone(), exposes: places, ..Hidden::default() }.some()
    }

    /// What is secret of what a script came to: all of it, as nobody looks into what it makes of its calls' results.
    pub(super) fn hidden_of_script(&self) -> Option<Box<Hidden>> {
        let is_open = self.policy.secrets().is_empty();
        let value = if is_open { Vec::new() } else { vec![String::new()] };
        Hidden { value, ..Hidden::default() }.some()
    }

    /// Whether a step's message shows a secret in one of its places. What an expression makes of a secret counts as one.
    pub(super) fn shows_secret(&self, step: &Step, subject: &Subject, shown: Shown<'_>) -> bool {
        let (call, counters) = (subject.call(), self.policy.counters());
        if matches!(subject, Subject::Model(_)) {
            // what is sent to a model repeats what the task was told and got, so anything of it may be secret
            return !self.policy.secrets().is_empty();
        }
        let placeholder = match shown {
            Shown::Path(placeholder) if counters.show_secret_path(step, placeholder) => return true,
            Shown::Path(placeholder) => placeholder,
            Shown::Computed(expression) if counters.show_secret(step, expression.program().expr()) => {
                return true;
            }
            Shown::Computed(expression) => {
                let function = call.map(|call| function_id(call.function));
                return call.is_some_and(|call| call.made == Made::OfSecrets)
                    || reads_secret(expression.program().expr(), self.policy.schema(), function);
            }
        };
        if &*placeholder.root == "output" && call.is_some_and(|call| call.made == Made::OfSecrets) {
            return true;
        }
        let function = call.map(|call| function_id(call.function));
        self.policy.schema().meets_secret(function, &placeholder.root, &placeholder.selectors())
    }

    /// What a step answers in the place of a tool.
    pub(super) fn responded_by(&self, step: &Step, call: &CallUnderWay, response: &Expression) -> Made {
        if self.policy.counters().show_secret(step, response.program().expr()) {
            return Made::OfSecrets;
        }
        self.made_by(call, response)
    }

    /// What a transform makes of the result of a call.
    pub(super) fn made_by(&self, call: &CallUnderWay, transform: &Expression) -> Made {
        let function = Some(function_id(call.function));
        let of_secrets = call.made == Made::OfSecrets
            || reads_secret(transform.program().expr(), self.policy.schema(), function);
        if of_secrets { Made::OfSecrets } else { Made::OfOthers }
    }
}
