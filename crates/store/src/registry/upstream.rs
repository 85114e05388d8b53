//! What the simulator's readers make of kernels by their names alone.

/// A set of what the simulator's readers make of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Upstream(u8);

impl Upstream {
    /// Nothing but equal shapes and types.
    pub const NOTHING: Upstream = Upstream(0);
    /// A product, whose weights may be transposed.
    pub const PRODUCT: Upstream = Upstream(1);
    /// The same to the newest reader alone.
    pub const PRODUCT_SINCE_2026: Upstream = Upstream(1 << 1);
    /// Batches of tokens are one batch.
    pub const FLATTENS: Upstream = Upstream(1 << 2);
    /// Heads are one dimension with their size.
    pub const MERGES: Upstream = Upstream(1 << 3);
    /// bf16 and fp32 are the same.
    pub const RELAXED: Upstream = Upstream(1 << 4);
    /// The same to the newest reader alone.
    pub const RELAXED_SINCE_2026: Upstream = Upstream(1 << 5);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Upstream) -> Upstream {
        Upstream(self.0 | other.0)
    }

    /// Whether all of another set is in it.
    pub const fn has(self, other: Upstream) -> bool {
        self.0 & other.0 == other.0
    }
}
