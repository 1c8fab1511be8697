//! Reads a request from text values: in a query, numbers and switches are words.

use std::str::FromStr;

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Value};

/// The request of these fields.
pub(super) fn read<R: DeserializeOwned>(words: Map<String, Value>) -> Result<R, Error> {
    R::deserialize(Words(words))
}

struct Words(Map<String, Value>);

impl<'de> Deserializer<'de> for Words {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(Pairs { rest: self.0.into_iter(), next: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Pairs {
    rest: serde_json::map::IntoIter,
    next: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Pairs {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next = self.rest.next();
        let Some((name, _)) = &self.next else { return Ok(None) };
        let name: StringDeserializer<Error> = name.clone().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let Some((name, Value::String(word))) = self.next.take() else {
            return Err(Error::custom("a field is not text"));
        };
        seed.deserialize(Word(word)).map_err(|error| Error::custom(format!("{name}: {error}")))
    }
}

struct Word(String);

impl Word {
    fn parse<T: FromStr>(&self, kind: &str) -> Result<T, Error> {
        self.0.parse().map_err(|_| Error::custom(format!("'{}' is not {kind}", self.0)))
    }
}

/// Methods that read a value of the name's type from the word.
macro_rules! parsed {
    ($($method:ident $visit:ident $kind:literal,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.parse($kind)?)
        })*
    };
}

impl<'de> Deserializer<'de> for Word {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0)
    }

    parsed! {
        deserialize_bool visit_bool "true or false",
        deserialize_i8 visit_i8 "a number",
        deserialize_i16 visit_i16 "a number",
        deserialize_i32 visit_i32 "a number",
        deserialize_i64 visit_i64 "a number",
        deserialize_u8 visit_u8 "a number",
        deserialize_u16 visit_u16 "a number",
        deserialize_u32 visit_u32 "a number",
        deserialize_u64 visit_u64 "a number",
        deserialize_f32 visit_f32 "a number",
        deserialize_f64 visit_f64 "a number",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name: StringDeserializer<Error> = self.0.into_deserializer();
        visitor.visit_enum(name)
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        Newest,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Asked {
        name: Option<String>,
        #[serde(default)]
        limit: u32,
        #[serde(default)]
        all: bool,
        order: Option<Order>,
    }

    fn asked(words: Value) -> Result<Asked, String> {
        let Value::Object(words) = words else { panic!("{words}") };
        read(words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_become_the_types_of_their_fields() {
        let read = asked(json!({ "name": "5", "limit": "5", "all": "true", "order": "newest" }));
        assert_eq!(read, Ok(Asked { name: Some("5".into()), limit: 5, all: true, order: Some(Order::Newest) }));
    }

    #[test]
    fn wrong_words_are_named_with_their_field() {
        assert_eq!(asked(json!({ "limit": "five" })), Err("limit: 'five' is not a number".into()));
        assert_eq!(asked(json!({ "all": "yes" })), Err("all: 'yes' is not true or false".into()));
        let other = asked(json!({ "order": "oldest" })).unwrap_err();
        assert!(other.starts_with("order: unknown variant `oldest`"), "{other}");
    }
}
