//! The JSON text of cases, as plans list it and workers read it ("Replay case" in the guide to the protocol).
//!
//! A plan is mostly text: written piece by piece, without asking for every key and every word whether it has to be
//! escaped, it costs a third of what a general serializer takes (docs/benchmarks/replay.md).

use crate::kernels::number::Number;
use crate::kernels::shape::Shape;
use perfdb_store::dtype::DType;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Attempt, Call, Case, Check, Device, Format, RecordedOutput, TensorSpec, View};
use crate::argument::Argument;
use crate::init::Init;

/// A part of a case that is appended to a text as JSON without whitespace.
pub(crate) trait WriteJson {
    fn write_json(&self, out: &mut Vec<u8>);
}

/// Parts of a text in order: pieces that are JSON already, and values.
macro_rules! write_parts {
    ($out:expr, $($part:expr),+ $(,)?) => {{ $($crate::case::WriteJson::write_json(&$part, $out);)+ }};
}
pub(crate) use write_parts;

/// Text that is JSON already: keys with their punctuation, words that need no escape.
pub(crate) struct Raw(pub(crate) &'static str);

impl WriteJson for Raw {
    #[inline(always)]
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

impl WriteJson for str {
    fn write_json(&self, out: &mut Vec<u8>) {
        let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        if self.as_bytes().iter().all(is_plain) {
            out.push(b'"');
            out.extend_from_slice(self.as_bytes());
            out.push(b'"');
        } else {
            by_serde(self, out);
        }
    }
}

/// What is rare or hard (escapes, fractions) is left to the general serializer.
fn by_serde(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("texts and numbers are always JSON, and a vector takes every byte");
}

macro_rules! write_integers {
    ($($integer:ty),+) => {
        $(impl WriteJson for $integer {
            fn write_json(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
            }
        })+
    };
}

write_integers!(u32, u64, i64, usize);

impl WriteJson for bool {
    fn write_json(&self, out: &mut Vec<u8>) {
        Raw(if *self { "true" } else { "false" }).write_json(out);
    }
}

impl<T: WriteJson + ?Sized> WriteJson for &T {
    fn write_json(&self, out: &mut Vec<u8>) {
        (*self).write_json(out);
    }
}

impl<T: WriteJson> WriteJson for Option<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write_json(out),
            None => Raw("null").write_json(out),
        }
    }
}

impl<T: WriteJson> WriteJson for [T] {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, item) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            item.write_json(out);
        }
        out.push(b']');
    }
}

impl<T: WriteJson> WriteJson for Vec<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        self.as_slice().write_json(out);
    }
}

impl WriteJson for Shape {
    fn write_json(&self, out: &mut Vec<u8>) {
        (**self).write_json(out);
    }
}

impl WriteJson for Number {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Number::Int(value) => value.write_json(out),
            other => by_serde(other, out),
        }
    }
}

impl WriteJson for DType {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_parts!(out, Raw("\""), Raw(self.name()), Raw("\""));
    }
}

impl WriteJson for Format {
    fn write_json(&self, out: &mut Vec<u8>) {
        Raw(match self {
            Format::Nd => "\"ND\"",
            Format::FractalNz => "\"FRACTAL_NZ\"",
        })
        .write_json(out);
    }
}

impl WriteJson for Argument {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Argument::None => Raw("null").write_json(out),
            Argument::Number(number) => number.write_json(out),
            Argument::Text(text) => text.as_ref().write_json(out),
            Argument::List(items) => items.write_json(out),
            Argument::Tensor(name) => write_parts!(out, Raw("{\"tensor\":"), **name, Raw("}")),
            Argument::DType(name) => write_parts!(out, Raw("{\"dtype\":"), **name, Raw("}")),
            Argument::Group(name) => write_parts!(out, Raw("{\"group\":"), **name, Raw("}")),
        }
    }
}

