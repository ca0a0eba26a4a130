//! The counters of the policies that are for an agent, compiled: what each adds ahead of the steps, whose it is behind them.
//!
//! In: a policy document and the functions that `on` selects; the compiled steps. Out: the type of `counters` for the steps;
//! then [`Counters`], by function. What a counter adds is compiled first, because its type is that of the counter; the key
//! comes last, because it is evaluated for the calls that read the counter, too. A counter that no step of the document reads
//! counts nothing, and that is a finding. Linear in the documents' steps times their counters.

use super::compiler::{Compiler, ScopeKey};
use super::counter::{Added, CountedModel, Counter, Counters};
use super::effect::Effect;
use super::expression::Expression;
use super::messages;
use super::model_call::request_type;
use super::of_agents::{OfPolicyStep, UseOfPolicy};
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
use crate::manifest::counter::{DeclaredCounter, Decrease};
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
        let mut added = Vec::new();
        for (counter, applied_counter) in applied.policy.counters.iter().zip(&applied.counters) {
            let functions: Vec<usize> =
                applied_counter.functions.iter().map(|at| self.position(*at)).collect();
            let amount = |compiler: &mut Self, text: Option<&Embedded>, key: &str, scope: ScopeKey| {
                let Some(text) = text else { return Some(None) };
                let path = format!("{}.{key}", counter.path);
                compiler.of_counter(applied, counter, text, &path, scope, is_number, "a number").map(Some)
            };
            // without a call that adds there is nothing to evaluate, and the type depends on other agents
            let unknown = counter.add.is_some() && functions.is_empty();
            let by_calls =
                amount(self, counter.add.as_ref().filter(|_| !unknown), "add", of_calls(functions));
            let by_model = amount(self, counter.model.as_ref(), "model", of_model_calls());
            let of_calls = match &by_calls {
                Some(Some(add)) => Some(number_type(add)),
                Some(None) if unknown => Some(Type::Dyn),
                Some(None) => Some(Type::Int).filter(|_| !counter.on.is_empty()),
                None => Some(Type::Dyn),
            };
            let of_model = match &by_model {
                Some(add) => add.as_ref().map(number_type),
                None => Some(Type::Dyn),
            };
            let ty = match (of_calls, of_model) {
                (Some(Type::Dyn), _) | (_, Some(Type::Dyn)) | (None, None) => Type::Dyn,
                (Some(calls), Some(model)) if calls != model => Type::Double,
                (Some(ty), _) | (None, Some(ty)) => ty,
            };
            fields.push((counter.name.text.clone(), ty.clone(), counter.decrease == Decrease::BelowZero));
            let is_limit_alone = self.is_limit_an_expression(applied, counter);
            let both = by_calls.zip(by_model).filter(|_| is_limit_alone);
            added.push(both.map(|(by_calls, by_model)| Added { by_calls, by_model, ty }));
        }
        let name = applied.name().to_string().into();
        self.counters.insert(at, (name, counters_type(fields)));
        self.added.insert(at, added);
    }

    /// Whether the limit of a counter is an expression by itself. Its step puts it in brackets, and it could close them.
    fn is_limit_an_expression(&mut self, applied: &AppliedPolicy, counter: &DeclaredCounter) -> bool {
        let Some(limit) = &counter.limit else { return true };
        let limits = &self.limits.eval;
        let Err(issues) = parse(&limit.text, limits) else { return true };
        // what is none in brackets either is reported where its step is compiled
        if parse(&format!("({}\n)", limit.text), limits).is_ok() {
            let path = format!("{}.limit", counter.path);
            let findings = issues.iter().map(|issue| messages::of_issue(issue, limit).path(&path)).collect();
            self.found_at(&applied.name(), &limit.place, findings);
        }
        false
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
                    self.found_at(&applied.name(), &counter.place, vec![finding]);
                    continue;
                }
                let own: BTreeSet<usize> =
                    applied_counter.functions.iter().map(|at| self.position(*at)).collect();
                let readers = readers(steps, &applied.name(), &counter.name.text);
                let needed: Vec<usize> = own.union(&readers.all).copied().collect();
                let deciding: Vec<usize> = match applied.policy.mode {
                    Mode::Observe => Vec::new(),
                    Mode::Enforce => own.union(&readers.deciding).copied().collect(),
                };
                let of_model = readers_of_model(steps, &applied.name(), &counter.name.text);
                let mut model = CountedModel {
                    is_needed: of_model.is_some() || counter.model.is_some(),
                    is_deciding: applied.policy.mode == Mode::Enforce
                        && (counter.model.is_some() || of_model == Some(Mode::Enforce)),
                    ..CountedModel::default()
                };
                let key = |compiler: &mut Self, is_needed: bool, scope: ScopeKey| {
                    let Some(text) = counter.key.as_ref().filter(|_| is_needed) else { return Some(None) };
                    let path = format!("{}.key", counter.path);
                    compiler.of_counter(applied, counter, text, &path, scope, is_text, "a text").map(Some)
                };
                let model_key = key(self, model.is_needed, of_model_calls());
                let key = key(self, !needed.is_empty(), of_calls(needed.clone()));
                let (Some(add), Some(key), Some(model_key)) = (add, key, model_key) else {
                    is_whole = false;
                    continue;
                };
                counters.by_function.resize(self.functions.len(), Vec::new());
                let position = counters.all.len();
                model.key = model_key;
                if model.is_needed {
                    counters.by_model.push(position);
                }
                for function in &needed {
                    counters.by_function.get_mut(*function).into_iter().for_each(|all| all.push(position));
                }
                let functions = (own.into_iter().collect(), needed, deciding);
                counters.all.push(self.counter((applied, counter), functions, key, add, model));
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
        add: Added,
        model: CountedModel,
    ) -> Counter {
        let Added { by_calls: add, by_model, ty } = add;
        let model = CountedModel { add: by_model, ..model };
        let is_made_of_secrets = |expression: &Expression, functions: &[usize]| {
            functions.iter().any(|function| {
                let function = u32::try_from(*function).ok().map(FunctionId);
                reads_secret(expression.program().expr(), &self.schema, function)
            })
        };
        // what is sent to a model repeats what the task was told and got, so anything of it may be secret
        let reads_request = |expression: &Expression| {
            let mut reads = false;
            for_each_path(expression.program().expr(), &mut |root, _| {
                reads |= Root::long_name(root) == Root::Input.name();
            });
            reads && !self.schema.secrets().is_empty()
        };
        let is_secret_of_model = |expression: &Expression| {
            reads_secret(expression.program().expr(), &self.schema, None) || reads_request(expression)
        };
        let adds_secret = add.as_ref().is_some_and(|add| is_made_of_secrets(add, &functions))
            || model.add.as_ref().is_some_and(is_secret_of_model);
        let has_secret_key = key.as_ref().is_some_and(|key| is_made_of_secrets(key, &needed))
            || model.key.as_ref().is_some_and(is_secret_of_model);
        let policy: Arc<str> = applied.name().to_string().into();
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
            model,
            is_whole: match ty {
                Type::Int => Some(true),
                Type::Double => Some(false),
                _ => None,
            },
            decrease: counter.decrease,
            scope: counter.scope,
            origin: Origin::new(&counter.path, &counter.place).of(Some(&applied.name())),
        }
    }

    /// Says so if a step shows a counter where it must not: one that decides and is of an observed policy, whose counters reach observed
    /// steps alone, or one whose credential is made of a counter that may be made of secrets.
    fn check_readers(&mut self, steps: &PolicySteps, counters: &Counters) {
        let all = steps.calls.iter().flat_map(|calls| calls.before_first.iter().chain(&calls.before));
        let all = all.chain(&steps.model_before);
        let mut found: Vec<(Option<Arc<PolicyStep>>, Place, Diagnostic)> = Vec::new();
        for step in all.filter(|step| step.reads_counters) {
            let is_of_observed = |counter: &Counter| counter.is_observed && counter.is_of_policy_of(step);
            if step.mode == Mode::Enforce && counters.iter().any(is_of_observed) {
                let finding = messages::observed_counters(step.place().clone()).path(&step.origin().path);
                found.push((step.name.clone(), step.place().clone(), finding));
            }
            let StepAction::Effect(Effect::Credential(asked)) = &step.action else { continue };
            for expression in asked.expressions() {
                if counters.show_secret(step, expression.program().expr()) {
                    let place = expression.place().clone();
                    let finding =
                        messages::secret_in_credential(place.clone()).path(&expression.origin().path);
                    found.push((step.name.clone(), place, finding));
                }
            }
        }
        for (of, place, finding) in found {
            of.into_iter().for_each(|of| self.found_at(&of, &place, vec![finding.clone()]));
        }
    }

    /// An expression of a counter, compiled for the calls of a scope; what is found stands apart, as for steps.
    #[expect(clippy::too_many_arguments, reason = "what a text is, where it stands, and what it may give")]
    fn of_counter(
        &mut self,
        applied: &AppliedPolicy,
        counter: &DeclaredCounter,
        text: &Embedded,
        path: &str,
        key: ScopeKey,
        fits: fn(&Type) -> bool,
        expected: &str,
    ) -> Option<Expression> {
        let scope = match key.scope {
            Scope::ModelBefore => self.scope(key, request_type(), Type::Dyn, Type::Dyn),
            _ => self.step_scope(key, &counter.name.text),
        };
        let known = self.texts.findings.len();
        self.texts.step = Some(applied.name());
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
            let can_lower = counter.decrease != Decrease::None;
            findings.extend(told_of_constant(text, &constant, can_lower).map(|finding| finding.path(path)));
        }
        self.found_at(&applied.name(), &text.place, findings);
        compiled.filter(|_| is_sound)
    }

    fn found_at(&mut self, of: &PolicyStep, place: &Place, findings: Vec<Diagnostic>) {
        let of = UseOfPolicy::of(of);
        self.texts.of_policies.push(OfPolicyStep { of, place: place.clone(), findings });
    }
}

