//! `cuda/lib/word.cuh` in exact arithmetic: primes of every class of headroom, as constants of a
//! kernel and as data.

use crate::runtime::bytes::bytes_of;
use crate::runtime::emulated::Emulated;
use crate::runtime::machine::{Buffer, LaunchSize, Machine, Queue};
use crate::runtime::source::{KernelFile, PLATFORM, Source, WORD};
use std::sync::Arc;

const FILE: KernelFile = KernelFile {
    name: "check_words",
    text: include_str!("word_tests.cu"),
    kernels: &["check_words"],
    headers: &[PLATFORM, WORD],
};

const OPERATIONS: [&str; 5] =
    ["multiply", "reduce", "montgomery", "forward_levels", "inverse_levels"];

#[test]
fn words_agree_with_exact_arithmetic_for_primes_that_are_constants_or_data() {
    let machine: Arc<dyn Machine> = Arc::new(Emulated::new().expect("a C++ compiler"));
    // (prime, the class that it is given as data): as its own, and as one of less headroom.
    for (prime, headroom) in [
        (2_147_473_409u32, 2u32),
        (1_073_741_953, 2),
        (1_073_741_953, 3),
        (1_073_692_673, 4),
        (134_215_681, 4),
        (134_215_681, 32),
        (12_289, 64),
    ] {
        let constants = format!(
            "#pragma once\nconstexpr unsigned int PRIME = {prime}u;\nconstexpr int HEADROOM = \
             {headroom};\n"
        );
        let kernel = machine.load(&Source { file: FILE, constants }).expect("it compiles")[0];
        let mut wrong = [0u32; 2 * OPERATIONS.len()];
        let counts = Buffer::holding(&machine, bytes_of(&wrong), "counts").expect("memory");
        let size = LaunchSize { blocks: 1, threads: 1, shared_bytes: 0, cluster: 1 };
        let queue = Queue::new(0, 0, "tests", 0);
        machine.launch(queue, kernel, size, bytes_of(&[counts.address()])).expect("it runs");
        let mut bytes = [0u8; 8 * OPERATIONS.len()];
        machine.download(counts.address(), &mut bytes).expect("the counts");
        for (count, bytes) in wrong.iter_mut().zip(bytes.chunks_exact(4)) {
            *count = u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        }
        for (operation, counts) in OPERATIONS.iter().zip(wrong.chunks(2)) {
            assert_eq!(
                counts,
                [0, 0],
                "{operation} modulo {prime}, headroom {headroom}: wrong as (constant, data)"
            );
        }
    }
}
