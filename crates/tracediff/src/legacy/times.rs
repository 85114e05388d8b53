//! Times as doubles, in which the old rules calculate.

/// Start and duration in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Doubles {
    pub(crate) start: f64,
    pub(crate) duration: f64,
}

/// Times of the events of a trace, each list beside the rows of that name.
#[derive(Debug, Default)]
pub(crate) struct LegacyTimes {
    pub(crate) kernels: Vec<Doubles>,
    pub(crate) frames: Vec<Doubles>,
    pub(crate) annotations: Vec<Doubles>,
}

impl LegacyTimes {
    /// Puts the times of the piece of the trace that follows behind these.
    pub(crate) fn append(&mut self, mut piece: LegacyTimes) {
        self.kernels.append(&mut piece.kernels);
        self.frames.append(&mut piece.frames);
        self.annotations.append(&mut piece.annotations);
    }
}
