//! Members of an object of which most belong to one struct, and some stand beside it.
//!
//! In: the members, and what takes those that stand beside. Out: the members of the struct, each read where it stands: nothing is put aside
//! and read again, as serde does for a struct that is flattened into another.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess};

/// Reads a struct out of the members of an object. `take` is given the name of each member and all that follows, and says whether it has
/// taken the value.
///
/// # Errors
/// Those of the struct and of `take`.
pub(super) fn read_beside<'de, T, A, F>(members: A, take: F) -> Result<T, A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
    F: FnMut(&str, &mut A) -> Result<bool, A::Error>,
{
    T::deserialize(MapAccessDeserializer::new(Others { members, take }))
}

/// The members that were not taken.
struct Others<A, F> {
    members: A,
    take: F,
}

impl<'de, A, F> MapAccess<'de> for Others<A, F>
where
    A: MapAccess<'de>,
    F: FnMut(&str, &mut A) -> Result<bool, A::Error>,
{
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.members.next_key::<String>()? {
            if !(self.take)(&name, &mut self.members)? {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.members.next_value_seed(seed)
    }
}
