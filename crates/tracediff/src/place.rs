//! What is known of every kernel beside its event, under the default rules.

pub(crate) mod classes;
pub(crate) mod launches;
pub(crate) mod layers;
pub(crate) mod operators;
pub(crate) mod passes;
