//! Launches `cuda/bootstrap/key_switch_torus.cu`,
//! which stands before the rotation on the native torus.

use crate::bootstrap::arguments::TorusKeySwitchArguments;
use crate::bootstrap::keys::product_chunk;
use crate::bootstrap::layout::{
    PRODUCT_CIPHERTEXTS, PRODUCT_COLUMNS, PRODUCT_INDICES, PRODUCT_THREADS, ks_row, ks_word_bytes,
    product_chunk_bytes,
};
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::source::{kernel_file, source};
use crate::bootstrap::upload::{Loading, kernels};
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Buffer, Kernel, LaunchSize, Machine, Queue};
use crate::runtime::source::KernelFile;
use girih_backend::{BootstrapShape, Result};

/// `cuda/bootstrap/key_switch_torus.cu`.
pub const KEY_SWITCH_TORUS: KernelFile = kernel_file(
    "key_switch_torus",
    girih_kernels::bootstrap::KEY_SWITCH_TORUS,
    &["torus_digits", "key_switch_torus", "round_torus"],
);

/// Ciphertexts of a fragment of digits (`FRAGMENT` of cuda/bootstrap/key_switch_torus.cu).
const FRAGMENT: usize = 16;
/// Blocks that a multiprocessor is given before a launch stops splitting the steps.
const BLOCKS_PER_MULTIPROCESSOR: usize = 3;
/// A part of the steps is not worth a block below this many.
const LEAST_STEPS: usize = 8;

/// Kernels and key of the switch.
pub(crate) struct TorusKeySwitch {
    digits: Kernel,
    product: Kernel,
    round: Kernel,
    key: Buffer,
    row: usize,
    word_bytes: usize,
    chunks: usize,
    digits_a_word: usize,
    most_steps: usize,
    round_threads: usize,
    multiprocessors: usize,
}

impl TorusKeySwitch {
    /// Pulls the key.
    pub fn load(loading: &Loading<'_>, plan: &CudaPlan) -> Result<Self> {
        let Loading { machine, keys, .. } = *loading;
        let shape = keys.shape();
        let [digits, product, round] =
            kernels(machine.as_ref(), &source(KEY_SWITCH_TORUS, shape, plan, false))?;
        let chunks = shape.ks_indices().div_ceil(PRODUCT_INDICES);
        let make = |chunk| product_chunk(keys, chunk);
        let key =
            loading.upload_blocks("key-switching key", chunks, product_chunk_bytes(shape), make)?;
        Ok(Self {
            digits,
            product,
            round,
            key,
            row: ks_row(shape),
            word_bytes: ks_word_bytes(shape),
            chunks,
            digits_a_word: shape.ks_digits(),
            most_steps: most_steps(shape),
            round_threads: plan.key_switch.threads,
            multiprocessors: plan.multiprocessors,
        })
    }

    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    /// Bytes of the sums of `jobs` ciphertexts.
    pub fn sums_bytes(&self, jobs: usize) -> usize {
        jobs * self.row * self.word_bytes
    }

    /// Bytes of the digits of `jobs` ciphertexts.
    pub fn digits_bytes(&self, jobs: usize) -> usize {
        jobs.next_multiple_of(FRAGMENT) * self.steps() * PRODUCT_INDICES
    }

    /// Bytes of the exponents of `jobs` ciphertexts.
    pub fn exponents_bytes(shape: &BootstrapShape, jobs: usize) -> usize {
        jobs * shape.switched_len() * 2
    }

    fn steps(&self) -> usize {
        self.chunks * self.digits_a_word
    }

    /// Switches the staged jobs and rounds to exponents; `arguments` lacks key and splits.
    pub fn launch(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        arguments: TorusKeySwitchArguments,
    ) -> Result<()> {
        let jobs = arguments.job_count as usize;
        let blocks = jobs.div_ceil(PRODUCT_CIPHERTEXTS) * (self.row / PRODUCT_COLUMNS);
        let splits = splits(
            self.steps(),
            self.most_steps,
            blocks,
            BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors,
        );
        let arguments =
            TorusKeySwitchArguments { key: self.key.address(), splits: splits as u32, ..arguments };
        let warps = jobs.div_ceil(FRAGMENT) * self.chunks;
        for (kernel, blocks, threads) in [
            (self.digits, (warps * 32).div_ceil(PRODUCT_THREADS), PRODUCT_THREADS),
            (self.product, blocks * splits, PRODUCT_THREADS),
            (self.round, jobs, self.round_threads),
        ] {
            machine.launch(
                queue,
                kernel,
                LaunchSize { blocks, threads, shared_bytes: 0, cluster: 1 },
                bytes_of(&[arguments]),
            )?;
        }
        Ok(())
    }
}

