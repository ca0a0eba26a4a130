//! Middleware steps, compiled (MW): what a step asks, does and says.
//!
//! In: the steps of one list of a manifest and the scopes that its expressions have. Out: [`Step`]s ready to run, or
//! diagnostics. A step that does not compile makes its agent invalid; none is ever left out of a list that runs.

use super::binding::Binding;
use super::effect::{Effect, SetArguments};
use super::excepted::Excepted;
use super::expansion::asking;
use super::expression::{Expression, Texts};
use super::labels::LabelStep;
use super::message::check_no_expression;
use super::messages;
use super::origin::Origin;
use super::read_path::for_each_path;
use super::step_text::{Shown, StepText};
use super::template::PathStep;
use crate::cel::{Expr, ExprKind, Literal};
use crate::context::{Activations, Bound, NamedStep, Root, ScopeEnv, Selector};
use crate::manifest::capability_key::sanitise;
use crate::manifest::mode::Mode;
use crate::manifest::policy_step::PolicyStep;
use crate::manifest::review::NoteReader;
use crate::manifest::step::{DeclaredAction, DeclaredStep, OnFail};
use crate::source::Place;
use std::sync::Arc;

/// A compiled step.
#[derive(Debug)]
pub struct Step {
    /// The action or event that it is for, sanitised (MW-22); all of them if absent.
    pub selects: Option<String>,
    /// The functions that it is for, by position. Where one of them has run, `before_first` is over for it (MW-39).
    pub functions: Box<[usize]>,
    /// Its position in the list that it is written in.
    pub index: usize,
    /// Its name, where it is one of a policy document.
    pub name: Option<Arc<PolicyStep>>,
    /// The condition under which it runs (MW-24); without one it always runs.
    pub condition: Option<Expression>,
    /// Its action.
    pub action: StepAction,
    /// The consequence of a failure.
    pub on_fail: OnFail,
    /// Whether something in it reads a counter, so that the counters of the call are read before it.
    pub reads_counters: bool,
    /// Whether it decides, or is only tried out.
    pub mode: Mode,
    /// The message of a failure (MW-34).
    message: Option<StepText>,
    /// What the user is told, beside.
    user_message: Option<StepText>,
    /// What a reviewer is asked.
    question: Option<StepText>,
    /// Who reads what a reviewer adds to their answer.
    pub note: NoteReader,
    /// The rule and its exceptions, apart, where it has some: what it asserts has them in it.
    pub(crate) excepted: Option<Excepted>,
    path: String,
    place: Place,
}

/// The action of a step.
#[derive(Debug)]
pub enum StepAction {
    /// An expression that must be truthy.
    Assert(Expression),
    /// An expression whose value replaces the value that is being handled: arguments, a result, an input or an output.
    Transform(Expression),
    /// A call that the model does not see.
    Invoke(Invoke),
    /// What it does to the call itself.
    Effect(Effect),
    /// Labels that the value gets or loses.
    Label(LabelStep),
}

/// The call of an invoke step.
#[derive(Debug)]
pub struct Invoke {
    /// The position of the function among those of the policy; `None` if the target is not loaded: the step then fails
    /// whenever it runs (MW-11).
    pub function: Option<usize>,
    /// The arguments that the step itself gives (BND-16).
    pub bindings: Vec<Binding>,
    /// The name under which later steps of its policy read the result: that of the step, if it has an id.
    pub result: Option<NamedStep>,
}

/// The scopes of the expressions of a step.
#[derive(Clone, Debug)]
pub(super) struct StepScopes {
    /// Of `assert`, `transform`, invoke bindings and `error_message`.
    pub(super) action: Arc<ScopeEnv>,
    /// Of `condition`.
    pub(super) condition: Arc<ScopeEnv>,
}

