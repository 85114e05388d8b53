//! `--shard I/N` and `perfdb merge-shards`: together they do what one run does.

mod comparisons;
mod hostile;
mod measuring;
mod refusals;
mod slurm;
mod support;
