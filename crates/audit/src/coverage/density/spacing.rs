//! How densely the values of an axis have to lie, and where they do not.

use std::collections::BTreeSet;
use std::fmt;

/// What is asked of the values of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The whole domain, where values between the required ones are asked for.
    pub range: Option<[i64; 2]>,
    /// Density by part of the range, ascending, without hole.
    pub segments: Vec<Segment>,
    /// Values that must be there, ascending.
    pub required: Vec<i64>,
}

/// A part of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First and last value.
    pub range: [i64; 2],
    /// How far neighbours may be apart.
    pub limit: Limit,
}

/// How far two neighbouring values may be apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The greatest difference.
    Gap(i64),
    /// The greatest ratio, in thousandths.
    Ratio(i64),
}

impl Limit {
    /// The largest value that may follow another.
    pub fn reach(self, from: i64) -> i64 {
        match self {
            Limit::Gap(gap) => from.saturating_add(gap),
            Limit::Ratio(thousandths) => {
                let reach = i128::from(from) * i128::from(thousandths) / 1000;
                i64::try_from(reach).unwrap_or(i64::MAX).max(from.saturating_add(1))
            }
        }
    }

    /// Whether two neighbours are near enough; of ratios exactly.
    fn holds(self, from: i64, to: i64) -> bool {
        match self {
            Limit::Gap(gap) => to - from <= gap,
            Limit::Ratio(thousandths) => i128::from(to) * 1000 <= i128::from(from) * i128::from(thousandths),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Gap(gap) => write!(formatter, "gap {gap}"),
            Limit::Ratio(thousandths) => write!(formatter, "ratio {}", *thousandths as f64 / 1000.0),
        }
    }
}

/// Where values are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hole {
    /// An end of the range that is asked for.
    End(i64),
    /// A required value.
    Required(i64),
    /// Two neighbours that are too far apart.
    TooWide {
        /// The lower one.
        from: i64,
        /// The upper one.
        to: i64,
        /// The tightest limit that it breaks.
        limit: Limit,
        /// A value that repairs it, or a part of it.
        repair: i64,
    },
}

impl Hole {
    /// The value to measure.
    pub fn repair(self) -> i64 {
        match self {
            Hole::End(value) | Hole::Required(value) => value,
            Hole::TooWide { repair, .. } => repair,
        }
    }
}

impl Rule {
    /// Whether only single values are asked for.
    pub(crate) fn is_of_values_only(&self) -> bool {
        self.segments.is_empty()
    }

    /// Where the values of a part of the range are not dense enough: ends first, then required values, then neighbours.
    pub fn holes(&self, part: [i64; 2], values: &BTreeSet<i64>) -> Vec<Hole> {
        let [first, last] = part;
        let mut holes = Vec::new();
        if !self.is_of_values_only() {
            let ends = if first == last { vec![first] } else { vec![first, last] };
            holes.extend(ends.into_iter().filter(|end| !values.contains(end)).map(Hole::End));
        }
        let required = self.required.iter().filter(|value| (first..=last).contains(*value));
        holes.extend(required.filter(|value| !values.contains(value)).map(|value| Hole::Required(*value)));
        let inside: Vec<i64> = values.range(first..=last).copied().collect();
        holes.extend(inside.windows(2).filter_map(|pair| self.too_wide(pair[0], pair[1])));
        holes
    }

    fn too_wide(&self, from: i64, to: i64) -> Option<Hole> {
        let judges = self.segments.iter().filter(|segment| from < segment.range[1] && segment.range[0] <= to);
        let broken = judges.map(|segment| segment.limit).filter(|limit| !limit.holds(from, to));
        let limit = broken.min_by_key(|limit| limit.reach(from))?;
        let next_required = self.required.iter().copied().find(|value| (from + 1..to).contains(value));
        let repair = next_required.map_or(limit.reach(from), |value| value.min(limit.reach(from)));
        Some(Hole::TooWide { from, to, limit, repair })
    }
}
