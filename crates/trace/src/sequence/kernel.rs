//! Kernels in the order in which they start.

/// One kernel of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// What it is; equal symbols are equal kernels.
    pub symbol: u32,
    /// When it starts, in picoseconds from any origin.
    pub start_ps: i64,
    /// How long it takes, in picoseconds, not negative.
    pub duration_ps: i64,
}

/// Kernels in the order of their starts, however they are stored.
pub trait Sequence {
    /// How many there are.
    fn len(&self) -> usize;

    /// The kernel at a position below [`Sequence::len`].
    fn kernel(&self, at: usize) -> Kernel;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Sequence for [Kernel] {
    fn len(&self) -> usize {
        <[Kernel]>::len(self)
    }

    fn kernel(&self, at: usize) -> Kernel {
        self[at]
    }
}