/// Steps whose sums of bytes stay within 31 bits: products of a digit, at most B/2, and a byte.
fn most_steps(shape: &BootstrapShape) -> usize {
    ((1 << 31) - 1) / (PRODUCT_INDICES * (shape.ks_base() / 2).max(1) * 255)
}

/// Blocks among which the steps of one product are divided: as many as `places` have room for, none
/// of them idle, and at least as many as keep sums within bounds.
fn splits(steps: usize, most_steps: usize, blocks: usize, places: usize) -> usize {
    (places / blocks).clamp(1, (steps / LEAST_STEPS).max(1)).max(steps.div_ceil(most_steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::test_shapes::shape;

    #[test]
    fn steps_are_divided_where_places_are_left_and_where_sums_would_overflow() {
        let (steps, most) = (256, 1 << 14);
        assert_eq!(
            [1, 2, 58, 116, 133, 725].map(|blocks| splits(steps, most, blocks, 396)),
            [32, 32, 6, 3, 2, 1]
        );
        assert_eq!([1, 58, 725].map(|blocks| splits(steps, 100, blocks, 396)), [32, 6, 3]);
        assert_eq!(splits(5, most, 1, 396), 1);
    }

    /// The largest digit times the largest byte, in every row.
    #[test]
    fn sums_of_as_many_steps_as_allowed_fit() {
        let toy = BootstrapShape { polynomial_size: 256, log2_lwe_modulus: 9, ..shape("torus", 1) };
        for shape in [shape("torus", 1), toy] {
            for log2_ks_base in 1..=7 {
                let shape = BootstrapShape { log2_ks_base, ..shape.clone() };
                let of =
                    |steps: usize| (steps * PRODUCT_INDICES * (shape.ks_base() / 2) * 255) as u64;
                let most = most_steps(&shape);
                assert!(
                    of(most) < 1 << 31 && of(most + 1) >= 1 << 31,
                    "{most} steps of base 2^{log2_ks_base}"
                );
            }
        }
    }
}

/// The kernels on the host, for more ciphertexts than the traces of the suite look at.
#[cfg(all(test, feature = "emulation"))]
mod emulated_tests {
    use super::*;
    use crate::bootstrap::arguments::Job;
    use crate::bootstrap::limits::limits_of;
    use crate::bootstrap::plan::Planner;
    use crate::bootstrap::queues;
    use crate::runtime::bytes::bytes_of_mut;
    use crate::runtime::emulated::Emulated;
    use girih_backend::bootstrap::synthetic::{SyntheticKeys, Words};
    use girih_backend::{
        BootstrapJob, Combination, Gadget, KeyModulus, KeySource, NoProgress, Operand, PlanRequest,
        SecretKind, Transform,
    };
    use girih_ring::gadget::closest_representative_digits;
    use std::sync::Arc;

    fn shape(log2_ks_base: u32, ks_digits: u32) -> BootstrapShape {
        BootstrapShape {
            lwe_dimension: 18,
            log2_lwe_modulus: 7,
            polynomial_size: 64,
            glwe_dimension: 1,
            packing: 2,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget: Gadget::ClosestRepresentative { log2_base: 10, levels: 2 },
            key_modulus: KeyModulus::Torus64,
            log2_ks_modulus: log2_ks_base * ks_digits,
            log2_ks_base,
        }
    }

    fn jobs(count: usize) -> Vec<BootstrapJob> {
        let operand = |ciphertext, weight| Operand { ciphertext, weight };
        let job = |i: u32| BootstrapJob {
            input: Combination::new(&[operand(i, 3), operand(i / 2, -1)], i, 64),
            table: 0,
            table_stride: 0,
            output_offset: 0,
            log2_output_modulus: 64,
            output: i,
            second: None,
        };
        (0..count as u32).map(job).collect()
    }

    /// What the sums must be: digits times rows of each mask, not yet taken off the body.
    fn expected(
        shape: &BootstrapShape,
        key: &[u64],
        store: &[u64],
        job: &BootstrapJob,
    ) -> Vec<u64> {
        let (stored, length) = (shape.extracted_len(), shape.switched_len());
        let (mut digits, mut sums) = (vec![0; shape.ks_digits()], vec![0u64; length]);
        for (index, rows) in key.chunks_exact(shape.key_switching_block_len()).enumerate() {
            let of = |o: &Operand| {
                (i64::from(o.weight) as u64)
                    .wrapping_mul(store[o.ciphertext as usize * stored + index])
            };
            let word = job.input.operands.iter().map(of).fold(0, u64::wrapping_add);
            closest_representative_digits(word, shape.log2_ks_base, &mut digits);
            for (row, &digit) in rows.chunks_exact(length).zip(&digits) {
                sums.iter_mut().zip(row).for_each(|(s, &w)| {
                    *s = s.wrapping_add((i64::from(digit) as u64).wrapping_mul(w))
                });
            }
        }
        sums
    }

    fn check(shape: &BootstrapShape, count: usize, multiprocessors: usize) {
        let machine: Arc<dyn Machine> = Arc::new(Emulated::new().expect("there is a compiler"));
        let keys = SyntheticKeys::new(shape.clone(), 3);
        let (device, transform, limits) = ("cuda", Transform::Fft, &limits_of(90));
        let planner = Planner { device, shape, transform, limits, cluster: 1 };
        let plan = planner.whole(&PlanRequest::default()).expect("it fits");
        let plan = CudaPlan { multiprocessors, ..plan };
        let loading = Loading { machine: &machine, keys: &keys, progress: &NoProgress };
        let switch = TorusKeySwitch::load(&loading, &plan).expect("it loads");
        let mut words = Words::new(4);
        let store: Vec<u64> =
            (0..count * shape.extracted_len()).map(|_| words.next_word()).collect();
        let jobs = jobs(count);
        let staged: Vec<Job> = jobs.iter().map(Job::from).collect();
        let held =
            |bytes: &[u8]| Buffer::holding(&machine, bytes, "a test").expect("there is room");
        let empty = |bytes| Buffer::new(&machine, bytes, "a test").expect("there is room");
        let (store_there, jobs_there) = (held(bytes_of(&store)), held(bytes_of(&staged)));
        let (digits, sums) = (empty(switch.digits_bytes(count)), empty(switch.sums_bytes(count)));
        let exponents = empty(TorusKeySwitch::exponents_bytes(shape, count));
        let arguments = TorusKeySwitchArguments {
            jobs: jobs_there.address(),
            store: store_there.address(),
            digits: digits.address(),
            sums: sums.address(),
            exponents: exponents.address(),
            job_count: count as u32,
            ..Default::default()
        };
        switch.launch(machine.as_ref(), queues::FIRST, arguments).expect("it runs");
        let mut got = vec![0u64; count * switch.row];
        machine.download(sums.address(), bytes_of_mut(&mut got)).expect("it is read");
        let mut key = vec![0; shape.ks_indices() * shape.key_switching_block_len()];
        key.chunks_exact_mut(shape.key_switching_block_len())
            .enumerate()
            .for_each(|(index, rows)| keys.key_switching_block(index, rows));
        for (index, (job, got)) in jobs.iter().zip(got.chunks_exact(switch.row)).enumerate() {
            assert!(
                got.starts_with(&expected(shape, &key, &store, job)),
                "ciphertext {index} of {count}, {multiprocessors} multiprocessors"
            );
        }
    }

    /// Parts of fragments, of tiles and of sets of tiles, with steps in one part and in several.
    #[test]
    fn every_ciphertext_gets_its_sums() {
        for (count, multiprocessors) in [(1, 132), (150, 1), (150, 3), (2200, 1)] {
            check(&shape(4, 4), count, multiprocessors);
        }
    }

    /// Odd numbers of steps, and digits of both extremes.
    #[test]
    fn every_base_agrees() {
        for (log2_ks_base, ks_digits) in [(1, 9), (7, 5), (3, 3)] {
            check(&shape(log2_ks_base, ks_digits), 17, 132);
        }
    }
}
