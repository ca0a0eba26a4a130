//! Templates that are rendered on a task (INT): prompts, messages, and the fields that a host forms a call from.
//!
//! In: a template, its kind, and what the host knows besides the task: settings, tokens, the parameters of a call. Secrets
//! are arguments here and nowhere else; they go into the text that comes out and into nothing of the task (INT-24).

use crate::cel::{Json, Timestamp, Value};
use crate::context::Moment;
use crate::policy::{BadPlaceholder, Placeholder, Template, setting};
use crate::task::state::Task;
use std::collections::BTreeMap;

/// Where a template stands: it decides which roots it has and what becomes of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// A field of a tool's `execute` (INT-03); a hole fails the call (INT-20).
    Tool,
    /// The same in `stateful_session`, which alone knows `session` (INT-06).
    Session,
    /// A system prompt (INT-11).
    Prompt,
    /// The message of an event or trigger (INT-12, INT-13).
    Event,
    /// The `error_message` of a step (INT-15), in which every brace must open a placeholder (INT-19).
    ErrorMessage,
}

/// Values for a template besides the task's own. All of them are optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'g> {
    /// Settings by their flat keys, which may hold dots (INT-04).
    pub settings: Option<&'g BTreeMap<String, Json>>,
    /// Tokens by provider (INT-08).
    pub auth: Option<&'g BTreeMap<String, String>>,
    /// The key of the function that is called; the settings of its tool have defaults (INT-23).
    pub function: Option<&'g str>,
    /// The resolved arguments (INT-05).
    pub parameters: Option<&'g Json>,
    /// The values that a session's `create` extracted.
    pub session: Option<&'g Json>,
    /// `input` of the step.
    pub input: Option<&'g Json>,
    /// `output` of the step.
    pub output: Option<&'g Json>,
    /// The event.
    pub event: Option<&'g Json>,
}

/// Why a template gives no text. The words are those of its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpolationError {
    /// `{input..x}` in an `error_message`
    #[error("`{0}` is no placeholder")]
    Malformed(String),
    /// `{foo.x}` in an `error_message`
    #[error("`{0}` is not known here")]
    UnknownRoot(String),
    /// `{parameters.x}` in a URL, without such a parameter
    #[error("`{0}` has no value")]
    Absent(String),
}

impl TemplateKind {
    fn roots(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &["settings", "parameters", "mount", "auth", "context", "runtime", "agent"],
            Self::Session => {
                &["settings", "parameters", "session", "mount", "auth", "context", "runtime", "agent"]
            }
            Self::Prompt => &["context", "runtime", "now"],
            Self::Event => &["event"],
            Self::ErrorMessage => &["context", "c", "input", "i", "output", "o", "event", "now", "runtime"],
        }
    }
}

impl Task {
    /// The system prompt as the model is to see it now; `None` if the agent has no prompt.
    #[must_use]
    pub fn render_prompt(&self, now: Timestamp) -> Option<String> {
        let now = Moment::from(now);
        let given = Given::default();
        let limits = &self.policy.limits().eval;
        self.policy
            .prompt()
            .map(|prompt| prompt.render(limits, |placeholder| self.value_at(placeholder, &given, &now)))
    }

    /// Renders a template. Linear in the template and the values.
    ///
    /// # Errors
    /// [`InterpolationError`], as the kind of template has it.
    pub fn interpolate(
        &self,
        kind: TemplateKind,
        template: &str,
        given: &Given<'_>,
        now: Timestamp,
    ) -> Result<String, InterpolationError> {
        let (now, limits) = (Moment::from(now), &self.policy.limits().eval);
        let is_root = |root: &str| kind.roots().contains(&root);
        let value = |placeholder: &Placeholder| self.value_at(placeholder, given, &now);
        let written = |placeholder: crate::source::Span| {
            template.get(placeholder.range()).unwrap_or_default().to_owned()
        };
        match kind {
            TemplateKind::ErrorMessage => match Template::strict(template, is_root) {
                Ok(template) => Ok(template.render(limits, value)),
                Err(bad) => Err(match bad.into_iter().next() {
                    Some(BadPlaceholder::UnknownRoot { root, .. }) => {
                        InterpolationError::UnknownRoot(root.into())
                    }
                    Some(BadPlaceholder::Malformed(span)) => InterpolationError::Malformed(written(span)),
                    None => InterpolationError::Malformed(String::new()),
                }),
            },
            TemplateKind::Tool | TemplateKind::Session => {
                let read = Template::lenient(template, is_root);
                read.render_whole(limits, value)
                    .map_err(|hole| InterpolationError::Absent(written(hole.span)))
            }
            TemplateKind::Prompt | TemplateKind::Event => {
                Ok(Template::lenient(template, is_root).render(limits, value))
            }
        }
    }

    fn value_at<'v>(
        &'v self,
        placeholder: &Placeholder,
        given: &Given<'v>,
        now: &'v Moment,
    ) -> Option<Value<'v>> {
        let json = |json: Option<&'v Json>| json.map(Json::value);
        let root = match &*placeholder.root {
            "settings" => return self.setting(placeholder, given),
            "auth" => {
                let provider = placeholder.dotted()?;
                return given.auth?.get(&provider).map(|token| Value::text(token));
            }
            "agent" => {
                let agent = self.policy.agent();
                return match placeholder.dotted()?.as_str() {
                    "name" => Some(Value::text(&agent.name.text)),
                    "namespace" => Some(Value::text(&agent.namespace.text)),
                    _ => None,
                };
            }
            "parameters" => json(given.parameters)?,
            "session" => json(given.session)?,
            "input" | "i" => json(given.input)?,
            "output" | "o" => json(given.output)?,
            "event" => json(given.event)?,
            "context" | "c" => self.context.value(),
            "runtime" => self.runtime.value(),
            "mount" => self.mount.as_ref()?.value(),
            "now" => now.value(),
            _ => return None,
        };
        placeholder.follow(root)
    }

    /// A setting, with the defaults of the tool whose function is called.
    fn setting<'v>(&'v self, placeholder: &Placeholder, given: &Given<'v>) -> Option<Value<'v>> {
        let function = given.function.and_then(|key| self.policy.function(self.policy.position(key)?));
        let defaults = function.map_or(&[][..], |function| &*function.setting_defaults);
        setting(placeholder, given.settings, defaults)
    }
}
