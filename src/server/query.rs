//! The query of an address as a type of the wire: one member a parameter.
//!
//! In: the text behind the `?`. Out: a struct of texts, whole numbers, truth values, and lists of texts, whose parameter may be
//! there several times. A parameter that is unknown, that is there twice where the type wants one, or whose value does not fit
//! is refused with the names of those that the type knows.

use super::messages;
use super::problem::{Kind, Problem};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::cell::Cell;
use std::str::FromStr;

/// The parameters of a query; `T` is a struct that knows all of them.
pub(super) fn read<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let known = Cell::new(&[][..]);
    T::deserialize(Query { text: query, known: &known })
        .map_err(|_| Problem::new(Kind::BadRequest, messages::bad_query(known.get())))
}

struct Query<'q> {
    text: &'q str,
    /// The names that the type knows, once it has said them.
    known: &'q Cell<&'static [&'static str]>,
}

impl<'de> Deserializer<'de> for Query<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.known.set(fields);
        let mut named: Vec<(Cow<'_, str>, Words<'_>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(self.text.as_bytes()) {
            match named.iter_mut().find(|(known, _)| *known == name) {
                Some((_, words)) => words.others.push(Word(value)),
                None => named.push((name, Words { first: Word(value), others: Vec::new() })),
            }
        }
        visitor.visit_map(MapDeserializer::new(named.into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a query is a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The values of a parameter, in their order.
struct Words<'q> {
    first: Word<'q>,
    others: Vec<Word<'q>>,
}

impl<'q> Words<'q> {
    fn one(self) -> Result<Word<'q>, Error> {
        if self.others.is_empty() {
            Ok(self.first)
        } else {
            Err(Error::custom("a parameter that is there twice"))
        }
    }
}

impl<'de> IntoDeserializer<'de, Error> for Words<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Words<'_> {
    type Error = Error;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self.one()?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new(std::iter::once(self.first).chain(self.others)))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.one()?.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The value of a parameter.
struct Word<'q>(Cow<'q, str>);

impl Word<'_> {
    fn parse<T: FromStr>(&self) -> Result<T, Error> {
        self.0.parse().map_err(|_| Error::custom("a value that does not fit"))
    }
}

impl<'de> IntoDeserializer<'de, Error> for Word<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Word<'_> {
    type Error = Error;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.parse()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.parse()?)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // bytes that are not UTF-8 all become this character: two keys of a store would be one
        if self.0.contains(char::REPLACEMENT_CHARACTER) {
            return Err(Error::custom("a value that is no text"));
        }
        visitor.visit_string(self.0.into_owned())
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        key: Option<String>,
        limit: Option<u64>,
        current: Option<bool>,
        #[serde(default)]
        each: Vec<String>,
    }

    fn of(query: &str) -> Option<Wanted> {
        read(query).ok()
    }

    #[test]
    fn queries_are_decoded() {
        let key = |text: &str| Some(Wanted { key: Some(text.to_owned()), ..Wanted::default() });
        assert_eq!(of(""), Some(Wanted::default()));
        assert_eq!(of("key=a%20b+c"), key("a b c"));
        assert_eq!(of("key"), key(""));
        assert_eq!(of("key=%2"), key("%2"));
        assert_eq!(of("%6bey=%FF"), None);
        assert_eq!(of("%6bey=%EF%BF%BD"), None);
        assert_eq!(of("%6bey=x"), key("x"));
        let all =
            Wanted { key: Some(String::new()), limit: Some(12), current: Some(false), ..Wanted::default() };
        assert_eq!(of("limit=12&current=false&&key="), Some(all));
        let each = |texts: &[&str]| {
            let each = texts.iter().map(|text| (*text).to_owned()).collect();
            Some(Wanted { each, ..Wanted::default() })
        };
        assert_eq!(of("each=b"), each(&["b"]));
        assert_eq!(of("each=b&%65ach=&each=a%3Ab"), each(&["b", "", "a:b"]));
        assert_eq!(of("each=%FF"), None);
    }

    #[test]
    fn what_is_unknown_twice_or_unfit_is_refused_by_the_names_that_are_known() {
        for query in ["other=1", "limit=1&limit=2", "limit=", "limit=-1", "current=yes"] {
            let said = read::<Wanted>(query).err().map(|problem| problem.to_string()).unwrap_or_default();
            let expected = "expected no other query parameters than `key` and `limit` and `current` and `each`, each fitting and once";
            assert_eq!(said, format!("The request cannot be read: {expected}"), "{query}");
        }
    }
}
