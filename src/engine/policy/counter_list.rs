//! The counters of the policies that are for an agent, compiled: what each adds ahead of the steps, whose it is behind them.
//!
//! In: a policy document and the functions that `on` selects; the compiled steps. Out: the type of `counters` for the steps;
//! then [`Counters`], by function. What a counter adds is compiled first, because its type is that of the counter; the key
//! comes last, because it is evaluated for the calls that read the counter, too. A counter that no step of the document reads
//! counts nothing, and that is a finding. Linear in the documents' steps times their counters.

use super::compiler::{Compiler, ScopeKey};
use super::counter::{Added, Counter, Counters};
use super::effect::Effect;
use super::expression::Expression;
use super::messages;
use super::of_agents::OfPolicyStep;
use super::origin::Origin;
use super::policy_steps::PolicySteps;
use super::read_path::for_each_path;
use super::secrets::reads_secret;
use super::step::StepAction;
use crate::cel::{Type, Value, parse};
use crate::context::{FunctionId, Root, Scope, Selector, counters_type};
use crate::counter::observed_book;
use crate::diagnostic::Diagnostic;
use crate::manifest::catalog::AppliedPolicy;
use crate::manifest::counter::DeclaredCounter;
use crate::manifest::mode::Mode;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::policy_step::PolicyStep;
use crate::manifest::step::DeclaredStep;
use crate::source::{Embedded, Place};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Compiler<'_> {
    /// Compiles what the counters of a policy add, and keeps the type of `counters` for its steps.
    pub(super) fn declare_counters(&mut self, at: usize, applied: &AppliedPolicy) {
        if applied.policy.counters.is_empty() {
            return;
        }
        let mut fields = Vec::new();
        let mut added: Vec<Added> = Vec::new();
        for (counter, applied_counter) in applied.policy.counters.iter().zip(&applied.counters) {
            let functions: Vec<usize> =
                applied_counter.functions.iter().map(|at| self.position(*at)).collect();
            let (compiled, ty) = match &counter.add {
                None => (Some(None), Type::Int),
                // without a call that adds there is nothing to evaluate, and the type depends on other agents
                Some(_) if functions.is_empty() => (Some(None), Type::Dyn),
                Some(text) => {
                    let path = format!("{}.add", counter.path);
                    let compiled =
                        self.of_counter(applied, counter, text, &path, functions, is_number, "a number");
                    let ty = compiled.as_ref().map_or(Type::Dyn, |add| match add.program().result_type() {
                        Type::UInt => Type::Int,
                        other => other.clone(),
                    });
                    (compiled.map(Some), ty)
                }
            };
            fields.push((counter.name.text.clone(), ty));
            added.push(compiled);
        }
        let name = named(&applied.policy).to_string().into();
        self.counters.insert(at, (name, counters_type(fields)));
        self.added.insert(at, added);
    }

    /// The counters of all policies, by function. In: the steps of policies.
    pub(super) fn counters(&mut self, steps: &PolicySteps) -> Option<Counters> {
        let mut counters = Counters::default();
        let mut is_whole = true;
        let policies = &self.resolved.policies;
        for (at, applied) in policies.iter().enumerate() {
            let added = self.added.remove(&at).unwrap_or_default();
            self.texts.definitions = self.definitions.get(at).cloned();
            for ((counter, applied_counter), add) in
                applied.policy.counters.iter().zip(&applied.counters).zip(added)
            {
                if !is_read(&applied.policy, &counter.name.text, self) {
                    let finding = messages::unread_counter(&counter.name).path(&counter.path);
                    self.found_at(&counter.place, vec![finding]);
                    continue;
                }
                let own: BTreeSet<usize> =
                    applied_counter.functions.iter().map(|at| self.position(*at)).collect();
                let readers = readers(steps, &named(&applied.policy), &counter.name.text);
                let needed: Vec<usize> = own.union(&readers.all).copied().collect();
                let deciding: Vec<usize> = match applied.policy.mode {
                    Mode::Observe => Vec::new(),
                    Mode::Enforce => own.union(&readers.deciding).copied().collect(),
                };
                let key = counter.key.as_ref().filter(|_| !needed.is_empty()).map(|text| {
                    let path = format!("{}.key", counter.path);
                    self.of_counter(applied, counter, text, &path, needed.clone(), is_text, "a text")
                });
                let (Some(add), Some(key)) = (add, transposed(key)) else {
                    is_whole = false;
                    continue;
                };
                counters.by_function.resize(self.functions.len(), Vec::new());
                let position = counters.all.len();
                for function in &needed {
                    counters.by_function.get_mut(*function).into_iter().for_each(|all| all.push(position));
                }
                let counter =
                    self.counter((applied, counter), (own.into_iter().collect(), needed, deciding), key, add);
                counters.all.push(counter);
            }
        }
        self.texts.definitions = None;
        self.check_readers(steps, &counters);
        is_whole.then_some(counters)
    }

    /// A counter, with the functions whose calls add to it, that need it, and that are judged by it.
    fn counter(
        &self,
        (applied, counter): (&AppliedPolicy, &DeclaredCounter),
        (functions, needed, deciding): (Vec<usize>, Vec<usize>, Vec<usize>),
        key: Option<Expression>,
        add: Option<Expression>,
    ) -> Counter {
        let is_made_of_secrets = |expression: &Expression, functions: &[usize]| {
            functions.iter().any(|function| {
                let function = u32::try_from(*function).ok().map(FunctionId);
                reads_secret(expression.program().expr(), &self.schema, function)
            })
        };
        let adds_secret = add.as_ref().is_some_and(|add| is_made_of_secrets(add, &functions));
        let has_secret_key = key.as_ref().is_some_and(|key| is_made_of_secrets(key, &needed));
        let policy: Arc<str> = named(&applied.policy).to_string().into();
        let is_observed = applied.policy.mode == Mode::Observe;
        let book = if is_observed { observed_book(&policy).into() } else { policy.clone() };
        Counter {
            policy,
            name: counter.name.text.clone(),
            book,
            window: counter.window,
            is_secret: adds_secret || has_secret_key,
            is_observed,
            has_secret_key,
            deciding: deciding.into(),
            functions: functions.into(),
            has_key: counter.key.is_some(),
            key,
            add,
            origin: Origin::new(&counter.path, &counter.place).of(Some(&named(&applied.policy))),
        }
    }

    /// Says so if a step shows a counter where it must not: one that decides and is of an observed policy, whose counters reach observed
    /// steps alone, or one whose credential is made of a counter that may be made of secrets.
    fn check_readers(&mut self, steps: &PolicySteps, counters: &Counters) {
        let all = steps.calls.iter().flat_map(|calls| calls.before_first.iter().chain(&calls.before));
        let mut found: Vec<(Place, Diagnostic)> = Vec::new();
        for step in all.filter(|step| step.reads_counters) {
            let is_of_observed = |counter: &Counter| counter.is_observed && counter.is_of_policy_of(step);
            if step.mode == Mode::Enforce && counters.iter().any(is_of_observed) {
                let finding = messages::observed_counters(step.place().clone()).path(&step.origin().path);
                found.push((step.place().clone(), finding));
            }
            let StepAction::Effect(Effect::Credential(asked)) = &step.action else { continue };
            for expression in asked.expressions() {
                if counters.show_secret(step, expression.program().expr()) {
                    let place = expression.place().clone();
                    let finding =
                        messages::secret_in_credential(place.clone()).path(&expression.origin().path);
                    found.push((place, finding));
                }
            }
        }
        found.into_iter().for_each(|(place, finding)| self.found_at(&place, vec![finding]));
    }

    /// An expression of a counter, compiled for calls of these functions; what is found stands apart, as for steps.
    #[expect(clippy::too_many_arguments, reason = "what a text is, where it stands, and what it may give")]
    fn of_counter(
        &mut self,
        applied: &AppliedPolicy,
        counter: &DeclaredCounter,
        text: &Embedded,
        path: &str,
        functions: Vec<usize>,
        fits: fn(&Type) -> bool,
        expected: &str,
    ) -> Option<Expression> {
        let key = ScopeKey { functions, of_policy: true, ..ScopeKey::plain(Scope::BeforeCondition) };
        let scope = self.step_scope(key, &counter.name.text);
        let known = self.texts.findings.len();
        self.texts.step = Some(named(&applied.policy));
        let compiled = Expression::compile(&scope, text, path, &mut self.texts);
        self.texts.step = None;
        let mut findings = self.texts.findings.split_off(known);
        let found = compiled.as_ref().map(|compiled| compiled.program().result_type());
        let is_number = compiled.as_ref().is_some_and(Expression::is_some_number);
        let found = if is_number { Some(&Type::Double) } else { found };
        let misfit = found.filter(|found| !fits(found)).map(|found| {
            let what = path.rsplit('.').next().unwrap_or_default();
            messages::bad_counter_type(text, what, expected, found).path(path)
        });
        let is_sound = misfit.is_none();
        findings.extend(misfit);
        let constant = compiled.as_ref().and_then(|compiled| compiled.program().constant());
        if let Some(constant) = constant.filter(|_| is_sound) {
            findings.extend(told_of_constant(text, &constant).map(|finding| finding.path(path)));
        }
        self.found_at(&text.place, findings);
        compiled.filter(|_| is_sound)
    }

    fn found_at(&mut self, place: &Place, findings: Vec<Diagnostic>) {
        self.texts.of_policies.push(OfPolicyStep { place: place.clone(), findings });
    }
}

