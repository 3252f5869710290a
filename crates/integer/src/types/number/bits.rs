//! Operations on the bits of numbers: logic, shifts and rotations.

use super::{FheInt, FheUint};
use crate::Result;
use crate::engine::{Argument, Engine};
use crate::operation::{Logic, Move, Operation};
use crate::types::{Integer, Other};

macro_rules! bits {
    ($name:ident, $signed:literal) => {
        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            /// AND of every bit.
            ///
            /// # Errors
            /// As for `add`.
            pub fn and<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Logic(Logic::And), &other.into())
            }

            /// OR of every bit.
            ///
            /// # Errors
            /// As for `add`.
            pub fn or<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Logic(Logic::Or), &other.into())
            }

            /// XOR of every bit.
            ///
            /// # Errors
            /// As for `add`.
            pub fn xor<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Logic(Logic::Xor), &other.into())
            }

            /// NOT of every bit: no look-up but those for carries of TFHE.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn not(&self) -> Result<Self> {
                self.unary(Operation::Not)
            }

            fn move_bits(&self, how: Move, bits: u32) -> Result<Self> {
                let modulus = match how {
                    Move::ShiftLeft | Move::ShiftRight => BITS.next_power_of_two(),
                    Move::RotateLeft | Move::RotateRight => BITS,
                };
                self.unary(Operation::Move(how, bits % modulus))
            }

            fn move_by<const M: u32>(&self, how: Move, bits: &FheUint<M, E>) -> Result<Self> {
                let bits = Argument::Array(bits.array());
                Ok(Self(self.0.run(Operation::MoveBy(how), $signed, &[bits])?))
            }

            /// `self << bits`, of which those below BITS count, as of `wrapping_shl` (of a width
            /// that is no power of two, those below the next one): no look-up for an even number,
            /// but those for carries.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn shl(&self, bits: u32) -> Result<Self> {
                self.move_bits(Move::ShiftLeft, bits)
            }

            /// `self >> bits`, as of `wrapping_shr`: the sign comes in where there is one.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn shr(&self, bits: u32) -> Result<Self> {
                self.move_bits(Move::ShiftRight, bits)
            }

            /// Rotates by `bits` modulo BITS.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn rotate_left(&self, bits: u32) -> Result<Self> {
                self.move_bits(Move::RotateLeft, bits)
            }

            /// Rotates by `bits` modulo BITS.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn rotate_right(&self, bits: u32) -> Result<Self> {
                self.move_bits(Move::RotateRight, bits)
            }

            /// `shl` by an encrypted number for each element.
            ///
            /// # Errors
            /// As for `add`.
            pub fn shl_by<const M: u32>(&self, bits: &FheUint<M, E>) -> Result<Self> {
                self.move_by(Move::ShiftLeft, bits)
            }

            /// `shr` by an encrypted number for each element.
            ///
            /// # Errors
            /// As for `add`.
            pub fn shr_by<const M: u32>(&self, bits: &FheUint<M, E>) -> Result<Self> {
                self.move_by(Move::ShiftRight, bits)
            }

            /// `rotate_left` by an encrypted number for each element.
            ///
            /// # Errors
            /// As for `add`.
            pub fn rotate_left_by<const M: u32>(&self, bits: &FheUint<M, E>) -> Result<Self> {
                self.move_by(Move::RotateLeft, bits)
            }

            /// `rotate_right` by an encrypted number for each element.
            ///
            /// # Errors
            /// As for `add`.
            pub fn rotate_right_by<const M: u32>(&self, bits: &FheUint<M, E>) -> Result<Self> {
                self.move_by(Move::RotateRight, bits)
            }
        }
    };
}

bits!(FheUint, false);
bits!(FheInt, true);
