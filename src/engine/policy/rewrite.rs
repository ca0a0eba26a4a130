//! Arguments of a call with other values for some of them, or for all.
//!
//! In: resolved arguments, and values by name, or a map of all arguments. Out: arguments that their function takes, or what is wrong with the values. What is not
//! named stays as it is and where it is; what was not there comes last. Linear in the arguments.

use super::expression::JsonValue;
use super::messages;
use super::parameter::ParameterSource;
use super::parameters::{Parameters, Supplied};
use crate::cel::{Json, JsonRef, Part};
use crate::limits::EvalLimits;
use std::sync::Arc;

impl Parameters {
    /// The arguments with these values.
    ///
    /// # Errors
    /// What is wrong with each value that cannot be set: the function has no such parameter, a binding supplies it, or the value
    /// does not fit its schema. It is said without the value.
    pub fn rewrite(
        &self,
        arguments: &Json,
        values: &[(Arc<str>, Json)],
        limits: &EvalLimits,
    ) -> Result<Json, Vec<String>> {
        let faults: Vec<_> = values.iter().filter_map(|(name, value)| self.refuses(name, value)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let given = |name: &str| values.iter().rfind(|(given, _)| **given == *name);
        let mut members: Vec<(&str, Part<'_>)> = Vec::new();
        for (name, value) in arguments.root().entries() {
            let value = given(name).map_or(value, |(_, value)| value.root());
            members.push((name, Part::Json(value)));
        }
        for (name, value) in values {
            if !members.iter().any(|(known, _)| *known == &**name) {
                members.push((name, Part::Json(value.root())));
            }
        }
        let packed = Json::from_members(&members, limits);
        let packed = packed.map_err(|_| vec![messages::nested_too_deeply(limits.max_json_depth)])?;
        match self.misfit_of_all(&packed) {
            Some(fault) => Err(vec![fault]),
            None => Ok(packed),
        }
    }

    /// Other arguments for a call, all of them at once. Values of bindings stay; a value for one is refused unless it is the value that the call has. What
    /// is not given is left out, or has its default.
    ///
    /// # Errors
    /// What is wrong with them: they are no object, a name is no parameter of the function, a binding supplies it, or a value does not fit its
    /// schema. It is said without the value.
    pub fn replace(&self, arguments: &Json, whole: &Json, limits: &EvalLimits) -> Result<Json, Vec<String>> {
        if !whole.root().is_object() {
            return Err(vec![messages::arguments_not_an_object(whole.value().kind())]);
        }
        let is_refused = |(name, value): &(&str, JsonRef<'_>)| match self
            .iter()
            .find(|parameter| *parameter.name == **name)
        {
            None => !self.is_open(),
            Some(parameter) if parameter.source == ParameterSource::Model => false,
            Some(_) => {
                let held = arguments.root().get(name);
                held.is_none_or(|held| !held.value().equals(&value.value()))
            }
        };
        let refused = whole.root().entries().filter(is_refused);
        let faults: Vec<String> = refused.map(|(name, _)| messages::not_an_argument(name)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let bound = self.iter().filter(|parameter| parameter.source == ParameterSource::Binding);
        let bound: Vec<Supplied<'_>> = bound
            .map(|parameter| {
                let held = arguments.root().get(&parameter.name);
                (&*parameter.name, held.map(|held| JsonValue::InPlace(held.value())))
            })
            .collect();
        let resolved = self.resolve(&bound, whole, limits);
        let mut faults = resolved.faults;
        faults.extend(resolved.unbound.iter().map(|name| messages::missing_parameter(name)));
        if faults.is_empty() { Ok(resolved.arguments) } else { Err(faults) }
    }

    /// Why an argument cannot have a value, if it cannot.
    fn refuses(&self, name: &str, value: &Json) -> Option<String> {
        let Some(parameter) = self.iter().find(|parameter| *parameter.name == *name) else {
            return (!self.is_open()).then(|| messages::not_an_argument(name));
        };
        if parameter.source != ParameterSource::Model {
            return Some(messages::not_an_argument(name));
        }
        let misfit = parameter.shape.check_part(Part::Json(value.root())).err()?;
        Some(messages::misfit(name, &misfit))
    }
}
