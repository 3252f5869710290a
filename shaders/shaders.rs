//! The WGSL kernels of girih, as texts: a module for each folder, a constant for each file.
//!
//! They are templates: `girih-wgpu` expands them for a shape and a plan (README.md has the
//! language) and hands them to the driver.

#![no_std]

/// A file: for browsers, which load it, without what only people read.
macro_rules! text {
    ($path:expr) => {{
        #[cfg(target_arch = "wasm32")]
        {
            const FULL: &[u8] = include_bytes!($path);
            const SHORT: &[u8] = &crate::shorten::<{ crate::shortened_len(FULL) }>(FULL);
            match core::str::from_utf8(SHORT) {
                Ok(text) => text,
                Err(_) => panic!("whole lines of text are text"),
            }
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            include_str!($path)
        }
    }};
}

/// The next byte of a shortened text from `at` on, if any, and where the one after it is looked
/// for; `fresh`: whether `at` is at the beginning of a line. Comments, indentation and empty lines
/// are left out.
#[cfg(any(test, target_arch = "wasm32"))]
const fn next_kept(text: &[u8], mut at: usize, fresh: bool) -> Option<(u8, usize)> {
    while at < text.len() {
        let byte = text[at];
        if fresh && (byte == b' ' || byte == b'\n') {
            at += 1;
        } else if byte == b'/' && at + 1 < text.len() && text[at + 1] == b'/' {
            while at < text.len() && text[at] != b'\n' {
                at += 1;
            }
        } else {
            return Some((byte, at + 1));
        }
    }
    None
}

/// Bytes of a shortened text.
#[cfg(any(test, target_arch = "wasm32"))]
const fn shortened_len(text: &[u8]) -> usize {
    let (mut at, mut len, mut fresh) = (0, 0, true);
    while let Some((byte, next)) = next_kept(text, at, fresh) {
        (at, len, fresh) = (next, len + 1, byte == b'\n');
    }
    len
}

/// A text without comments, indentation and empty lines; its length is [`shortened_len`].
#[cfg(any(test, target_arch = "wasm32"))]
const fn shorten<const LEN: usize>(text: &[u8]) -> [u8; LEN] {
    let (mut out, mut at, mut len, mut fresh) = ([0; LEN], 0, 0, true);
    while let Some((byte, next)) = next_kept(text, at, fresh) {
        out[len] = byte;
        (at, len, fresh) = (next, len + 1, byte == b'\n');
    }
    out
}

/// Constants that hold the files of a folder.
macro_rules! texts {
    ($folder:literal: $($name:ident = $file:literal),* $(,)?) => {$(
        #[doc = concat!("`", $folder, "/", $file, "`")]
        pub const $name: &str = text!(concat!($folder, "/", $file));
    )*};
}

/// Kernels of bootstrapping.
pub mod bootstrap {
    texts! { "bootstrap":
        ACCUMULATOR = "accumulator.wgsl",
        ACCUMULATOR_RAISED = "accumulator_raised.wgsl",
        ACCUMULATOR_WORDS = "accumulator_words.wgsl",
        ACCUMULATOR_TORUS = "accumulator_torus.wgsl",
        BLIND_ROTATE = "blind_rotate.wgsl",
        CLOSEST = "closest.wgsl",
        COMBINATION = "combination.wgsl",
        COMBINE = "combine.wgsl",
        EXTERNAL_PRODUCT = "external_product.wgsl",
        JOB = "job.wgsl",
        KEY_SWITCH = "key_switch.wgsl",
        KEY_SWITCH_FINISH = "key_switch_finish.wgsl",
        KEY_SWITCH_TORUS = "key_switch_torus.wgsl",
        KEY_SWITCH_TORUS_FINISH = "key_switch_torus_finish.wgsl",
        KEY_SWITCHED = "key_switched.wgsl",
    }
}

/// What families share.
pub mod lib {
    texts! { "lib":
        ARITHMETIC = "arithmetic.wgsl",
        TRANSFORM = "transform.wgsl",
    }
}

/// Kernels of programs on polynomials.
pub mod poly {
    texts! { "poly":
        COLUMN_PAIRS = "column_pairs.wgsl",
        HALF_TRANSFORM = "half_transform.wgsl",
        MEMORY = "memory.wgsl",
        MEMORY_WORDS = "memory_words.wgsl",
        SLOTS = "slots.wgsl",
        MODULAR = "modular.wgsl",
        POLY_COLUMNS = "poly_columns.wgsl",
        POLY_POINTWISE = "poly_pointwise.wgsl",
        POLY_ROWS = "poly_rows.wgsl",
        ROW_TILE = "row_tile.wgsl",
        VIEWS = "views.wgsl",
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::String;

    #[test]
    fn shortened_texts_have_the_same_code() {
        const TEXT: &str = "// A.\n\n#if A > 0\n    x = a / b;  // c\n    //\n#end";
        const LEN: usize = shortened_len(TEXT.as_bytes());
        let short = shorten::<LEN>(TEXT.as_bytes());
        assert_eq!(core::str::from_utf8(&short), Ok("#if A > 0\nx = a / b;  \n#end"));
        for text in [bootstrap::EXTERNAL_PRODUCT, poly::POLY_COLUMNS, lib::ARITHMETIC] {
            let code = |line: &str| line.split("//").next().map(|l| String::from(l.trim_start()));
            let lines = text.lines().filter_map(code).filter(|line| !line.is_empty());
            let wanted: String = lines.map(|line| line + "\n").collect();
            assert_eq!(shortened_len(text.as_bytes()), wanted.len());
        }
    }
}