/// What is said of a key or an amount that is a constant.
fn told_of_constant(text: &Embedded, constant: &Value<'_>, can_lower: bool) -> Option<Diagnostic> {
    match constant {
        Value::Int(..0) if can_lower => None,
        Value::Double(amount) if can_lower && *amount < 0.0 => None,
        Value::String(_) => Some(messages::constant_key(text)),
        Value::Int(..=0) | Value::UInt(0) => Some(messages::bad_counter_amount(text)),
        Value::Double(amount) if *amount <= 0.0 => Some(messages::bad_counter_amount(text)),
        _ => None,
    }
}

/// What decisions and stores call the policy: its name, or the way to it from the one that uses it. So two uses of one policy have
/// counters of their own.
/// The scope of what a counter asks of the calls of these functions.
fn of_calls(functions: Vec<usize>) -> ScopeKey {
    ScopeKey { functions, of_policy: true, ..ScopeKey::plain(Scope::BeforeCondition) }
}

/// The scope of what a counter asks of the calls of the model.
fn of_model_calls() -> ScopeKey {
    ScopeKey { of_policy: true, ..ScopeKey::plain(Scope::ModelBefore) }
}

/// The type of the amounts that an expression gives.
fn number_type(amount: &Expression) -> Type {
    match amount.program().result_type() {
        Type::UInt => Type::Int,
        other => other.clone(),
    }
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

/// Whether a step ahead of calls of the model reads a counter: the mode of one that does, which is that of a deciding step if there is one.
fn readers_of_model(steps: &PolicySteps, policy: &PolicyStep, counter: &str) -> Option<Mode> {
    let mut mode = None;
    let own = steps.model_before.iter().filter(|step| {
        step.name.as_ref().is_some_and(|name| name.name == policy.name && name.uses == policy.uses)
    });
    for step in own.filter(|step| step.reads_counters) {
        step.for_each_counter(&mut |name| {
            if name.is_none_or(|name| name == counter) && mode != Some(Mode::Enforce) {
                mode = Some(step.mode);
            }
        });
    }
    mode
}

/// Whether a step of the document reads a counter, whatever agents it is for.
fn is_read(policy: &DeclaredPolicy, counter: &str, compiler: &Compiler<'_>) -> bool {
    let mut is_read = false;
    let variables = policy.variables.iter().map(|variable| &variable.expression);
    let of_calls = || policy.capabilities.iter().flat_map(|key| key.before_first.iter().chain(&key.before));
    let steps = || of_calls().chain(&policy.model_before);
    let variables = variables.chain(policy.expressions.iter().map(|expression| &expression.value));
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
