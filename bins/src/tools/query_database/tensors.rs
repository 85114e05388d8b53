//! Tensors and other arguments as they are written on a command line.

use crate::Failure;
use perfdb_query::{Argument, DType, Query, Results, Tensor, UnknownDType, not_json};
use serde_json::Value;

/// The results of a call.
pub(super) fn results(outputs: &[String]) -> Result<Results, Failure> {
    let mut tensors = outputs.iter().map(|text| tensor(text).map(Argument::Tensor)).collect::<Result<Vec<_>, _>>()?;
    Ok(match tensors.len() {
        0 => Results::Unknown,
        1 => Results::One(tensors.remove(0)),
        _ => Results::Many(tensors),
    })
}

/// A kernel by its inputs: `16,512:bf16 5120,512:bf16` as of an operator, or the cells of a table, with the types besides.
pub(super) fn of_kernel(kernel: &str, given: &[String], shapes: Option<&str>, types: &str) -> Result<Query, Failure> {
    if shapes.is_some() && !given.is_empty() {
        return Err(Failure::usage("--input-shapes and tensors behind the kernel are the same: give one of them"));
    }
    let is_end = |character: char| character == ';' || character.is_whitespace();
    let cells = |text: &'_ str| -> Vec<String> {
        text.split(is_end).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let shapes = shapes.map_or_else(|| given.iter().flat_map(|word| cells(word)).collect(), cells);
    let types = types_of(cells(types), shapes.len());
    let untyped = shapes.iter().filter(|shape| !shape.contains(':')).count();
    if untyped > 0 && types.len() != 1 && types.len() != shapes.len() {
        return Err(Failure::usage(format!("--types has {} types for {} shapes", types.len(), shapes.len())));
    }
    let mut query = Query::kernel(kernel);
    for (at, shape) in shapes.iter().enumerate() {
        query = query.input(match types.get(at).or(types.first()).filter(|_| !shape.contains(':')) {
            Some(name) => tensor(&format!("{shape}:{name}"))?,
            None => tensor(shape)?,
        });
    }
    Ok(query)
}

/// The types of this many inputs: those given, or, of a scheme such as `w4a16`, the type of weights for the second input and that of activations for all others.
fn types_of(given: Vec<String>, count: usize) -> Vec<String> {
    match given.as_slice() {
        [one] => match DType::of_scheme(one) {
            Some([activations, weights]) => {
                (0..count).map(|at| if at == 1 { weights } else { activations }.to_string()).collect()
            }
            None => given,
        },
        _ => given,
    }
}

/// An argument: a tensor, nothing, or JSON.
pub(super) fn argument(text: &str) -> Result<Argument, Failure> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Argument::None);
    }
    let is_json = text.starts_with(['[', '{', '"']) || !text.contains(':');
    if !is_json {
        return tensor(text).map(Argument::Tensor);
    }
    if dimensions(text).is_some_and(|shape| shape.len() > 1) {
        return Err(Failure::usage(format!("argument '{text}': a tensor needs its data type, such as {text}:bf16")));
    }
    let malformed = |reason: String| {
        Failure::usage(format!("argument '{text}': {reason} (a tensor is DIMENSIONS:TYPE, such as 16,5120:bf16)"))
    };
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(not_json(&error)))?;
    let call = serde_json::json!({"op": "", "args": [value]});
    let query = Query::from_json(&call).map_err(|error| malformed(error.reason))?;
    query.positional().first().cloned().ok_or_else(|| malformed("nothing".to_owned()))
}

/// `16,5120` or `16x5120`; `None` if a part is no integer.
fn dimensions(text: &str) -> Option<Vec<i64>> {
    let parts = text.split([',', 'x']).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
}

/// `16,5120:bf16`, or `2:int64@256,300` with contents.
fn tensor(text: &str) -> Result<Tensor, Failure> {
    let malformed = |reason: String| Failure::usage(format!("tensor '{text}': {reason}"));
    let integers = |list: &str| -> Result<Vec<i64>, Failure> {
        let parts = list.split([',', 'x']).map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().map_err(|_| malformed(format!("'{part}' is no integer")))).collect()
    };
    let (shape, rest) = text.split_once(':').ok_or_else(|| malformed("no ':' before the data type".to_owned()))?;
    let (name, values) = match rest.split_once('@') {
        Some((name, values)) => (name, Some(integers(values)?)),
        None => (rest, None),
    };
    let dtype: DType = name.parse().map_err(|error: UnknownDType| malformed(error.to_string()))?;
    let shape = integers(shape)?;
    if shape.iter().any(|dimension| *dimension < 0) {
        return Err(malformed("a dimension below 0".to_owned()));
    }
    Ok(Tensor { shape, dtype, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_take_tensors_as_operators_do() {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let expected = of_kernel("K", &[], Some("16,512;768,512"), "DT_BF16").unwrap();
        for given in [
            &["16,512:bf16", "768,512:bf16"][..],
            &["16x512", "768x512"],
            &["16x512:bf16", "768,512"],
            &["16,512;768,512"],
        ] {
            assert_eq!(of_kernel("K", &owned(given), None, "DT_BF16").unwrap(), expected, "{given:?}");
        }
        assert_eq!(of_kernel("K", &[], Some("16x512 768x512"), "DT_BF16;DT_BF16").unwrap(), expected);
        let mixed = of_kernel("K", &owned(&["16,512:bf16", "768,512:int4"]), None, "DT_BF16").unwrap();
        for types in ["w4a16", "int4_wo", "DT_BF16;INT4"] {
            assert_eq!(of_kernel("K", &[], Some("16,512;768,512"), types).unwrap(), mixed, "{types}");
        }
        let experts = of_kernel("K", &owned(&["16,512", "8,768,512", "16,2:int32"]), None, "w4a16_mxfp4").unwrap();
        let all = "16,512:bf16 8,768,512:mxfp4 16,2:int32";
        assert_eq!(of_kernel("K", &owned(&[all]), None, "DT_BF16").unwrap(), experts);
        assert!(of_kernel("K", &owned(&["16,512"]), Some("16,512"), "DT_BF16").is_err());
        assert!(of_kernel("K", &owned(&["16,512", "1"]), None, "DT_BF16;FLOAT;FLOAT").is_err());
    }

    #[test]
    fn a_shape_without_a_type_is_told_how_to_write_it() {
        let Err(Failure::Usage(reason)) = argument("16x5120") else { panic!("a tensor without a type") };
        assert_eq!(reason, "argument '16x5120': a tensor needs its data type, such as 16x5120:bf16");
        assert_eq!(argument("16").unwrap(), Argument::Integer(16));
    }
}
