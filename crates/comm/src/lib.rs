//! Communication bench: plan, executor on torchrun, aggregation, alignment check.
#![forbid(unsafe_code)]
