//! Arguments of a call with other values for some of them.
//!
//! In: resolved arguments, and values by name. Out: arguments that their function takes, or what is wrong with the values. What is not
//! named stays as it is and where it is; what was not there comes last. Linear in the arguments.

use super::messages;
use super::parameter::ParameterSource;
use super::parameters::Parameters;
use crate::cel::{Json, Part};
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
