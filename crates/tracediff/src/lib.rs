//! Two GPU traces side by side: classification, phases, layers, alignment, fusion.
#![forbid(unsafe_code)]
