//! What the manifests of an agent mark as secret, at each place of its tasks.
//!
//! In: the schemas of its functions and its inputs, its `exposes`. Out: [`TaskSecrets`], and for a text or an expression
//! whether it reads a secret. An exposed value that reads one is secret, whatever it makes of it. A path counts as read as
//! far as it is written; what is not known of it counts as if it led to every part. Linear in the manifests.

use super::binding::Binding;
use super::declaration::Declaration;
use super::messages;
use super::template::{PathStep, Placeholder};
use crate::cel::{Expr, ExprKind, Literal, Type, parse};
use crate::context::{
    CallSecrets, ContextSchema, FunctionId, SchemaDecl, SchemaError, SecretStep, Secrets, TaskSecrets,
};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::catalog::{DeclaredFunction, ResolvedAgent};
use crate::manifest::schema::Property;
use std::sync::Arc;

/// The context of an agent's tasks, with what is secret of it.
pub(super) fn schema(
    declared: &SchemaDecl,
    resolved: &ResolvedAgent,
    functions: &[Declaration<'_>],
    limits: &EngineLimits,
) -> Result<Arc<ContextSchema>, SchemaError> {
    let agent = &*resolved.agent;
    let mut secrets = TaskSecrets {
        functions: functions.iter().map(|declaration| of_calls(resolved, declaration)).collect(),
        input: Secrets::of_members(agent.parameters.iter().map(of_property)),
        exposes: Vec::new(),
    };
    loop {
        let schema = ContextSchema::with_secrets(declared, secrets.clone())?;
        // one exposed value may be made of another
        let made_of_secrets = agent.exposes.iter().filter(|expose| {
            let read = parse(&expose.value.text, &limits.eval);
            // what cannot be read has a finding of its own, and its manifest is not served
            read.is_ok_and(|expression| reads_secret(&expression, &schema, None))
        });
        let exposes: Vec<Arc<str>> = made_of_secrets.map(|expose| expose.name.text.clone()).collect();
        if exposes == secrets.exposes {
            return Ok(schema);
        }
        secrets.exposes = exposes;
    }
}

fn of_calls(resolved: &ResolvedAgent, declaration: &Declaration<'_>) -> CallSecrets {
    let Declaration { capability, function, .. } = declaration;
    let declared = function.parameters.iter().filter_map(|parameter| parameter.declared.as_ref());
    let action = resolved.capabilities.get(*capability).and_then(|entry| entry.action(function));
    let output = action.and_then(|action| action.output.as_ref());
    CallSecrets {
        arguments: Secrets::of_members(declared.map(of_property)),
        result: output.map(|schema| schema.secrets.clone()).unwrap_or_default(),
    }
}

fn of_property(property: &Property) -> (&str, Secrets) {
    (&property.name.text, property.schema.secrets.clone())
}

/// Whether an expression reads a secret: any part of it that is a path which meets one. `function` is that of the call
/// whose `input` and `output` it sees.
pub(crate) fn reads_secret(expression: &Expr, schema: &ContextSchema, function: Option<FunctionId>) -> bool {
    if schema.secrets().is_empty() {
        return false;
    }
    let mut path = Vec::new();
    let mut computed = Vec::new();
    if let Some(root) = path_of(expression, &mut path, &mut computed) {
        return schema.meets_secret(function, root, &path)
            || computed.into_iter().any(|index| reads_secret(index, schema, function));
    }
    let mut reads = false;
    expression.for_each_part(&mut |part| reads = reads || reads_secret(part, schema, function));
    reads
}

/// Says so if a binding reads a secret for a parameter of a function that is not marked as one. A binding that asks
/// something of a secret and gives a bool shows none. `callers` are the functions whose `input` it may see.
pub(super) fn warn_of_shown<'b>(
    bindings: impl IntoIterator<Item = &'b Binding>,
    function: &DeclaredFunction,
    callers: &[FunctionId],
    schema: &ContextSchema,
    findings: &mut Vec<Diagnostic>,
) {
    if schema.secrets().is_empty() {
        return;
    }
    for binding in bindings {
        let declared = function.parameters.iter().filter_map(|parameter| parameter.declared.as_ref());
        let open = declared.filter(|property| property.schema.secrets.is_empty());
        let mut open = open.filter(|property| property.name.text == binding.name);
        let Some((property, expression)) = open.next().zip(binding.expression()) else { continue };
        let program = expression.program();
        let reads = |caller| reads_secret(program.expr(), schema, caller);
        let is_read =
            if callers.is_empty() { reads(None) } else { callers.iter().any(|it| reads(Some(*it))) };
        if is_read && *program.result_type() != Type::Bool {
            let declared = property.name.place.clone();
            let finding = messages::shown_secret(binding.place().clone(), &binding.name, declared);
            findings.push(finding.path(binding.path()));
        }
    }
}

/// The root of a path of fields and indices, with its steps, and with the indices that are computed.
fn path_of<'e>(
    expression: &'e Expr,
    path: &mut Vec<SecretStep>,
    computed: &mut Vec<&'e Expr>,
) -> Option<&'e str> {
    match &expression.kind {
        ExprKind::Ident { name, .. } => Some(name),
        ExprKind::Select { operand, field, .. } => {
            let root = path_of(operand, path, computed)?;
            path.push(SecretStep::Name(field.text.clone()));
            Some(root)
        }
        ExprKind::Index { operand, index, .. } => {
            let root = path_of(operand, path, computed)?;
            path.push(match &index.kind {
                ExprKind::Literal(Literal::String(key)) => SecretStep::Name(key.to_string()),
                ExprKind::Literal(Literal::Int(at)) => {
                    usize::try_from(*at).map_or(SecretStep::Any, SecretStep::Index)
                }
                _ => {
                    computed.push(index);
                    SecretStep::Any
                }
            });
            Some(root)
        }
        _ => None,
    }
}

impl Placeholder {
    /// The steps from its root, as secrets are found by.
    pub(crate) fn steps(&self) -> Vec<SecretStep> {
        let step = |step: &PathStep| match step {
            PathStep::Key(key) => SecretStep::Name(key.to_string()),
            PathStep::Index(at) => SecretStep::Index(*at),
        };
        self.path.iter().map(step).collect()
    }
}
