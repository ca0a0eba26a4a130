//! Functions of the host that a policy document declares: their signatures, so that expressions are checked without the host.
//!
//! In: the key `functions` of a policy document. Out: [`DeclaredFunction`]s; findings about those whose names hide something of the language, or whose types JSON does not have. What a host
//! registers is compared where an engine loads the policy. Linear in the document.

use super::fields::Key;
use super::messages::{self, BadFunctionName};
use super::named_expression::{ExpressionParameters, is_identifier, is_variable, read_parameters};
use super::node::Entry;
use super::reader::{Path, Reader};
use super::shape::{ByName, Count, Required, Text, mapping, shape};
use crate::cel::{CallCost, LANGUAGE, Signature, Type};
use crate::context::Scope;
use crate::source::{Embedded, Place};
use serde_json::json;

/// A function that the host of a policy gives.
#[derive(Clone, Debug)]
pub struct DeclaredFunction {
    /// The name, qualified: `risk.score`.
    pub name: Embedded,
    /// Where it is declared.
    pub place: Place,
    /// The manifest path, such as `functions.risk.score`.
    pub path: String,
    /// Its parameters, its result and its cost.
    pub signature: Signature,
}

mapping! {
    /// A function that the host of the policy registers. It has to be pure: equal arguments give the same value.
    pub(super) HostFunctionKeys = "a function of the host" {
        /// A description of the result.
        description: Text,
        /// The parameters, in the order of the arguments of a call, each as `name: type` with a type of CEL such as `double` or `list(string)`.
        parameters: ExpressionParameters => [],
        /// The type of its value, a type of CEL.
        result: Required<CelType>,
        /// The cost of a call, counted toward `max_cost`.
        cost: CostKeys,
    }

    CostKeys = "`cost`" {
        /// Cost units of each call.
        call: Count => 1,
        /// Cost units of each character, byte, element and entry of its arguments.
        size: Count => 0,
    }
}

shape! {
    /// A type of CEL.
    CelType = |_| json!({ "type": "string" });
}

/// Reads the functions that a policy declares.
pub(super) fn read_host_functions(
    key: &Key<'_, '_, ByName<HostFunctionKeys>>,
    reader: &mut Reader,
) -> Vec<DeclaredFunction> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| read_one(entry, &field.path.key(&entry.key.text), reader);
    entries.iter().filter_map(read).collect()
}

fn read_one(entry: &Entry, path: &Path, reader: &mut Reader) -> Option<DeclaredFunction> {
    if let Err(problem) = check_name(&entry.key.text) {
        reader.report(path, messages::bad_function_name(&entry.key, problem));
    }
    let fields = reader.fields::<HostFunctionKeys>(&entry.value, path)?;
    fields.description().text(reader);
    let parameters = fields.parameters().get().map(|field| read_parameters(field.node, &field.path, reader));
    let parameters = parameters.unwrap_or_default();
    for parameter in parameters.iter().filter(|parameter| !is_of_json(&parameter.ty)) {
        reader.report(path, messages::type_without_json(&parameter.name, &parameter.ty));
    }
    let result = fields.result().required("CEL-01", reader).and_then(|key| key.get());
    let result = result.and_then(|field| {
        let text = reader.text(field.node, &field.path)?;
        let ty = Type::parse(&text.text);
        match &ty {
            None => reader.report(&field.path, messages::unknown_cel_type(&text)),
            Some(ty) if !is_of_json(ty) => reader.report(&field.path, messages::type_without_json(&text, ty)),
            Some(_) => {}
        }
        ty
    });
    let cost = fields.cost().fields(reader).map_or_else(CallCost::default, |fields| {
        let least = CallCost::default();
        let cost = CallCost {
            call: fields.call().count(reader).unwrap_or(least.call),
            size: fields.size().count(reader).unwrap_or(least.size),
        };
        fields.refuse_others(reader);
        cost
    });
    fields.refuse_others(reader);
    let signature = Signature::new(&entry.key.text, parameters.into_iter().map(|it| it.ty), result?);
    Some(DeclaredFunction {
        name: entry.key.clone(),
        place: entry.key.place.clone(),
        path: path.to_string(),
        signature: signature.costing(cost),
    })
}

/// Whether JSON has the values of a type, so that cases can give them and hosts in any language.
fn is_of_json(ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Null | Type::Bool | Type::Int | Type::Double | Type::String => true,
        Type::List(element) => is_of_json(element),
        Type::Map(entry) => entry.0 == Type::String && is_of_json(&entry.1),
        _ => false,
    }
}

/// Whether expressions can call a function by its name, and nothing of the language has it.
fn check_name(name: &str) -> Result<(), BadFunctionName> {
    let Some((namespace, _)) = name.split_once('.') else { return Err(BadFunctionName::Unqualified) };
    if !name.split('.').all(is_identifier) {
        return Err(BadFunctionName::NoIdentifiers);
    }
    if !is_variable(namespace) {
        return Err(BadFunctionName::Variable);
    }
    let of_scopes = Scope::ALL.iter().flat_map(|scope| scope.functions()).copied();
    let mut known = LANGUAGE.iter().copied().chain(of_scopes).flatten();
    let is_known = known.any(|function| {
        function.name.split_once('.').is_some_and(|(own, _)| own == namespace) || function.name == name
    });
    if is_known { Err(BadFunctionName::OfLanguage) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{BadFunctionName, check_name, is_of_json};
    use crate::cel::Type;

    #[test]
    fn a_name_is_qualified_and_hides_nothing() {
        for name in ["risk.score", "acme.risk.score", "my_risk.score2", "mathematics.greatest"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, problem) in [
            ("score", BadFunctionName::Unqualified),
            ("", BadFunctionName::Unqualified),
            ("risk.", BadFunctionName::NoIdentifiers),
            ("risk.for", BadFunctionName::NoIdentifiers),
            ("risk.has score", BadFunctionName::NoIdentifiers),
            ("input.score", BadFunctionName::Variable),
            ("c.score", BadFunctionName::Variable),
            ("variables.score", BadFunctionName::Variable),
            ("expressions.score", BadFunctionName::Variable),
            ("invoked.score", BadFunctionName::Variable),
            ("math.score", BadFunctionName::OfLanguage),
            ("pii.score", BadFunctionName::OfLanguage),
            ("hash.sha256", BadFunctionName::OfLanguage),
            ("sql.score", BadFunctionName::OfLanguage),
        ] {
            assert_eq!(check_name(name), Err(problem), "{name}");
        }
    }

    #[test]
    fn types_are_those_that_json_has() {
        for (text, is_known) in [
            ("double", true),
            ("dyn", true),
            ("list(map(string, list(int)))", true),
            ("map(int, string)", false),
            ("timestamp", false),
            ("list(bytes)", false),
            ("uint", false),
            ("optional_type(int)", false),
        ] {
            assert_eq!(is_of_json(&Type::parse(text).unwrap()), is_known, "{text}");
        }
    }
}
