//! How far a measured duration lies from what the call takes in the mean of many: the default for rows that do not tell.

/// Standard deviations within which 90 % of normal values lie.
pub(crate) const NINE_OF_TEN: f64 = 1.645;

/// What was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timed {
    /// A kernel, which waits for nobody.
    Kernel,
    /// A collective: all of its devices wait for the slowest.
    Collective,
}

/// Kernels of 20 µs and more. Of measured pairs of one shape, each as far from the mean of many as their difference says, this holds
/// 95 % (attention, A100), 94 % (layers of one model, A100) and 92 % (latent attention, L40S).
const LONG_KERNEL: f64 = 0.02;
/// Shorter kernels. Tables do not agree: this holds all pairs of attention on the A100, and 65 % of latent attention on the L40S, where
/// half lie within 1 % and a quarter beyond 8 %. Calls of such layers on the A100 spread by as much (2.5 % as a standard deviation).
const SHORT_KERNEL: f64 = 0.04;
/// Kernels are short below this, in microseconds: there pairs begin to lie further apart.
const SHORT_BELOW_US: f64 = 20.0;
/// 90 % of the repeats of NCCL's collectives on B200 lie within it.
const COLLECTIVE: f64 = 0.054;

/// No standard deviation of the rows around an outlier counts as less: as sure as a measured row is at best.
pub(crate) const LEAST_DEVIATION: f64 = LONG_KERNEL / NINE_OF_TEN;

impl Timed {
    /// What was timed, by whether it is a collective.
    pub fn of(is_collective: bool) -> Timed {
        if is_collective { Timed::Collective } else { Timed::Kernel }
    }

    /// Half of the 90 % interval of a measured row of which no deviation is known, as a logarithm.
    pub fn half_width(self, duration_us: f64) -> f64 {
        match self {
            Timed::Collective => COLLECTIVE,
            Timed::Kernel if duration_us < SHORT_BELOW_US => SHORT_KERNEL,
            Timed::Kernel => LONG_KERNEL,
        }
    }

    /// The standard deviation that belongs to [`half_width`](Self::half_width).
    pub fn deviation(self, duration_us: f64) -> f64 {
        self.half_width(duration_us) / NINE_OF_TEN
    }
}
