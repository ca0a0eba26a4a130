//! Bindings (BND): the values that a policy gives to parameters in the model's stead.
//!
//! In: a name and the text of a value: an expression, a bare word (BND-10) or a template of `{mount.…}` (BND-13). Out: a
//! [`Binding`] that gives one JSON value for each call. A bare word is the narrow exception that published manifests need:
//! anything else that names what the scope does not know is an error, so that a typo never becomes a constant (BND-12).

use super::expression::{Expression, JsonValue, Texts};
use super::messages;
use super::origin::Origin;
use super::shape::Shape;
use super::template::{PathStep, Placeholder, Template};
use crate::cel::{ErrorCode, EvalError, Fault, HostFunctions, Json, RESERVED, Stop, Value};
use crate::context::{Activations, Root, ScopeEnv};
use crate::diagnostic::Diagnostic;
use crate::manifest::binding::DeclaredBinding;
use crate::manifest::policy_step::PolicyStep;
use crate::source::{Place, Span};
use std::sync::Arc;

/// A compiled binding.
#[derive(Debug)]
pub struct Binding {
    /// The parameter that it supplies.
    pub name: Arc<str>,
    value: BindingValue,
    path: Box<str>,
    place: Place,
    step: Option<Arc<PolicyStep>>,
}

#[derive(Debug)]
enum BindingValue {
    /// A bare word.
    Word(Json),
    /// `{mount.prefix}out/`
    MountTemplate(Template, Arc<ScopeEnv>),
    /// Anything else.
    Expression(Expression),
}

impl Binding {
    /// Compiles a binding; what is wrong with it is reported.
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        written: &DeclaredBinding,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let text = &written.value;
        let value = if is_bare_word(&text.text, scope) {
            texts.findings.push(messages::bare_word(text.place.clone(), &text.text).path(&written.path));
            BindingValue::Word(Json::string(&text.text))
        } else if let Some(template) = mount_template(&text.text) {
            // the manifest layer has refused it where the agent has no mount (BND-14)
            BindingValue::MountTemplate(template, scope.clone())
        } else {
            BindingValue::Expression(Expression::compile(scope, text, &written.path, texts)?)
        };
        Some(Self {
            name: written.name.text.clone(),
            value,
            path: written.path.as_str().into(),
            place: text.place.clone(),
            step: texts.step.clone(),
        })
    }

    /// The value for one call.
    ///
    /// # Errors
    /// As [`Expression::json`]; `unbound` for a template of a mount that the task does not have.
    pub fn evaluate<'a>(
        &'a self,
        values: &mut Activations<'a>,
        host: Option<&mut dyn HostFunctions>,
    ) -> Result<JsonValue<'a>, Stop> {
        match &self.value {
            BindingValue::Word(word) => Ok(JsonValue::InPlace(word.value())),
            BindingValue::Expression(expression) => expression.json_value(values, host),
            BindingValue::MountTemplate(template, scope) => {
                let mount = values.bound().mount.map(|mount| mount.value());
                let value = |placeholder: &Placeholder| placeholder.follow(mount.clone()?);
                let text = template.render_whole(scope.env().limits(), value);
                let text = text.map_err(|placeholder| unbound(placeholder.span))?;
                Ok(JsonValue::InPlace(Value::owned_text(text)))
            }
        }
    }

    /// Whether nothing that it gives can fit: by its type, or because it is a constant that does not.
    pub(super) fn misfits(&self, shape: &Shape) -> bool {
        match &self.value {
            BindingValue::Word(word) => shape.check(&word.value()).is_err(),
            BindingValue::Expression(expression) => shape.excludes(expression),
            BindingValue::MountTemplate(..) => false,
        }
    }

    /// What is said of it if nothing that it gives can fit the parameter of this function.
    pub(super) fn told_of_misfit(&self, function: &str) -> Diagnostic {
        messages::binding_misfit(self.place.clone(), &self.name, function).path(&*self.path)
    }

    /// The same of a binding of a step that invokes the function.
    pub(super) fn told_of_invoke_misfit(&self, function: &str) -> Diagnostic {
        messages::invoke_misfit(self.place.clone(), &self.name, function).path(&*self.path)
    }

    /// Its expression, if it is one.
    #[must_use]
    pub fn expression(&self) -> Option<&Expression> {
        match &self.value {
            BindingValue::Expression(expression) => Some(expression),
            BindingValue::Word(_) | BindingValue::MountTemplate(..) => None,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::new(&self.path, &self.place).of(self.step.as_ref())
    }

    /// Where a part of its expression stands.
    #[must_use]
    pub fn origin_of(&self, part: Span) -> Origin {
        match &self.value {
            BindingValue::Expression(expression) => expression.origin_of(part),
            BindingValue::Word(_) | BindingValue::MountTemplate(..) => self.origin(),
        }
    }
}

fn unbound(span: Span) -> Stop {
    let Fault { code, found, .. } = ErrorCode::Unbound.into();
    Stop::Failed(EvalError { code, span, found, function: None, bound: None, detail: None })
}

/// Identifiers joined by single hyphens, none of them a variable or a word of CEL (BND-10). A variable of another scope
/// is none either: `input` in a binding is a mistake, and must not become a constant.
fn is_bare_word(text: &str, scope: &ScopeEnv) -> bool {
    let is_identifier = |word: &str| {
        let mut characters = word.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split('-').all(|word| {
        is_identifier(word)
            && !RESERVED.contains(&word)
            && !["true", "false", "null", "in"].contains(&word)
            && scope.env().variable(word).is_none()
            && !Root::ALL.iter().any(|root| root.name() == word || root.alias() == Some(word))
    })
}

/// A template whose placeholders are all of the mount, if the text is one (BND-13).
fn mount_template(text: &str) -> Option<Template> {
    let template = Template::strict(text, |root| root == "mount").ok()?;
    let known = ["bucket", "prefix", "backend"];
    let of_mount = |path: &[PathStep]| matches!(path, [PathStep::Key(key)] if known.contains(&&**key));
    let all = template.placeholders().all(|placeholder| of_mount(&placeholder.path));
    (all && template.placeholders().next().is_some()).then_some(template)
}

#[cfg(test)]
mod tests {
    use super::mount_template;

    #[test]
    fn only_placeholders_of_the_mount_make_a_template() {
        assert!(mount_template("{mount.prefix}").is_some());
        assert!(mount_template("gs://{mount.bucket}{mount.prefix}x").is_some());
        for text in [
            "{mount.nope}",
            "{mount.prefix}{context.user.id}",
            "mount.prefix",
            "{'a': 1}",
            "{mount.prefix.x}",
        ] {
            assert!(mount_template(text).is_none(), "{text}");
        }
    }
}
