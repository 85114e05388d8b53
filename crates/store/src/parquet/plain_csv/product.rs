//! Products of matrices, told by the names of their dimensions.

use super::TensorLayout;
use crate::registry::{KernelClass, Layout, TableType};

/// A product, where one dimension of both inputs is missing in the output: `m,k n,k -> m,n`, `b,m,k b,k,n -> b,m,n`.
pub(super) fn of(inputs: &[TensorLayout], outputs: &[TensorLayout]) -> Option<TableType> {
    let ([left, right, ..], [output]) = (inputs, outputs) else { return None };
    let [rows @ .., inner] = left.dimensions.as_slice() else { return None };
    let [output_rows @ .., columns] = output.dimensions.as_slice() else { return None };
    let [batch @ .., first, second] = right.dimensions.as_slice() else { return None };
    if rows.is_empty() || rows != output_rows || inner == columns {
        return None;
    }
    let layout = match (first == inner && second == columns, first == columns && second == inner) {
        (true, _) => Layout::KN,
        (_, true) => Layout::NK,
        _ => return None,
    };
    let class = match batch {
        [] => KernelClass::MatMul,
        batch if *batch == rows[..rows.len() - 1] => KernelClass::BatchMatMul,
        _ => return None,
    };
    Some(TableType { class, layout: Some(layout), ..TableType::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dimension_that_the_output_lacks_is_summed_over() {
        let of = |call: &str| {
            let tensors = |text: &str| text.split_whitespace().map(|one| one.parse().unwrap()).collect::<Vec<_>>();
            let (inputs, outputs) = call.split_once("->").unwrap();
            of(&tensors(inputs), &tensors(outputs)).map(|table| (table.class, table.layout.unwrap()))
        };
        let product = KernelClass::MatMul;
        assert_eq!(of("m,k:bf16 n,k:bf16 -> m,n:bf16"), Some((product, Layout::NK)));
        assert_eq!(of("m,k:fp8 k,n:fp8 m,1:fp32 n,1:fp32 -> m,n:bf16"), Some((product, Layout::KN)));
        assert_eq!(of("b,m,k:bf16 k,n:bf16 -> b,m,n:bf16"), Some((product, Layout::KN)));
        assert_eq!(of("b,m,k:bf16 b,n,k:bf16 -> b,m,n:bf16"), Some((KernelClass::BatchMatMul, Layout::NK)));
        for other in [
            "m,n:bf16 m,n:bf16 -> m,n:bf16",
            "m,n:bf16 n:bf16 -> m,n:bf16",
            "m,k:bf16 -> m,n:bf16",
            "m,k:bf16 n,k:bf16 -> m,n:bf16 m,1:fp32",
            "t,k:bf16 e,n,k:bf16 -> t,n:bf16",
            "m,128:bf16 128,128:bf16 -> m,128:bf16",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
