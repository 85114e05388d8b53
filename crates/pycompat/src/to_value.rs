//! From anything that serialises to a [`Value`].

use crate::value::Value;
use indexmap::IndexMap;
use num_bigint::BigInt;
use serde::{
    Serialize, Serializer,
    ser::{self, SerializeMap, SerializeSeq},
};
use std::fmt::Display;
use thiserror::Error;

/// The value has no JSON form, such as a map whose keys are lists.
#[derive(Debug, Error)]
#[error("cannot be written as JSON: {0}")]
pub struct NotRepresentable(String);

impl ser::Error for NotRepresentable {
    fn custom<T: Display>(message: T) -> Self {
        NotRepresentable(message.to_string())
    }
}

/// Under this name a [`Value::BigInt`] passes through serde's data model, which ends at 128 bits.
const BIG_INT: &str = "$crate::BigInt";

/// The value as Python's types hold it: structs and maps are dicts, sequences lists, `None` and units `None`. Enums take
/// the form that `serde_json` gives them.
pub fn to_value(value: &(impl Serialize + ?Sized)) -> Result<Value, NotRepresentable> {
    value.serialize(ToValue)
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::None => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::BigInt(number) => serializer.serialize_newtype_struct(BIG_INT, &number.to_string()),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) | Value::Tuple(items) => serializer.collect_seq(items),
            Value::Dict(entries) => serializer.collect_map(entries),
        }
    }
}

struct ToValue;

type Result_ = Result<Value, NotRepresentable>;

impl Serializer for ToValue {
    type Ok = Value;
    type Error = NotRepresentable;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    fn serialize_bool(self, value: bool) -> Result_ {
        Ok(Value::Bool(value))
    }
    fn serialize_i8(self, number: i8) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i16(self, number: i16) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i32(self, number: i32) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i64(self, number: i64) -> Result_ {
        Ok(Value::Int(number))
    }
    fn serialize_i128(self, number: i128) -> Result_ {
        Ok(Value::from_big(number.into()))
    }
    fn serialize_u8(self, number: u8) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u16(self, number: u16) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u32(self, number: u32) -> Result_ {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u64(self, number: u64) -> Result_ {
        Ok(Value::from_big(number.into()))
    }
    fn serialize_u128(self, number: u128) -> Result_ {
        Ok(Value::from_big(number.into()))
    }
    fn serialize_f32(self, number: f32) -> Result_ {
        Ok(Value::Float(number.into()))
    }
    fn serialize_f64(self, number: f64) -> Result_ {
        Ok(Value::Float(number))
    }
    fn serialize_char(self, character: char) -> Result_ {
        Ok(Value::Text(character.into()))
    }
    fn serialize_str(self, text: &str) -> Result_ {
        Ok(Value::from(text))
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Result_ {
        Ok(Value::List(bytes.iter().map(|byte| Value::Int((*byte).into())).collect()))
    }
    fn serialize_none(self) -> Result_ {
        Ok(Value::None)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result_ {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result_ {
        Ok(Value::None)
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result_ {
        Ok(Value::None)
    }
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result_ {
        Ok(Value::from(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result_ {
        let value = value.serialize(self)?;
        match value {
            Value::Text(digits) if name == BIG_INT => {
                digits.parse::<BigInt>().map(Value::BigInt).map_err(ser::Error::custom)
            }
            value => Ok(value),
        }
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result_ {
        Ok(tagged(Some(variant), value.serialize(self)?))
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<Items, NotRepresentable> {
        Ok(Items { variant: None, items: Vec::with_capacity(length.unwrap_or(0)) })
    }
    fn serialize_tuple(self, length: usize) -> Result<Items, NotRepresentable> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Items, NotRepresentable> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items, NotRepresentable> {
        Ok(Items { variant: Some(variant), items: Vec::with_capacity(length) })
    }
    fn serialize_map(self, length: Option<usize>) -> Result<Entries, NotRepresentable> {
        Ok(Entries { variant: None, entries: IndexMap::with_capacity(length.unwrap_or(0)), key: None })
    }
    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Entries, NotRepresentable> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Entries, NotRepresentable> {
        Ok(Entries { variant: Some(variant), entries: IndexMap::with_capacity(length), key: None })
    }
}

fn tagged(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::Dict(IndexMap::from([(variant.to_owned(), value)])),
        None => value,
    }
}

struct Items {
    variant: Option<&'static str>,
    items: Vec<Value>,
}

impl SerializeSeq for Items {
    type Ok = Value;
    type Error = NotRepresentable;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotRepresentable> {
        self.items.push(value.serialize(ToValue)?);
        Ok(())
    }
    fn end(self) -> Result_ {
        Ok(tagged(self.variant, Value::List(self.items)))
    }
}

macro_rules! items_are_a_sequence {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Items {
            type Ok = Value;
            type Error = NotRepresentable;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotRepresentable> {
                SerializeSeq::serialize_element(self, value)
            }
            fn end(self) -> Result_ {
                SerializeSeq::end(self)
            }
        }
    )*};
}
items_are_a_sequence!(SerializeTuple serialize_element, SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

struct Entries {
    variant: Option<&'static str>,
    entries: IndexMap<String, Value>,
    key: Option<String>,
}

impl SerializeMap for Entries {
    type Ok = Value;
    type Error = NotRepresentable;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotRepresentable> {
        self.key = Some(match key.serialize(ToValue)? {
            Value::Text(text) => text,
            Value::None => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            number @ (Value::Int(_) | Value::BigInt(_) | Value::Float(_)) => number.str(),
            _ => return Err(ser::Error::custom("a key that is no text")),
        });
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotRepresentable> {
        let key = self.key.take().ok_or_else(|| <NotRepresentable as ser::Error>::custom("a value without a key"))?;
        self.entries.insert(key, value.serialize(ToValue)?);
        Ok(())
    }
    fn end(self) -> Result_ {
        Ok(tagged(self.variant, Value::Dict(self.entries)))
    }
}

macro_rules! entries_are_fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Entries {
            type Ok = Value;
            type Error = NotRepresentable;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), NotRepresentable> {
                self.entries.insert(key.to_owned(), value.serialize(ToValue)?);
                Ok(())
            }
            fn end(self) -> Result_ {
                SerializeMap::end(self)
            }
        }
    )*};
}
entries_are_fields!(SerializeStruct, SerializeStructVariant);
