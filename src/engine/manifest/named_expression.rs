//! The named expressions of a policy document: expressions with typed parameters, which other expressions call.
//!
//! In: the key `expressions` of a policy document. Out: [`NamedExpression`]s whose names, parameters and types can be used; findings about the others. The text of the value is read where policies are compiled.
//! Linear in the document.

use super::fields::Key;
use super::messages::{self, BadParameter};
use super::node::{Entry, Node};
use super::reader::{Path, Reader};
use super::shape::{ByName, Expression, Required, mapping, shape};
use crate::cel::{MACROS, RESERVED, Type};
use crate::context::Root;
use crate::source::Embedded;
use serde_json::json;

/// The root under which expressions call named expressions.
pub(crate) const EXPRESSIONS: &str = "expressions";

/// An expression with parameters, which others call as `expressions.NAME(…)`.
#[derive(Clone, Debug)]
pub struct NamedExpression {
    /// The name.
    pub name: Embedded,
    /// The manifest path, such as `expressions.within_cap`.
    pub path: String,
    /// The parameters, in the order in which calls give their arguments.
    pub parameters: Vec<ExpressionParameter>,
    /// The expression.
    pub value: Embedded,
}

/// A parameter of a named expression.
#[derive(Clone, Debug)]
pub struct ExpressionParameter {
    /// The name, which the expression reads.
    pub name: Embedded,
    /// The type of the arguments.
    pub ty: Type,
}

mapping! {
    /// An expression with parameters.
    pub(super) NamedExpressionKeys = "a named expression" {
        /// The parameters, in the order of the arguments of a call, each as `name: type` with a type of CEL such as `double` or `list(string)`.
        parameters: ExpressionParameters => [],
        /// The expression, which reads its parameters by their names.
        value: Required<Expression>,
    }
}

shape! {
    /// Parameters in order: a list of mappings that have one entry each.
    pub(super) ExpressionParameters = |_| json!({
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": { "type": "string" },
            "minProperties": 1,
            "maxProperties": 1,
        },
    });
}

/// Reads the named expressions of a policy.
pub(super) fn read_named_expressions(
    key: &Key<'_, '_, ByName<NamedExpressionKeys>>,
    reader: &mut Reader,
) -> Vec<NamedExpression> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| read_one(entry, &field.path.key(&entry.key.text), reader);
    entries.iter().filter_map(read).collect()
}

fn read_one(entry: &Entry, path: &Path, reader: &mut Reader) -> Option<NamedExpression> {
    if !is_callable(&entry.key.text) {
        reader.report(path, messages::bad_expression_name(&entry.key));
    }
    let fields = reader.fields::<NamedExpressionKeys>(&entry.value, path)?;
    let parameters = fields.parameters().get().map(|field| read_parameters(field.node, &field.path, reader));
    let value = fields.value().required("CEL-01", reader).and_then(|key| key.get());
    let value = value.and_then(|field| reader.expression(field.node, &field.path, "CEL-01"));
    fields.refuse_others(reader);
    Some(NamedExpression {
        name: entry.key.clone(),
        path: path.to_string(),
        parameters: parameters.unwrap_or_default(),
        value: value?,
    })
}

pub(super) fn read_parameters(node: &Node, path: &Path, reader: &mut Reader) -> Vec<ExpressionParameter> {
    let mut parameters: Vec<ExpressionParameter> = Vec::new();
    for (at, item) in reader.list(node, path).unwrap_or_default().iter().enumerate() {
        let path = path.item(at);
        let Some(entries) = reader.mapping(item, &path) else { continue };
        let [entry] = entries else {
            reader.report(
                &path,
                messages::bad_expression_parameter(BadParameter::Count(&item.place, entries.len())),
            );
            continue;
        };
        let path = path.key(&entry.key.text);
        if parameters.iter().any(|known| known.name.text == entry.key.text) {
            let finding = messages::bad_expression_parameter(BadParameter::Twice(&entry.key));
            reader.report(&path, finding);
        } else if !is_variable(&entry.key.text) {
            reader.report(&path, messages::bad_expression_parameter(BadParameter::Name(&entry.key)));
        }
        let Some(text) = reader.text(&entry.value, &path) else { continue };
        let ty = Type::parse(&text.text);
        if ty.is_none() {
            reader.report(&path, messages::unknown_cel_type(&text));
        }
        // without its type the parameter is known all the same, so that nothing else is reported because of it
        parameters.push(ExpressionParameter { name: entry.key.clone(), ty: ty.unwrap_or(Type::Dyn) });
    }
    parameters
}

/// Whether `expressions.NAME(…)` is a call: the name is an identifier and none of a macro.
fn is_callable(name: &str) -> bool {
    is_identifier(name) && !MACROS.iter().any(|known| known.name == name)
}

/// Whether a name is that of a variable which hides nothing that expressions of policies read.
pub(super) fn is_variable(name: &str) -> bool {
    let is_root = Root::ALL.iter().any(|root| root.name() == name || root.alias() == Some(name));
    is_identifier(name) && !is_root && !["variables", EXPRESSIONS].contains(&name)
}

/// Whether a text is an identifier of CEL.
pub(super) fn is_identifier(text: &str) -> bool {
    const WORDS: [&str; 4] = ["true", "false", "null", "in"];
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let is_reserved = WORDS.contains(&text) || RESERVED.contains(&text);
    text.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && text.chars().all(is_part)
        && !is_reserved
}

#[cfg(test)]
mod tests {
    use super::{is_callable, is_variable};

    #[test]
    fn a_named_expression_is_called_by_an_identifier_that_is_no_macro() {
        for name in ["over", "within_cap", "x1", "size"] {
            assert!(is_callable(name), "{name}");
        }
        for name in [
            "all",
            "exists",
            "exists_one",
            "map",
            "filter",
            "optMap",
            "transformMap",
            "a-b",
            "",
            "1a",
            "in",
            "a.b",
            "f()",
        ] {
            assert!(!is_callable(name), "{name}");
        }
    }

    #[test]
    fn a_parameter_hides_no_variable_of_policies() {
        for name in ["amount", "x", "size"] {
            assert!(is_variable(name), "{name}");
        }
        for name in [
            "input",
            "i",
            "c",
            "call",
            "variables",
            "expressions",
            "parameters",
            "counters",
            "invoked",
            "now",
            "true",
            "if",
            "a.b",
            "",
            " x",
        ] {
            assert!(!is_variable(name), "{name}");
        }
    }
}
