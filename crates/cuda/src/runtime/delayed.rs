//! The emulated machine with work put off: queues run as late, or in as odd an order, as their waits allow. What an engine
//! gets right here does not rest on the order in which it calls.

use crate::bootstrap::source::Source;
use crate::runtime::emulated::Emulated;
use crate::runtime::machine::{Kernel, KernelCost, LaunchSize, Machine, Mark, Queue};
use girih_backend::BackendError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Work = Box<dyn FnOnce(&Emulated) -> Result<(), BackendError> + Send>;

enum Call {
    Work(Work),
    Wait(Mark),
    Mark(u64),
}

/// When queues run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Delay {
    /// At once.
    None,
    /// Only what somebody waits for.
    Most,
    /// Some of any queue after each call, by dice of this seed.
    Dice(u32),
}

pub(crate) struct Delayed {
    inner: Arc<Emulated>,
    delay: Delay,
    /// False: lanes do not wait for each other, nor downloads for anything. (Without other waits kernels would find no jobs.)
    waits: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: [VecDeque<Call>; Queue::COUNT],
    /// The last mark of each queue that was called, and that was reached; marks count from 1.
    called: [u64; Queue::COUNT],
    reached: [u64; Queue::COUNT],
    dice: u32,
}

impl Delayed {
    pub fn new(inner: Arc<Emulated>, delay: Delay, waits: bool) -> Self {
        let dice = if let Delay::Dice(seed) = delay { seed } else { 0 };
        Self { inner, delay, waits, state: Mutex::new(State { dice, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, queue: Queue, call: Call) -> Result<(), BackendError> {
        let mut state = self.state();
        state.queues[queue as usize].push_back(call);
        match self.delay {
            Delay::None => state.run(&self.inner, queue, u64::MAX),
            Delay::Most => Ok(()),
            Delay::Dice(_) => (0..state.throw(6)).try_for_each(|_| {
                let queue = Queue::ALL[state.throw(Queue::COUNT)];
                state.step(&self.inner, queue)
            }),
        }
    }

    fn work(&self, queue: Queue, work: impl FnOnce(&Emulated) -> Result<(), BackendError> + Send + 'static) -> Result<(), BackendError> {
        self.call(queue, Call::Work(Box::new(work)))
    }
}

impl State {
    fn throw(&mut self, sides: usize) -> usize {
        self.dice = self.dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.dice >> 8) as usize % sides
    }

    /// Runs the next call of a queue, if it need not wait.
    fn step(&mut self, machine: &Emulated, queue: Queue) -> Result<(), BackendError> {
        if let Some(Call::Wait(mark)) = self.queues[queue as usize].front()
            && self.reached[mark.queue as usize] < mark.number
        {
            return Ok(());
        }
        match self.queues[queue as usize].pop_front() {
            Some(Call::Work(work)) => work(machine)?,
            Some(Call::Mark(number)) => self.reached[queue as usize] = number,
            Some(Call::Wait(_)) | None => {}
        }
        Ok(())
    }

    /// Runs a queue to its end or to a mark, and of others what it waits for.
    fn run(&mut self, machine: &Emulated, queue: Queue, to: u64) -> Result<(), BackendError> {
        while self.reached[queue as usize] < to {
            match self.queues[queue as usize].front() {
                Some(&Call::Wait(mark)) if self.reached[mark.queue as usize] < mark.number => self.run(machine, mark.queue, mark.number)?,
                Some(_) => self.step(machine, queue)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

impl Machine for Delayed {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64, BackendError> {
        self.inner.allocate(bytes, what)
    }

    fn free(&self, address: u64) {
        self.synchronize().unwrap_or_else(|e| panic!("{e}"));
        self.inner.free(address);
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), BackendError> {
        let bytes = bytes.to_vec();
        self.work(Queue::Uploads, move |machine| machine.upload(to, &bytes))
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        self.state().run(&self.inner, Queue::Downloads, u64::MAX)?;
        self.inner.download(from, bytes)
    }

    fn mark(&self, queue: Queue) -> Result<Mark, BackendError> {
        let number = {
            let called = &mut self.state().called[queue as usize];
            *called += 1;
            *called
        };
        self.call(queue, Call::Mark(number))?;
        Ok(Mark { queue, number })
    }

    fn wait(&self, queue: Queue, mark: Mark) -> Result<(), BackendError> {
        let lane = |queue| matches!(queue, Queue::First | Queue::Second);
        let forgotten = queue == Queue::Downloads || (lane(queue) && lane(mark.queue));
        if self.waits || !forgotten { self.call(queue, Call::Wait(mark)) } else { Ok(()) }
    }

    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<(), BackendError> {
        self.work(queue, move |machine| machine.copy(queue, from, to, bytes))
    }

    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<(), BackendError> {
        self.work(queue, move |machine| machine.zero(queue, at, bytes))
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>, BackendError> {
        self.inner.load(source)
    }

    fn prepare(&self, _: Kernel, _: LaunchSize) -> Result<KernelCost, BackendError> {
        // Two blocks of a multiprocessor: calls run beside each other.
        Ok(KernelCost { resident_blocks: 2, ..KernelCost::default() })
    }

    fn keeps_time(&self) -> bool {
        false
    }

    fn launch(&self, queue: Queue, kernel: Kernel, size: LaunchSize, arguments: &[u8]) -> Result<(), BackendError> {
        let arguments = arguments.to_vec();
        self.work(queue, move |machine| machine.launch(queue, kernel, size, &arguments))
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        let mut state = self.state();
        // Not in the order of their numbers: that is nearly the order of the calls.
        Queue::ALL.into_iter().rev().try_for_each(|queue| state.run(&self.inner, queue, u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::engine::CudaEngine;
    use crate::bootstrap::rotation::plans;
    use crate::bootstrap::spread::MAX_CLUSTER;
    use crate::bootstrap::variants::limits_of;
    use girih_backend::{
        BootstrapJob, BootstrapShape, Combination, Engine, Gadget, KeyModulus, LinearJob, NoProgress, Operand, PlanRequest, PlanSource,
        SecretKind, Transform,
    };
    use girih_conformance::synthetic::{SyntheticKeys, Words};

    /// Ciphertexts of the store, in windows so that some calls have nothing to do with each other.
    const WINDOW: u64 = 12;
    const STORED: usize = 3 * WINDOW as usize;

    fn shape(torus: bool) -> BootstrapShape {
        let prime = girih_ring::largest_ntt_prime(27, 128).expect("there is one");
        BootstrapShape {
            lwe_dimension: 3,
            log2_lwe_modulus: 7,
            polynomial_size: 64,
            glwe_dimension: 1,
            packing: 1,
            secret: SecretKind::Binary,
            grouping: 1,
            gadget: if torus {
                Gadget::ClosestRepresentative { log2_base: 10, levels: 2 }
            } else {
                Gadget::Decomposition { log2_base: 9, levels: 3, dropped_bits: 0 }
            },
            key_modulus: if torus { KeyModulus::Torus64 } else { KeyModulus::Words(vec![prime]) },
            log2_ks_modulus: if torus { 12 } else { 14 },
            log2_ks_base: 4,
        }
    }

    fn engine(machine: &Arc<Emulated>, delay: Delay, waits: bool, shape: &BootstrapShape) -> CudaEngine {
        let machine = Arc::new(Delayed::new(machine.clone(), delay, waits));
        let transform = if shape.is_torus() { Transform::Fft } else { Transform::Ntt };
        // One multiprocessor, so that small calls have several waves and something left.
        let plans = plans("cuda", shape, transform, &limits_of(90), MAX_CLUSTER, &PlanRequest::default()).expect("it fits");
        let keys = SyntheticKeys::new(shape.clone(), 5);
        CudaEngine::load(machine, &keys, plans, PlanSource::Model, None, &NoProgress).expect("it loads")
    }

    /// Some places of a window that no other operand or result of the call has.
    fn places(words: &mut Words, window: u64, count: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (window * WINDOW..(window + 1) * WINDOW).map(|p| p as u32).collect();
        (0..count).map(|_| all.swap_remove(words.next_word() as usize % all.len())).collect()
    }

    /// Calls by dice, the same for the same seed; returns everything that was read.
    fn play(engine: &dyn Engine, seed: u64) -> Vec<u32> {
        let shape = engine.shape().clone();
        let (log2_q, len, mut words) = (shape.log2_stored_modulus(), shape.ciphertext_len(), Words::new(seed));
        let mut seen = Vec::new();
        let fill = |words: &mut Words, count: usize| -> Vec<u32> {
            (0..count).map(|_| words.next_word() as u32 & (u32::MAX >> 32u32.saturating_sub(log2_q))).collect()
        };
        engine.reserve(STORED).expect("there is room");
        engine.write(0, &fill(&mut words, STORED * len)).expect("it is written");
        let polynomial: Vec<u64> = (0..shape.polynomial_size).map(|_| words.next_word() >> 38).collect();
        let mut tables = engine.add_tables(&polynomial).expect("it is added") + 1;
        for _ in 0..40 {
            let window = words.next_word() % (STORED as u64 / WINDOW);
            let input = |of: &[u32]| Combination::new(&[0, 1].map(|i| Operand { ciphertext: of[i], weight: 1 - 2 * i as i32 }), 3, log2_q);
            match words.next_word() % 8 {
                0..4 => {
                    let jobs = 1 + words.next_word() as usize % 9;
                    let of = places(&mut words, window, jobs + 2);
                    let job = |&output: &u32| BootstrapJob {
                        input: input(&of),
                        table: output % tables,
                        table_stride: 0,
                        output_offset: 1000,
                        log2_output_modulus: log2_q,
                        output,
                    };
                    engine.bootstrap(&of[2..].iter().map(job).collect::<Vec<_>>()).expect("it runs");
                }
                4 => {
                    let of = places(&mut words, window, 5);
                    let job = |&output: &u32| LinearJob { input: input(&of), log2_output_modulus: log2_q, output };
                    engine.combine(&of[2..].iter().map(job).collect::<Vec<_>>()).expect("it runs");
                }
                5 => {
                    let first = window * WINDOW + words.next_word() % (WINDOW - 3);
                    let data = fill(&mut words, 3 * len);
                    engine.write(first as usize, &data).expect("it is written");
                }
                6 => {
                    let polynomial: Vec<u64> = (0..shape.polynomial_size).map(|_| words.next_word() >> 38).collect();
                    match words.next_word() % 4 {
                        0 => tables = engine.add_tables(&polynomial).expect("it is added") + 1,
                        place => engine.write_tables(place as u32 % tables, &polynomial).expect("it is written"),
                    }
                }
                _ => {
                    let first = window * WINDOW + words.next_word() % (WINDOW - 3);
                    let mut out = vec![0; 3 * len];
                    engine.read(first as usize, &mut out).expect("it is read");
                    seen.extend(out);
                }
            }
        }
        let mut out = vec![0; STORED * len];
        engine.read(0, &mut out).expect("it is read");
        seen.extend(out);
        seen
    }

    #[test]
    fn results_do_not_depend_on_when_queues_run() {
        for torus in [false, true] {
            let shape = shape(torus);
            let machine = Arc::new(Emulated::new().expect("there is a compiler"));
            let at_once = engine(&machine, Delay::None, true, &shape);
            let delays = [Delay::Most, Delay::Dice(1), Delay::Dice(2)];
            let delayed = delays.map(|delay| (delay, engine(&machine, delay, true, &shape)));
            for seed in 0..6 {
                let expected = play(&at_once, seed);
                for (delay, engine) in &delayed {
                    assert!(play(engine, seed) == expected, "torus {torus}, {delay:?}, seed {seed}");
                }
            }
        }
    }

    /// That the test above can fail: without waits between calls it does.
    #[test]
    fn without_waits_between_calls_results_are_wrong() {
        let shape = shape(false);
        let machine = Arc::new(Emulated::new().expect("there is a compiler"));
        let at_once = engine(&machine, Delay::None, true, &shape);
        for delay in [Delay::Most, Delay::Dice(1)] {
            let engine = engine(&machine, delay, false, &shape);
            assert!((0..3).any(|seed| play(&engine, seed) != play(&at_once, seed)), "{delay:?}");
        }
    }
}
