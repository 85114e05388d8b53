//! Lookup rules: rule sets as data.

use crate::dtype::{exact_name, one_spelling, profiler_name};
use crate::shapes::{strip, strip_batch};
use perfdb_store::dtype::DType;
use perfdb_store::registry::{KernelClass, class_of};
use std::str::FromStr;

/// Lookup rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReaderSemantics {
    /// The simulator's reader of August 2026, to the last bit.
    Upstream,
    /// The simulator's reader of 2025.
    Upstream2025,
    /// The newest reader without its faults.
    #[default]
    Corrected,
    /// Exact rows as `Corrected`; all else predicted from the nearest rows, with the 90 % interval.
    Best,
}

impl ReaderSemantics {
    /// All of them, the default first.
    pub const ALL: [ReaderSemantics; 4] =
        [ReaderSemantics::Corrected, ReaderSemantics::Best, ReaderSemantics::Upstream, ReaderSemantics::Upstream2025];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            ReaderSemantics::Corrected => "corrected",
            ReaderSemantics::Best => "best",
            ReaderSemantics::Upstream => "upstream",
            ReaderSemantics::Upstream2025 => "upstream-2025",
        }
    }

    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            ReaderSemantics::Upstream => &UPSTREAM,
            ReaderSemantics::Upstream2025 => &UPSTREAM_2025,
            ReaderSemantics::Corrected => &CORRECTED,
            ReaderSemantics::Best => &BEST,
        }
    }
}

/// A name that is no semantics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown semantics {0:?} (corrected, best, upstream, upstream-2025)")]
pub struct UnknownSemantics(String);

impl FromStr for ReaderSemantics {
    type Err = UnknownSemantics;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = ReaderSemantics::ALL.into_iter();
        all.into_iter().find(|semantics| semantics.name() == name).ok_or_else(|| UnknownSemantics(name.to_owned()))
    }
}

/// Which layers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    /// Rows, sums of rows, collectives between sizes.
    Measured,
    /// These, and where they have no answer, interpolation: what a simulation uses.
    #[default]
    Interpolating,
}

/// Which of the rows that fit answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The first of all tables.
    First,
    /// The one with the smallest distance, then table, then duration column, then file order.
    Nearest,
}

/// When a row counts as padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padded {
    /// When the rule that is reported says so: a later input's rule erases it.
    ByLastRule,
    /// When any input is padded; the fewer elements are added, the nearer.
    ByAnyInput,
    /// No row is.
    Never,
}

/// How interpolation goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// One axis, rows of the first table.
    OneAxis,
    /// One to three raw axes; the first set of axes that can answer does.
    FirstSet,
    /// One to three logarithmic axes; the set with the narrowest bracket answers.
    NarrowestBracket,
    /// All axes at once, from the nearest rows, with an interval.
    Predicted,
}

/// How collectives between two sizes are answered by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// One straight line through all sizes, cut to the bracket.
    GlobalFit,
    /// Within the bracket, logarithmic in both.
    Bracket,
}

/// Who reads a table: the simulator's readers go by the names of kernels, ours by the classes of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReaderKind {
    Own,
    Upstream,
    Upstream2025,
}

/// The rules of one semantics.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) reader: ReaderKind,
    /// Matmul, relaxed and rank rules of the newest reader.
    pub(crate) is_newest: bool,
    pub(crate) choice: Choice,
    /// Of elementwise kernels and fused experts.
    pub(crate) choice_of_first: Choice,
    pub(crate) padded: Padded,
    /// Only tokens are padded, not heads or sizes.
    pub(crate) pads_tokens_only: bool,
    /// Rows of another output type answer elementwise calls, scaled by size.
    pub(crate) scales_types: bool,
    /// Alternate tables of elementwise kernels and collectives are asked.
    pub(crate) asks_alternates: bool,
    /// The number of tokens is part of the distance of attention rows.
    pub(crate) attention_tokens: bool,
    /// Exact search takes sparse mode and heads as interpolation does.
    pub(crate) attention_one_view: bool,
    /// An answer between rows comes before that of a smaller row that a kernel would round up.
    pub(crate) bracket_before_padding: bool,
    /// The same rules without padded rows, where an answer between rows comes first.
    pub(crate) unpadded: Option<&'static Rules>,
    /// Sums without some of their parts are answers of the interpolating layer.
    pub(crate) keeps_partial: bool,
    /// Scales of experts may be matrices of a row for each expert, as profilers write them, not only vectors.
    pub(crate) scales_by_expert: bool,
    /// Experts between rows have their embedded parts.
    pub(crate) experts_keep_parts: bool,
    /// Parts of a decomposition are interpolated in their own types, opaque and cache parts too.
    pub(crate) parts_as_they_are: bool,
    /// The tensor-parallel projection comes before interpolation, too.
    pub(crate) projects_first: bool,
    pub(crate) between: Between,
    /// The message of a product counts all dimensions but the last.
    pub(crate) message_of_all_rows: bool,
    pub(crate) sizes: Sizes,
    /// Outliers that the core envelope replaces are replaced before interpolation, too.
    pub(crate) envelope_everywhere: bool,
    /// Reasons belong to the table that they are about.
    pub(crate) reason_per_table: bool,
    /// Query lengths of the indexer are read from their position as well.
    pub(crate) positional_lengths: bool,
    /// The mean of lengths is taken in single precision.
    pub(crate) single_precision_mean: bool,
    /// The one row of a matrix is no batch, so that interpolation can use it.
    pub(crate) keeps_single_rows: bool,
    /// Numbers of columns with fractions or gaps are texts with a fraction.
    pub(crate) float_texts: bool,
    /// Rows of another data type than the query's are a less certain source, not the same.
    pub(crate) exact_types: bool,
    /// The runtime fields beyond length, heads, sparse mode and layout are compared.
    pub(crate) runtime_fields: bool,
}

