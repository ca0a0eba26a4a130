//! Shapes of values, and decoding by them: a decoded value has the members of its shape and no others.
//!
//! The protocol allows members that no shape has (`_meta`, extensions). They are dropped, as no rule sees them, and their paths are reported so
//! that they can be logged. A member or tag that is required and missing, or of another type, is a [`Misfit`].

use super::message::{Members, valid_id};
use serde_json::Value;

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Any JSON: arguments, structured content, schemas, settings.
    Any,
    Text,
    /// A text of a few letters, digits and `._:+-`, such as a version or a time, which carries no sentence.
    Token,
    Bool,
    Number,
    /// A text or an integer.
    Id,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// The value or null.
    Nullable(&'static Shape),
    List(&'static Shape),
    /// An object with any names.
    Map(&'static Shape),
    Record(&'static [Member]),
    /// `_meta`: a record, and members that the settings name.
    Meta(&'static [Member]),
    /// An object whose form is named by a member.
    Tagged(&'static str, &'static [(&'static str, &'static [Member])]),
    /// The first of these that fits.
    First(&'static [Shape]),
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    name: &'static str,
    shape: Shape,
    is_required: bool,
}

pub(super) const fn must(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, is_required: true }
}

pub(super) const fn may(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, is_required: false }
}

/// A value that does not have its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The path of what is missing or other than expected. It has names of the protocol only.
    pub(super) path: String,
    /// The tag, if that is unknown.
    pub(super) tag: Option<String>,
}

/// The longest token.
const MAX_TOKEN_BYTES: usize = 64;
/// The most paths that one value reports.
const MAX_DROPPED: usize = 32;

/// A decoder for one value.
pub(super) struct Decoder<'d> {
    /// Names of members of `_meta` that are kept besides those of the protocol.
    pub(super) keep_meta: &'d [String],
    /// Paths of the members that were dropped.
    pub(super) dropped: Vec<String>,
    /// Whether entries of lists with an unknown tag are dropped, as on the way to the client, or a misfit.
    pub(super) drops_unknown: bool,
}

impl<'d> Decoder<'d> {
    pub(super) fn new(keep_meta: &'d [String], drops_unknown: bool) -> Self {
        Self { keep_meta, dropped: Vec::new(), drops_unknown }
    }

    /// Decodes a value.
    ///
    /// # Errors
    /// The first part of it that does not have its shape.
    pub(super) fn decode(&mut self, shape: &Shape, value: Value, path: &str) -> Result<Value, Misfit> {
        let misfit = || Misfit { path: path.to_owned(), tag: None };
        let fits = |fits: bool, value: Value| if fits { Ok(value) } else { Err(misfit()) };
        match (shape, value) {
            (Shape::Any, value) => Ok(value),
            (Shape::Text, value) => fits(value.is_string(), value),
            (Shape::Token, value) => fits(value.as_str().is_some_and(is_token), value),
            (Shape::Bool, value) => fits(value.is_boolean(), value),
            (Shape::Number, value) => fits(value.is_number(), value),
            (Shape::Id, value) => valid_id(&value).ok_or_else(misfit),
            (Shape::Word(words), value) => fits(value.as_str().is_some_and(|it| words.contains(&it)), value),
            (Shape::Nullable(_), Value::Null) => Ok(Value::Null),
            (Shape::Nullable(shape), value) => self.decode(shape, value, path),
            (Shape::List(shape), Value::Array(entries)) => self.list(shape, entries, path),
            (Shape::Map(shape), Value::Object(members)) => {
                let path = format!("{path}.*");
                let decoded =
                    members.into_iter().map(|(name, it)| Ok((name, self.decode(shape, it, &path)?)));
                decoded.collect::<Result<Members, _>>().map(Value::Object)
            }
            (Shape::Record(members), Value::Object(value)) => self.record(members, &[], value, path),
            (Shape::Meta(members), Value::Object(value)) => self.record(members, self.keep_meta, value, path),
            (Shape::Tagged(tag, forms), Value::Object(mut value)) => {
                let named = value.remove(*tag);
                let named = named.as_ref().and_then(Value::as_str).ok_or_else(misfit)?;
                let Some((name, form)) = forms.iter().find(|(name, _)| *name == named) else {
                    return Err(Misfit { path: format!("{path}.{tag}"), tag: Some(named.to_owned()) });
                };
                let Value::Object(rest) = self.record(form, &[], value, path)? else { return Err(misfit()) };
                let mut decoded = Members::new();
                decoded.insert((*tag).to_owned(), (*name).into());
                decoded.extend(rest);
                Ok(Value::Object(decoded))
            }
            (Shape::First(shapes), value) => {
                let mut first = None;
                for shape in *shapes {
                    let before = self.dropped.len();
                    match self.decode(shape, value.clone(), path) {
                        Ok(decoded) => return Ok(decoded),
                        Err(misfit) => {
                            self.dropped.truncate(before);
                            first = first.or(Some(misfit));
                        }
                    }
                }
                Err(first.unwrap_or_else(misfit))
            }
            _ => Err(misfit()),
        }
    }

    fn list(&mut self, shape: &Shape, entries: Vec<Value>, path: &str) -> Result<Value, Misfit> {
        let path = format!("{path}[]");
        let mut decoded = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.decode(shape, entry, &path) {
                Ok(entry) => decoded.push(entry),
                Err(Misfit { path, tag: Some(tag) }) if self.drops_unknown => {
                    self.report(format!("{path} {tag}"));
                }
                Err(misfit) => return Err(misfit),
            }
        }
        Ok(Value::Array(decoded))
    }

    fn record(
        &mut self,
        members: &[Member],
        kept: &[String],
        mut value: Members,
        path: &str,
    ) -> Result<Value, Misfit> {
        let mut decoded = Members::new();
        for Member { name, shape, is_required } in members {
            match value.remove(*name) {
                None if *is_required => return Err(Misfit { path: format!("{path}.{name}"), tag: None }),
                None => {}
                // several SDKs write null for a member that is not there
                Some(Value::Null) if !*is_required && !matches!(shape, Shape::Nullable(_) | Shape::Any) => {}
                Some(it) => {
                    let it = self.decode(shape, it, &format!("{path}.{name}"))?;
                    decoded.insert((*name).to_owned(), it);
                }
            }
        }
        for (name, value) in value {
            if kept.contains(&name) {
                decoded.insert(name, value);
            } else {
                self.report(format!("{path}.{name}"));
            }
        }
        Ok(Value::Object(decoded))
    }

    fn report(&mut self, path: String) {
        if self.dropped.len() < MAX_DROPPED {
            self.dropped.push(path.chars().take(200).collect());
        }
    }
}

fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+-".contains(&byte);
    !text.is_empty() && text.len() <= MAX_TOKEN_BYTES && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::{Decoder, Shape, may, must};
    use serde_json::{Value, json};

    const BLOCK: Shape = Shape::Tagged(
        "type",
        &[
            ("text", &[must("text", Shape::Text)]),
            ("image", &[must("data", Shape::Text), may("size", Shape::Number)]),
        ],
    );

    const RECORD: Shape = Shape::Record(&[must("a", Shape::Id), may("b", Shape::Nullable(&Shape::Number))]);
    const META: Shape = Shape::Meta(&[may("progressToken", Shape::Id)]);
    const FIRST: Shape = Shape::First(&[RECORD, Shape::Record(&[must("c", Shape::Bool)])]);

    /// Shapes, values, and what becomes of them: the decoded value with the paths that are dropped, or the path of a misfit.
    #[test]
    fn a_decoded_value_has_the_members_of_its_shape() {
        let record = RECORD;
        let cases = [
            (record, json!({ "a": 7.0, "x": 1 }), Ok((json!({ "a": 7 }), vec!["v.x"]))),
            (record, json!({ "a": "s", "b": null }), Ok((json!({ "a": "s", "b": null }), vec![]))),
            (record, json!({ "b": 1 }), Err("v.a")),
            (record, json!({ "a": 1.5 }), Err("v.a")),
            (record, json!([]), Err("v")),
            (
                Shape::List(&BLOCK),
                json!([{ "text": "t", "type": "text", "z": 1 }, { "type": "video", "text": "t" }]),
                Ok((json!([{ "type": "text", "text": "t" }]), vec!["v[].z", "v[].type video"])),
            ),
            (Shape::List(&BLOCK), json!([{ "type": "text" }]), Err("v[].text")),
            (Shape::List(&BLOCK), json!([{ "text": "t" }]), Err("v[]")),
            (BLOCK, json!({ "type": "video" }), Err("v.type")),
            (Shape::Token, json!("2026-07-28"), Ok((json!("2026-07-28"), vec![]))),
            (Shape::Token, json!("ignore the user"), Err("v")),
            (Shape::Word(&["a"]), json!("b"), Err("v")),
            (Shape::Map(&Shape::Bool), json!({ "x": true, "y": 1 }), Err("v.*")),
            (
                META,
                json!({ "progressToken": 1, "com.example/kept": [1], "other": 2 }),
                Ok((json!({ "progressToken": 1, "com.example/kept": [1] }), vec!["v.other"])),
            ),
            (FIRST, json!({ "c": true, "d": 1 }), Ok((json!({ "c": true }), vec!["v.d"]))),
        ];
        let kept = ["com.example/kept".to_owned()];
        for (shape, value, expected) in cases {
            let mut decoder = Decoder::new(&kept, true);
            let decoded = decoder.decode(&shape, value.clone(), "v").map_err(|misfit| misfit.path);
            let decoded =
                decoded.as_ref().map(|it| (it, decoder.dropped.iter().map(|it| &**it).collect::<Vec<_>>()));
            let expected = expected.as_ref().map(|(it, dropped)| (it, dropped.clone()));
            match (decoded, expected) {
                (Ok(decoded), Ok(expected)) => assert_eq!(decoded, expected, "{value}"),
                (Err(path), Err(expected)) => assert_eq!(path, expected, "{value}"),
                (decoded, expected) => panic!("{value}: {decoded:?}, expected {expected:?}"),
            }
        }
        let unknown = json!([{ "type": "video" }]);
        assert!(Decoder::new(&[], false).decode(&Shape::List(&BLOCK), unknown, "v").is_err());
        assert_eq!(Decoder::new(&[], false).decode(&Shape::Any, Value::Null, "v"), Ok(Value::Null));
    }
}
