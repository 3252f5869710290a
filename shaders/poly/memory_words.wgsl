// Memory word by word, for columns in pairs, which begin at any word: four neighbours may belong to
// two workgroups, and whoever writes one word of a vector may write all of them.
#if SEGMENTS == 1
fn load_word(place: vec2<u32>, word: u32) -> u32 {
    return data_0[place.y + word];
}

fn store_word(place: vec2<u32>, word: u32, x: u32) {
    data_0[place.y + word] = x;
}
#else
fn load_word(place: vec2<u32>, word: u32) -> u32 {
    let i = place.y + word;
    switch place.x {
        for s in 1..SEGMENTS: case ${s}u: { return data_{s}[i]; }
        default: { return data_0[i]; }
    }
}

fn store_word(place: vec2<u32>, word: u32, x: u32) {
    let i = place.y + word;
    switch place.x {
        for s in 1..SEGMENTS: case ${s}u: { data_{s}[i] = x; }
        default: { data_0[i] = x; }
    }
}
#end

// Words wherever they lie in a limb.
fn load_words(place: vec2<u32>, words: vec4<u32>) -> vec4<u32> {
    let low = vec2<u32>(load_word(place, words.x), load_word(place, words.y));
    return vec4<u32>(low, load_word(place, words.z), load_word(place, words.w));
}

fn store_words(place: vec2<u32>, words: vec4<u32>, x: vec4<u32>) {
    store_word(place, words.x, x.x);
    store_word(place, words.y, x.y);
    store_word(place, words.z, x.z);
    store_word(place, words.w, x.w);
}
