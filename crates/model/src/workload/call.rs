//! A call of an operator: its name, and the shapes, types and values of its arguments.

use crate::roofline::{Precision, Work};
use serde_json::Value;

use crate::workload::element;
use crate::workload::operator_kind::OperatorKind;
use perfdb_store::dtype::DType;

/// The arguments of a call as a profile has them: three JSON lists. An empty text is a list that was not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arguments<'a> {
    /// `Input Dims`: the shape of each argument, empty for what is no tensor.
    pub dims: &'a str,
    /// `Input type`: the name of the type of each argument.
    pub types: &'a str,
    /// `Concrete Inputs`: the value of each argument that is no tensor, as a text.
    pub values: &'a str,
}

/// A call of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    operator: String,
    dims: Vec<Vec<f64>>,
    types: Vec<Option<DType>>,
    values: Option<Vec<String>>,
}

/// What a call must do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallWork {
    /// Operations and bytes.
    pub work: Work,
    /// What does it.
    pub unit: Unit,
    /// The type that counts for the peak.
    pub precision: Precision,
}

/// What limits a kernel, beside the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The matrix units.
    Matrix,
    /// The other arithmetic units.
    Vector,
    /// The link to other devices; bytes are those that one rank sends in a ring.
    Link,
}

/// A message of a collective, as a profile annotates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// `Collective name`: `allreduce`, `_allgather_base`.
    pub collective: &'a str,
    /// `In msg nelems`: elements that a rank has before.
    pub elements_in: u64,
    /// `Out msg nelems`: elements that a rank has afterwards.
    pub elements_out: u64,
    /// `dtype`: the name of the type.
    pub element_type: &'a str,
    /// `Group size`: how many take part.
    pub ranks: u32,
}

impl Call {
    /// A call; `None` where the lists are not lists of shapes, names and values.
    pub fn new(operator: &str, arguments: Arguments<'_>) -> Option<Call> {
        Some(Call {
            operator: base_name(operator).to_owned(),
            dims: dims(arguments.dims)?,
            types: texts(arguments.types)?.iter().map(|name| element::of_name(name)).collect(),
            values: if arguments.values.is_empty() { None } else { Some(texts(arguments.values)?) },
        })
    }

    /// Whether there is a formula for an operator; whether its arguments fit is not known before they are seen.
    pub fn is_known(operator: &str) -> bool {
        OperatorKind::of(base_name(operator)).is_some()
    }

    /// The kind of an operator.
    pub fn kind(&self) -> Option<OperatorKind> {
        OperatorKind::of(&self.operator)
    }

    /// What the cache of keys and values holds that the call writes to; `None` where it writes to none.
    pub fn written_cache(&self) -> Option<DType> {
        if self.kind()? == OperatorKind::CacheWrite { self.element(2) } else { None }
    }

    /// The name without namespace, and without the `_` of operators that work in place.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// What the same work is called whoever does it: the name, or `attention` for all operators of attention.
    pub fn label(&self) -> &str {
        match self.kind() {
            Some(OperatorKind::Attention(_) | OperatorKind::PackedAttention(_)) => "attention",
            _ => &self.operator,
        }
    }

    /// The shapes of the tensors: `256×4096, 4096×512`. Of a write to a cache, the new keys: the cache is as large as the memory that
    /// was left.
    pub fn shapes(&self) -> String {
        let dims = if self.kind() == Some(OperatorKind::CacheWrite) { self.dims.get(..1) } else { None };
        let shape = |shape: &Vec<f64>| shape.iter().map(f64::to_string).collect::<Vec<String>>().join("×");
        let shapes = dims.unwrap_or(&self.dims).iter().filter(|shape| !shape.is_empty()).map(shape);
        shapes.collect::<Vec<String>>().join(", ")
    }

    /// The types of the tensors that have a shape, once where all are the same: `bfloat16`.
    pub fn types(&self) -> String {
        if self.kind() == Some(OperatorKind::CacheWrite) {
            return names_of([self.element(0), self.element(2)]);
        }
        let tensors = self.dims.iter().zip(&self.types).filter(|(shape, _)| !shape.is_empty());
        names_of(tensors.map(|(_, element)| *element))
    }

    /// The shape of an argument, if it is a tensor with dimensions.
    pub(crate) fn shape(&self, at: usize) -> Option<&[f64]> {
        self.dims.get(at).map(Vec::as_slice).filter(|shape| !shape.is_empty())
    }

