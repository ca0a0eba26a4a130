//! The operations of a case that concern manifests alone: no task is started for them.
//!
//! In: the manifests, compiled, or the text of a bundle. Out: what was found, to be compared.

use super::case::Aspect;
use super::expect::Found;
use crate::cel::Json;
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::bundle::{Bundle, BundleSource};
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::document::Document;
use crate::source::{Embedded, Source};
use serde_json::json;

/// Whether the manifests are valid: whether none of their findings is one that `refuses` them.
pub(super) fn validate(findings: &[Diagnostic], refuses: impl Fn(&Diagnostic) -> bool) -> Found {
    let valid = !findings.iter().any(refuses);
    let mut found = Found { diagnostics: findings.to_vec(), ..Found::default() };
    found.set(Aspect::Decision, Some(if valid { "valid" } else { "invalid" }));
    found
}

/// What a bundle brings, handed over directly; nothing if anything in it is an error, its expressions included (BUN-12).
pub(super) fn bundle(text: &Embedded, limits: &EngineLimits) -> Found {
    let source = Source::new("bundle", &*text.text);
    let (bundle, mut findings) = Bundle::read(&source, BundleSource::Uploaded, limits);
    let bundle = bundle.unwrap_or_default();
    let catalog = Catalog::link(bundle.documents.clone(), limits, &mut findings);
    findings.extend(Engine::lenient_from_catalog(&catalog.for_verification(), *limits).1);
    let found = validate(&findings, Diagnostic::is_error);
    let bundle = if findings.iter().any(Diagnostic::is_error) { Bundle::default() } else { bundle };
    let settings = bundle.required_settings().into_iter().map(|setting| {
        json!({
            "key": setting.key,
            "label": setting.label,
            "description": setting.description,
            "default": setting.default,
            "format": setting.format,
        })
    });
    let value = json!({
        "loaded": bundle.documents.iter().map(Document::title).collect::<Vec<_>>(),
        "skipped": bundle.skipped,
        "settings": settings.collect::<Vec<_>>(),
    });
    Found { value: Some(value.into()), ..found }
}

/// How many seconds a subscription of the agent lives without activity, null for ever; nothing if there is no such event.
pub(super) fn subscription(
    resolved: &ResolvedAgent,
    capability: &Embedded,
    event: &Embedded,
) -> Option<Found> {
    let mut entries = resolved.capabilities.iter();
    let entry = entries.find(|entry| entry.listed.is_some() && entry.reference == *capability.text)?;
    let event = entry.events.iter().find(|one| one.name == *event.text)?;
    let timeout = entry.subscription_timeout(&resolved.agent, event);
    let mut found = Found { value: Some(timeout.map_or_else(Json::null, seconds)), ..Found::default() };
    found.set(Aspect::Decision, Some("value"));
    Some(found)
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a report shows the nearest double")]
fn seconds(nanoseconds: i64) -> Json {
    json!(nanoseconds as f64 / 1e9).into()
}
