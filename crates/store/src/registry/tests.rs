use super::*;

fn registry(text: &str) -> Result<Registry, String> {
    Registry::of_mapping(&OpMapping::parse(text).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn the_table_is_sorted_and_every_row_is_found() {
    assert!(kernels::TABLE.is_sorted_by(|a, b| a.name < b.name));
    for row in kernels::TABLE {
        assert_eq!(kernel(row.name), Some(row));
    }
    assert_eq!(kernel("matmulv2"), None, "case matters");
}

#[test]
fn kernels_answer_for_each_other_only_in_their_group() {
    for (name, others) in [
        ("MatMulV2", ["MatMulV3", "MatMulCommon"]),
        ("MatMulV3", ["MatMulV2", "MatMulCommon"]),
        ("MatMulCommon", ["MatMulV2", "MatMulV3"]),
    ] {
        assert_eq!(siblings(name).collect::<Vec<_>>(), others);
    }
    for name in ["BatchMatMulV2", "QuantBatchMatmulV3", "Add", "unknown"] {
        assert_eq!(siblings(name).next(), None, "{name}");
    }
}

#[test]
fn a_database_goes_before_the_registry() {
    let registry =
        registry("kernel_tables: {RmsNorm: {class: copy}, Add: {source: triton}, x: {layout: n_k}}").unwrap();
    assert_eq!(registry.table("RmsNorm").class, KernelClass::Copy);
    let add = registry.table("Add");
    assert_eq!((add.class, add.source.as_deref()), (KernelClass::Elementwise, Some("triton")));
    assert_eq!(registry.table("x").layout, Some(Layout::NK));
    assert_eq!(registry.described("unknown"), None);
    assert_eq!(registry.table("unknown").class, KernelClass::Generic);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let error = |text: &str| registry(text).unwrap_err();
    assert_eq!(error("kernel_tables: {a: {layout: m}}"), "kernel_tables.a.layout: must be one of n_k, k_n, not \"m\"");
    assert!(error("kernel_tables: {a: {class: 5}}").starts_with("kernel_tables.a.class: must be one of matmul, "));
    assert!(error("kernel_tables: {a: 5}").starts_with("kernel_tables.a: must be a map, not "));
    assert!(error("kernel_tables: 5").starts_with("kernel_tables: must be a map, not "));
}

#[test]
fn a_database_without_a_mapping_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Registry::of_database(folder.path()).unwrap(), Registry::default());
    std::fs::write(folder.path().join("op_mapping.yaml"), "kernel_tables: {g: {class: matmul}}").unwrap();
    assert_eq!(Registry::of_database(folder.path()).unwrap().table("g").class, KernelClass::MatMul);
}
