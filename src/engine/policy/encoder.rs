//! Values to bytes that can be told apart: what a fingerprint is the digest of.
//!
//! In: texts, numbers, lists and what may be absent, in an order that the caller keeps. Out: their SHA-256 digest. Each
//! value is written with a sign for its kind, and with its length where it has one, so that no two sequences of values
//! come to the same bytes. Nothing here depends on names of fields or on how anything is printed.

use crate::cel::{JsonRef, Value};
use crate::digest::Digest;
use sha2::{Digest as _, Sha256};

/// The signs of the kinds. They are part of every fingerprint, so they never change.
mod sign {
    pub(super) const PART: u8 = b'P';
    pub(super) const TEXT: u8 = b'T';
    pub(super) const WHOLE: u8 = b'I';
    pub(super) const COUNT: u8 = b'U';
    pub(super) const FRACTION: u8 = b'D';
    pub(super) const YES: u8 = b'1';
    pub(super) const NO: u8 = b'0';
    pub(super) const NOTHING: u8 = b'N';
    pub(super) const SOMETHING: u8 = b'S';
    pub(super) const LIST: u8 = b'L';
    pub(super) const OBJECT: u8 = b'O';
}

/// What the encoding of the rules of one capability, or of one policy's steps, is called. It is part of their digests.
pub(super) const RULES_VERSION: &str = "celador rules 1";

/// Values on their way into a digest.
pub(super) struct Encoder(Sha256);

impl Encoder {
    /// Nothing yet but what the encoding is called, its version included.
    pub(super) fn new(version: &str) -> Self {
        let mut encoder = Self(Sha256::new());
        encoder.text(version);
        encoder
    }

    pub(super) fn finish(self) -> Digest {
        Digest::finished(self.0)
    }

    fn sign(&mut self, sign: u8) {
        self.0.update([sign]);
    }

    fn sized(&mut self, sign: u8, size: usize) {
        self.sign(sign);
        self.0.update((size as u64).to_be_bytes());
    }

    /// What comes next: a word that is fixed, whatever the field is called in the code.
    pub(super) fn part(&mut self, word: &str) {
        self.sized(sign::PART, word.len());
        self.0.update(word);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.sized(sign::TEXT, text.len());
        self.0.update(text);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.sign(if flag { sign::YES } else { sign::NO });
    }

    pub(super) fn whole(&mut self, number: i64) {
        self.sign(sign::WHOLE);
        self.0.update(number.to_be_bytes());
    }

    pub(super) fn count(&mut self, number: u64) {
        self.sign(sign::COUNT);
        self.0.update(number.to_be_bytes());
    }

    fn fraction(&mut self, number: f64) {
        self.sign(sign::FRACTION);
        self.0.update(number.to_bits().to_be_bytes());
    }

    /// Something that may be absent.
    pub(super) fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => {
                self.sign(sign::SOMETHING);
                write(self, value);
            }
            None => self.sign(sign::NOTHING),
        }
    }

    /// Each of a list, in its order.
    pub(super) fn list<T>(&mut self, values: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.sized(sign::LIST, values.len());
        values.iter().for_each(|value| write(self, value));
    }

    /// A document. Recurses as deep as it is, which is as deep as its file may be.
    pub(super) fn json(&mut self, value: JsonRef<'_>) {
        if value.is_object() {
            self.sized(sign::OBJECT, value.len());
            for (name, member) in value.entries() {
                self.text(name);
                self.json(member);
            }
            return;
        }
        if value.is_array() {
            self.sized(sign::LIST, value.len());
            value.items().for_each(|item| self.json(item));
            return;
        }
        match value.value() {
            Value::Bool(flag) => self.flag(flag),
            Value::Int(number) => self.whole(number),
            Value::UInt(number) => self.count(number),
            Value::Double(number) => self.fraction(number),
            Value::String(text) => self.text(&text),
            // a document of JSON has no other values
            _ => self.sign(sign::NOTHING),
        }
    }

    /// The same for a document that is not packed.
    pub(super) fn plain_json(&mut self, value: &serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::Null => self.sign(sign::NOTHING),
            Value::Bool(flag) => self.flag(*flag),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => self.whole(number),
                (None, Some(number)) => self.count(number),
                (None, None) => self.fraction(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => self.text(text),
            Value::Array(items) => self.list(items, |encoder, item| encoder.plain_json(item)),
            Value::Object(members) => {
                self.sized(sign::OBJECT, members.len());
                for (name, member) in members {
                    self.text(name);
                    self.plain_json(member);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Encoder;
    use crate::cel::Json;
    use crate::digest::Digest;
    use serde_json::json;
    use std::collections::BTreeSet;

    fn of(write: impl FnOnce(&mut Encoder)) -> Digest {
        let mut encoder = Encoder::new("a version");
        write(&mut encoder);
        encoder.finish()
    }

    #[test]
    fn no_two_sequences_of_values_are_alike() {
        let texts = |texts: &[&str]| of(|it| texts.iter().for_each(|text| it.text(text)));
        let all = [
            of(|_| {}),
            Encoder::new("another").finish(),
            texts(&["ab", "c"]),
            texts(&["a", "bc"]),
            texts(&["abc"]),
            texts(&["abc", ""]),
            of(|it| it.part("abc")),
            of(|it| it.list(&["a", "b"], |it, text| it.text(text))),
            of(|it| {
                it.list(&["a"], |it, text| it.text(text));
                it.text("b");
            }),
            of(|it| it.optional(None::<&str>, Encoder::text)),
            of(|it| it.optional(Some(""), Encoder::text)),
            of(|it| it.flag(true)),
            of(|it| it.flag(false)),
            of(|it| it.whole(1)),
            of(|it| it.count(1)),
            of(|it| it.whole(-1)),
            of(|it| it.fraction(1.0)),
        ];
        let distinct: BTreeSet<String> = all.iter().map(Digest::to_string).collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn a_document_is_the_same_packed_or_not() {
        let documents = [
            json!(null),
            json!({"a": [1, 2.5, "x", null, true], "b": {}}),
            json!([]),
            json!({}),
            json!([{}]),
        ];
        let mut distinct = BTreeSet::new();
        for document in &documents {
            let packed = Json::from(document);
            let digest = of(|it| it.json(packed.root()));
            assert_eq!(digest, of(|it| it.plain_json(document)));
            distinct.insert(digest.to_string());
        }
        assert_eq!(distinct.len(), documents.len());
    }
}
