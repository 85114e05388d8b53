//! Suggesting a known name in place of one that is not.

/// Jaro-Winkler similarity above which a name is near to another.
const NEAR: f64 = 0.8;

/// The known name that is nearest to `name`, if one is near. Names are compared as `folded` gives them.
///
/// ```
/// use perfdb_store::near_name::nearest;
/// let known = ["Add", "MatMulV2"];
/// assert_eq!(nearest("matmulv2", known, str::to_lowercase), Some("MatMulV2"));
/// assert_eq!(nearest("zzz", known, str::to_lowercase), None);
/// ```
pub fn nearest<'k>(
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
    folded: impl Fn(&str) -> String,
) -> Option<&'k str> {
    let wanted = folded(name);
    let rated = known.into_iter().map(|known| (strsim::jaro_winkler(&folded(known), &wanted), known));
    let (similarity, nearest) = rated.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (similarity > NEAR).then_some(nearest)
}
