//! Bundles (BUN): many documents in one text, to be taken in together or not at all.
//!
//! In: a text, or its documents. Out: a [`Bundle`] if nothing in it is an error, and findings whose paths begin with the
//! position of their document: `documents[2].name`. Documents of kinds that nothing here knows are skipped and counted.
//! Sizes are bounded before anything is read. Nothing here links documents, and nothing fetches one.

use super::document::Document;
use super::doubt::Doubt;
use super::kind::{DocumentKind, Family};
use super::messages;
use super::reader::{Path, Reader};
use super::schema::Property;
use super::yaml::{self, YamlDocument};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Embedded, Place, Source, Span};
use serde_json::Value;
use std::collections::HashSet;

pub use super::descriptor::Descriptor;

/// A bundle without an error in any of its documents.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// What it says about itself, if it does (BUN-04).
    pub descriptor: Option<Descriptor>,
    /// Its agents, tools, schedules, triggers and mounts, in order (BUN-05).
    pub documents: Vec<Document>,
    /// How many documents of unknown kinds it has besides (BUN-06).
    pub skipped: usize,
}

/// How a bundle came here: it decides how large it may be (BUN-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleSource {
    /// Somebody handed it over.
    Uploaded,
    /// It was fetched from an address.
    Fetched,
}

/// A setting to ask for, in the words of the tool that declares it (BUN-09).
#[derive(Clone, Debug, PartialEq)]
pub struct RequiredSetting {
    /// The key, which may hold dots.
    pub key: String,
    /// Its `title`.
    pub label: Option<String>,
    /// Its `description`.
    pub description: Option<String>,
    /// Its `default`.
    pub default: Option<Value>,
    /// Its `format`: `password` is not to be shown.
    pub format: Option<String>,
}

impl Bundle {
    /// Reads a bundle. One error anywhere refuses all of it (BUN-12).
    #[must_use]
    pub fn read(
        source: &Source,
        arrival: BundleSource,
        limits: &EngineLimits,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let (name, most) = match arrival {
            BundleSource::Uploaded => ("max_uploaded_bundle_bytes", limits.max_uploaded_bundle_bytes),
            BundleSource::Fetched => ("max_fetched_bundle_bytes", limits.max_fetched_bundle_bytes),
        };
        let start = Place::new(source, Span::new(0, 0));
        if source.text().len() > most {
            return (None, vec![messages::manifest_too_large(start, name, most).rule("BUN-10")]);
        }
        let mut findings = Vec::new();
        let trees = yaml::parse(source, &EngineLimits { max_manifest_bytes: most, ..*limits }, &mut findings);
        if trees.is_empty() && findings.is_empty() {
            findings.push(messages::no_documents(start));
        }
        let bundle = Self::of_documents(&trees, limits, &mut findings);
        let sound = !findings.iter().any(Diagnostic::is_error);
        (Some(bundle).filter(|_| sound), findings)
    }

    /// Whether the documents of a file are meant as a bundle: one of them describes it.
    pub(super) fn is_meant(trees: &[YamlDocument]) -> bool {
        let family = |tree: &YamlDocument| {
            let kind = tree.node.get("kind")?.as_string()?;
            DocumentKind::parse(&kind.text).map(|kind| kind.family)
        };
        trees.iter().any(|tree| family(tree) == Some(Family::BundleDescription))
    }

    /// The bundle of some documents, as far as they can be read.
    pub(super) fn of_documents(
        trees: &[YamlDocument],
        limits: &EngineLimits,
        findings: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut reader = Reader::default();
        check_sizes(trees, limits, &mut reader);
        let mut bundle = Self::default();
        for (at, tree) in trees.iter().enumerate().take(limits.max_bundle_documents) {
            let path = path_of(at);
            if let Some(kind) = unknown_kind(tree) {
                let finding = messages::skipped_document(&Doubt::Kind(kind), &DocumentKind::all_current());
                reader.report(&path.key("kind"), finding.rule("BUN-06"));
                bundle.skipped = bundle.skipped.saturating_add(1);
                continue;
            }
            match Document::read(tree, &path.to_string(), limits, findings) {
                Some(Document::Descriptor(descriptor)) => {
                    if let Some(first) = trees.first().filter(|_| at > 0) {
                        let finding =
                            messages::misplaced_descriptor(&descriptor.place, first.node.place.clone());
                        reader.report(&path, finding);
                    }
                    bundle.descriptor.get_or_insert(*descriptor);
                }
                read => bundle.documents.extend(read),
            }
        }
        findings.extend(reader.into_findings());
        bundle
    }

    /// The settings to ask for: those of its required keys that a tool of the bundle declares, in order; keys that none
    /// declares are dropped (BUN-08).
    #[must_use]
    pub fn required_settings(&self) -> Vec<RequiredSetting> {
        let keys = self.descriptor.iter().flat_map(|descriptor| &descriptor.required_settings);
        let mut seen = HashSet::new();
        let keys = keys.map(|key| &*key.text).filter(|key| seen.insert(*key));
        keys.filter_map(|key| self.setting(key).map(RequiredSetting::of)).collect()
    }

    /// The required settings that have no value yet: the import is complete when none is left (BUN-07). `is_set` says
    /// which keys have one.
    #[must_use]
    pub fn missing_settings(&self, is_set: impl Fn(&str) -> bool) -> Vec<RequiredSetting> {
        let mut settings = self.required_settings();
        settings.retain(|setting| !is_set(&setting.key));
        settings
    }

