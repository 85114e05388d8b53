//! MatMulV3: matrix product, as [`MatMulV2`](super::mat_mul_v2).

use super::mat_mul_v2;
use crate::operator::{INPUTS, Operator};

pub(super) const OPERATOR: Operator = Operator::new("MatMulV3", INPUTS, mat_mul_v2::plan, mat_mul_v2::run);
