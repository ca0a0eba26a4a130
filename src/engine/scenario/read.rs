//! YAML to a case: every key of the format, and a finding with its place for every other.
//!
//! In: the text of a case file. Out: a [`Case`], or nothing and findings. A case is a test, so nothing in it is
//! guessed: an unknown key, a wrong word or a missing value is an error, and a case with an error is not run. It reads
//! no manifest; those stay trees until [`run`](super::run) loads them.

use super::arrival::Arrival;
use super::background::Background;
use super::case::{BoundVariables, Case, Manifests, ReviewAnswer, TestedOperation};
use super::environment::Environment;
use super::one_document::read_one;
use super::past::read_state;
use super::{expect, messages, values};
use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::node::Node;
use crate::manifest::reader::{Fields, Path, Reader};
use crate::source::{Embedded, Place, Source};
use crate::task::{Call, Next, TemplateKind};

/// Reads a case file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(source: &Source, limits: &EngineLimits) -> Result<Case, Vec<Diagnostic>> {
    read_one(source, limits, "a case", &["call", "expect"], read_case)
}

fn read_case(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Case> {
    let name = read_name(fields, reader);
    let requirements = values::items(fields, "requirements", reader, |node, path, reader| {
        Some(reader.text(node, path)?.text.to_string())
    });
    let about = values::string(fields, "about", reader).unwrap_or_default();
    let manifests = read_manifests(fields, reader);
    let settings = values::by_name(fields, "settings", reader, |node, _, _| Some(node.to_json().into()));
    let auth = values::strings(fields, "auth", reader);
    let environment = Environment::read(fields, reader);
    let mocks = values::mocks(fields, reader);
    let reviews = values::by_name(fields, "reviews", reader, |node, path, reader| {
        let verdict = reader.text(node, path)?;
        values::one_of(&verdict, path, &values::VERDICTS, reader)
    });
    let files = values::strings(fields, "files", reader);
    let background = Background { environment, state: read_state(fields, reader) };
    let resume = values::items(fields, "resume", reader, read_verdict);
    let operation = read_operation(fields, reader);
    let expect = fields
        .required("expect", "", reader)
        .map(|field| expect::read(field.node, &field.path, reader))
        .unwrap_or_default();
    let (operation, operation_place) = operation?;
    if matches!(manifests, Some(Manifests::None)) && operation.name() != "bundle" {
        reader.report(&Path::document("manifest"), messages::no_manifest(&operation_place, operation.name()));
    }
    Some(Case {
        name: name?,
        requirements,
        about,
        manifests: manifests?,
        settings,
        auth,
        background,
        mocks,
        reviews,
        files,
        operation,
        operation_place,
        resume,
        expect,
    })
}

/// The name, which must be that of the file: a report names the case, and a reader looks for the file.
fn read_name(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Embedded> {
    let name = values::required_text(fields, "name", reader)?;
    let file = name.place.source.name();
    let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file);
    if *name.text != *stem {
        reader.report(&Path::document("name"), messages::other_name(&name, stem));
    }
    Some(name)
}

fn read_manifests(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Manifests> {
    let Some(mut manifests) = values::fields(fields, "manifest", reader) else {
        return Some(Manifests::None);
    };
    let files = manifests.get("files");
    if let Some(files) = files {
        let paths = reader.texts(files.node, &files.path).unwrap_or_default();
        let agent = values::required_text(&mut manifests, "agent", reader);
        manifests.refuse_others("`manifest`", reader);
        return Some(Manifests::Files { paths, agent: agent? });
    }
    let mut documents: Vec<(String, Node)> = Vec::new();
    documents.extend(manifests.get("agent").map(|field| (String::new(), field.node.clone())));
    for key in ["tools", "agents"] {
        let found = values::items(&mut manifests, key, reader, |node, _, _| Some(node.clone()));
        documents.extend(found.into_iter().enumerate().map(|(at, node)| (format!("{key}[{at}]"), node)));
    }
    for key in ["mount", "trigger", "schedule"] {
        documents.extend(manifests.get(key).map(|field| (key.to_owned(), field.node.clone())));
    }
    manifests.refuse_others("`manifest`", reader);
    Some(Manifests::Inline(documents))
}

fn read_verdict(node: &Node, path: &Path, reader: &mut Reader) -> Option<ReviewAnswer> {
    let Some((reviewer, verdict)) = values::only_key(node, &[]) else {
        reader.report(path, messages::one_verdict(&node.place));
        return None;
    };
    let path = path.key(&reviewer.text);
    let verdict = reader.text(verdict, &path)?;
    let approved = values::one_of(&verdict, &path, &values::VERDICTS, reader)?;
    Some(ReviewAnswer { reviewer: reviewer.clone(), approved })
}

const OPERATIONS: [&str; 19] = [
    "validate",
    "functions",
    "schema",
    "binding",
    "before",
    "after",
    "invoke",
    "input",
    "output",
    "prompt",
    "limits",
    "event",
    "subscription",
    "allowlist",
    "trigger",
    "cel",
    "interpolate",
    "script",
    "bundle",
];

/// The scopes of `cel`, by their words in a case.
pub const SCOPES: [(&str, Scope); 9] = [
    ("before", Scope::Before),
    ("after", Scope::After),
    ("guardrail_before", Scope::GuardrailBefore),
    ("guardrail_after", Scope::GuardrailAfter),
    ("binding", Scope::Binding),
    ("exposes", Scope::Exposes),
    ("cel_tool", Scope::CelTool),
    ("filter", Scope::Filter),
    ("trigger", Scope::Trigger),
];

const TEMPLATE_KINDS: [(&str, TemplateKind); 4] = [
    ("tool", TemplateKind::Tool),
    ("prompt", TemplateKind::Prompt),
    ("event", TemplateKind::Event),
    ("error_message", TemplateKind::ErrorMessage),
];

fn read_operation(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<(TestedOperation, Place)> {
    let call = fields.required("call", "", reader)?;
    let mut fields = reader.fields(call.node, &call.path)?;
    let op = values::required_text(&mut fields, "op", reader)?;
    let operation = read_operation_keys(&op, &mut fields, reader);
    if operation.is_some() {
        fields.refuse_others(&format!("`{}`", op.text), reader);
    }
    Some((operation?, op.place))
}

fn read_operation_keys(
    op: &Embedded,
    fields: &mut Fields<'_>,
    reader: &mut Reader,
) -> Option<TestedOperation> {
    Some(match &*op.text {
        "validate" => TestedOperation::Validate,
        "functions" => TestedOperation::Functions,
        "schema" => TestedOperation::Schema(values::required_text(fields, "fn", reader)?),
        "binding" => TestedOperation::Binding(read_call(fields, reader)?),
        "before" => TestedOperation::Before(read_call(fields, reader)?),
        "after" => {
            let result = values::call_result(fields, reader);
            TestedOperation::After(read_call(fields, reader)?, result)
        }
        "invoke" => TestedOperation::Invoke(read_call(fields, reader)?),
        "input" => TestedOperation::Input(read_required_object(fields, "input", reader)?),
        "output" => TestedOperation::Output(read_required_object(fields, "output", reader)?),
        "prompt" => TestedOperation::Prompt,
        "limits" => {
            let words = [("llm", Next::ModelTurn), ("capability", Next::Capability), ("none", Next::Other)];
            fields.required("next", "", reader)?;
            TestedOperation::Limits(values::word(fields, "next", &words, reader)?)
        }
        "cel" => {
            fields.required("scope", "", reader)?;
            let scope = values::word(fields, "scope", &SCOPES, reader);
            let expr = values::required_text(fields, "expr", reader);
            let bound = read_bound(fields);
            TestedOperation::Cel { scope: scope?, expr: expr?, bound }
        }
        "interpolate" => {
            fields.required("scope", "", reader)?;
            let kind = values::word(fields, "scope", &TEMPLATE_KINDS, reader);
            let template = values::required_text(fields, "template", reader);
            let parameters = values::object(fields, "parameters", reader);
            let bound = read_bound(fields);
            TestedOperation::Interpolate { kind: kind?, template: template?, parameters, bound }
        }
        "script" => TestedOperation::Script(values::required_text(fields, "source", reader)?),
        "bundle" => TestedOperation::Bundle(values::required_text(fields, "text", reader)?),
        "subscription" => {
            let capability = values::required_text(fields, "capability", reader);
            let event = values::required_text(fields, "event", reader);
            TestedOperation::Subscription { capability: capability?, event: event? }
        }
        "event" => TestedOperation::Event(Arrival::read(op, fields, reader)?),
        "allowlist" => TestedOperation::AllowList(values::required_text(fields, "capability", reader)?),
        "trigger" => {
            let payload = fields.required("payload", "", reader)?;
            TestedOperation::Trigger(payload.node.to_json().into())
        }
        _ => {
            reader.report(&fields.path.key("op"), messages::unknown_word(op, &OPERATIONS));
            return None;
        }
    })
}

fn read_call(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Call> {
    let function = values::required_text(fields, "fn", reader);
    let arguments = values::arguments(fields, reader);
    Some(Call { function: function?.text.to_string(), arguments })
}

fn read_required_object(
    fields: &mut Fields<'_>,
    key: &'static str,
    reader: &mut Reader,
) -> Option<crate::cel::Json> {
    fields.required(key, "", reader)?;
    values::object(fields, key, reader)
}

fn read_bound(fields: &mut Fields<'_>) -> BoundVariables {
    let [input, output, event] = ["input", "output", "event"].map(|key| values::json(fields, key));
    BoundVariables { input, output, event }
}
