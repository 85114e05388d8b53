//! The file as such: compression, encoding, and what kind of text it holds.

mod gunzip;
mod opened;
mod pieces;
mod utf16;

pub(crate) use opened::{Oddities, Text, open};
pub(crate) use pieces::{PieceReader, Pieces};
