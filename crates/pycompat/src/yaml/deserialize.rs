//! Documents as types of serde.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Error, Fault, Map, Node, NodePath, Step, parse};

/// Reads one document as a type of serde. Enums are the names of their variants.
///
/// # Errors
/// As [`parse`]; and [`Fault::Unexpected`] with its place where the document does not fit the type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let document = parse(text)?;
    T::deserialize(Value(&document)).map_err(|Mismatch { mut steps, reason }| {
        steps.reverse();
        let path = NodePath::new(steps);
        let position = path.position_in(text);
        Error { fault: Fault::Unexpected { path, reason }, position }
    })
}

/// What did not fit, and the steps to it, the innermost first.
#[derive(Debug)]
struct Mismatch {
    steps: Vec<Step>,
    reason: String,
}

impl Mismatch {
    fn at(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { steps: Vec::new(), reason: reason.to_string() }
    }
}

#[derive(Clone, Copy)]
struct Value<'n>(&'n Node);

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Boolean(value) => visitor.visit_bool(*value),
            Node::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_i64(value),
                (_, Ok(value)) => visitor.visit_u64(value),
                _ => visitor.visit_i128(*value),
            },
            Node::Float(value) => visitor.visit_f64(*value),
            Node::Text(text) => visitor.visit_str(text),
            Node::List(items) => visitor.visit_seq(Items { items: items.iter(), at: 0 }),
            Node::Map(map) => visitor.visit_map(Entries::new(map)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Node::Text(text) => visitor.visit_enum(Variant(text)),
            other => Err(de::Error::custom(format_args!("must be a text, not {}", other.kind()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<'n> {
    items: std::slice::Iter<'n, Node>,
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let index = self.at;
        self.at += 1;
        seed.deserialize(Value(item)).map(Some).map_err(|mismatch| mismatch.at(Step::Item(index)))
    }
}

struct Entries<'n> {
    entries: Vec<(String, &'n Node)>,
    at: usize,
}

impl<'n> Entries<'n> {
    fn new(map: &'n Map) -> Self {
        Self { entries: map.iter().map(|(key, value)| (key.to_string(), value)).collect(), at: 0 }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let Some((key, _)) = self.entries.get(self.at) else {
            return Ok(None);
        };
        let key_value: StrDeserializer<'_, Mismatch> = key.as_str().into_deserializer();
        seed.deserialize(key_value).map(Some).map_err(|mismatch| mismatch.at(Step::Key(key.clone())))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Mismatch> {
        let Some((key, value)) = self.entries.get(self.at) else {
            return Err(de::Error::custom("a value without a key"));
        };
        self.at += 1;
        seed.deserialize(Value(value)).map_err(|mismatch| mismatch.at(Step::Key(key.clone())))
    }
}

/// The name of a variant without data.
struct Variant<'n>(&'n str);

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Mismatch;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        let name: StrDeserializer<'_, Mismatch> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _seed: T) -> Result<T::Value, Mismatch> {
        Err(de::Error::custom("a variant with a value cannot be written as a text"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Mismatch> {
        Err(de::Error::custom("a variant with values cannot be written as a text"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Mismatch> {
        Err(de::Error::custom("a variant with fields cannot be written as a text"))
    }
}
