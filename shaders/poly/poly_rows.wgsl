// Forward rows of what is half transformed, sums of products, inverse rows of what is to be half
// transformed; a workgroup has one row of the limbs of a tile. Twin: crates/cpu/src/poly/rows.rs.
#include row_tile

@compute @workgroup_size(THREADS)
fn poly_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    run_tile(group, t);
}
