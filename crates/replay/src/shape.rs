//! Shapes: sizes of a tensor's dimensions, outermost first, row-major.

/// Sizes of the dimensions, outermost first; empty for a scalar.
pub type Shape = Vec<usize>;

/// Number of elements; `usize::MAX` where the product is larger.
pub fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1_usize, |product, &size| product.saturating_mul(size))
}

/// The shape that two operands broadcast to by the usual rules (aligned at the last dimension, 1 stretches), or `None`.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let mut out = vec![1; rank];
    for (i, size) in out.iter_mut().enumerate() {
        let x = (i + a.len()).checked_sub(rank).map_or(1, |at| a[at]);
        let y = (i + b.len()).checked_sub(rank).map_or(1, |at| b[at]);
        *size = match (x, y) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return None,
        };
    }
    Some(out)
}

/// True if `shape` broadcasts to `target` without changing it.
pub fn broadcasts_to(shape: &[usize], target: &[usize]) -> bool {
    broadcast(shape, target).is_some_and(|out| out == target)
}

/// Logical shape of a `FRACTAL_NZ` tensor: `(…, a, b, c, d)` holds `(…, b·c, a·d)`. `None` below rank 4.
pub fn unfold_fractal_nz(blocked: &[usize]) -> Option<Shape> {
    let (outer, &[a, b, c, d]) = blocked.split_last_chunk::<4>()?;
    let mut logical = outer.to_vec();
    logical.extend([b.checked_mul(c)?, a.checked_mul(d)?]);
    Some(logical)
}

/// The shape with its last two dimensions swapped; shapes of lower rank stay.
pub fn swap_last_two(shape: &[usize]) -> Shape {
    let mut swapped = shape.to_vec();
    if let [.., a, b] = swapped.as_mut_slice() {
        std::mem::swap(a, b);
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting() {
        assert_eq!(broadcast(&[16, 8, 64], &[1, 8, 64]), Some(vec![16, 8, 64]));
        assert_eq!(broadcast(&[3, 1], &[4]), Some(vec![3, 4]));
        assert_eq!(broadcast(&[], &[2]), Some(vec![2]));
        assert_eq!(broadcast(&[3], &[2]), None);
        assert!(broadcasts_to(&[1, 4], &[3, 4]));
        assert!(!broadcasts_to(&[3, 4], &[1, 4]));
    }

    #[test]
    fn fractal_nz() {
        assert_eq!(unfold_fractal_nz(&[320, 48, 16, 16]), Some(vec![768, 5120]));
        assert_eq!(unfold_fractal_nz(&[66, 448, 16, 32]), Some(vec![7168, 2112]));
        assert_eq!(unfold_fractal_nz(&[2, 3, 4, 5, 6]), Some(vec![2, 20, 18]));
        assert_eq!(unfold_fractal_nz(&[8, 4, 16]), None);
    }

    #[test]
    fn element_counts_do_not_overflow() {
        assert_eq!(elements(&[]), 1);
        assert_eq!(elements(&[usize::MAX, 2]), usize::MAX);
        assert_eq!(elements(&[usize::MAX, 0, 2]), 0);
    }
}
