//! A clock that jumped, or traces that were joined: nothing at all happens for much longer than everything else takes.

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    if let Some((pause, rest)) = trace.columns.covered.longest_pause()
        && pause >= 5 * rest
    {
        found.error(Code::ClockJump, None, Evidence::new().time("gap_us", pause).time("rest_us", rest));
    }
}
