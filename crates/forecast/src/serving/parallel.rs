//! Over how many devices a model is spread.

use super::architecture::{Architecture, FeedForward, Mixer};
use crate::Error;

/// Over how many devices a replica of a model is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parallel {
    /// Devices that share each matrix of attention.
    pub tensor: u64,
    /// Groups of devices with sequences of their own in attention.
    pub data: u64,
    /// Stages of layers.
    pub pipeline: u64,
    /// Devices that share each expert's matrices.
    pub expert_tensor: u64,
    /// Groups of devices that hold different experts.
    pub expert: u64,
}

impl Parallel {
    /// Each matrix over this many devices, experts included.
    pub fn tensor(tensor: u64) -> Parallel {
        Parallel { tensor, data: 1, pipeline: 1, expert_tensor: tensor, expert: 1 }
    }

    /// Devices of attention, `tensor` for each of `data` groups, of which the experts of a model take `expert` groups.
    ///
    /// # Errors
    /// Groups of experts that do not divide the devices.
    pub fn spread(model: &Architecture, tensor: u64, data: u64, expert: u64, pipeline: u64) -> Result<Parallel, Error> {
        let devices = tensor.saturating_mul(data);
        if expert == 0 || model.expert_layers() > 0 && !devices.is_multiple_of(expert) {
            let reason = format!("{expert} does not divide the {devices} devices");
            return Err(Error::Deployment { field: "expert parallel size", reason });
        }
        if model.expert_layers() == 0 && expert > 1 {
            let reason = format!("{expert}, but the model has no experts");
            return Err(Error::Deployment { field: "expert parallel size", reason });
        }
        Ok(Parallel { tensor, data, pipeline, expert_tensor: devices / expert, expert })
    }

    /// Devices of a replica.
    pub fn devices(&self) -> u64 {
        self.tensor * self.data * self.pipeline
    }

    /// Checks that the sizes fit together and the model.
    ///
    /// # Errors
    /// The first size that does not.
    pub fn check(&self, model: &Architecture) -> Result<(), Error> {
        let refuse = |field, reason: String| Err(Error::Deployment { field, reason });
        for (field, size) in [
            ("tensor parallel size", self.tensor),
            ("data parallel size", self.data),
            ("pipeline parallel size", self.pipeline),
            ("expert tensor parallel size", self.expert_tensor),
            ("expert parallel size", self.expert),
        ] {
            if !(1..=4096).contains(&size) {
                return refuse(field, format!("must be from 1 to 4096, not {size}"));
            }
        }
        if self.pipeline > model.layer_count() {
            return refuse("pipeline parallel size", format!("there are {} layers only", model.layer_count()));
        }
        let has_experts = model.layers.iter().any(|layers| matches!(layers.feed_forward, FeedForward::Experts { .. }));
        if has_experts && self.expert_tensor * self.expert != self.tensor * self.data {
            let reason = format!(
                "{} x {} devices hold the experts, and {} x {} the attention",
                self.expert_tensor, self.expert, self.tensor, self.data
            );
            return refuse("expert parallel size", reason);
        }
        for layers in &model.layers {
            let heads = match layers.mixer {
                Mixer::None => continue,
                Mixer::Grouped { heads, .. } | Mixer::Latent { heads, .. } => heads,
                Mixer::GatedDelta { value_heads, .. } => value_heads,
            };
            if heads % self.tensor != 0 {
                return refuse("tensor parallel size", format!("{} does not divide the {heads} heads", self.tensor));
            }
        }
        Ok(())
    }
}
