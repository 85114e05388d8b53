//! How the simulator chooses and interpolates rows.

use super::fields::Fields;
use indexmap::IndexMap;
use perfdb_pycompat::yaml::Map;

/// `interpolation_policy`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InterpolationPolicy {
    /// `linear`.
    pub default_method: Option<String>,
    /// Kernel type to exceptions.
    pub kernel_overrides: IndexMap<String, InterpolationOverride>,
    /// Which axis generic compute kernels are interpolated along.
    pub generic_compute: Option<GenericCompute>,
    /// Everything else.
    pub other: Map,
}

/// What differs for one kernel type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InterpolationOverride {
    /// `sqrt` in older files: interpolate over the square root.
    pub shape_transform: Option<String>,
    /// `sqrt_seq` or `linear` in newer files.
    pub axis_transform: Option<String>,
    /// Interpolate along at most this many dimensions.
    pub max_interpolation_dim: Option<i64>,
    /// As in the policy itself.
    pub generic_compute: Option<GenericCompute>,
    /// Everything else.
    pub other: Map,
}

/// `generic_compute` of an interpolation policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenericCompute {
    /// `output_numel`: the number of output elements.
    pub axis: Option<String>,
    /// Everything else.
    pub other: Map,
}

/// `latency_policy` and `query_selection_policy`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SelectionPolicy {
    /// Kernel type to rule.
    pub kernel_overrides: IndexMap<String, SelectionOverride>,
    /// Everything else.
    pub other: Map,
}

/// The rule for one kernel type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SelectionOverride {
    /// Rows from a profile go before rows from a microbenchmark.
    pub prefer_profiling_rows: Option<bool>,
    /// When a profile's duration is too far from the busy time of the cores.
    pub profiling_core_envelope_fallback: Option<CoreEnvelopeFallback>,
    /// Several rows with different meaning are a miss.
    pub require_semantic_unique: Option<bool>,
    /// Everything else.
    pub other: Map,
}

/// `profiling_core_envelope_fallback`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CoreEnvelopeFallback {
    /// Largest accepted ratio of duration to core time.
    pub max_duration_to_core_ratio: Option<f64>,
    /// Everything else.
    pub other: Map,
}

impl InterpolationPolicy {
    pub(super) fn from_map(map: Map) -> InterpolationPolicy {
        let mut fields = Fields::new(map);
        InterpolationPolicy {
            default_method: fields.text("default_method"),
            kernel_overrides: fields.maps("kernel_overrides", InterpolationOverride::from_map),
            generic_compute: fields.map("generic_compute").map(GenericCompute::from_map),
            other: fields.rest(),
        }
    }
}

impl InterpolationOverride {
    fn from_map(map: Map) -> InterpolationOverride {
        let mut fields = Fields::new(map);
        InterpolationOverride {
            shape_transform: fields.text("shape_transform"),
            axis_transform: fields.text("axis_transform"),
            max_interpolation_dim: fields.integer("max_interpolation_dim"),
            generic_compute: fields.map("generic_compute").map(GenericCompute::from_map),
            other: fields.rest(),
        }
    }
}

impl GenericCompute {
    fn from_map(map: Map) -> GenericCompute {
        let mut fields = Fields::new(map);
        GenericCompute { axis: fields.text("axis"), other: fields.rest() }
    }
}

impl SelectionPolicy {
    pub(super) fn from_map(map: Map) -> SelectionPolicy {
        let mut fields = Fields::new(map);
        SelectionPolicy {
            kernel_overrides: fields.maps("kernel_overrides", SelectionOverride::from_map),
            other: fields.rest(),
        }
    }
}

impl SelectionOverride {
    fn from_map(map: Map) -> SelectionOverride {
        let mut fields = Fields::new(map);
        SelectionOverride {
            prefer_profiling_rows: fields.boolean("prefer_profiling_rows"),
            profiling_core_envelope_fallback: fields
                .map("profiling_core_envelope_fallback")
                .map(CoreEnvelopeFallback::from_map),
            require_semantic_unique: fields.boolean("require_semantic_unique"),
            other: fields.rest(),
        }
    }
}

impl CoreEnvelopeFallback {
    fn from_map(map: Map) -> CoreEnvelopeFallback {
        let mut fields = Fields::new(map);
        CoreEnvelopeFallback {
            max_duration_to_core_ratio: fields.number("max_duration_to_core_ratio"),
            other: fields.rest(),
        }
    }
}
