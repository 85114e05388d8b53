//! Values that are made when they are first asked for, and kept.

use std::sync::OnceLock;

/// A few values by name. Who looks one up waits only for those that are just being made.
#[derive(Debug)]
pub(crate) struct Kept<N, V>(OnceLock<Box<Named<N, V>>>);

#[derive(Debug)]
struct Named<N, V> {
    name: N,
    value: V,
    next: Kept<N, V>,
}

impl<N, V> Default for Kept<N, V> {
    fn default() -> Self {
        Kept(OnceLock::new())
    }
}

impl<N: Copy + PartialEq, V> Kept<N, V> {
    /// A value that has been made before.
    pub(crate) fn get(&self, name: N) -> Option<&V> {
        let mut rest = self;
        loop {
            let own = rest.0.get()?;
            if own.name == name {
                return Some(&own.value);
            }
            rest = &own.next;
        }
    }

    /// A value, made if there is none of its name. What makes it may not ask for another one of these, nor wait for threads that do.
    pub(crate) fn get_or_make(&self, name: N, make: impl Fn() -> V) -> &V {
        let mut rest = self;
        loop {
            let own = rest.0.get_or_init(|| Box::new(Named { name, value: make(), next: Kept::default() }));
            if own.name == name {
                return &own.value;
            }
            rest = &own.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn each_is_made_once() {
        let (kept, made) = (Kept::default(), AtomicU32::new(0));
        let square = |name: u32| {
            *kept.get_or_make(name, || {
                made.fetch_add(1, Ordering::Relaxed);
                name * name
            })
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!([3, 5, 3, 7].map(square), [9, 25, 9, 49]));
            }
        });
        assert_eq!((made.into_inner(), kept.get(5), kept.get(6)), (3, Some(&25), None));
    }
}
