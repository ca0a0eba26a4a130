//! The document in which a bundle says about itself what it is (BUN-03, BUN-04).
//!
//! In: the mapping of one document. Out: a [`Descriptor`]; what is wrong with it the reader is told.

use super::kind::{DocumentKind, Family, KindOf};
use super::reader::{Path, Reader};
use super::shape::{List, Name, Required, Text, mapping};
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

mapping! {
    /// The document in which a bundle says what it is.
    pub(super) DescriptorKeys as "bundledescription" = "a bundle descriptor" {
        /// Version and type of the manifest.
        _kind = "kind": Required<KindOf<{ Family::BundleDescription as usize }>>,
        /// The name that people read.
        name: Required<Name>,
        /// What is in the bundle, in Markdown.
        description: Text,
        /// Who made it.
        author: Text,
        /// The version of the bundle.
        version: Text,
        /// Where the bundle lives.
        url: Text,
        /// Settings to ask for when the bundle is imported.
        required_settings = "requiredSettings": List<Text>,
    }
}

impl Descriptor {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<DescriptorKeys>(&document.node, path)?;
        let name = fields.name().text_or_empty("BUN-03", reader);
        let texts = [fields.description(), fields.author(), fields.version(), fields.url()];
        let [description, author, version, url] = texts.map(|key| key.text(reader));
        let required_settings = fields.required_settings().texts(reader).unwrap_or_default();
        let place = fields.place.clone();
        fields.warn_of_others(&["requiredSettings"], reader);
        Some(Self { place, kind, name, description, author, version, url, required_settings })
    }
}
