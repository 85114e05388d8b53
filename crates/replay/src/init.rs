//! Initial values of tensors: kinds as they stand in a case.

use crate::kernels::number::Number;
use perfdb_store::dtype::DType;
use serde::Deserialize;

/// How a tensor is filled before the call. Random kinds are fixed by seed, operator, row and tensor name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Init {
    /// Uniform in `[low, high)`.
    Uniform {
        /// Lower bound, inclusive.
        low: Number,
        /// Upper bound, exclusive.
        high: Number,
    },
    /// Integers in `[low, high)`.
    Randint {
        /// Lower bound, inclusive.
        low: i64,
        /// Upper bound, exclusive.
        high: i64,
    },
    /// Standard normal.
    Normal,
    /// The first `take` entries of a random permutation of `0..n`.
    Permutation {
        /// Size of the permuted range.
        n: u64,
        /// How many entries are used.
        take: u64,
    },
    /// `start`, `start + 1`, … over the flat tensor.
    Arange {
        /// First value; left out where it is 0.
        #[serde(default)]
        start: i64,
    },
    /// Flat index modulo `modulus`.
    ArangeMod {
        /// Divisor.
        modulus: u64,
    },
    /// In the last dimension `min(index, max)`, the same for all others.
    ArangeClip {
        /// Largest value; −1 where nothing is selected.
        max: i64,
    },
    /// One value everywhere.
    Full { value: Number },
    /// Flat values, row-major, in storage order.
    Values {
        /// One per element.
        values: Vec<Number>,
    },
    /// `value` strictly above the diagonal of the last two dimensions (column − row ≥ `diagonal`), else zero.
    Triu {
        /// First diagonal that holds the value.
        diagonal: i64,
        /// The value above.
        value: Number,
    },
    /// Flat index s becomes `(s mod ranks)·per_rank + (s div ranks) mod per_rank`.
    RankRoundRobin {
        /// Number of ranks.
        ranks: u64,
        /// Experts per rank.
        per_rank: u64,
    },
    /// Row i holds the next `counts[i]` numbers of one running counter modulo `modulus`, then zeros.
    BlockPrefix {
        /// Used entries per row.
        counts: Vec<u64>,
        /// Divisor of the counter.
        modulus: u64,
    },
    /// The same values as another input.
    CopyOf {
        /// Name of that input, which stands before this one.
        of: String,
    },
}

impl Init {
    /// What an input is filled with unless its operator says otherwise:
    /// floats uniform in `[-1, 1)`, integers 0…7, truth values 0…1.
    pub fn default_for(dtype: DType) -> Init {
        match dtype {
            DType::Bool => Init::Randint { low: 0, high: 2 },
            _ if dtype.is_integer() => Init::Randint { low: 0, high: 8 },
            _ => Init::Uniform { low: Number::Int(-1), high: Number::Int(1) },
        }
    }

    /// One value everywhere.
    pub fn full(value: impl Into<Number>) -> Init {
        Init::Full { value: value.into() }
    }

    pub fn zeros() -> Init {
        Init::full(0)
    }

    /// Flat integer values.
    pub fn integers(values: impl IntoIterator<Item = i64>) -> Init {
        Init::Values { values: values.into_iter().map(Number::Int).collect() }
    }
}
