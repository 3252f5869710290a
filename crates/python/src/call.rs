//! How Python calls work that takes time: without the interpreter's lock, with progress that can be
//! heard and cancelled, and with panics turned into exceptions.

use crate::errors::Failure;
use girih::device::Progress;
use pyo3::prelude::*;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whether threads that compute may have been started in this process.
static USED: AtomicBool = AtomicBool::new(false);
/// Whether this process is a child by `fork` of one in which they had been: they are not here, and
/// work given to them would never end.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Between two looks at signals and reports: at most 20 of them a second reach Python.
const GLANCE: Duration = Duration::from_millis(50);

/// Called in children of `fork`.
#[pyfunction]
#[pyo3(name = "_after_fork")]
pub fn after_fork() {
    if USED.load(Ordering::Relaxed) {
        FORKED.store(true, Ordering::Relaxed);
    }
}

/// Refuses work in a process whose threads stayed behind.
fn ready() -> Result<(), Failure> {
    if FORKED.load(Ordering::Relaxed) {
        let why = "this process was forked from one that had used girih, whose threads are not \
                   here: start processes by `spawn` or `forkserver`, such as \
                   `multiprocessing.get_context(\"spawn\")`";
        return Err(Failure::new("ForkError", why));
    }
    USED.store(true, Ordering::Relaxed);
    Ok(())
}

/// What unwinds work that nobody waits for any more.
struct Cancelled;

/// The exception for a panic, which is a fault of girih.
fn fault(payload: &(dyn Any + Send)) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    Failure::new("InternalError", format!("a fault in girih, please report it: {text}"))
}

/// A thread for work of one call.
fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("girih".into())
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new("DeviceError", format!("no thread could be started: {error}"))
}

/// Runs work without the interpreter's lock, work that is short whatever it is given.
///
/// # Errors
/// What the work returns, or `InternalError` for a panic in it.
pub fn compute<T: Send, E: Into<Failure> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    ready()?;
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(|error| error.into().into()),
        Err(payload) => Err(fault(payload.as_ref()).into()),
    }
}

/// Runs work that may be long and reports nothing, on a thread of its own, while the caller's looks
/// for signals. An exception of a signal is raised at once; the work then goes on to its end by
/// itself, and what it makes is dropped.
///
/// # Errors
/// That exception, what the work returns, or `InternalError` for a panic in it.
pub fn wait<T: Send + 'static, E: Into<Failure>>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    ready()?;
    let (sender, mut receiver) = sync_channel(1);
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work().map_err(Into::<Failure>::into)));
        // Nobody hears it once the caller was interrupted.
        let _ = sender.send(outcome);
    };
    thread().spawn(body).map_err(no_thread)?;
    loop {
        let heard = py.detach(move || (receiver.recv_timeout(GLANCE), receiver));
        receiver = heard.1;
        match heard.0 {
            Ok(Ok(result)) => return Ok(result?),
            Ok(Err(payload)) => return Err(fault(payload.as_ref()).into()),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("InternalError", "work ended without a result").into());
            }
        }
    }
}

/// [`wait`] for work on so many messages, of which each takes microseconds; what is few is done in
/// place, without the price of a thread.
///
/// # Errors
/// As [`wait`].
pub fn wait_for<T: Send + 'static, E: Into<Failure> + Send>(
    py: Python<'_>,
    messages: usize,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    const FEW: usize = 4096;
    if messages <= FEW { compute(py, work) } else { wait(py, work) }
}

/// What work has reported and Python has not heard.
#[derive(Default)]
struct Reports {
    /// The last of each kind, in the order of their beginnings.
    steps: Vec<(String, usize, usize)>,
    notes: Vec<String>,
}

/// Hears work on its threads for a caller that looks from time to time.
#[derive(Default)]
struct Listener {
    reports: Mutex<Reports>,
    cancelled: AtomicBool,
    done: AtomicBool,
}

