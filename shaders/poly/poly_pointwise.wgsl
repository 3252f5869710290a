// Sums of products, word by word; a workgroup has one row of the limbs of a tile. Twin:
// crates/cpu/src/poly/pointwise.rs.
#include row_tile

@compute @workgroup_size(THREADS)
fn poly_pointwise(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    run_tile(group, t);
}
