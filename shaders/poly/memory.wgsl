// What every kernel of the family binds: its launch, its records, where the limbs of each call lie,
// the roots of unity of every prime, and memory in up to five buffers.
//
// A limb is found by its number in the routine: `places` says, for each call, in which segment of
// memory it begins and at which word; `launch.slots` says which binding that segment has.

struct Launch {
    // In `places`, the records of the launch's tiles, one entry each.
    first_tile: u32,
    // In `places`, where the first call's limbs are listed, and how far apart calls are.
    first_limb: u32,
    limbs: u32,
    unused: u32,
    // The binding of each of 64 segments, a byte each.
    slots: array<vec4<u32>, 4>,
}

@group(0) @binding(0) var<uniform> launch: Launch;
@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> places: array<vec2<u32>>;
// (value, quotient): for each prime psi^brv(i), then the inverses, N entries each.
@group(0) @binding(3) var<storage, read> roots: array<vec2<u32>>;
for s in 0..SEGMENTS:
    @group(0) @binding(${4 + s}) var<storage, read_write> data_{s}: array<${DATA}>;

// Where the limbs of this call are listed.
var<private> first_limb: u32;

// `limb`: (binding, first word) of a limb. `load_words`, `store_words`: words `word` to `word + 3`
// of a limb that begins at `place`; both are multiples of 4.
#if SEGMENTS == 1
fn limb(number: u32) -> vec2<u32> {
    return places[first_limb + number];
}

#if WORD_BY_WORD == 0
fn load_words(place: vec2<u32>, word: u32) -> vec4<u32> {
    return data_0[(place.y + word) >> 2u];
}

fn load_word(place: vec2<u32>, word: u32) -> u32 {
    let i = place.y + word;
    return data_0[i >> 2u][i & 3u];
}

fn store_words(place: vec2<u32>, word: u32, x: vec4<u32>) {
    data_0[(place.y + word) >> 2u] = x;
}
#end
#else
fn limb(number: u32) -> vec2<u32> {
    let place = places[first_limb + number];
    let word = launch.slots[place.x >> 4u][(place.x >> 2u) & 3u];
    return vec2<u32>((word >> (8u * (place.x & 3u))) & 7u, place.y);
}

#if WORD_BY_WORD == 0
fn load_words(place: vec2<u32>, word: u32) -> vec4<u32> {
    let i = (place.y + word) >> 2u;
    switch place.x {
        for s in 1..SEGMENTS: case ${s}u: { return data_{s}[i]; }
        default: { return data_0[i]; }
    }
}

fn load_word(place: vec2<u32>, word: u32) -> u32 {
    let i = place.y + word;
    switch place.x {
        for s in 1..SEGMENTS: case ${s}u: { return data_{s}[i >> 2u][i & 3u]; }
        default: { return data_0[i >> 2u][i & 3u]; }
    }
}

fn store_words(place: vec2<u32>, word: u32, x: vec4<u32>) {
    let i = (place.y + word) >> 2u;
    switch place.x {
        for s in 1..SEGMENTS: case ${s}u: { data_{s}[i] = x; }
        default: { data_0[i] = x; }
    }
}
#end
#end
#if WORD_BY_WORD
#include memory_words
#end
