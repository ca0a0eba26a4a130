//! The files of the suite (`SimpleTestFile` as proto3 JSON) as a list of tests.

use super::expected::{Expected, type_of};
use crate::suites::root;
use celador::cel::{Expr, ExprKind, parse};
use celador::limits::EvalLimits;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::PathBuf;

/// One test.
pub(super) struct Test {
    /// `file/section/name`, with `#2` for the second of a name.
    pub(super) address: String,
    /// The expression.
    pub(super) expr: String,
    /// All of it.
    pub(super) fields: Json,
}

/// The tests of all files, or nothing if there is no folder with any.
pub(super) fn read_suite() -> Option<Vec<Test>> {
    let default = || root().join("target/cel-spec");
    let folder = std::env::var_os("CEL_SPEC_DIR").map_or_else(default, PathBuf::from);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut tests = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for path in paths {
        let file: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for section in items(&file["section"]) {
            for test in items(&section["test"]) {
                let name = |of: &Json| of["name"].as_str().unwrap().to_owned();
                let mut address = format!("{}/{}/{}", name(&file), name(section), name(test));
                let count = seen.entry(address.clone()).or_default();
                *count += 1;
                if *count > 1 {
                    address = format!("{address}#{count}");
                }
                tests.push(Test {
                    address,
                    expr: test["expr"].as_str().unwrap().to_owned(),
                    fields: test.clone(),
                });
            }
        }
    }
    (!tests.is_empty()).then_some(tests)
}

/// The elements of a JSON array; none of anything else.
pub(super) fn items(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

impl Test {
    /// What must come out.
    pub(super) fn expected(&self) -> Expected<'_> {
        static TRUE: std::sync::LazyLock<Json> =
            std::sync::LazyLock::new(|| serde_json::json!({"boolValue": true}));
        if let Some(error) = self.fields.get("evalError") {
            let message = error["errors"][0]["message"].as_str().unwrap_or_default();
            let unknown_name = ["undeclared", "unbound", "unknown"].iter().any(|word| message.contains(word));
            return Expected::Error { unknown_name };
        }
        let typed = self.fields.get("typedResult").and_then(|typed| typed.get("result"));
        Expected::Value(self.fields.get("value").or(typed).unwrap_or(&TRUE))
    }

    /// The type that the checker must find, if the test says one: as text, or nothing if it is none of ours.
    pub(super) fn expected_type(&self) -> Option<Option<String>> {
        let ty = self.fields.get("typedResult")?.get("deducedType")?;
        Some(type_of(ty).map(|ty| ty.to_string()))
    }

    /// Whether it is to be run without a check.
    pub(super) fn is_unchecked(&self) -> bool {
        self.fields["disableCheck"] == true
    }

    /// Whether nothing is to be run.
    pub(super) fn is_check_only(&self) -> bool {
        self.fields["checkOnly"] == true
    }

    /// The variables that have values.
    pub(super) fn bindings(&self) -> impl Iterator<Item = (&str, &Json)> {
        let bindings = self.fields["bindings"].as_object().into_iter().flatten();
        bindings.map(|(name, bound)| (name.as_str(), &bound["value"]))
    }

    /// Whether the test has to do with protobuf messages, enums or extensions: it writes a message literal, names a
    /// message, binds or expects one, or asks for an extension.
    pub(super) fn needs_messages(&self) -> bool {
        let fields = ["expr", "typeEnv", "bindings", "value", "typedResult"].map(|field| &self.fields[field]);
        let literal =
            || parse(&self.expr, &EvalLimits::default()).is_ok_and(|expr| has_message_literal(&expr));
        fields.iter().any(|field| names_message(field)) || literal()
    }
}

/// Whether a JSON value names a message type anywhere, or holds a message or an enum.
fn names_message(json: &Json) -> bool {
    const NAMES: [&str; 6] =
        ["TestAllTypes", "GlobalEnum", "cel.expr.conformance", "NullValue", "proto.getExt", "proto.hasExt"];
    match json {
        Json::String(text) => {
            let well_known = text.split("google.protobuf.").skip(1);
            let mut message =
                well_known.filter(|name| !name.starts_with("Timestamp") && !name.starts_with("Duration"));
            message.next().is_some() || NAMES.iter().any(|name| text.contains(name))
        }
        Json::Array(items) => items.iter().any(names_message),
        Json::Object(fields) => fields.contains_key("enumValue") || fields.values().any(names_message),
        _ => false,
    }
}

/// Whether `Name{…}` stands anywhere in an expression.
fn has_message_literal(expr: &Expr) -> bool {
    let mut found = matches!(expr.kind, ExprKind::Struct { .. });
    expr.for_each_part(&mut |part| found |= has_message_literal(part));
    found
}