/// What is said of a key or an amount that is a constant.
fn told_of_constant(text: &Embedded, constant: &Value<'_>) -> Option<Diagnostic> {
    match constant {
        Value::String(_) => Some(messages::constant_key(text)),
        Value::Int(..=0) | Value::UInt(0) => Some(messages::bad_counter_amount(text)),
        Value::Double(amount) if *amount <= 0.0 => Some(messages::bad_counter_amount(text)),
        _ => None,
    }
}

/// What decisions and stores call the policy: its name, or the way to it from the one that uses it. So two uses of one policy have
/// counters of their own.
fn named(policy: &DeclaredPolicy) -> Arc<PolicyStep> {
    let (uses, labels) = match &policy.used_by {
        Some(by) => (by.uses.clone(), by.user.labels.clone()),
        None => (Vec::new(), policy.labels.clone()),
    };
    Arc::new(PolicyStep { name: policy.applied_name(), uses, id: None, severity: None, labels })
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::UInt | Type::Double | Type::Dyn)
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Dyn)
}

/// The functions of whose calls a step ahead reads a counter.
#[derive(Default)]
struct Readers {
    all: BTreeSet<usize>,
    /// Those of which a step does that is not only tried out.
    deciding: BTreeSet<usize>,
}

fn readers(steps: &PolicySteps, policy: &PolicyStep, counter: &str) -> Readers {
    let mut readers = Readers::default();
    for (function, calls) in steps.calls.iter().enumerate() {
        let own = calls.before_first.iter().chain(&calls.before);
        let own = own.filter(|step| {
            step.name.as_ref().is_some_and(|name| name.name == policy.name && name.uses == policy.uses)
        });
        for step in own.filter(|step| step.reads_counters) {
            step.for_each_counter(&mut |name| {
                if name.is_none_or(|name| name == counter) {
                    readers.all.insert(function);
                    if step.mode == Mode::Enforce {
                        readers.deciding.insert(function);
                    }
                }
            });
        }
    }
    readers
}

/// Whether a step of the document reads a counter, whatever agents it is for.
fn is_read(policy: &DeclaredPolicy, counter: &str, compiler: &Compiler<'_>) -> bool {
    let mut is_read = false;
    let variables = policy.variables.iter().map(|variable| &variable.expression);
    let steps = || policy.capabilities.iter().flat_map(|key| key.before_first.iter().chain(&key.before));
    for text in steps().flat_map(DeclaredStep::expressions).chain(variables) {
        let Ok(expression) = parse(&text.text, &compiler.limits.eval) else { continue };
        for_each_path(&expression, &mut |root, path| {
            let reads = match path.first() {
                Some(Selector::Name(name)) => name == counter,
                _ => true,
            };
            is_read |= root == Root::Counters.name() && reads;
        });
    }
    let mut messages = steps().flat_map(DeclaredStep::says);
    is_read || messages.any(|text| text.text.contains(&format!("counters.{counter}")))
}

/// A key that is absent, or that there is; nothing if it does not compile.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether it is sound, the inner whether it was written"
)]
fn transposed(key: Option<Option<Expression>>) -> Option<Option<Expression>> {
    match key {
        None => Some(None),
        Some(key) => key.map(Some),
    }
}
