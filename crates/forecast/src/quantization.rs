//! How linear layers compute.

/// How linear layers compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantization {
    /// In 16-bit floats.
    None,
    /// Weights and activations in signed bytes, scales of the activations known beforehand.
    W8A8Static,
    /// Weights and activations in signed bytes, scales of the activations taken from the activations.
    W8A8Dynamic,
}

impl Quantization {
    /// All of them.
    pub const ALL: [Quantization; 3] = [Quantization::None, Quantization::W8A8Static, Quantization::W8A8Dynamic];

    /// Its name: `none`, `w8a8-static`, `w8a8-dynamic`.
    pub fn name(self) -> &'static str {
        match self {
            Quantization::None => "none",
            Quantization::W8A8Static => "w8a8-static",
            Quantization::W8A8Dynamic => "w8a8-dynamic",
        }
    }
}
