//! Where a `{settings.…}` placeholder finds its value (INT-04, INT-23).

use super::template::{PathStep, Placeholder};
use crate::cel::{Json, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The defaults that tools declare for their settings, by name.
pub type SettingDefaults = [(Arc<str>, Json)];

/// The value of a setting: of the whole path as one flat key, else of its first part and then into the value, else the
/// default that the tool declares.
#[must_use]
pub fn setting<'v>(
    placeholder: &Placeholder,
    settings: Option<&'v BTreeMap<String, Json>>,
    defaults: &'v SettingDefaults,
) -> Option<Value<'v>> {
    let dotted = placeholder.dotted();
    if let Some(settings) = settings {
        if let Some(value) = dotted.as_ref().and_then(|key| settings.get(key)) {
            return Some(value.value());
        }
        let (first, rest) = placeholder.path.split_first()?;
        let PathStep::Key(key) = first else { return None };
        if let Some(value) = settings.get(&**key) {
            return rest.iter().try_fold(value.value(), |value, step| step.of(&value));
        }
    }
    defaults.iter().find(|(name, _)| Some(&**name) == dotted.as_deref()).map(|(_, value)| value.value())
}
