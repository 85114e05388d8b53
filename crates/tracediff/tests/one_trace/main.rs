//! One trace alone: what must stay the same when its file changes, and cuts of it.

mod cut;
mod input;
mod late;
mod same;
