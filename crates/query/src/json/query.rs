//! The JSON form of a query: what [`Query::from_json`] reads.

use crate::query::{Argument, Query, Results, Target, Tensor};
use serde_json::{Value, json};

impl Query {
    /// The JSON form, as in a line of a manifest. An entry of the mapping that the query brings along is there where a manifest gave it.
    ///
    /// ```
    /// use perfdb_query::{DType, Query, Tensor};
    ///
    /// let query = Query::operator("aten.mm.default").input(Tensor::new([16, 512], DType::BFloat16)).tp_size(4);
    /// assert_eq!(Query::from_json(&query.to_json()), Ok(query));
    /// ```
    pub fn to_json(&self) -> Value {
        let key = if self.target == Target::Kernel { "kernel" } else { "op" };
        let mut object = json!({key: self.name()});
        if !self.arguments.is_empty() {
            let has_tensors_only = self.arguments.iter().all(|argument| argument.as_tensor().is_some());
            object[if has_tensors_only { "inputs" } else { "args" }] = self.arguments.iter().map(argument).collect();
        }
        match &self.results {
            Results::Unknown | Results::One(Argument::None) => {}
            Results::One(value) => object["output"] = argument(value),
            Results::Many(values) => object["outputs"] = values.iter().map(argument).collect(),
        }
        if !self.keywords.is_empty() {
            object["kwargs"] = self.keywords.iter().map(|(name, value)| (name.clone(), argument(value))).collect();
        }
        for (key, size) in [("ep_size", self.ep_size), ("tp_size", self.tp_size), ("tier", self.tier)] {
            if let Some(size) = size {
                object[key] = json!(size);
            }
        }
        if self.sequence_parallel {
            object["sequence_parallel"] = json!(true);
        }
        if let Some(grid) = &self.grid {
            object["grid"] = json!({"shape": grid.shape, "tiers": grid.tiers});
        }
        if let Some(entry) = &self.entry_json {
            object["entry"] = Value::clone(entry);
        }
        object
    }
}

fn argument(value: &Argument) -> Value {
    match value {
        Argument::Tensor(value) => tensor(value),
        Argument::List(items) => items.iter().map(argument).collect(),
        Argument::Integer(number) => json!(number),
        Argument::Float(number) => json!(number),
        Argument::Boolean(value) => json!(value),
        Argument::Text(text) => json!(text),
        Argument::None => Value::Null,
    }
}

fn tensor(tensor: &Tensor) -> Value {
    let mut object = json!({"shape": tensor.shape, "dtype": tensor.dtype.name()});
    if let Some(values) = &tensor.values {
        object["values"] = json!(values);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn what_is_written_is_read_as_the_same_query() -> Result<(), Box<dyn std::error::Error>> {
        let lengths = Tensor::of_values([7, 9], DType::Int64);
        let query = Query::operator("torch.ops.tensor_cast.attention.default")
            .input(Tensor::new([16, 512], DType::BFloat16))
            .argument(Argument::None)
            .argument(Argument::List(vec![Argument::Integer(3), Argument::Text("a".to_owned())]))
            .argument(Argument::Float(0.5))
            .argument(Argument::Tensor(lengths))
            .keyword("is_causal", Argument::Boolean(true))
            .outputs([Tensor::new([16, 512], DType::Float8E4M3Fn)])
            .ep_size(8)
            .tier(1)
            .sequence_parallel(true)
            .grid(crate::Grid { shape: vec![2, 8], tiers: vec![0, 1] });
        assert_eq!(Query::from_json(&query.to_json())?, query);
        let kernel = Query::kernel("MatMulV2").input(Tensor::new([16, 512], DType::Int8));
        assert_eq!(kernel.to_json()["inputs"][0], json!({"shape": [16, 512], "dtype": "int8"}));
        assert_eq!(Query::from_json(&kernel.to_json())?, kernel);
        Ok(())
    }
}
