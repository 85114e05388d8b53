//! Products of matrices.

use crate::roofline::Work;

use crate::workload::call::{Call, CallWork, Unit};
use crate::workload::element;
use crate::workload::operator_kind::Product;
use perfdb_store::dtype::DType;

pub(super) fn work(product: Product, call: &Call) -> Option<CallWork> {
    let (left, right) = match product {
        Product::Added | Product::BatchedAdded => (1, 2),
        _ => (0, 1),
    };
    let (element, left_bytes, right_bytes) = (call.element(left)?, call.bytes(left)?, call.bytes(right)?);
    let (a, b) = (call.shape(left)?, call.shape(right)?);
    let size = match (product, a, b) {
        (Product::Plain | Product::Added | Product::Scaled, &[m, k], &[same_k, n]) if k == same_k => {
            Size { batch: 1.0, weights: 1.0, m, n, k }
        }
        (Product::Batched | Product::BatchedAdded, &[batch, m, k], &[same_batch, same_k, n])
            if batch == same_batch && k == same_k =>
        {
            Size { batch, weights: batch, m, n, k }
        }
        (Product::Linear, &[.., k], &[n, same_k]) if k == same_k => {
            Size { batch: 1.0, weights: 1.0, m: a.iter().product::<f64>() / k.max(1.0), n, k }
        }
        (Product::Grouped, &[m, k], &[groups, same_k, n]) if k == same_k => {
            Size { batch: 1.0, weights: groups, m, n, k }
        }
        _ => return None,
    };
    // The result has the type of the operands, and 16 bits where those have 8.
    let result_bytes = if product == Product::Scaled && left_bytes == 1.0 { 2.0 } else { left_bytes };
    let mut work = size.work(left_bytes, right_bytes, result_bytes);
    let is_added = match product {
        Product::Added | Product::BatchedAdded => true,
        Product::Linear => call.shape(2).is_some(),
        Product::Scaled => call.arguments() == 3,
        Product::Plain | Product::Batched | Product::Grouped => false,
    };
    if is_added {
        work.operations += size.batch * size.m * size.n;
        if product != Product::Scaled {
            work.bytes += size.batch * size.n * left_bytes;
        }
    }
    matrix(work, element)
}

/// Sizes of `batch` products (m, k)·(k, n) with this many different weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) batch: f64,
    pub(super) weights: f64,
    pub(super) m: f64,
    pub(super) n: f64,
    pub(super) k: f64,
}

impl Size {
    pub(super) fn work(self, left_bytes: f64, right_bytes: f64, result_bytes: f64) -> Work {
        let Size { batch, weights, m, n, k } = self;
        Work {
            operations: batch * 2.0 * m * n * k,
            bytes: batch * m * k * left_bytes + weights * k * n * right_bytes + batch * m * n * result_bytes,
        }
    }
}

/// Work of the matrix units.
pub(super) fn matrix(work: Work, element: DType) -> Option<CallWork> {
    Some(CallWork { work, unit: Unit::Matrix, precision: element::matrix_precision(element)? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::work;

    #[test]
    fn each_operand_counts_once() {
        let three = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
        assert_eq!(work("aten::mm", "[[3, 7], [7, 5]]", three), Some((210.0, 142.0)));
        assert_eq!(work("aten::matmul", "[[3, 7], [7, 5]]", three), Some((210.0, 142.0)));
        assert_eq!(work("aten::matmul", "[[2, 3, 7], [2, 7, 5]]", three), None);
        assert_eq!(work("aten::addmm", "[[5], [3, 7], [7, 5], [], []]", three), Some((225.0, 152.0)));
        assert_eq!(work("aten::addmm", "[[3, 5], [3, 7], [7, 5], [], []]", three), Some((225.0, 152.0)));
        assert_eq!(work("aten::bmm", "[[4, 3, 7], [4, 7, 5]]", three), Some((840.0, 568.0)));
        assert_eq!(work("aten::baddbmm", "[[4, 3, 5], [4, 3, 7], [4, 7, 5]]", three), Some((900.0, 608.0)));
        assert_eq!(work("aten::linear", "[[1, 3, 7], [5, 7]]", three), Some((210.0, 142.0)));
        assert_eq!(work("aten::linear", "[[1, 3, 7], [5, 7], [5]]", three), Some((225.0, 152.0)));
        assert_eq!(work("aten::_grouped_mm", "[[3, 7], [2, 7, 5], [2]]", three), Some((210.0, 42.0 + 140.0 + 30.0)));
    }

    #[test]
    fn eight_bits_give_sixteen() {
        let types = r#"["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", ""]"#;
        let dims = "[[3, 7], [7, 5], [], [], []]";
        assert_eq!(work("aten::_scaled_mm", dims, types), Some((210.0, 21.0 + 35.0 + 30.0)));
        assert_eq!(work("aten::_scaled_mm", "[[3, 7], [7, 5], []]", types), Some((225.0, 86.0)));
    }

    #[test]
    fn integers_have_no_matrix_units() {
        assert_eq!(work("aten::mm", "[[3, 7], [7, 5]]", r#"["long int", "long int"]"#), None);
    }
}
