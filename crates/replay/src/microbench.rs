//! Measuring a whole database: what may run, the run's folder, msprof, and where the numbers come from.

pub mod directory;
pub mod eligibility;
pub mod msprof;
pub mod origin;
pub mod resume;
