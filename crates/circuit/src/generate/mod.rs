//! Circuits that the project makes itself, and the words they are made of.

mod aes;
mod arithmetic;
mod sort;

pub use aes::{aes128, aes128_expanded, aes128_key_schedule, s_box};
pub use arithmetic::{add, add_fast, adder, comparator, compare, multiplier, multiply};
pub use sort::{sort, sorting_network};
