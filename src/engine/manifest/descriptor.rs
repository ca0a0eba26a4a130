//! The document in which a bundle says about itself what it is (BUN-03, BUN-04).
//!
//! In: the mapping of one document. Out: a [`Descriptor`]; what is wrong with it the reader is told.

use super::kind::DocumentKind;
use super::reader::{Path, Reader};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};

/// The description of a bundle.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Where the document stands.
    pub place: Place,
    /// Its kind.
    pub kind: DocumentKind,
    /// The name that people read (BUN-03).
    pub name: Embedded,
    /// What is in it, in Markdown.
    pub description: Option<Embedded>,
    /// Who made it.
    pub author: Option<Embedded>,
    /// Its version.
    pub version: Option<Embedded>,
    /// Where it lives.
    pub url: Option<Embedded>,
    /// Keys of settings that must be known before the import is complete (BUN-07).
    pub required_settings: Vec<Embedded>,
}

impl Descriptor {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let mut fields = reader.fields(&document.node, path)?;
        fields.written("kind");
        let name = fields.name("name", "BUN-03", reader);
        let [description, author, version, url] =
            ["description", "author", "version", "url"].map(|key| fields.text(key, reader));
        let required_settings = fields
            .get("requiredSettings")
            .and_then(|field| reader.texts(field.node, &field.path))
            .unwrap_or_default();
        let place = fields.place.clone();
        fields.warn_of_others("a bundle descriptor", &["requiredSettings"], reader);
        Some(Self { place, kind, name, description, author, version, url, required_settings })
    }
}