impl WriteJson for Init {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Init::Uniform { low, high } => {
                write_parts!(out, Raw("{\"kind\":\"uniform\",\"low\":"), low, Raw(",\"high\":"), high);
            }
            Init::Randint { low, high } => {
                write_parts!(out, Raw("{\"kind\":\"randint\",\"low\":"), low, Raw(",\"high\":"), high);
            }
            Init::Normal => Raw("{\"kind\":\"normal\"").write_json(out),
            Init::Permutation { n, take } => {
                write_parts!(out, Raw("{\"kind\":\"permutation\",\"n\":"), n, Raw(",\"take\":"), take);
            }
            Init::Arange { start: 0 } => Raw("{\"kind\":\"arange\"").write_json(out),
            Init::Arange { start } => write_parts!(out, Raw("{\"kind\":\"arange\",\"start\":"), start),
            Init::ArangeMod { modulus } => write_parts!(out, Raw("{\"kind\":\"arange_mod\",\"modulus\":"), modulus),
            Init::ArangeClip { max } => write_parts!(out, Raw("{\"kind\":\"arange_clip\",\"max\":"), max),
            Init::Full { value } => write_parts!(out, Raw("{\"kind\":\"full\",\"value\":"), value),
            Init::Values { values } => write_parts!(out, Raw("{\"kind\":\"values\",\"values\":"), values),
            Init::Triu { diagonal, value } => {
                write_parts!(out, Raw("{\"kind\":\"triu\",\"diagonal\":"), diagonal, Raw(",\"value\":"), value);
            }
            Init::RankRoundRobin { ranks, per_rank } => {
                let kind = Raw("{\"kind\":\"rank_round_robin\",\"ranks\":");
                write_parts!(out, kind, ranks, Raw(",\"per_rank\":"), per_rank);
            }
            Init::BlockPrefix { counts, modulus } => {
                let kind = Raw("{\"kind\":\"block_prefix\",\"counts\":");
                write_parts!(out, kind, counts, Raw(",\"modulus\":"), modulus);
            }
            Init::CopyOf { of } => write_parts!(out, Raw("{\"kind\":\"copy_of\",\"of\":"), **of),
        }
        out.push(b'}');
    }
}

impl WriteJson for TensorSpec {
    fn write_json(&self, out: &mut Vec<u8>) {
        let TensorSpec { name, shape, dtype, format, init, view, storage, device } = self;
        write_parts!(out, Raw("{\"name\":"), **name, Raw(",\"shape\":"), shape, Raw(",\"dtype\":"), dtype);
        write_parts!(out, Raw(",\"format\":"), format, Raw(",\"init\":"), init);
        if let Some(View::T) = view {
            Raw(",\"view\":\"t\"").write_json(out);
        }
        if let Some(storage) = storage {
            write_parts!(out, Raw(",\"storage\":"), storage);
        }
        if let Some(Device::Host) = device {
            Raw(",\"device\":\"host\"").write_json(out);
        }
        out.push(b'}');
    }
}

impl WriteJson for Attempt {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_parts!(out, Raw("{\"name\":"), *self.name);
        for (name, argument) in &self.kwargs {
            write_parts!(out, Raw(","), **name, Raw(":"), argument);
        }
        out.push(b'}');
    }
}

impl WriteJson for RecordedOutput {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_parts!(out, Raw("{\"shape\":"), self.shape, Raw(",\"dtype\":"), self.dtype, Raw("}"));
    }
}

/// From `"api"` on, without braces.
impl WriteJson for Call {
    fn write_json(&self, out: &mut Vec<u8>) {
        let Call { api, inputs, args, kwargs, mode, then, unwrap, attempts, ranks } = self;
        write_parts!(out, Raw("\"api\":"), **api, Raw(",\"inputs\":"), inputs, Raw(",\"args\":"), args);
        Raw(",\"kwargs\":{").write_json(out);
        for (at, (name, argument)) in kwargs.iter().enumerate() {
            write_parts!(out, Raw(if at > 0 { "," } else { "" }), **name, Raw(":"), argument);
        }
        out.push(b'}');
        if let Some(mode) = mode {
            write_parts!(out, Raw(",\"mode\":"), **mode);
        }
        if let Some(then) = then {
            write_parts!(out, Raw(",\"then\":"), **then);
        }
        if let Some(unwrap) = unwrap {
            write_parts!(out, Raw(",\"unwrap\":"), unwrap);
        }
        if !attempts.is_empty() {
            write_parts!(out, Raw(",\"attempts\":"), attempts);
        }
        if let Some(ranks) = ranks {
            write_parts!(out, Raw(",\"ranks\":"), ranks);
        }
    }
}

