//! Tensors of a call as the profiler writes them: shapes and names of types as JSON lists.

use perfdb_store::dtype::DType;
use serde_json::Value;

use super::Reason;

/// A tensor with dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: DType,
}

/// The arguments of a call; nothing for one that is not a tensor with dimensions.
pub(super) fn arguments(dims: &str, types: &str, default: Option<DType>) -> Result<Vec<Option<Tensor>>, Reason> {
    let Ok(Value::Array(dims)) = serde_json::from_str(dims) else { return Err(Reason::NoShapes) };
    let types = match serde_json::from_str(types) {
        Ok(Value::Array(types)) => types,
        _ => Vec::new(),
    };
    let mut found = Vec::with_capacity(dims.len());
    for (at, shape) in dims.iter().enumerate() {
        let Some(shape) = shape.as_array().filter(|shape| !shape.is_empty()) else {
            found.push(None);
            continue;
        };
        if shape.iter().any(Value::is_array) {
            // A list of tensors without dimensions has nothing to be kept apart by.
            if shape.iter().any(|inner| inner.as_array().is_some_and(|inner| !inner.is_empty())) {
                return Err(Reason::Lists);
            }
            found.push(None);
            continue;
        }
        let shape = shape.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>().ok_or(Reason::NoShapes)?;
        let name = types.get(at).and_then(Value::as_str).filter(|name| !name.is_empty());
        let dtype = name.map_or(default, of_name).ok_or(Reason::NoTypes)?;
        found.push(Some(Tensor { shape, dtype }));
    }
    match found.iter().flatten().next() {
        Some(_) => Ok(found),
        None if types.iter().any(|name| name == "TensorList") => Err(Reason::Lists),
        None => Err(Reason::NoShapes),
    }
}

/// The type of a name of the profiler: `c10::BFloat16`, `float`, `long int`.
pub(super) fn of_name(name: &str) -> Option<DType> {
    let plain = name.rsplit("::").next().unwrap_or(name).to_ascii_lowercase();
    match plain.as_str() {
        "long int" | "long long" => Some(DType::Int64),
        "short int" => Some(DType::Int16),
        "unsigned char" | "byte" => Some(DType::UInt8),
        "signed char" | "char" => Some(DType::Int8),
        "unsigned short" => Some(DType::UInt16),
        "unsigned int" => Some(DType::UInt32),
        "complex<float>" => Some(DType::Complex64),
        "complex<double>" => Some(DType::Complex128),
        plain => plain.parse().ok(),
    }
}

/// The name in tables.
pub(super) fn cell(dtype: DType) -> &'static str {
    match dtype {
        DType::BFloat16 => "DT_BF16",
        other => other.in_tables().database_name().unwrap_or(other.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_what_has_dimensions_and_a_type() {
        let found = arguments("[[4, 8], [], [8]]", r#"["c10::BFloat16", "Scalar", "float"]"#, None).unwrap();
        let tensor = |shape: &[u64], dtype| Some(Tensor { shape: shape.to_vec(), dtype });
        assert_eq!(found, [tensor(&[4, 8], DType::BFloat16), None, tensor(&[8], DType::Float32)]);
        for (dims, types, reason) in [
            ("", "", Reason::NoShapes),
            ("[[], []]", r#"["float", "Scalar"]"#, Reason::NoShapes),
            ("[[2, 3]]", r#"[""]"#, Reason::NoTypes),
            ("[[2, 3]]", "", Reason::NoTypes),
            ("[[], []]", r#"["TensorList", "Scalar"]"#, Reason::Lists),
            ("[[[2, 3], [4]], []]", r#"["TensorList", "Scalar"]"#, Reason::Lists),
        ] {
            assert_eq!(arguments(dims, types, None), Err(reason), "{dims}");
        }
        let by_default = arguments("[[2, 3]]", "", Some(DType::Float16)).unwrap();
        assert_eq!(by_default, [tensor(&[2, 3], DType::Float16)]);
    }

    #[test]
    fn every_type_that_is_read_has_a_name_in_tables_that_is_read_again() {
        for name in ["c10::BFloat16", "c10::Half", "float", "double", "long int", "int", "bool", "unsigned char"] {
            let dtype = of_name(name).expect(name);
            assert_eq!(DType::from_database(cell(dtype)), Some(dtype), "{name}");
        }
        assert_eq!(cell(of_name("c10::Float8_e4m3fnuz").unwrap()), "FLOAT8_E4M3FN");
        assert_eq!(of_name("TensorList"), None);
    }
}
