//! Points inside a bootstrapping that every device can show.

use crate::BackendError;

/// A point inside one bootstrapping whose value can be read and compared between devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The combined ciphertext modulo the input modulus: `[n + r]`; native torus: `[kN + r]`.
    Combined,
    /// The accumulator before the first step: `[K][N]` modulo Q.
    AccumulatorInitial,
    /// The balanced digits of the accumulator entering step `step`: `[level][K][N]`, each as the
    /// residue modulo Q (GD; native torus: 2^64) or T (MR) of the signed digit.
    Digits {
        /// Step, from 0 on: its g LWE indices are those from `g step` on.
        step: usize,
    },
    /// The transformed digits of step `step`: `[word][level][K][N]` in the order of
    /// `girih_ring::NttTable`. NTT only.
    Transformed {
        /// Step, from 0 on: its g LWE indices are those from `g step` on.
        step: usize,
    },
    /// The sum of the step's external products times their monomials before the inverse transform:
    /// `[word][K][N]`. NTT only.
    Products {
        /// Step, from 0 on: its g LWE indices are those from `g step` on.
        step: usize,
    },
    /// The accumulator after `steps` steps: `[K][N]` modulo Q.
    Accumulator {
        /// Steps done, from 0 to n / g.
        steps: usize,
    },
    /// The extracted ciphertext, output offset added: `[kN + r]` modulo Q.
    Extracted,
    /// The same after the switch to Q_ks. Not on the native torus.
    SwitchedToKs,
    /// After the key switch: `[n + r]` modulo Q_ks; native torus, where it comes before the
    /// rotation: modulo 2^64.
    KeySwitched,
    /// The result: `[n + r]` modulo the output modulus; native torus: that of `Extracted`.
    Output,
}

impl Stage {
    /// What a device answers that does not know the stage.
    pub fn unknown(self, device: &str) -> BackendError {
        BackendError::Unsupported {
            device: device.into(),
            what: format!("a trace of {self:?}"),
            why: "this device does not show that stage; ask for another".into(),
        }
    }
}

/// What a device holds at a [`Stage`], as canonical residues.
pub type StageOutput = Vec<u64>;
