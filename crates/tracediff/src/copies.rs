//! Copies and sets on the GPU.

use crate::id::Id;
use crate::time::Picoseconds;

/// A copy or a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuCopy {
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    pub(crate) correlation: Id,
    pub(crate) device: u32,
    pub(crate) stream: u32,
    pub(crate) kind: CopyKind,
    /// 0 where the trace has none.
    pub(crate) bytes: u64,
}

/// From where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyKind {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
    Set,
    Other,
}

impl CopyKind {
    pub(crate) const ALL: [CopyKind; 6] = [
        CopyKind::HostToDevice,
        CopyKind::DeviceToHost,
        CopyKind::DeviceToDevice,
        CopyKind::PeerToPeer,
        CopyKind::Set,
        CopyKind::Other,
    ];

    /// As results show it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CopyKind::HostToDevice => "HtoD",
            CopyKind::DeviceToHost => "DtoH",
            CopyKind::DeviceToDevice => "DtoD",
            CopyKind::PeerToPeer => "PtoP",
            CopyKind::Set => "set",
            CopyKind::Other => "other",
        }
    }

    /// The kind of a copy, by its name.
    pub(crate) fn of_copy(name: &str) -> CopyKind {
        let lower = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&["htod", "hosttodevice", "host -> device"]) {
            CopyKind::HostToDevice
        } else if has(&["dtoh", "devicetohost", "device -> host"]) {
            CopyKind::DeviceToHost
        } else if has(&["ptop", "peer"]) {
            CopyKind::PeerToPeer
        } else if has(&["dtod", "devicetodevice", "device -> device"]) {
            CopyKind::DeviceToDevice
        } else if has(&["memset", "fill"]) {
            CopyKind::Set
        } else {
            CopyKind::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CopyKind;

    #[test]
    fn names_tell_kinds() {
        for (name, kind) in [
            ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
            ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
            ("Memcpy DtoD (Device -> Device)", "DtoD"),
            ("Memcpy PtoP (Device -> Device)", "PtoP"),
            ("CopyHostToDevice", "HtoD"),
            ("CopyDeviceToDevice", "DtoD"),
            ("Memset (Device)", "set"),
            ("FillBuffer", "set"),
            ("Memcpy", "other"),
        ] {
            assert_eq!(CopyKind::of_copy(name).name(), kind, "{name}");
        }
    }
}
