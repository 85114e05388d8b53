use super::*;
use proptest::prelude::*;

fn entries(symbols: &[u8]) -> Vec<Entry> {
    symbols.iter().map(|symbol| Entry { symbol: *symbol, heavy: *symbol < 100, time: 10 }).collect()
}

fn ranges(symbols: &[u8]) -> Vec<Range<usize>> {
    Units::default().layers(&entries(symbols)).into_iter().map(|layer| layer.entries).collect()
}

#[test]
fn a_copy_with_an_entry_more_is_a_layer_too() {
    let unit = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut symbols = unit.repeat(4);
    symbols.insert(32, 200);
    symbols.extend([1, 2, 3, 201, 4, 5, 6, 7, 8]);
    symbols.extend(unit.repeat(3));
    let found = ranges(&symbols);
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.contains(&(34..42)), "it is as long as the others: {found:?}");
}

#[test]
fn what_repeats_twice_as_long_is_the_shorter_unit() {
    // Pairs of layers that differ in one entry are found as pairs first; the shorter unit is known from elsewhere.
    let mut units = Units::default();
    let plain = [1, 2, 3, 4, 5, 6, 7, 8].repeat(5);
    assert_eq!(units.layers(&entries(&plain)).len(), 5);
    let pair = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 9, 5, 6, 7, 8];
    let found = units.layers(&entries(&pair.repeat(4)));
    assert_eq!((found.len(), units.len()), (8, 1));
}

#[test]
fn layers_that_differ_in_an_entry_by_turns_are_layers() {
    let pair = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 150, 6, 7, 8, 9, 10];
    let found = ranges(&[[200, 201].to_vec(), pair.repeat(6), vec![202]].concat());
    assert_eq!(found.len(), 12, "{found:?}");
    assert_eq!((found[0].clone(), found[1].clone()), (2..12, 12..23));
    // Layers of which every other one has other work stay pairs.
    let other = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 20, 21, 22, 23];
    assert_eq!(ranges(&other.repeat(6)).len(), 6);
}

#[test]
fn rotations_of_a_unit_are_that_unit() {
    let mut units = Units::default();
    units.layers(&entries(&[1, 2, 3, 4].repeat(4)));
    let found = units.layers(&entries(&[3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2]));
    assert_eq!(units.len(), 1);
    assert_eq!(found[0].entries, 2..6);
    assert_eq!(found.len(), 3);
}

#[test]
fn nothing_repeats() {
    assert_eq!(ranges(&[]), []);
    assert_eq!(ranges(&[1, 2, 3, 4, 5]), []);
    assert_eq!(ranges(&[1; 50]), [], "a layer has different entries");
    assert_eq!(ranges(&[100, 101, 102].repeat(9)), [], "a layer has large pieces of work");
}

#[test]
fn a_first_layer_that_begins_differently_counts() {
    // The first layer begins with other work than the rest, and shares its end with them.
    let unit = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let mut symbols = vec![150, 151, 2, 3, 4, 160, 6];
    symbols.extend([7, 8, 9, 10]);
    symbols.extend(unit.repeat(5));
    assert_eq!(ranges(&symbols).len(), 6, "{:?}", ranges(&symbols));
}

proptest! {
    #[test]
    fn layers_do_not_overlap(symbols in prop::collection::vec(0u8..5, 0..200)) {
        let found = ranges(&symbols);
        prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        prop_assert!(found.iter().all(|range| range.start < range.end && range.end <= symbols.len()));
    }

    #[test]
    fn planted_layers_are_found(
        period in 6usize..30,
        copies in 3usize..20,
        before in prop::collection::vec(100u8..120, 0..9),
        behind in prop::collection::vec(100u8..120, 0..9),
    ) {
        let unit: Vec<u8> = (0..period as u8).collect();
        let symbols = [before.clone(), unit.repeat(copies), behind].concat();
        let expected: Vec<_> = (0..copies).map(|copy| before.len() + copy * period..before.len() + (copy + 1) * period).collect();
        prop_assert_eq!(ranges(&symbols), expected);
    }
}
