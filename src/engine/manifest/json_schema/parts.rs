//! The schemas within a schema: in goes the value of a word, out come the schemas that stand in it, each with the way
//! to it and what it is about.

use super::words::Takes;
use crate::manifest::node::Node;

/// What a schema within another is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::manifest) enum About {
    /// The same value.
    Same,
    /// A part of the value.
    Part,
    /// Whatever refers to it.
    Definition,
}

/// The way from the value of a word to a schema in it.
#[derive(Clone, Copy, Debug)]
pub(in crate::manifest) enum Step<'n> {
    /// The value is the schema.
    Itself,
    /// Under a key.
    Key(&'n str),
    /// At a position.
    Item(usize),
}

impl Step<'_> {
    /// Whether a segment of a pointer takes this way.
    pub(in crate::manifest) fn is(self, segment: &str) -> bool {
        match self {
            Self::Itself => false,
            Self::Key(key) => key == segment,
            Self::Item(index) => segment.parse() == Ok(index),
        }
    }
}

/// A schema within a schema.
pub(in crate::manifest) type Inner<'n> = (Step<'n>, About, &'n Node);

/// The schemas in the value of a word; none if the value is not what the word takes. Linear in the value's own length.
pub(in crate::manifest) fn schemas(takes: Takes, value: &Node) -> Vec<Inner<'_>> {
    let one = |about| vec![(Step::Itself, about, value)];
    let list = |about| {
        let items = value.as_sequence().unwrap_or_default().iter().enumerate();
        items.map(|(at, item)| (Step::Item(at), about, item)).collect()
    };
    let map = |about| {
        let entries = value.as_mapping().unwrap_or_default().iter();
        entries.map(|entry| (Step::Key(&entry.key.text), about, &entry.value)).collect::<Vec<Inner<'_>>>()
    };
    match takes {
        Takes::SchemaHere => one(About::Same),
        Takes::SchemaBelow => one(About::Part),
        Takes::Items if value.as_sequence().is_none() => one(About::Part),
        Takes::Items | Takes::SchemasBelow => list(About::Part),
        Takes::SchemasHere => list(About::Same),
        Takes::SchemasHereByName => map(About::Same),
        Takes::SchemasBelowByName | Takes::SchemasByPattern => map(About::Part),
        Takes::Definitions => map(About::Definition),
        Takes::Dependencies => {
            map(About::Same).into_iter().filter(|(_, _, node)| node.as_sequence().is_none()).collect()
        }
        _ => Vec::new(),
    }
}
