//! The fields of a mapping whose keys are described: read key by key, and whatever has another key judged.
//!
//! In: a node and the [`Mapping`] that it should be. Out: a [`Key`] for each key that is described, whose shape says how its
//! value is read, and findings about missing, unknown and unfinished keys. Null is the same as absent, as the specification's
//! schemas write it (`… | None`). Linear in the number of keys that are known times those that are written.

use super::messages;
use super::node::{Entry, Node};
use super::reader::{Path, Reader};
use super::shape::{
    Boolean, Count, Decimal, Duration, Expression, List, Mapping, Name, Nullable, Part, Required, Text,
    Whole, names,
};
use super::unsaid;
use super::yaml_cause::cut_off;
use crate::amount::Amount;
use crate::source::{Embedded, Place};
use std::marker::PhantomData;

/// A field that is written.
pub(crate) struct Field<'a> {
    /// The key as written.
    pub(crate) key: &'a Embedded,
    /// The value.
    pub(crate) node: &'a Node,
    /// The path to the value.
    pub(crate) path: Path,
}

/// The fields of a mapping; [`mapping!`](super::shape::mapping) adds a method for each key.
pub(crate) struct Fields<'a, M> {
    entries: &'a [Entry],
    /// The place to underline when something is missing.
    pub(crate) place: &'a Place,
    /// The path to the mapping.
    pub(crate) path: Path,
    mapping: PhantomData<M>,
}

/// A key of a mapping under which a value of the shape `S` may stand.
pub(crate) struct Key<'f, 'a, S> {
    name: &'static str,
    entries: &'a [Entry],
    place: &'a Place,
    mapping: &'f Path,
    shape: PhantomData<S>,
}

impl Reader {
    /// The fields of a mapping.
    pub(crate) fn fields<'a, M: Mapping>(&mut self, node: &'a Node, path: &Path) -> Option<Fields<'a, M>> {
        let entries = self.mapping(node, path)?;
        Some(Fields { entries, place: &node.place, path: path.clone(), mapping: PhantomData })
    }
}

impl<'a, M: Mapping> Fields<'a, M> {
    /// The key of this name, which is described with this shape.
    pub(crate) fn key<S>(&self, name: &'static str) -> Key<'_, 'a, S> {
        debug_assert!(M::ROWS.iter().any(|row| row.is(name)), "{} has no key {name}", M::OWNER);
        Key { name, entries: self.entries, place: self.place, mapping: &self.path, shape: PhantomData }
    }

    /// The same fields as those of another mapping.
    pub(crate) fn read_as<N>(&self) -> Fields<'a, N> {
        Fields { entries: self.entries, place: self.place, path: self.path.clone(), mapping: PhantomData }
    }

    /// Refuses every key that is not described. The mapping is an object of policy, where a misspelt key would drop a check
    /// without a word (AG-10).
    pub(crate) fn refuse_others(&self, reader: &mut Reader) {
        self.refuse_others_of(M::OWNER, &[], reader);
    }

    /// The same of keys that have this owner and stand beside some that have been read.
    pub(crate) fn refuse_others_of(&self, owner: &str, beside: &[&'static str], reader: &mut Reader) {
        self.warn_of_unsaid(owner, reader);
        let known = [beside, &names(M::ROWS)].concat();
        for entry in self.others(&known) {
            let known = if reader.may_propose() { known.as_slice() } else { &[] };
            let finding = messages::unknown_key(&entry.key, owner, known);
            reader.report(&self.path.key(&entry.key.text), finding);
        }
    }

    /// Warns of every key that is not described, except one that looks like a misspelt `guard`: a key without
    /// which a check is missing is refused. So is any key when there have been too many to look at each.
    pub(crate) fn warn_of_others(&self, guards: &[&str], reader: &mut Reader) {
        self.warn_of_others_but(&[], guards, reader);
    }

    /// The same where some keys that are described mean nothing beside the others.
    pub(crate) fn warn_of_others_but(&self, strange: &[&str], guards: &[&str], reader: &mut Reader) {
        self.warn_of_unsaid(M::OWNER, reader);
        let mut known = names(M::ROWS);
        known.retain(|name| !strange.contains(name));
        for entry in self.others(&known) {
            let finding = if reader.may_propose() {
                match messages::nearest_key(&entry.key, &known) {
                    Some(near) if guards.contains(&near) => {
                        messages::unknown_key(&entry.key, M::OWNER, &known)
                    }
                    _ => messages::ignored_key(&entry.key, M::OWNER, &known),
                }
            } else {
                messages::unknown_key(&entry.key, M::OWNER, &[])
            };
            reader.report(&self.path.key(&entry.key.text), finding);
        }
    }

    /// Warns of every key that may hold a rule and says nothing.
    fn warn_of_unsaid(&self, owner: &str, reader: &mut Reader) {
        for entry in self.entries {
            if let Some(follows) = unsaid::follows(owner, entry) {
                let path = self.path.key(&entry.key.text);
                reader.report(&path, messages::nothing_said(&entry.key, follows));
            }
        }
    }

    /// The entries with other keys.
    fn others(&self, known: &[&'static str]) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| !known.contains(&&*entry.key.text))
    }
}

impl<'f, 'a, S> Key<'f, 'a, S> {
    /// The name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The path to the value.
    pub(crate) fn path(&self) -> Path {
        self.mapping.key(self.name)
    }

    /// The field, also if it is null.
    pub(crate) fn written(&self) -> Option<Field<'a>> {
        let entry = self.entries.iter().find(|entry| &*entry.key.text == self.name)?;
        Some(Field { key: &entry.key, node: &entry.value, path: self.path() })
    }

    /// The field, unless it is null.
    pub(crate) fn get(&self) -> Option<Field<'a>> {
        self.written().filter(|field| !field.node.is_null())
    }

    /// The same key with another shape.
    fn with<T>(&self) -> Key<'f, 'a, T> {
        let Self { name, entries, place, mapping, shape: _ } = *self;
        Key { name, entries, place, mapping, shape: PhantomData }
    }
}

