//! What the manifests of an agent mark as secret, at each place of its tasks.
//!
//! In: the schemas of its functions and its inputs, its `exposes`. Out: [`TaskSecrets`], and for a text or an expression
//! whether it reads a secret. An exposed value that reads one is secret, whatever it makes of it. A path counts as read as
//! far as it is written; what is not known of it counts as if it led to every part. Linear in the manifests.

use super::declaration::Declaration;
use super::expression::Expression;
use super::messages;
use super::read_path::for_each_path;
use crate::cel::{Expr, Type, parse};
use crate::context::{CallSecrets, ContextSchema, FunctionId, SchemaDecl, SchemaError, Secrets, TaskSecrets};
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
    let mut reads = false;
    for_each_path(expression, &mut |root, path| {
        reads = reads || schema.meets_secret(function, root, path);
    });
    reads
}

/// Says so if the value of an argument reads a secret for a parameter of a function that is not marked as one. A value that asks
/// something of a secret and gives a bool shows none. `callers` are the functions whose `input` it may see.
pub(super) fn warn_of_shown<'b>(
    values: impl IntoIterator<Item = (&'b str, &'b Expression)>,
    function: &DeclaredFunction,
    callers: &[FunctionId],
    schema: &ContextSchema,
    findings: &mut Vec<Diagnostic>,
) {
    if schema.secrets().is_empty() {
        return;
    }
    for (name, expression) in values {
        let declared = function.parameters.iter().filter_map(|parameter| parameter.declared.as_ref());
        let open = declared.filter(|property| property.schema.secrets.is_empty());
        let mut open = open.filter(|property| *property.name.text == *name);
        let Some(property) = open.next() else { continue };
        let program = expression.program();
        let reads = |caller| reads_secret(program.expr(), schema, caller);
        let is_read =
            if callers.is_empty() { reads(None) } else { callers.iter().any(|it| reads(Some(*it))) };
        if is_read && *program.result_type() != Type::Bool {
            let declared = property.name.place.clone();
            let finding = messages::shown_secret(expression.place().clone(), name, declared);
            findings.push(finding.path(&expression.origin().path));
        }
    }
}