    /// How many arguments have a place in the list of shapes.
    pub(crate) fn arguments(&self) -> usize {
        self.dims.len()
    }

    /// Elements of an argument; one where it is a tensor without dimensions.
    pub(crate) fn elements(&self, at: usize) -> Option<f64> {
        self.element(at)?;
        Some(self.dims.get(at)?.iter().product())
    }

    /// The type of an argument, if it is a tensor.
    pub(crate) fn element(&self, at: usize) -> Option<DType> {
        *self.types.get(at)?
    }

    /// Bytes of an element of an argument.
    pub(crate) fn bytes(&self, at: usize) -> Option<f64> {
        Some(element::bytes(self.element(at)?))
    }

    /// The value of an argument as a text; `None` where values were not recorded, or not this many.
    pub(crate) fn value(&self, at: usize) -> Option<&str> {
        Some(self.values.as_ref()?.get(at)?.trim())
    }

    /// A value that is true or false. An empty one is the default, which is false.
    pub(crate) fn flag(&self, at: usize) -> Option<bool> {
        match self.value(at)?.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "" | "none" | "false" | "0" => Some(false),
            _ => None,
        }
    }

    /// A value that is one integer or a list of them: `[2, 2]`, `(2,2)`, `1`.
    pub(crate) fn integers(&self, at: usize) -> Option<Vec<f64>> {
        let inside = self.value(at)?.trim_matches(['[', ']', '(', ')']);
        let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse::<i64>().ok().map(|number| number as f64)).collect()
    }
}

/// Names of types, one where all are the same; `?` for what is none.
pub(crate) fn names_of(types: impl IntoIterator<Item = Option<DType>>) -> String {
    let mut names: Vec<&str> = types.into_iter().map(|element| element.map_or("?", element::name)).collect();
    if names.windows(2).all(|pair| pair[0] == pair[1]) {
        names.truncate(1);
    }
    names.join(", ")
}

/// The name without namespace and without the `_` of operators that work in place.
fn base_name(operator: &str) -> &str {
    let base = operator.rsplit("::").next().unwrap_or(operator);
    base.strip_suffix('_').unwrap_or(base)
}

/// Shapes; a list of tensors has none of its own.
fn dims(text: &str) -> Option<Vec<Vec<f64>>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let Value::Array(arguments) = serde_json::from_str(text).ok()? else { return None };
    let shape = |argument: &Value| {
        let sizes = argument.as_array()?.iter().map(|size| size.as_u64().map(|size| size as f64));
        sizes.collect::<Option<Vec<f64>>>()
    };
    Some(arguments.iter().map(|argument| shape(argument).unwrap_or_default()).collect())
}

fn texts(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let Value::Array(items) = serde_json::from_str(text).ok()? else { return None };
    let text = |item: Value| match item {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Some(items.into_iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_namespaces_and_one_underline() {
        for (name, base) in
            [("aten::mul_", "mul"), ("mul", "mul"), ("vllm::_C::rms_norm", "rms_norm"), ("aten::_softmax", "_softmax")]
        {
            assert_eq!(base_name(name), base);
        }
    }

    #[test]
    fn shapes_and_types_are_short() {
        let arguments =
            Arguments { dims: "[[4, 8], [], [8]]", types: r#"["c10::Half", "Scalar", "c10::Half"]"#, values: "" };
        let call = Call::new("aten::add_", arguments).expect("lists");
        assert_eq!((call.label(), call.shapes(), call.types()), ("add", "4×8, 8".to_owned(), "float16".to_owned()));
    }

    #[test]
    fn values_may_stand_in_any_brackets() {
        let arguments = Arguments { dims: "[]", types: "[]", values: r#"["[2, 3]", "(1,1)", "7", "", "x", "True"]"# };
        let call = Call::new("f", arguments).expect("lists");
        assert_eq!(call.integers(0), Some(vec![2.0, 3.0]));
        assert_eq!(call.integers(1), Some(vec![1.0, 1.0]));
        assert_eq!(call.integers(2), Some(vec![7.0]));
        assert_eq!(call.integers(3), Some(vec![]));
        assert_eq!((call.integers(4), call.flag(5), call.flag(3), call.flag(9)), (None, Some(true), Some(false), None));
    }
}