impl Listener {
    fn take(&self) -> Reports {
        std::mem::take(&mut self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets signals raise, and Python hear what is new.
    fn deliver(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let Reports { steps, notes } = self.take();
        for note in notes {
            py.import("warnings")?.call_method1("warn", (note,))?;
        }
        let Some(progress) = progress else { return Ok(()) };
        steps.into_iter().try_for_each(|step| progress.call1(step).map(drop))
    }
}

impl Progress for Listener {
    fn report(&self, what: &str, done: usize, total: usize) {
        if self.cancelled.load(Ordering::Relaxed) {
            // No panic: nothing is printed, and whoever waits for the work catches it.
            resume_unwind(Box::new(Cancelled));
        }
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        match reports.steps.iter_mut().find(|step| step.0 == what) {
            // Threads may overtake each other between counting and reporting.
            Some(step) => *step = (step.0.clone(), done.max(step.1), total),
            None => reports.steps.push((what.to_owned(), done, total)),
        }
    }

    fn note(&self, message: &str) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.notes.push(message.to_owned());
    }
}

thread_local! {
    /// Who supervises this thread's work.
    static SUPERVISED: RefCell<Option<Arc<Listener>>> = const { RefCell::new(None) };
}

/// Hands reports on to whoever supervises the thread that makes them: for servers that many threads
/// use, and that report to one listener.
pub struct Supervisors;

impl Progress for Supervisors {
    fn report(&self, what: &str, done: usize, total: usize) {
        // Not borrowed while the report unwinds.
        let listener = SUPERVISED.with_borrow(Clone::clone);
        if let Some(listener) = listener {
            listener.report(what, done, total);
        }
    }
}

/// How long a caller who was interrupted waits for the work to end at its next report.
const PATIENCE: Duration = Duration::from_millis(300);

/// The body of a supervised thread: the work, heard by a listener.
fn heard<T, E: Into<Failure>>(
    listener: &Arc<Listener>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E>,
) -> std::thread::Result<Result<T, Failure>> {
    SUPERVISED.set(Some(Arc::clone(listener)));
    catch_unwind(AssertUnwindSafe(|| work(listener.as_ref()).map_err(Into::into)))
}

/// Runs long work on a thread of its own while the caller's, without the lock most of the time,
/// hands on its reports and looks for signals. An exception, be it of a signal or of `progress`,
/// ends the work at its next report: where that takes longer than [`PATIENCE`], as the compiling
/// of a kernel may, the caller does not wait for it.
///
/// # Errors
/// That exception, what the work returns, or `InternalError` for a panic in it.
pub fn supervise<T: Send + 'static, E: Into<Failure>>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    ready()?;
    let progress = self::listener(py, progress)?;
    let listener = Arc::new(Listener::default());
    let (sender, mut receiver) = sync_channel(1);
    let own = Arc::clone(&listener);
    let body = move || {
        // Nobody hears it where it took too long to end.
        let _ = sender.send(heard(&own, work));
    };
    thread().spawn(body).map_err(no_thread)?;
    loop {
        let (said, back) = py.detach(move || (receiver.recv_timeout(GLANCE), receiver));
        receiver = back;
        match said {
            Ok(Ok(result)) => {
                let value = result?;
                listener.deliver(py, progress.as_ref())?;
                return Ok(value);
            }
            Ok(Err(payload)) => return Err(fault(payload.as_ref()).into()),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = listener.deliver(py, progress.as_ref()) {
                    listener.cancelled.store(true, Ordering::Relaxed);
                    // What it had made is dropped before the caller goes on, if that is soon.
                    let _ = py.detach(move || receiver.recv_timeout(PATIENCE));
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("InternalError", "work ended without a result").into());
            }
        }
    }
}

/// [`supervise`] for work of borrowed parts, which is waited for whenever it ends.
///
/// # Errors
/// As [`supervise`].
pub fn supervise_whole<T: Send, E: Into<Failure>>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send,
) -> PyResult<T> {
    ready()?;
    let progress = self::listener(py, progress)?;
    let (listener, caller) = (Arc::new(Listener::default()), std::thread::current());
    let (outcome, stopped) = std::thread::scope(|scope| {
        let body = || {
            let outcome = heard(&listener, work);
            listener.done.store(true, Ordering::Release);
            caller.unpark();
            outcome
        };
        let worker = thread().spawn_scoped(scope, body).map_err(no_thread)?;
        let mut stopped = None;
        while !listener.done.load(Ordering::Acquire) {
            py.detach(|| std::thread::park_timeout(GLANCE));
            if stopped.is_none()
                && let Err(error) = listener.deliver(py, progress.as_ref())
            {
                listener.cancelled.store(true, Ordering::Relaxed);
                stopped = Some(error);
            }
        }
        let outcome = py.detach(|| worker.join()).and_then(|outcome| outcome);
        Ok::<_, PyErr>((outcome, stopped))
    })?;
    if let Some(error) = stopped {
        return Err(error);
    }
    match outcome {
        Ok(result) => {
            let value = result?;
            listener.deliver(py, progress.as_ref())?;
            Ok(value)
        }
        Err(payload) => Err(fault(payload.as_ref()).into()),
    }
}

/// What `progress=` may be: nothing, anything that can be called, or `True` for bars.
///
/// # Errors
/// `TypeError` for anything else.
pub fn listener<'py>(
    py: Python<'py>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(progress) = progress else { return Ok(None) };
    if let Ok(wanted) = progress.cast::<pyo3::types::PyBool>() {
        return match wanted.is_true() {
            true => py.import("girih.progress")?.call_method0("_shown").map(Some),
            false => Ok(None),
        };
    }
    if progress.is_callable() {
        return Ok(Some(progress.clone()));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "progress is {}: it must be a callable of (what, done, total), True, or None",
        progress.get_type().name()?
    )))
}
