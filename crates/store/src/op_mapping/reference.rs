//! Where a kernel comes from: `torch_npu_reference`.

use super::OpMapping;
use super::fields::Fields;
use perfdb_pycompat::yaml::{Map, Node};

/// What is known about a kernel's way from PyTorch to the device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelReference {
    /// The functions that end in this kernel.
    pub apis: Vec<Api>,
    /// The aclnn functions behind them; empty when there is none.
    pub aclnn: Vec<String>,
    /// The function that a microbenchmark calls.
    pub microbench_api: Option<String>,
    /// Everything else.
    pub other: Map,
}

/// A function that ends in a kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Api {
    /// Full name, such as `torch.mm`.
    pub name: String,
    /// A note.
    pub note: Option<String>,
    /// Everything else.
    pub other: Map,
}

impl KernelReference {
    pub(super) fn from_map(map: Map) -> KernelReference {
        let mut fields = Fields::new(map);
        let aclnn = fields.text("aclnn").map_or_else(|| fields.texts("aclnn"), |name| vec![name]);
        KernelReference {
            apis: fields.take("apis", |node| node.as_list()?.iter().map(Api::from_node).collect()).unwrap_or_default(),
            aclnn,
            microbench_api: fields.text("microbench_api"),
            other: fields.rest(),
        }
    }
}

/// The text of a mapping whose collectives lie in another folder, relative to it. `None` where the reference is not on a line of its own.
pub fn with_collectives_in(mapping: &[u8], folder: &str) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(mapping.len());
    for line in mapping.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"communication_data_ref:") {
            text.extend_from_slice(format!("communication_data_ref: {folder}\n").as_bytes());
        } else {
            text.extend_from_slice(line);
        }
    }
    let read = OpMapping::parse(std::str::from_utf8(&text).ok()?).ok()?;
    (read.communication_data_ref.as_deref() == Some(folder)).then_some(text)
}

impl Api {
    fn from_node(node: &Node) -> Option<Api> {
        if let Some(name) = node.as_text() {
            return Some(Api { name: name.to_owned(), ..Api::default() });
        }
        let mut fields = Fields::new(node.as_map()?.clone());
        Some(Api { name: fields.text("name")?, note: fields.text("note"), other: fields.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::with_collectives_in;

    #[test]
    fn a_reference_on_a_line_of_its_own_names_another_folder() {
        let with = |mapping: &str| {
            with_collectives_in(mapping.as_bytes(), "hccl").map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        let expected = "a: 1\ncommunication_data_ref: hccl\nb: 2";
        assert_eq!(with("a: 1\ncommunication_data_ref: \"../x/\"\nb: 2").as_deref(), Some(expected));
        assert_eq!(with("{communication_data_ref: ../x}"), None);
        assert_eq!(with("a: ["), None);
    }
}
