//! Where in a file each mutant goes.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::mutant::{Genre, Mutant, Place};

/// A place that is written in another way while one of its mutants is active. Ranges are of bytes in the file.
#[derive(Debug, Clone)]
pub struct Site {
    /// What is written anew; empty where something is put in.
    pub range: Range<usize>,
    pub change: Change,
    /// The numbers of the mutants, with their replacements.
    pub mutants: Vec<(usize, String)>,
}

impl Site {
    /// The number of its first mutant.
    pub fn number(&self) -> usize {
        self.mutants.first().map_or(0, |(number, _)| *number)
    }
}

/// How a site is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The function returns the replacement.
    Return,
    /// Another operator between the same operands.
    Operator { left: Range<usize>, right: Range<usize> },
    /// The operand without its operator.
    Operand(Range<usize>),
    /// The guard of an arm is a constant.
    Guard,
    /// A guard that lets nothing pass, behind a pattern.
    Never,
    /// The same for an arm that has a guard already.
    NeverGuarded,
    /// A field has the value of the base of its struct.
    Base { field: String, base: Range<usize>, shorthand: bool },
}

/// The sites of a file, and the numbers of mutants that no expression can hold: constants, and conditions with `let`.
pub fn sites(text: &str, mutants: &[(usize, Mutant)]) -> syn::Result<(Vec<Site>, Vec<usize>)> {
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut wanted: HashMap<(Genre, Place), Vec<(usize, String)>> = HashMap::new();
    for (number, mutant) in mutants {
        let replacements = wanted.entry((mutant.genre, mutant.span.start)).or_default();
        replacements.push((*number, mutant.replacement.clone()));
    }
    let mut finder = Finder { text, lines, wanted, sites: Vec::new(), constant: false };
    finder.visit_file(&syn::parse_file(text)?);
    let alone = finder.wanted.into_values().flatten().map(|(number, _)| number).collect();
    Ok((finder.sites, alone))
}

struct Finder<'a> {
    text: &'a str,
    lines: Vec<usize>,
    wanted: HashMap<(Genre, Place), Vec<(usize, String)>>,
    sites: Vec<Site>,
    /// Whether what is visited is evaluated by the compiler, where nothing can be asked for.
    constant: bool,
}

impl Finder<'_> {
    fn range(&self, node: &impl Spanned) -> Range<usize> {
        let span = node.span();
        let offset = |place: proc_macro2::LineColumn| {
            let line = self.lines[place.line - 1];
            line + self.text[line..].chars().take(place.column).map(char::len_utf8).sum::<usize>()
        };
        offset(span.start())..offset(span.end())
    }

    fn add(&mut self, genre: Genre, at: &impl Spanned, range: Range<usize>, change: Change) {
        let start = at.span().start();
        let key = (genre, Place { line: start.line, column: start.column + 1 });
        if !self.constant
            && let Some(mutants) = self.wanted.remove(&key)
        {
            self.sites.push(Site { range, change, mutants });
        }
    }

    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.constant, constant);
        visit(self);
        self.constant = before;
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block, visit: impl FnOnce(&mut Self)) {
        self.within(signature.constness.is_some(), |finder| {
            if !is_opaque(&signature.output)
                && let Some(first) = block.stmts.first()
            {
                let start = finder.range(first).start;
                finder.add(Genre::FnValue, first, start..start, Change::Return);
            }
            visit(finder);
        });
    }
}

/// Whether a function names a trait that its result has, instead of its type: then all that it returns is of one type.
fn is_opaque(output: &syn::ReturnType) -> bool {
    struct Opaque(bool);
    impl<'ast> Visit<'ast> for Opaque {
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut opaque = Opaque(false);
    opaque.visit_return_type(output);
    opaque.0
}

/// Whether a condition binds names, so that it cannot stand in parentheses.
fn binds(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block, |finder| visit::visit_item_fn(finder, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block, |finder| visit::visit_impl_item_fn(finder, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.function(&node.sig, block, |finder| visit::visit_trait_item_fn(finder, node));
        }
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.within(true, |finder| visit::visit_item_const(finder, node));
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.within(true, |finder| visit::visit_item_static(finder, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.within(true, |finder| visit::visit_impl_item_const(finder, node));
    }

    fn visit_type(&mut self, node: &'ast syn::Type) {
        self.within(true, |finder| visit::visit_type(finder, node));
    }

    fn visit_expr_const(&mut self, node: &'ast syn::ExprConst) {
        self.within(true, |finder| visit::visit_expr_const(finder, node));
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        if !binds(&node.left) && !binds(&node.right) {
            let change = Change::Operator { left: self.range(&node.left), right: self.range(&node.right) };
            self.add(Genre::BinaryOperator, &node.op, self.range(node), change);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let operand = Change::Operand(self.range(&node.expr));
        self.add(Genre::UnaryOperator, &node.op, self.range(node), operand);
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        if let Some((_, guard)) = &node.guard {
            let range = self.range(guard);
            self.add(Genre::MatchArm, node, range.clone(), Change::NeverGuarded);
            self.add(Genre::MatchArmGuard, guard, range, Change::Guard);
        } else {
            let end = self.range(&node.pat).end;
            self.add(Genre::MatchArm, node, end..end, Change::Never);
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        if let Some(base) = &node.rest {
            for field in &node.fields {
                if let syn::Member::Named(name) = &field.member {
                    let (base, shorthand) = (self.range(base), field.colon_token.is_none());
                    let change = Change::Base { field: name.to_string(), base, shorthand };
                    self.add(Genre::StructField, field, self.range(&field.expr), change);
                }
            }
        }
        visit::visit_expr_struct(self, node);
    }
}
