//! What a question that a row answers costs in memory: nothing.

use perfdb_query::{DType, Database, Query, Tensor};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counted per thread.
struct Counted;

// SAFETY: every call goes to the system's allocator as it is; counting touches a thread's own cell, which allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

#[test]
fn an_exact_answer_allocates_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(
        folder.path().join("op_mapping.yaml"),
        "operator_mappings: {mm: {kernel_type: MatMulV2}, add: {kernel_type: Add, query_mode: elementwise}}",
    )?;
    let header = "Input Shapes,Input Data Types,Output Shapes,Output Data Types,Average Duration(us)\n";
    std::fs::write(
        folder.path().join("MatMulV2.csv"),
        format!("{header}\"16,512;512,2048\",DT_BF16;DT_BF16,\"16,2048\",DT_BF16,5\n"),
    )?;
    std::fs::write(
        folder.path().join("Add.csv"),
        format!("{header}\"8,64;8,64\",DT_BF16;DT_BF16,\"8,64\",DT_BF16,2\n"),
    )?;
    let bf16 = |shape: [i64; 2]| Tensor::new(shape, DType::BFloat16);
    let product = Query::operator("mm").input(bf16([16, 512])).input(bf16([512, 2048]));
    let transposed = Query::operator("mm").input(bf16([16, 512])).input(bf16([2048, 512]));
    let sum = Query::operator("add").input(bf16([8, 64])).input(bf16([8, 64])).output(bf16([8, 64]));
    let database = Database::open(folder.path())?;
    let reader = database.reader(Default::default(), Default::default());
    for query in [product, transposed, sum] {
        // The first question reads and indexes the table.
        let first = reader.lookup(&query)?;
        let before = COUNT.get();
        let again = reader.lookup(&query);
        let allocated = COUNT.get() - before;
        assert_eq!(again?, first);
        assert_eq!(allocated, 0, "{query:?}");
    }
    Ok(())
}
