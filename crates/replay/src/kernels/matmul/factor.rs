//! How element types are multiplied and summed.

use crate::kernels::element::{Element, Wide};

/// An element type of a product: how it is multiplied and summed.
pub trait Factor: Copy + Default + Send + Sync + 'static {
    /// The type that panels are multiplied in.
    type Panel: Wide;
    /// The type of the finished sums.
    type Sum: Copy + Default + Send + Sync + 'static;

    /// The exact values in the panel type.
    fn widen_slice(from: &[Self], to: &mut [Self::Panel]);
    /// Adds the products of one panel to the sums.
    fn add(products: &[Self::Panel], sums: &mut [Self::Sum]);
}

impl<E: Element> Factor for E {
    type Panel = E::Wide;
    type Sum = E::Wide;

    fn widen_slice(from: &[Self], to: &mut [E::Wide]) {
        E::widen_slice(from, to);
    }

    fn add(products: &[E::Wide], sums: &mut [E::Wide]) {
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum += *product;
        }
    }
}

impl Factor for i8 {
    type Panel = f32;
    type Sum = i32;

    fn widen_slice(from: &[Self], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = f32::from(*from);
        }
    }

    fn add(products: &[f32], sums: &mut [i32]) {
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum = sum.wrapping_add(*product as i32);
        }
    }
}