impl Step {
    /// Whether a step passes that may do nothing but assert, as it is before there is a task; nothing if its condition leaves it out
    /// (MW-24). An error passes nothing (TRG-03, MW-26).
    pub(super) fn asserts<'a>(&'a self, values: &mut Activations<'a>) -> Option<bool> {
        match self.condition.as_ref().map(|condition| condition.holds(values, None)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return None,
            Some(Err(_)) => return Some(false),
        }
        match &self.action {
            StepAction::Assert(assert) => Some(assert.holds(values, None).unwrap_or(false)),
            // the manifest layer refuses them there
            StepAction::Transform(_)
            | StepAction::Invoke(_)
            | StepAction::Label(_)
            | StepAction::Effect(_) => Some(false),
        }
    }

    /// Compiles a step that is for these functions. `target` is that of an invoke step.
    pub(super) fn compile(
        written: &DeclaredStep,
        scopes: &StepScopes,
        functions: &[usize],
        target: Option<usize>,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        texts.step.clone_from(&written.name);
        let step = Self::of_texts(written, scopes, functions, target, texts);
        texts.step = None;
        step
    }

    fn of_texts(
        written: &DeclaredStep,
        scopes: &StepScopes,
        functions: &[usize],
        target: Option<usize>,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let path = written.action_path();
        let condition = written.condition.as_ref().map(|text| {
            let path = format!("{}.condition", written.path);
            let compiled = Expression::compile(&scopes.condition, text, &path, texts);
            if let Some(truth) = decided(compiled.as_ref()) {
                let place = text.place.clone();
                let constant =
                    if truth { messages::needless_condition } else { messages::constant_condition };
                texts.findings.push(constant(place).path(&path));
            }
            compiled
        });
        let mut excepted = None;
        let action = match &written.action {
            DeclaredAction::Assert(text) => {
                let rule = written.excepted.as_ref().map_or(text, |excepted| &excepted.rule);
                let compiled = Expression::compile(&scopes.action, rule, &path, texts);
                if let Some(truth) = decided(compiled.as_ref())
                    && !compiled.as_ref().is_some_and(|compiled| is_meant(compiled, written.on_fail, texts))
                {
                    texts.findings.push(messages::constant(rule.place.clone(), truth).path(&path));
                }
                match &written.excepted {
                    None => compiled.map(StepAction::Assert),
                    Some(declared) => compiled.and_then(|rule| {
                        let (together, apart) =
                            Excepted::compile(declared, rule, &scopes.action, text, &path, texts)?;
                        excepted = Some(apart);
                        Some(StepAction::Assert(together))
                    }),
                }
            }
            DeclaredAction::Deny(text) | DeclaredAction::Limit(text) => {
                Expression::compile(&scopes.action, text, &path, texts).map(StepAction::Assert)
            }
            DeclaredAction::Transform(text) => {
                let compile = |texts: &mut Texts<'_>| Expression::compile(&scopes.action, text, &path, texts);
                texts.replacing(compile).map(StepAction::Transform)
            }
            DeclaredAction::Effect(effect) => {
                Effect::compile(&scopes.action, effect, &path, texts).map(StepAction::Effect)
            }
            DeclaredAction::Invoke(invoke) => {
                let compile = |binding| Binding::compile(&scopes.action, binding, texts);
                let bindings: Vec<_> = invoke.bindings.iter().filter_map(compile).collect();
                let complete = bindings.len() == invoke.bindings.len();
                let result = written
                    .name
                    .as_deref()
                    .and_then(|name| Some(NamedStep { policy: name.policy().into(), id: name.id.clone()? }));
                complete.then_some(StepAction::Invoke(Invoke { function: target, bindings, result }))
            }
            DeclaredAction::Label(labels) => {
                LabelStep::compile(labels, &scopes.action, &path, texts).map(StepAction::Label)
            }
        };
        for (text, key) in [
            (&written.error_message, "error_message"),
            (&written.user_message, "user_message"),
            (&written.question, "question"),
        ] {
            if let Some(text) = text {
                let path = format!("{}.{key}", written.path);
                check_no_expression(&scopes.action, text, &path, &mut texts.findings);
            }
        }
        let message = written.error_message.as_ref().map(|text| {
            let path = format!("{}.error_message", written.path);
            let compile = if written.name.is_some() { StepText::of_policy } else { StepText::of_manifest };
            compile(&scopes.action, text, &path, texts)
        });
        let user_message = written.user_message.as_ref().map(|text| {
            let path = format!("{}.user_message", written.path);
            StepText::of_policy(&scopes.action, text, &path, texts)
        });
        let question = written.question.as_ref().map(|text| {
            let path = format!("{}.question", written.path);
            if !may_ask(condition.as_ref(), action.as_ref()) {
                texts.findings.push(messages::question_never_asked(text.place.clone()).path(&path));
            }
            StepText::of_policy(&scopes.action, text, &path, texts)
        });
        let mut step_reads = false;
        let mut step = Self {
            selects: written.match_name.as_ref().map(|name| sanitise(&name.text)),
            functions: functions.into(),
            index: written.index,
            name: written.name.clone(),
            condition: transpose(condition)?,
            action: action?,
            on_fail: written.on_fail,
            reads_counters: false,
            mode: written.mode,
            message: transpose(message)?,
            user_message: transpose(user_message)?,
            question: transpose(question)?,
            note: written.note,
            excepted,
            path,
            place: written.place.clone(),
        };
        step.for_each_counter(&mut |_| step_reads = true);
        step.reads_counters = step_reads;
        Some(step)
    }

    /// What its texts show, in order.
    pub(super) fn shows(&self) -> impl Iterator<Item = Shown<'_>> {
        self.message.iter().chain(&self.user_message).chain(&self.question).flat_map(StepText::shows)
    }

    /// Whether one of its texts shows a part of the result of the call.
    #[must_use]
    pub fn shows_result(&self) -> bool {
        let is_result = |root: &str| Root::long_name(root) == Root::Output.name();
        self.shows().any(|shown| match shown {
            Shown::Path(placeholder) => is_result(&placeholder.root),
            Shown::Computed(expression) => {
                let mut reads = false;
                for_each_path(expression.program().expr(), &mut |root, _| reads |= is_result(root));
                reads
            }
        })
    }

    /// Whether it says something when it fails.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.message.is_some()
    }

    /// Whether it says something to the user when it fails.
    #[must_use]
    pub fn says_to_user(&self) -> bool {
        self.user_message.is_some()
    }

    /// The messages for the model and for the user, without the values that are shown in them.
    pub(crate) fn written_messages(&self) -> impl Iterator<Item = String> {
        let messages = self.message.iter().chain(&self.user_message);
        messages.map(|message| message.texts().collect::<Vec<_>>().join(" "))
    }

    /// Where it is written.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Names each counter that something in it reads; nothing for all of them at once.
    pub(super) fn for_each_counter(&self, found: &mut dyn FnMut(Option<&str>)) {
        self.for_each_member(Root::Counters, &mut |name, _| found(name));
    }

    /// Names each member of a root that something in it reads, with the place of the text; nothing for all of them at once.
    pub(super) fn for_each_member(&self, root: Root, found: &mut dyn FnMut(Option<&str>, &Place)) {
        let computed = self.shows().filter_map(|shown| match shown {
            Shown::Computed(expression) => Some(expression),
            Shown::Path(_) => None,
        });
        let root = root.name();
        for expression in self.expressions().chain(computed) {
            for_each_path(expression.program().expr(), &mut |name, path| {
                if name == root {
                    let member = match path.first() {
                        Some(Selector::Name(name)) => Some(&**name),
                        _ => None,
                    };
                    found(member, expression.place());
                }
            });
            for_each_presence(expression.program().expr(), root, &mut |name| {
                found(Some(name), expression.place());
            });
        }
        for shown in self.shows() {
            if let Shown::Path(placeholder) = shown
                && *placeholder.root == *root
            {
                let member = match placeholder.path.first() {
                    Some(PathStep::Key(name)) => Some(&**name),
                    _ => None,
                };
                found(member, &self.place);
            }
        }
    }

    /// Whether the step is for an action or event of this sanitised name.
    #[must_use]
    pub fn is_for(&self, name: &str) -> bool {
        self.selects.as_deref().is_none_or(|selected| selected == name)
    }

    /// The arguments that it gives other values to; nothing if it is a step of another kind.
    #[must_use]
    pub fn sets(&self) -> Option<&SetArguments> {
        match &self.action {
            StepAction::Effect(Effect::Set(set)) => Some(set),
            StepAction::Effect(_)
            | StepAction::Assert(_)
            | StepAction::Transform(_)
            | StepAction::Invoke(_)
            | StepAction::Label(_) => None,
        }
    }

    /// Whether all that it does concerns the call at hand, which goes on: it sets arguments or adds terms.
    #[must_use]
    pub fn is_about_call_alone(&self) -> bool {
        matches!(&self.action, StepAction::Effect(effect) if !matches!(effect, Effect::Respond(_)))
    }

    /// Whether it adds to what the call runs under, which no expression sees.
    #[must_use]
    pub fn adds_terms(&self) -> bool {
        self.is_about_call_alone() && self.sets().is_none()
    }

    /// The names of these arguments; `*` for all of them.
    #[must_use]
    pub fn names_set(&self) -> Vec<Arc<str>> {
        self.sets().map(SetArguments::names).unwrap_or_default()
    }

    /// Whether what it says when it fails has a place for what would have let the call pass: `{suggestion}`.
    #[must_use]
    pub fn suggests(&self) -> bool {
        self.message.as_ref().is_some_and(StepText::suggests)
    }

    /// What it says when it fails, rendered in its scope; nothing if its manifest says nothing. `suggestion` is what would have let the call pass. Rendering never fails: what
    /// is absent renders as the empty text (MW-53).
    #[must_use]
    pub fn message(&self, bound: &Bound<'_>, suggestion: &str) -> Option<String> {
        Some(self.message.as_ref()?.render(bound, suggestion, |_| false))
    }

    /// The same with [`MASK`](crate::context::MASK) in the place of whatever shows a secret; `None` if nothing does.
    #[must_use]
    pub fn masked_message(
        &self,
        bound: &Bound<'_>,
        suggestion: &str,
        is_secret: impl Fn(Shown<'_>) -> bool,
    ) -> Option<String> {
        self.message.as_ref()?.masked(bound, suggestion, is_secret)
    }

    /// What the user is told when it stops something, beside what the model is told; nothing if it says nothing to the user.
    #[must_use]
    pub fn user_message(&self, bound: &Bound<'_>) -> Option<String> {
        Some(self.user_message.as_ref()?.render(bound, "", |_| false))
    }

    /// The same with [`MASK`](crate::context::MASK) in the place of whatever shows a secret; `None` if nothing does.
    #[must_use]
    pub fn masked_user_message(
        &self,
        bound: &Bound<'_>,
        is_secret: impl Fn(Shown<'_>) -> bool,
    ) -> Option<String> {
        self.user_message.as_ref()?.masked(bound, "", is_secret)
    }

    /// What a reviewer is asked, rendered in its scope; nothing if its manifest does not say.
    #[must_use]
    pub fn question(&self, bound: &Bound<'_>) -> Option<String> {
        Some(self.question.as_ref()?.render(bound, "", |_| false))
    }

    /// The same with [`MASK`](crate::context::MASK) in the place of whatever shows a secret; `None` if nothing does.
    #[must_use]
    pub fn masked_question(
        &self,
        bound: &Bound<'_>,
        is_secret: impl Fn(Shown<'_>) -> bool,
    ) -> Option<String> {
        self.question.as_ref()?.masked(bound, "", is_secret)
    }

    /// The expression that it judges or replaces with, as it is written; nothing for a step of another kind.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match &self.action {
            StepAction::Assert(expression) | StepAction::Transform(expression) => Some(expression.source()),
            StepAction::Label(labels) => labels.computed().map(Expression::source),
            StepAction::Invoke(_) | StepAction::Effect(_) => None,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match &self.action {
            StepAction::Assert(expression) | StepAction::Transform(expression) => expression.origin(),
            StepAction::Invoke(_) | StepAction::Effect(_) | StepAction::Label(_) => {
                Origin::new(&self.path, &self.place).of(self.name.as_ref())
            }
        }
    }
}

/// Hands over each member of a root that an expression asks for by `has`.
fn for_each_presence(expr: &Expr, root: &str, found: &mut dyn FnMut(&str)) {
    if let ExprKind::Has { operand, field } = &expr.kind
        && matches!(&operand.kind, ExprKind::Ident { name, .. } if name == root)
    {
        found(&field.text);
    }
    expr.for_each_part(&mut |part| for_each_presence(part, root, found));
}

/// The truth of an expression that is decided before it runs: most of those were meant to ask something.
fn decided(compiled: Option<&Expression>) -> Option<bool> {
    compiled?.decided()
}

/// Whether a step may ask for a review; one that does not compile is not judged.
fn may_ask(condition: Option<&Option<Expression>>, action: Option<&StepAction>) -> bool {
    let asks = |expression: &Expression| asking(expression.program().expr()).is_some();
    let in_condition = condition.is_some_and(|condition| condition.as_ref().is_none_or(asks));
    in_condition
        || match action {
            Some(StepAction::Assert(expression) | StepAction::Transform(expression)) => asks(expression),
            // the tool that it invokes may ask
            Some(StepAction::Invoke(_)) | None => true,
            Some(StepAction::Effect(_) | StepAction::Label(_)) => false,
        }
}

/// Whether the constant value of an assert is meant. The word `false` alone is how an author says never, with a condition or without: nobody
/// writes it by mistake, it stops everything that reaches it, and Cedar's `forbid` and Rego's `deny := true` need no
/// message either. Under `on_fail: continue` it would stop nothing, and is a rule that is lost.
///
/// Where a policy denies by default, the word `true` alone says that calls of the function are allowed: it is the shortest rule that mentions it.
fn is_meant(compiled: &Expression, on_fail: OnFail, texts: &Texts<'_>) -> bool {
    match compiled.program().expr().kind {
        ExprKind::Literal(Literal::Bool(false)) => on_fail != OnFail::Continue,
        ExprKind::Literal(Literal::Bool(true)) => texts.denies_by_default,
        _ => false,
    }
}

/// Something that is absent, or that there is; nothing if it ought to be and does not compile.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether it was written, the inner whether it compiles"
)]
fn transpose<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        None => Some(None),
        Some(Some(part)) => Some(Some(part)),
        Some(None) => None,
    }
}
