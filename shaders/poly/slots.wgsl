// What a thread holds from one step of a tile to a later one: SLOTS times its four words, found by
// a number that is data. `let_slot` declares a name for one of them.
//
// SLOT_WORDS declares them word by word, for a compiler that keeps arrays of few elements in
// registers, where each access is a tree of comparisons (crates/wgpu/src/poly/kernels.rs).
#if SLOT_WORDS
var<private> slots: array<u32, ${4 * SLOTS}>;

inline fn let_slot(name, number) {
    let ${name}_at = 4u * (${number});
    let ${name} = vec4<u32>(
        slots[${name}_at],
        slots[${name}_at + 1u],
        slots[${name}_at + 2u],
        slots[${name}_at + 3u]
    );
}

inline fn fill_slot(number, value) {
    {
        let at_word = 4u * (${number});
        slots[at_word] = ${value}.x;
        slots[at_word + 1u] = ${value}.y;
        slots[at_word + 2u] = ${value}.z;
        slots[at_word + 3u] = ${value}.w;
    }
}
#else
var<private> slots: array<vec4<u32>, SLOTS>;

inline fn let_slot(name, number) {
    let ${name} = slots[${number}];
}

inline fn fill_slot(number, value) {
    slots[${number}] = ${value};
}
#end
