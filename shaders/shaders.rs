//! The WGSL kernels of girih, as texts: a module for each folder, a constant for each file.
//!
//! They are templates: `girih-wgpu` expands them for a shape and a plan (README.md has the
//! language) and hands them to the driver.

#![no_std]

/// Constants that hold the files of a folder.
macro_rules! texts {
    ($folder:literal: $($name:ident = $file:literal),* $(,)?) => {$(
        #[doc = concat!("`", $folder, "/", $file, "`")]
        pub const $name: &str = include_str!(concat!($folder, "/", $file));
    )*};
}

/// Kernels of bootstrapping.
pub mod bootstrap {
    texts! { "bootstrap":
        ACCUMULATOR = "accumulator.wgsl",
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
        HALF_TRANSFORM = "half_transform.wgsl",
        MEMORY = "memory.wgsl",
        MODULAR = "modular.wgsl",
        POLY_COLUMNS = "poly_columns.wgsl",
        POLY_POINTWISE = "poly_pointwise.wgsl",
        POLY_ROWS = "poly_rows.wgsl",
        ROW_TILE = "row_tile.wgsl",
    }
}
