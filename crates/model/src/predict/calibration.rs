//! How wide an interval must be, and by which way a value is found, as left-out rows taught.

use crate::predict::class::Class;
use crate::predict::extrapolate::Method;
use crate::predict::side::Side;

/// Rows up to which the roofline is fitted again; with more, one of them moves it too little.
pub(crate) const FEW: usize = 32;
/// The same of several slices: what is fitted to each alone follows its few rows, however many there are in all.
pub(crate) const FEW_TOGETHER: usize = 200;
/// What was learnt from the residuals, by class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calibration {
    pub(super) classes: [OfClass; 3],
    /// The same of those queries of a class that are on one side of the rows, where enough rows were left out so.
    pub(super) sides: Vec<((Class, Side), OfClass)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct OfClass {
    pub(super) way: Way,
    /// From which variance on which multiple of sigma holds the truth; the first counts from zero.
    pub(super) steps: Steps,
    /// The same where another slice has a row at the point. Such rows are missed by little, and by little that is many sigmas where
    /// slices are equal: they must not widen the intervals of points that no slice has.
    pub(super) seen: Steps,
}

/// How values of a class are found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Way {
    pub(super) method: Method,
    /// From which variance on how much counts of what another slice has more than its neighbours; nothing where it is empty.
    pub(super) shares: Steps,
    /// From which variance on how much counts of what a process over all rows says; nothing where it is empty.
    pub(super) process: Steps,
}

/// Of queries that are not predicted.
static NOTHING: OfClass = OfClass { way: Way::alone(Method::Kriging), steps: Vec::new(), seen: Vec::new() };

/// From where on a number counts; the first counts from zero.
pub(super) type Steps = Vec<(f64, f64)>;

fn step(steps: &[(f64, f64)], at: f64) -> Option<f64> {
    let later = steps.get(1..).unwrap_or_default();
    steps.get(later.partition_point(|(from, _)| *from < at)).map(|(_, value)| *value)
}

impl Way {
    pub(super) const fn alone(method: Method) -> Way {
        Way { method, shares: Vec::new(), process: Vec::new() }
    }

    pub(super) fn share(&self, variance: f64) -> f64 {
        step(&self.shares, variance).unwrap_or(0.0)
    }

    pub(super) fn process_share(&self, variance: f64) -> f64 {
        step(&self.process, variance).unwrap_or(0.0)
    }
}

impl Calibration {
    /// The memory that it holds beside itself.
    pub(crate) fn bytes(&self) -> usize {
        let of_class = |class: &OfClass| {
            size_of_val(&*class.steps)
                + size_of_val(&*class.seen)
                + size_of_val(&*class.way.shares)
                + size_of_val(&*class.way.process)
        };
        let sides = self.sides.iter().map(|(_, of)| of);
        size_of_val(&*self.sides) + self.classes.iter().chain(sides).map(of_class).sum::<usize>()
    }

    /// What was learnt of queries of a class on a side of the rows, or of all of the class.
    pub(crate) fn learnt(&self, class: Class, side: Option<Side>) -> &OfClass {
        let is_of = |(key, _): &&((Class, Side), OfClass)| Some(*key) == side.map(|side| (class, side));
        let of_side = self.sides.iter().find(is_of).map(|(_, of)| of);
        of_side.or_else(|| self.classes.get(class.index()?)).unwrap_or(&NOTHING)
    }
}

impl OfClass {
    /// How values are found.
    pub(crate) fn method(&self) -> Method {
        self.way.method
    }

    /// Whether another slice tells something of them.
    pub(crate) fn has_share(&self) -> bool {
        !self.way.shares.is_empty()
    }

    /// How much counts of what another slice has more than its neighbours.
    pub(crate) fn share(&self, variance: f64) -> f64 {
        self.way.share(variance)
    }

    /// How much counts of what a process over all rows says.
    pub(crate) fn process_share(&self, variance: f64) -> f64 {
        self.way.process_share(variance)
    }

    /// Half the width of an interval in sigmas; `is_seen` where another slice has a row at the point.
    pub(crate) fn multiple(&self, is_seen: bool, variance: f64) -> f64 {
        step(if is_seen { &self.seen } else { &self.steps }, variance).unwrap_or(0.0)
    }
}
