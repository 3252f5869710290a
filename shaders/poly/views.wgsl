// Evaluations of one ring read as those of the other (`girih_backend::poly::View`): X is Y^2.

// The word that word `j` is.
fn view_source(view: u32, j: u32) -> u32 {
    let last = BLOCK * ROWS - 1u;
    let pair = 2u * min(j, last - j);
    switch view {
        case LIFTED: { return j >> 1u; }
        case LIFTED_CONJUGATE: { return last - (j >> 1u); }
        case RESTRICTED: { return pair; }
        default: { return pair + 1u; }
    }
}

// Four words from `first` on, of runs of equal words.
fn viewed(place: vec2<u32>, view: u32, run: u32, first: u32) -> vec4<u32> {
    var x: vec4<u32>;
    for (var j = 0u; j < 4u; j++) {
        x[j] = load_word(place, view_source(view, first + j) >> run);
    }
    return x;
}
