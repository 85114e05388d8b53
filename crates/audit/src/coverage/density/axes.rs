//! Which axes a kernel has, and the rules for them.

use super::spacing::Rule;
use super::standard::Standard;
use perfdb_grid::generators::Generator;
use perfdb_grid::grids;
use perfdb_grid::rules::{Pattern, RuleFile};
use perfdb_grid::template::Template;
use perfdb_store::registry::is_collective;

/// How the rows of a kernel tell the values of its axes.
pub(crate) enum Kernel<'r> {
    /// By the shapes of a template.
    Template { name: &'r str, template: &'r Template },
    /// By the first dimension of some inputs and outputs.
    Tokens { name: &'r str, inputs: &'static [usize], outputs: &'static [usize] },
    /// By the query, and the runtime columns.
    Attention { name: &'r str },
    /// By a column.
    Collective,
}

/// The axis of kernels that generators make.
pub(crate) const TOKENS: &str = "tokens";
/// The axis of collectives.
pub(crate) const MESSAGE_BYTES: &str = "message_bytes";
pub(crate) const ATTENTION_AXES: [&str; 3] = ["batch", "seq", "avg_seq_len"];

impl<'r> Kernel<'r> {
    /// How the rows of this kernel type are read; `None` where no rule makes rows of it.
    pub(crate) fn of(kernel_type: &str, rules: &'r RuleFile) -> Option<Kernel<'r>> {
        if is_collective(kernel_type) {
            return Some(Kernel::Collective);
        }
        let name = rules.assignment(kernel_type)?;
        Some(match rules.pattern(name)? {
            Pattern::Template(template) => Kernel::Template { name, template },
            Pattern::Generator(Generator::FusedAttention) => Kernel::Attention { name },
            Pattern::Generator(generator) => {
                let (inputs, outputs): (&[usize], &[usize]) = match generator {
                    Generator::GroupedMatmul => (&[0, 8], &[0]),
                    Generator::DispatchFfnCombine => (&[0, 3, 6], &[0]),
                    _ => (&[0], &[0, 1, 2]),
                };
                Kernel::Tokens { name, inputs, outputs }
            }
        })
    }

    /// The axes in their order.
    pub(crate) fn axes(&self) -> Vec<&str> {
        match self {
            Kernel::Template { template, .. } => template.variables().iter().map(String::as_str).collect(),
            Kernel::Tokens { .. } => vec![TOKENS],
            Kernel::Attention { .. } => ATTENTION_AXES.to_vec(),
            Kernel::Collective => vec![MESSAGE_BYTES],
        }
    }

    /// The rule of an axis, if it has one.
    pub(crate) fn rule<'s>(&self, axis: &str, standard: &'s Standard) -> Option<&'s Rule> {
        match self {
            Kernel::Template { name, template } => {
                standard.template_axis(name, axis).or_else(|| standard.grid(grid_of(template, axis)?))
            }
            Kernel::Tokens { name, .. } => {
                standard.template_axis(name, axis).or_else(|| standard.grid(tokens_grid(name)))
            }
            Kernel::Attention { name } => standard.template_axis(name, axis),
            Kernel::Collective => standard.communication_axis(axis),
        }
    }
}

/// The grid over which a generator's tokens run.
fn tokens_grid(name: &str) -> &'static str {
    if name == "split_qkv_rmsnorm_rope" { "ELEM_TOKENS_GRID" } else { "MOE_TOKENS_GRID" }
}

/// The named grid that a variable of a template runs over.
pub(crate) fn grid_of(template: &Template, axis: &str) -> Option<&'static str> {
    let values = template.grid(axis)?;
    grids::names().find(|name| grids::named(name) == Some(values))
}

/// Rules that nothing uses, and axes over a named grid that have none: `(axis, what)`.
pub(crate) fn unused_and_missing(rules: &RuleFile, standard: &Standard) -> (Vec<String>, Vec<String>) {
    let mut used: Vec<String> = Vec::new();
    let mut missing = Vec::new();
    for (name, pattern) in rules.patterns() {
        match pattern {
            Pattern::Template(template) => {
                for axis in template.variables() {
                    let Some(grid) = grid_of(template, axis) else { continue };
                    if standard.template_axis(name, axis).is_some() {
                        continue;
                    }
                    match standard.grid(grid) {
                        Some(_) => used.push(standard.resolved(grid).to_owned()),
                        None => missing.push(format!("{name}.{axis} ({grid})")),
                    }
                }
            }
            Pattern::Generator(Generator::FusedAttention) => {}
            Pattern::Generator(_) => used.push(standard.resolved(tokens_grid(name)).to_owned()),
        }
    }
    let mut unused = Vec::new();
    for (template, axis, grid) in standard.template_axes() {
        let exists = match rules.pattern(template) {
            Some(Pattern::Template(template)) => template.variables().iter().any(|own| own == axis),
            Some(Pattern::Generator(Generator::FusedAttention)) => ATTENTION_AXES.contains(&axis),
            Some(Pattern::Generator(_)) => axis == TOKENS,
            None => false,
        };
        if exists {
            used.extend(grid.map(|grid| standard.resolved(grid).to_owned()))
        } else {
            unused.push(format!("template_axes.{template}.{axis}"))
        }
    }
    unused.extend(
        standard.grids().filter(|grid| !used.iter().any(|own| own == grid)).map(|grid| format!("grids.{grid}")),
    );
    unused.extend(
        standard
            .communication_axes()
            .filter(|axis| *axis != MESSAGE_BYTES)
            .map(|axis| format!("communication_axes.{axis}")),
    );
    (unused, missing)
}