impl WriteJson for Case {
    fn write_json(&self, out: &mut Vec<u8>) {
        let Case { op, csv, row, call, outputs, check, repeat, warmup, fresh_inputs } = self;
        write_parts!(out, Raw("{\"v\":1,\"op\":"), **op, Raw(",\"csv\":"), **csv, Raw(",\"row\":"), row);
        write_parts!(out, Raw(",\"status\":\"ok\","), call, Raw(",\"outputs\":"), outputs);
        Raw(match check {
            Check::Error => ",\"check\":\"error\"",
            Check::Warn => ",\"check\":\"warn\"",
        })
        .write_json(out);
        write_parts!(out, Raw(",\"repeat\":"), repeat, Raw(",\"warmup\":"), warmup);
        write_parts!(out, Raw(",\"fresh_inputs\":"), fresh_inputs, Raw("}"));
    }
}

/// [`Serialize`] by that text: serde_json takes it over as it is, into texts and into values. Other formats see a text.
macro_rules! serialize_as_json {
    ($($part:ty),+) => {
        $(impl Serialize for $part {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut text = Vec::new();
                self.write_json(&mut text);
                let text = String::from_utf8(text).map_err(serde::ser::Error::custom)?;
                RawValue::from_string(text).map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        })+
    };
}

serialize_as_json!(Case, TensorSpec, Argument, Init);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written_unchanged() {
        let inits = [
            r#"{"kind":"uniform","low":-1,"high":0.5}"#,
            r#"{"kind":"randint","low":-3,"high":8}"#,
            r#"{"kind":"normal"}"#,
            r#"{"kind":"permutation","n":9,"take":4}"#,
            r#"{"kind":"arange"}"#,
            r#"{"kind":"arange","start":7}"#,
            r#"{"kind":"arange_mod","modulus":3}"#,
            r#"{"kind":"arange_clip","max":-1}"#,
            r#"{"kind":"full","value":"-inf"}"#,
            r#"{"kind":"values","values":[1,1e-7,true,"nan"]}"#,
            r#"{"kind":"triu","diagonal":1,"value":false}"#,
            r#"{"kind":"rank_round_robin","ranks":2,"per_rank":16}"#,
            r#"{"kind":"block_prefix","counts":[3,0],"modulus":5}"#,
            r#"{"kind":"copy_of","of":"x"}"#,
        ];
        for init in inits {
            let case = [
                r#"{"v":1,"op":"Add","csv":"a \"b\"\\\u0001é.csv","row":2,"status":"ok","api":"torch.add","#,
                r#""inputs":[{"name":"x","shape":[],"dtype":"bool","format":"FRACTAL_NZ","init":"#,
                init,
                r#","view":"t","storage":[1,2,3,4,5],"device":"host"}],"args":[null,[{"tensor":"x"}]],"#,
                r#""kwargs":{"a":{"dtype":"qint8"},"b":{"group":"ep"}},"mode":"eager","then":"contiguous","unwrap":1,"#,
                r#""attempts":[{"name":"plain","c":"BSND"},{"name":"other"}],"ranks":4,"#,
                r#""outputs":[{"shape":null,"dtype":null},{"shape":[0],"dtype":"int8"}],"#,
                r#""check":"error","repeat":3,"warmup":1,"fresh_inputs":true}"#,
            ]
            .concat();
            let read: Case = serde_json::from_str(&case).expect("a case");
            assert_eq!(serde_json::to_string(&read).expect("a text"), case);
            let value: serde_json::Value = serde_json::from_str(&case).expect("JSON");
            assert_eq!(serde_json::to_value(&read).expect("JSON"), value);
        }
    }
}
