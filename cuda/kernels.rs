//! The CUDA C++ kernels of girih, as texts: a module for each folder, a constant for each file.
//!
//! `girih-cuda` adds the constants of a shape and a plan, and hands them to NVRTC.

#![no_std]

/// Constants that hold the files of a folder.
macro_rules! texts {
    ($folder:literal: $($name:ident = $file:literal),* $(,)?) => {
        $(
            #[doc = concat!("`", $folder, "/", $file, "`")]
            pub const $name: &str = include_str!(concat!($folder, "/", $file));
        )*
        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

/// Every text, in one order.
pub fn all() -> impl Iterator<Item = &'static str> {
    [bootstrap::ALL, lib::ALL, poly::ALL].into_iter().flatten().copied()
}

/// Kernels of bootstrapping.
pub mod bootstrap {
    texts! { "bootstrap":
        BLIND_ROTATE = "blind_rotate.cu",
        BLIND_ROTATE_SPREAD = "blind_rotate_spread.cu",
        BOOTSTRAP = "bootstrap.cuh",
        COMBINE = "combine.cu",
        FFT = "fft.cuh",
        FFT_KEY = "fft_key.cuh",
        FFT_LEVELS = "fft_levels.cuh",
        GROUPED = "grouped.cuh",
        JOBS = "jobs.cuh",
        KEY_SWITCH = "key_switch.cu",
        KEY_SWITCH_TORUS = "key_switch_torus.cu",
        NTT = "ntt.cuh",
        SPREAD = "spread.cuh",
        SPREAD_FFT = "spread_fft.cuh",
        SPREAD_NTT = "spread_ntt.cuh",
        SWITCH = "switch.cuh",
        TILE = "tile.cuh",
        TRACE = "trace.cuh",
    }
}

/// What stands in for a GPU on the host.
pub mod host {
    texts! { "host":
        EMULATION = "emulation.hpp",
    }
}

/// What families share.
pub mod lib {
    texts! { "lib":
        PLATFORM = "platform.cuh",
        WORD = "word.cuh",
    }
}

/// Kernels of programs on polynomials.
pub mod poly {
    texts! { "poly":
        COLUMN_TILE = "column_tile.cuh",
        COLUMNS = "columns.cu",
        COLUMNS_ANY = "columns_any.cu",
        MASKS = "masks.cu",
        MODULAR = "modular.cuh",
        POINTWISE = "pointwise.cu",
        ROW_TRANSFORM = "row_transform.cuh",
        ROWS = "rows.cu",
        STEPS = "steps.cuh",
        SUMS = "sums.cuh",
    }
}
