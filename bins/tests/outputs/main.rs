//! What every tool that writes files holds to: no output is an input, and the outputs of a run change together or not at all.

mod forms;
mod hostile_names;
mod one_step;
mod refusal;
mod world;
