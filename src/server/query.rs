//! The query of an address as a type of the wire: one member a parameter.
//!
//! In: the text behind the `?`. Out: a struct of texts, whole numbers and truth values. A parameter that is unknown, that is
//! there twice or whose value does not fit is refused with the names of those that the type knows.

use super::messages;
use super::problem::{Kind, Problem};
use serde::de::value::{Error, MapDeserializer};
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
        let pairs = form_urlencoded::parse(self.text.as_bytes()).map(|(name, value)| (name, Word(value)));
        visitor.visit_map(MapDeserializer::new(pairs))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a query is a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
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
        let all = Wanted { key: Some(String::new()), limit: Some(12), current: Some(false) };
        assert_eq!(of("limit=12&current=false&&key="), Some(all));
    }

    #[test]
    fn what_is_unknown_twice_or_unfit_is_refused_by_the_names_that_are_known() {
        for query in ["other=1", "limit=1&limit=2", "limit=", "limit=-1", "current=yes"] {
            let said = read::<Wanted>(query).err().map(|problem| problem.to_string()).unwrap_or_default();
            let expected = "expected no other query parameters than `key` and `limit` and `current`, each fitting and once";
            assert_eq!(said, format!("The request cannot be read: {expected}"), "{query}");
        }
    }
}
