//! Plain values as the bytes that devices read.
#![allow(unsafe_code)] // Reading plain structs as bytes.

/// A struct that a kernel reads: `#[repr(C)]`, every byte a field's.
///
/// # Safety
/// The implementor has no padding bytes and no pointers into host memory.
pub(crate) unsafe trait Plain: Copy {}

/// The bytes of plain structs.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so every byte is initialised;
    // the lifetime is that of `values`.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), std::mem::size_of_val(values)) }
}

/// The bytes of plain structs, to be overwritten.
pub(crate) fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`, and any bytes are a valid value of the integers that `Plain` types
    // consist of.
    unsafe {
        std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), std::mem::size_of_val(values))
    }
}

/// Declares `repr(C)` structs of integers and floats, without padding, as [`Plain`].
macro_rules! plain {
    ($($t:ty),*) => { $(
        // SAFETY: integers, floats, or `repr(C)` structs of them whose sizes tests compare with the
        // sums of their fields'.
        unsafe impl $crate::runtime::bytes::Plain for $t {}
    )* };
}
pub(crate) use plain;

plain!(u8, u16, u32, u64, f64, [u32; 2], [f64; 2]);
