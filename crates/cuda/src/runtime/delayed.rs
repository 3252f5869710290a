//! The emulated machine with work put off: queues run as late, or in as odd an order, as their
//! waits allow. What an engine gets right here does not rest on the order in which it calls.

use crate::runtime::emulated::Emulated;
use crate::runtime::machine::{Kernel, KernelCost, LaunchSize, Machine, Mark, Queue};
use crate::runtime::source::Source;
use girih_backend::Result;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Work = Box<dyn FnOnce(&Emulated) -> Result<()> + Send>;

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
    queues: Vec<Queue>,
    /// Queues that do not wait for each other, and for which downloads do not wait either: what
    /// tests leave out to see that it is missed.
    careless: &'static [Queue],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: [VecDeque<Call>; Queue::MOST],
    /// The last mark of each queue that was called, and that was reached; marks count from 1.
    called: [u64; Queue::MOST],
    reached: [u64; Queue::MOST],
    dice: u32,
}

impl Delayed {
    /// With the queues of a family, of which the `careless` ones lack their waits for each other.
    pub fn new(
        inner: Arc<Emulated>,
        delay: Delay,
        queues: &[Queue],
        careless: &'static [Queue],
    ) -> Self {
        let dice = if let Delay::Dice(seed) = delay { seed } else { 0 };
        Self {
            inner,
            delay,
            queues: Queue::with(queues),
            careless,
            state: Mutex::new(State { dice, ..State::default() }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, queue: Queue, call: Call) -> Result<()> {
        let mut state = self.state();
        state.queues[queue.index()].push_back(call);
        match self.delay {
            Delay::None => state.run(&self.inner, queue, u64::MAX),
            Delay::Most => Ok(()),
            Delay::Dice(_) => (0..state.throw(6)).try_for_each(|_| {
                let queue = self.queues[state.throw(self.queues.len())];
                state.step(&self.inner, queue)
            }),
        }
    }

    fn work(
        &self,
        queue: Queue,
        work: impl FnOnce(&Emulated) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.call(queue, Call::Work(Box::new(work)))
    }
}

impl State {
    fn throw(&mut self, sides: usize) -> usize {
        self.dice = self.dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.dice >> 8) as usize % sides
    }

    /// Runs the next call of a queue, if it need not wait.
    fn step(&mut self, machine: &Emulated, queue: Queue) -> Result<()> {
        if let Some(Call::Wait(mark)) = self.queues[queue.index()].front()
            && self.reached[mark.queue.index()] < mark.number
        {
            return Ok(());
        }
        match self.queues[queue.index()].pop_front() {
            Some(Call::Work(work)) => work(machine)?,
            Some(Call::Mark(number)) => self.reached[queue.index()] = number,
            Some(Call::Wait(_)) | None => {}
        }
        Ok(())
    }

    /// Runs a queue to its end or to a mark, and of others what it waits for.
    fn run(&mut self, machine: &Emulated, queue: Queue, to: u64) -> Result<()> {
        while self.reached[queue.index()] < to {
            match self.queues[queue.index()].front() {
                Some(&Call::Wait(mark)) if self.reached[mark.queue.index()] < mark.number => {
                    self.run(machine, mark.queue, mark.number)?
                }
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

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64> {
        self.inner.allocate(bytes, what)
    }

    fn free(&self, address: u64) {
        self.synchronize().unwrap_or_else(|e| panic!("{e}"));
        self.inner.free(address);
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.to_vec();
        self.work(Queue::UPLOADS, move |machine| machine.upload(to, &bytes))
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.state().run(&self.inner, Queue::DOWNLOADS, u64::MAX)?;
        self.inner.download(from, bytes)
    }

    fn mark(&self, queue: Queue) -> Result<Mark> {
        let number = {
            let called = &mut self.state().called[queue.index()];
            *called += 1;
            *called
        };
        self.call(queue, Call::Mark(number))?;
        Ok(Mark { queue, number })
    }

    fn wait(&self, queue: Queue, mark: Mark) -> Result<()> {
        let careless = |queue| self.careless.contains(&queue);
        let forgotten = (queue == Queue::DOWNLOADS && !self.careless.is_empty())
            || (careless(queue) && careless(mark.queue));
        if forgotten { Ok(()) } else { self.call(queue, Call::Wait(mark)) }
    }

    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.work(queue, move |machine| machine.copy(queue, from, to, bytes))
    }

    fn write(&self, queue: Queue, to: u64, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.to_vec();
        self.work(queue, move |machine| machine.write(queue, to, &bytes))
    }

    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<()> {
        self.work(queue, move |machine| machine.zero(queue, at, bytes))
    }

    fn is_kept(&self, _: &Source) -> bool {
        // So that whoever can begin without some kernels does.
        false
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>> {
        self.inner.load(source)
    }

    fn prepare(&self, _: Kernel, _: LaunchSize) -> Result<KernelCost> {
        // Two blocks of a multiprocessor: calls run beside each other.
        Ok(KernelCost { resident_blocks: 2, ..KernelCost::default() })
    }

    fn keeps_time(&self) -> bool {
        false
    }

    fn launch(&self, queue: Queue, kernel: Kernel, size: LaunchSize, bytes: &[u8]) -> Result<()> {
        let bytes = bytes.to_vec();
        self.work(queue, move |machine| machine.launch(queue, kernel, size, &bytes))
    }

    fn synchronize(&self) -> Result<()> {
        let mut state = self.state();
        // Not in the order of their numbers: that is nearly the order of the calls.
        self.queues.iter().rev().try_for_each(|&queue| state.run(&self.inner, queue, u64::MAX))
    }
}