static UPSTREAM: Rules = Rules {
    reader: ReaderKind::Upstream,
    is_newest: true,
    choice: Choice::Nearest,
    choice_of_first: Choice::First,
    padded: Padded::ByLastRule,
    pads_tokens_only: false,
    scales_types: true,
    asks_alternates: false,
    attention_tokens: false,
    attention_one_view: false,
    bracket_before_padding: false,
    unpadded: None,
    keeps_partial: false,
    scales_by_expert: false,
    experts_keep_parts: false,
    parts_as_they_are: false,
    projects_first: false,
    between: Between::FirstSet,
    message_of_all_rows: false,
    sizes: Sizes::GlobalFit,
    envelope_everywhere: false,
    reason_per_table: false,
    positional_lengths: false,
    single_precision_mean: true,
    keeps_single_rows: false,
    float_texts: true,
    exact_types: false,
    runtime_fields: true,
};

static UPSTREAM_2025: Rules = Rules {
    reader: ReaderKind::Upstream2025,
    is_newest: false,
    choice: Choice::First,
    between: Between::OneAxis,
    runtime_fields: false,
    ..UPSTREAM
};

const CORRECTED_RULES: Rules = Rules {
    reader: ReaderKind::Own,
    is_newest: true,
    choice: Choice::Nearest,
    choice_of_first: Choice::Nearest,
    padded: Padded::ByAnyInput,
    pads_tokens_only: true,
    scales_types: false,
    asks_alternates: true,
    attention_tokens: true,
    attention_one_view: true,
    bracket_before_padding: true,
    unpadded: None,
    keeps_partial: true,
    scales_by_expert: true,
    experts_keep_parts: true,
    parts_as_they_are: true,
    projects_first: true,
    between: Between::NarrowestBracket,
    message_of_all_rows: true,
    sizes: Sizes::Bracket,
    envelope_everywhere: true,
    reason_per_table: true,
    positional_lengths: true,
    single_precision_mean: false,
    keeps_single_rows: true,
    float_texts: false,
    exact_types: true,
    runtime_fields: true,
};

const BEST_RULES: Rules = Rules { between: Between::Predicted, ..CORRECTED_RULES };

static CORRECTED: Rules = Rules { unpadded: Some(&CORRECTED_UNPADDED), ..CORRECTED_RULES };
static CORRECTED_UNPADDED: Rules = Rules { padded: Padded::Never, ..CORRECTED_RULES };

static BEST: Rules = Rules { unpadded: Some(&BEST_UNPADDED), ..BEST_RULES };
static BEST_UNPADDED: Rules = Rules { padded: Padded::Never, ..BEST_RULES };

impl Rules {
    /// How leading dimensions of 1 are taken off: the one row of a matrix stays where the rules say so.
    pub(crate) fn stripping(&self) -> fn(&[i64]) -> &[i64] {
        if self.keeps_single_rows { strip_batch } else { strip }
    }

    /// The class of a table: as its database says, or to the simulator's readers as its name says.
    #[inline]
    pub(crate) fn class_of(&self, declared: KernelClass, name: &str) -> KernelClass {
        if self.reader == ReaderKind::Own { declared } else { class_of(name) }
    }

    /// The spelling in rows of a call's type: of the very type, or as the simulator's readers have it, who know one 16-bit float.
    #[inline]
    pub(crate) fn type_name(&self, dtype: DType) -> Option<&'static str> {
        if self.exact_types { exact_name(dtype) } else { profiler_name(dtype) }
    }

    /// Whether a row's type is that of a call.
    #[inline]
    pub(crate) fn is_type(&self, dtype: DType, row: &str) -> bool {
        let name = self.type_name(dtype);
        name == Some(row) || self.exact_types && name == Some(one_spelling(row))
    }

    /// Whether answers have intervals.
    pub(crate) fn predicts(&self) -> bool {
        self.between == Between::Predicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for semantics in ReaderSemantics::ALL {
            assert_eq!(semantics.name().parse(), Ok(semantics));
        }
        assert!("best-of-all".parse::<ReaderSemantics>().is_err());
    }
}