    /// The first declaration of a setting.
    fn setting(&self, key: &str) -> Option<&Property> {
        let settings = self.documents.iter().flat_map(|document| match document {
            Document::Tool(tool) => tool.settings.as_slice(),
            _ => &[],
        });
        settings.into_iter().find(|setting| &*setting.name.text == key)
    }
}

impl RequiredSetting {
    fn of(setting: &Property) -> Self {
        let schema = &setting.schema;
        let text = |text: &Option<Embedded>| text.as_ref().map(|text| text.text.to_string());
        Self {
            key: setting.name.text.to_string(),
            label: text(&schema.title),
            description: text(&schema.description),
            default: schema.default.clone(),
            format: text(&schema.format),
        }
    }
}

fn path_of(position: usize) -> Path {
    Path::document("documents").item(position)
}

/// The kind of a document, if it is written and none that is known. One of our own is not another runtime's: it is misspelt.
fn unknown_kind(tree: &YamlDocument) -> Option<&Embedded> {
    let kind = tree.node.get("kind")?.as_string()?;
    let is_unknown = DocumentKind::parse(&kind.text).is_none() && !DocumentKind::is_own(&kind.text);
    is_unknown.then_some(kind)
}

/// There are not too many documents, and none is too long (BUN-10, BUN-11). Linear in the text.
fn check_sizes(trees: &[YamlDocument], limits: &EngineLimits, reader: &mut Reader) {
    let most = limits.max_bundle_documents;
    if let Some(one_over) = trees.get(most) {
        reader.report(&path_of(most), messages::too_many_documents(&one_over.node.place, most));
    }
    let Some(source) = trees.first().map(|tree| &tree.node.place.source) else { return };
    let parts = parts(source.text());
    for (at, tree) in trees.iter().enumerate().take(most) {
        let place = &tree.node.place;
        let part = parts.partition_point(|part| part.start <= place.span.start).saturating_sub(1);
        let size = parts.get(part).map_or(0, |part| part.range().len());
        if size > limits.max_document_bytes {
            reader.report(&path_of(at), messages::document_too_large(place, limits.max_document_bytes));
        }
    }
}

/// What stands between the lines that begin with `---`. YAML lets no text hold such a line.
fn parts(text: &str) -> Vec<Span> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0_usize);
    for line in text.split_inclusive('\n') {
        let end = at.saturating_add(line.len());
        if let Some(rest) = line.strip_prefix("---")
            && rest.chars().next().is_none_or(char::is_whitespace)
        {
            parts.push(Span::new(start, at));
            start = if rest.trim().is_empty() { end } else { at.saturating_add("---".len()) };
        }
        at = end;
    }
    parts.push(Span::new(start, at));
    parts
}

#[cfg(test)]
mod tests {
    use super::{Bundle, BundleSource, parts};
    use crate::limits::EngineLimits;
    use crate::source::Source;

    fn refused(text: &str, arrival: BundleSource, limits: &EngineLimits) -> Vec<&'static str> {
        let (bundle, findings) = Bundle::read(&Source::new("bundle.yaml", text), arrival, limits);
        let errors: Vec<_> = findings.iter().filter(|one| one.is_error()).map(|one| one.code).collect();
        assert_eq!(bundle.is_none(), !errors.is_empty());
        errors
    }

    fn tool(name: &str) -> String {
        format!("kind: commonagents.info/v1/tool\nnamespace: n\nname: {name}\n")
    }

    #[test]
    fn the_parts_are_what_stands_between_the_lines() {
        let text = "a\n---\nbc\n--- # d\n---e\n";
        let source = Source::new("bundle.yaml", text);
        let parts = parts(text);
        let found: Vec<&str> = parts.iter().map(|part| source.slice(*part)).collect();
        assert_eq!(found, ["a\n", "bc\n", " # d\n---e\n"]);
    }

    #[test]
    fn each_bound_allows_what_it_says() {
        let text = format!("{}---\n# nothing\n---\n{}---\n", tool("a"), tool("b"));
        let size = text.len();
        let exact = EngineLimits {
            max_uploaded_bundle_bytes: size,
            max_fetched_bundle_bytes: size + 1,
            max_bundle_documents: 2,
            max_document_bytes: tool("a").len(),
            ..EngineLimits::default()
        };
        assert_eq!(refused(&text, BundleSource::Uploaded, &exact), [""; 0]);
        let longer = format!("{text}\n");
        assert_eq!(refused(&longer, BundleSource::Uploaded, &exact), ["manifest_too_large"]);
        assert_eq!(refused(&longer, BundleSource::Fetched, &exact), [""; 0]);
        let fewer = EngineLimits { max_bundle_documents: 1, ..exact };
        assert_eq!(refused(&text, BundleSource::Uploaded, &fewer), ["too_many_documents"]);
        let shorter = EngineLimits { max_document_bytes: tool("a").len() - 1, ..exact };
        assert_eq!(refused(&text, BundleSource::Uploaded, &shorter), ["document_too_large"; 2]);
    }

    #[test]
    fn an_import_is_complete_when_every_required_setting_is_set() {
        let text = format!(
            "kind: commonagents.info/v1/bundledescription\nname: b\nrequiredSettings: [k, k, nope]\n---\n{}settings: {{properties: {{k: {{title: K}}}}}}\n",
            tool("a")
        );
        let source = Source::new("bundle.yaml", text);
        let bundle = Bundle::read(&source, BundleSource::Uploaded, &EngineLimits::default()).0.unwrap();
        let keys = |is_set: fn(&str) -> bool| -> Vec<String> {
            bundle.missing_settings(is_set).into_iter().map(|setting| setting.key).collect()
        };
        assert_eq!(keys(|_| false), ["k"]);
        assert_eq!(keys(|key| key == "k"), [""; 0]);
    }
}