impl<'f, 'a, S> Key<'f, 'a, Required<S>> {
    /// The key, if it is there and not null; `rule` says that it must be.
    pub(crate) fn required(&self, rule: &'static str, reader: &mut Reader) -> Option<Key<'f, 'a, S>> {
        if self.get().is_none() {
            reader.report(&self.path(), messages::missing_key(self.place, self.name, rule));
            return None;
        }
        Some(self.with())
    }
}

impl Key<'_, '_, Required<Name>> {
    /// A text that must be there and not be empty. In its stead stands an empty text, so that reading can go on.
    pub(crate) fn text_or_empty(&self, rule: &'static str, reader: &mut Reader) -> Embedded {
        self.with::<Name>().text_or_empty(rule, reader)
    }
}

impl Key<'_, '_, Name> {
    /// The same where another key may do instead, but does not.
    pub(crate) fn text_or_empty(&self, rule: &'static str, reader: &mut Reader) -> Embedded {
        let found = self.with::<Required<Name>>().required(rule, reader).and_then(|key| key.get());
        let found = found.and_then(|field| {
            let text = reader.text(field.node, &field.path)?;
            if text.text.is_empty() {
                reader.report(&field.path, messages::empty_name(&field.node.place, self.name, rule));
            }
            Some(text)
        });
        found.unwrap_or_else(|| Embedded::new("", self.place.clone(), []))
    }
}

impl<'f, 'a, S> Key<'f, 'a, Nullable<S>> {
    /// The key for those to whom null is the same as absent.
    pub(crate) fn unless_null(&self) -> Key<'f, 'a, S> {
        self.with()
    }
}

impl<'a, M: Mapping> Key<'_, 'a, Part<M>> {
    /// The keys of the part.
    pub(crate) fn part(&self) -> Fields<'a, M> {
        Fields { entries: self.entries, place: self.place, path: self.mapping.clone(), mapping: PhantomData }
    }
}

impl<'a, M: Mapping> Key<'_, 'a, M> {
    /// The fields of a mapping.
    pub(crate) fn fields(&self, reader: &mut Reader) -> Option<Fields<'a, M>> {
        let field = self.get()?;
        reader.fields(field.node, &field.path)
    }
}

impl Key<'_, '_, Text> {
    /// A text.
    pub(crate) fn text(&self, reader: &mut Reader) -> Option<Embedded> {
        let field = self.get()?;
        let text = reader.text(field.node, &field.path)?;
        if let Some(rest) = cut_off(&text) {
            reader.report(&field.path, messages::cut_text(rest));
        }
        Some(text)
    }
}

/// The keys whose values the [`Reader`] has a function for, each by that function.
macro_rules! read_by {
    ($($(#[doc = $about:literal])* $shape:ty: $function:ident($($rule:ident)?) -> $value:ty;)*) => {$(
        impl Key<'_, '_, $shape> {
            $(#[doc = $about])*
            pub(crate) fn $function(
                &self,
                $($rule: &'static str,)?
                reader: &mut Reader,
            ) -> Option<$value> {
                let field = self.get()?;
                reader.$function(field.node, &field.path $(, $rule)?)
            }
        }
    )*};
}

read_by! {
    /// The texts of a list; an item that is no text is reported and left out.
    List<Text>: texts() -> Vec<Embedded>;
    /// The text of an expression; `rule` says that it must be one.
    Expression: expression(rule) -> Embedded;
    /// A boolean.
    Boolean: boolean() -> bool;
    /// A whole number.
    Whole: whole() -> i64;
    /// A whole number that is not negative (LIM-13).
    Count: count() -> u64;
    /// An amount, exactly as it is written.
    Decimal: decimal() -> Amount;
    /// A positive duration in nanoseconds (SUB-14); `rule` says that it must be positive.
    Duration: duration(rule) -> i64;
}
