//! Whether the entries of a task, its inputs and its responses, can have other keys than those that are declared.
//!
//! In: what an agent's context consists of, and the agent. Out: the same with the answer. What is not declared is dropped
//! when an entry comes in (PAR-07), so only a transform can add a key: one that gives a map puts it in the place of the
//! whole entry (GR-11, GR-12, EVT-13). One that gives text or parts leaves the keys as they are. Where one may be, nothing is known of the values of
//! parameters but their types. Linear in the transforms.

use super::definitions::Definitions;
use super::expansion::{Expansion, may_refer};
use super::parameters::{InputOf, Parameters};
use crate::cel::{
    Checked, Expr, ExprKind, Kind, LANGUAGE, Literal, Program, RecordType, Storage, Type, check, parse,
};
use crate::context::{ContextSchema, SchemaDecl, Scope, ScopeDecl, ScopeEnv};
use crate::limits::EvalLimits;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{CapabilityEntry, ResolvedAgent};
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::{DeclaredAction, DeclaredStep};
use crate::source::Embedded;
use std::sync::Arc;

/// Says of the entries whether they have the declared keys only.
/// `definitions` are the names of each of its policies.
pub(super) fn close(
    declared: &mut SchemaDecl,
    resolved: &ResolvedAgent,
    definitions: &[Arc<Definitions>],
    limits: &EvalLimits,
) {
    (declared.closed_inputs, declared.closed_outputs) = (true, true);
    let guardrails = &resolved.agent.guardrails;
    let of_policies = |steps: fn(&DeclaredPolicy) -> &[DeclaredStep]| {
        let policies = resolved.policies.iter().zip(definitions);
        policies.flat_map(move |(applied, definitions)| transforms(steps(&applied.policy), Some(definitions)))
    };
    let mut before = transforms(&guardrails.before, None);
    before.extend(of_policies(|policy| &policy.guardrails_before));
    let mut after = transforms(&guardrails.after, None);
    after.extend(of_policies(|policy| &policy.guardrails_after));
    let of_events = resolved.capabilities.iter().flat_map(|entry| of_events(entry, resolved));
    let of_events = transforms(of_events, None);
    if before.is_empty() && after.is_empty() && of_events.is_empty() {
        return;
    }
    if !(before.is_empty() && of_events.is_empty()) {
        declared.domains.clear();
    }
    let Ok(schema) = ContextSchema::new(declared) else { return };
    let keep = |scope: Scope, transforms: &[Transform<'_>], entry: &RecordType| {
        let [of_manifest, of_policy] = [false, true].map(|of_policy| env(scope, of_policy, &schema, limits));
        transforms.iter().all(|transform| {
            let env = if transform.definitions.is_some() { &of_policy } else { &of_manifest };
            keeps_keys(env, transform, entry)
        })
    };
    let (input, output) = (schema.input_type(), schema.output_type());
    declared.closed_inputs =
        keep(Scope::GuardrailBefore, &before, input) && keep(Scope::After, &of_events, input);
    declared.closed_outputs = keep(Scope::GuardrailAfter, &after, output);
}

/// The text of a transform, and the names that it knows if it is one of a policy.
struct Transform<'s> {
    text: &'s Embedded,
    definitions: Option<&'s Definitions>,
}

fn transforms<'s>(
    steps: impl IntoIterator<Item = &'s DeclaredStep>,
    definitions: Option<&'s Arc<Definitions>>,
) -> Vec<Transform<'s>> {
    let definitions = definitions.map(Arc::as_ref);
    let transform = |step: &'s DeclaredStep| match &step.action {
        DeclaredAction::Transform(text) => Some(Transform { text, definitions }),
        DeclaredAction::Assert(_)
        | DeclaredAction::Deny(_)
        | DeclaredAction::Limit(_)
        | DeclaredAction::Invoke(_)
        | DeclaredAction::Label(_)
        | DeclaredAction::Effect(_) => None,
    };
    steps.into_iter().filter_map(transform).collect()
}

/// The steps that run after an event was formatted.
fn of_events<'r>(
    entry: &'r CapabilityEntry,
    resolved: &'r ResolvedAgent,
) -> impl Iterator<Item = &'r DeclaredStep> {
    let capability = entry.capability(&resolved.agent);
    let steps = capability.into_iter().flat_map(|capability| &capability.after);
    steps.filter(|step| {
        let selected = step.match_name.as_ref().map(|name| sanitise(&name.text));
        let is_for = |name: &str| selected.as_ref().is_none_or(|selected| *selected == sanitise(name));
        entry.events.iter().any(|event| event.active && is_for(&event.name))
    })
}

/// The scope of such a transform, of a manifest or of a policy, whose steps know more functions. Where an event is rewritten there is
/// no `output` (EVT-14), so it may have any type.
fn env(scope: Scope, of_policy: bool, schema: &Arc<ContextSchema>, limits: &EvalLimits) -> ScopeEnv {
    ScopeEnv::new(&ScopeDecl {
        schema: Some(schema),
        input: Parameters::input_type("input", &[], InputOf::AttemptOrEvent),
        output: Type::Null,
        of_manifest: !of_policy,
        of_policy,
        libraries: LANGUAGE,
        ..ScopeDecl::new(scope, *limits)
    })
}

/// Whether a transform leaves an entry without other keys. One that does not compile never runs.
fn keeps_keys(env: &ScopeEnv, transform: &Transform<'_>, entry: &RecordType) -> bool {
    let (text, limits) = (&transform.text.text, env.env().limits());
    let expr = match transform.definitions.filter(|_| may_refer(text)) {
        None => parse(text, limits).ok(),
        Some(definitions) => {
            let mut expansion = Expansion::new(definitions, limits.max_plan_nodes, limits);
            let program = Program::compile_rewritten(env.env(), text, |expr| expansion.expand(expr));
            program.ok().map(|program| program.expr().clone())
        }
    };
    let Some(expr) = expr else { return true };
    check(expr, env.env()).0.is_none_or(|checked| keeps(&checked, &checked.expr, entry))
}

fn keeps(checked: &Checked, expr: &Expr, entry: &RecordType) -> bool {
    match &expr.kind {
        ExprKind::Call { function, target: None, args } if function.text == "_?_:_" => {
            args.iter().skip(1).all(|branch| keeps(checked, branch, entry))
        }
        ExprKind::Call { function, target: Some(map), args } if function.text == "put" => {
            keeps(checked, map, entry) && args.first().is_some_and(|key| is_declared(key, entry))
        }
        ExprKind::Map(entries) => entries.iter().all(|it| is_declared(&it.key, entry)),
        ExprKind::Bind { body, .. } => keeps(checked, body, entry),
        _ => match checked.type_of(expr.id) {
            Type::Record(record) => {
                record.storage == Storage::Closed && record.fields.keys().all(|key| entry.slot(key).is_some())
            }
            ty => ty.kind().is_some_and(|kind| kind != Kind::Map),
        },
    }
}

/// Whether a key is declared, or a slip of the pen for one that is, which is refused.
fn is_declared(key: &Expr, entry: &RecordType) -> bool {
    let ExprKind::Literal(Literal::String(key)) = &key.kind else { return false };
    entry.slot(key).is_some() || entry.slip(key).is_some()
}
