//! Reading an operation whose name stands outside of its body: in the path of a request, or in another member of a record.
//!
//! In: the name and a deserializer of the body. Out: the operation. Nothing is kept of the body meanwhile, so that an error has its place in it.

use super::operation::Operation;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, Unexpected, VariantAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

impl Operation {
    /// The operation of a name, such as `before`, with its body.
    ///
    /// # Errors
    /// A name of no operation, and a body that is not of the operation's shape: an unknown member, one that is missing, a value of another type.
    ///
    /// ```
    /// use celador::task::Operation;
    ///
    /// let mut body = serde_json::Deserializer::from_str(r#"{"reason": "The customer has left."}"#);
    /// assert!(matches!(Operation::from_body("end", &mut body)?, Operation::End { reason } if reason.ends_with("left.")));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn from_body<'de, D: Deserializer<'de>>(name: &str, body: D) -> Result<Self, D::Error> {
        Self::deserialize(Named { name, body })
    }
}

/// A body with the name of its operation, as the enumeration that both are together.
struct Named<'n, D> {
    name: &'n str,
    body: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Named<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, D: Deserializer<'de>> EnumAccess<'de> for Named<'_, D> {
    type Error = D::Error;
    type Variant = Body<D>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Body<D>), D::Error> {
        let name = seed.deserialize(StrDeserializer::new(self.name))?;
        Ok((name, Body(self.body)))
    }
}

/// The body alone.
struct Body<D>(D);

impl<'de, D: Deserializer<'de>> VariantAccess<'de> for Body<D> {
    type Error = D::Error;

    fn unit_variant(self) -> Result<(), D::Error> {
        Err(D::Error::invalid_type(Unexpected::UnitVariant, &"an operation with a body"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct("Operation", members, visitor)
    }
}
