//! One thread for each member, which stays between calls: starting threads takes as long as a short
//! call (docs/experiments.md, "Rates behind the choices of a plan").

#![allow(
    unsafe_code,
    reason = "threads that outlive a call are handed what only lives as long as it"
)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

pub(crate) type Task<'a> = Box<dyn FnOnce() + Send + 'a>;
/// How a task ended: with a panic or without.
type Done = Result<(), Box<dyn Any + Send>>;

/// A task, and where to say that it is done.
struct Given(Task<'static>, Sender<Done>);

struct Worker {
    give: Sender<Given>,
    thread: JoinHandle<()>,
}

/// A thread for each member.
pub(crate) struct MemberThreads {
    workers: Vec<Worker>,
}

/// Waits for all work that was handed out, also where the caller's own panics.
struct Handed {
    done: Receiver<Done>,
    count: usize,
}

impl Handed {
    /// Returns what the first that panicked did so with.
    fn wait(&mut self) -> Done {
        let mut all = Ok(());
        while self.count > 0 {
            // A worker says that it is done before it drops the other end.
            let done = self.done.recv().unwrap_or(Ok(()));
            self.count -= 1;
            all = all.and(done);
        }
        all
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        drop(self.wait());
    }
}

impl MemberThreads {
    /// # Errors
    /// Where the system gives no more threads.
    pub fn new(members: usize) -> std::io::Result<Self> {
        let worker = |member: usize| {
            let (give, take) = channel();
            let work = move || {
                for Given(task, done) in take {
                    // Nobody listens only where nobody waits.
                    let _ = done.send(catch_unwind(AssertUnwindSafe(task)));
                }
            };
            Ok(Worker {
                give,
                thread: std::thread::Builder::new()
                    .name(format!("girih member {member}"))
                    .spawn(work)?,
            })
        };
        Ok(Self { workers: (0..members).map(worker).collect::<std::io::Result<_>>()? })
    }

    /// Runs all tasks, each on the thread of its member, the last on this one;
    /// returns when all are done.
    ///
    /// # Panics
    /// As a task does, once all are done.
    pub fn run<'a>(&self, mut tasks: Vec<(usize, Task<'a>)>) {
        let Some((_, own)) = tasks.pop() else { return };
        let (say, done) = channel();
        let mut handed = Handed { done, count: 0 };
        for (member, task) in tasks {
            // SAFETY: what the task borrows lives for 'a, and this function does not return or
            // unwind before the worker has run the task and dropped it: `handed` waits for as many
            // answers as tasks were sent, in `wait` or when dropped, and `catch_unwind` has
            // consumed the task when the answer is sent.
            let task = unsafe { std::mem::transmute::<Task<'a>, Task<'static>>(task) };
            match self.workers[member].give.send(Given(task, say.clone())) {
                Ok(()) => handed.count += 1,
                // The thread is gone, which nothing here makes it.
                Err(back) => back.0.0(),
            }
        }
        own();
        if let Err(panic) = handed.wait() {
            resume_unwind(panic);
        }
    }
}

impl Drop for MemberThreads {
    fn drop(&mut self) {
        for Worker { give, thread } in self.workers.drain(..) {
            drop(give);
            // Panics of tasks were caught.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_tasks_are_done_when_run_returns() {
        let threads = MemberThreads::new(4).expect("threads");
        let mut sums = vec![0usize; 4];
        for round in 0..200 {
            let tasks = sums
                .iter_mut()
                .enumerate()
                .map(|(i, sum)| (i, Box::new(move || *sum += i + round) as Task<'_>));
            threads.run(tasks.collect());
        }
        assert_eq!(sums, (0..4).map(|i| 200 * i + 199 * 100).collect::<Vec<_>>());
        threads.run(Vec::new());
    }

    #[test]
    fn a_panic_is_passed_on_after_the_others_are_done() {
        let threads = MemberThreads::new(3).expect("threads");
        for bad in 0..3 {
            let done = AtomicUsize::new(0);
            let work = |i: usize| {
                let done = &done;
                move || {
                    if i == bad {
                        panic!("as asked");
                    }
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    done.fetch_add(1, Ordering::SeqCst);
                }
            };
            let tasks = || (0..3).map(|i| (i, Box::new(work(i)) as Task<'_>)).collect();
            assert!(catch_unwind(AssertUnwindSafe(|| threads.run(tasks()))).is_err());
            assert_eq!(done.load(Ordering::SeqCst), 2);
        }
    }
}
