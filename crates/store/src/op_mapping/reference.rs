//! Where a kernel comes from: `torch_npu_reference`.

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

impl Api {
    fn from_node(node: &Node) -> Option<Api> {
        if let Some(name) = node.as_text() {
            return Some(Api { name: name.to_owned(), ..Api::default() });
        }
        let mut fields = Fields::new(node.as_map()?.clone());
        Some(Api { name: fields.text("name")?, note: fields.text("note"), other: fields.rest() })
    }
}
