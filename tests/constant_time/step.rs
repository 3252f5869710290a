//! Runs a function one instruction at a time, as the processor has it, and notes where it is and
//! which memory it touches.
//!
//! The processor's trap flag interrupts the program before every instruction; the handler notes
//! the address of the instruction, the registers that its operand in memory is addressed by, and
//! the dividend of a division, whose time depends on it. Memory of the heap comes from an arena
//! that starts anew for every run, so that two runs on the same path touch the same addresses.

use crate::decode::{UNKNOWN, touched};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Bytes of the arena.
const ARENA: usize = 64 << 20;

/// Bytes at the beginning of it for what is set aside.
const ASIDE: usize = 1 << 20;

/// Most instructions of one run.
const MOST: usize = 1 << 21;

/// One instruction: where it lies, and a digest of what it addresses.
pub type Step = (u64, u64);

#[repr(align(4096))]
struct Arena(UnsafeCell<[u8; ARENA]>);

// SAFETY: every allocation takes bytes of its own, by `USED`.
unsafe impl Sync for Arena {}

static MEMORY: Arena = Arena(UnsafeCell::new([0; ARENA]));
static USED: AtomicUsize = AtomicUsize::new(ASIDE);
static USED_ASIDE: AtomicUsize = AtomicUsize::new(0);

/// Whose memory a thread takes.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    System,
    Arena,
    Aside,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::System) };
}

/// The system's allocator, and the arena for the thread that is inside.
pub struct Allocator;

// SAFETY: blocks of the arena do not overlap until it starts anew, when none is in use; others are
// the system's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (used, most) = match PLACE.get() {
            // SAFETY: the caller's promise is passed on.
            Place::System => return unsafe { System.alloc(layout) },
            Place::Arena => (&USED, ARENA),
            Place::Aside => (&USED_ASIDE, ASIDE),
        };
        let align = layout.align().max(64);
        let taken = used.fetch_add(layout.size() + align, Ordering::Relaxed);
        let start = (taken + align - 1) & !(align - 1);
        if start + layout.size() > most {
            return std::ptr::null_mut();
        }
        // SAFETY: `start` lies inside the arena.
        unsafe { MEMORY.0.get().cast::<u8>().add(start) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let first = MEMORY.0.get() as usize;
        if !(first..first + ARENA).contains(&(pointer as usize)) {
            // SAFETY: the system's own, as no block of the arena is.
            unsafe { System.dealloc(pointer, layout) }
        }
    }
}

static LOG: AtomicPtr<Step> = AtomicPtr::new(std::ptr::null_mut());
static STEPS: AtomicUsize = AtomicUsize::new(0);

/// The handler of the trap: touches nothing but its own log.
extern "C" fn note(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let i = STEPS.fetch_add(1, Ordering::Relaxed);
    if i >= MOST {
        return;
    }
    // SAFETY: the kernel hands a context to a handler with SA_SIGINFO; the log has `MOST` places;
    // an instruction about to run can be read, fifteen bytes at most of it.
    unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as u64;
        let aside = MEMORY.0.get() as u64;
        let touched = touched(at as *const u8, registers, aside..aside + ASIDE as u64);
        *LOG.load(Ordering::Relaxed).add(i) = (at, touched);
    }
}

/// Runs `f` step by step.
#[inline(never)]
fn traced(f: &mut dyn FnMut()) {
    // SAFETY: sets and clears the trap flag, for which `note` is the handler.
    unsafe {
        std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        f();
        std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq");
    }
}

/// What `make` makes, whose memory is then not looked at: queues of a thread pool, whose places
/// depend on what ran before.
pub fn aside<T>(make: impl FnOnce() -> T) -> T {
    PLACE.set(Place::Aside);
    let made = make();
    PLACE.set(Place::System);
    made
}

/// Where a secret showed.
#[derive(Debug)]
pub struct Shown {
    /// The number of the secret whose run was another one.
    pub secret: usize,
    /// The step at which it was.
    pub step: usize,
    /// Instructions of both runs about it, in files and lines where they are known.
    pub around: String,
}

/// Runs `run` on what `prepare` makes of each secret, and compares the steps. How many there were,
/// or where two runs differ.
pub fn same_steps<S, T>(
    secrets: &[S],
    prepare: impl Fn(&S) -> T,
    run: impl Fn(&mut T),
) -> Result<usize, Shown> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    install();
    // What is made once in a process is made now.
    run(&mut prepare(&secrets[0]));
    let mut first: Vec<Step> = Vec::new();
    let mut log: Vec<Step> = vec![(0, 0); MOST];
    LOG.store(log.as_mut_ptr(), Ordering::Relaxed);
    for (secret, value) in secrets.iter().enumerate() {
        USED.store(ASIDE, Ordering::Relaxed);
        PLACE.set(Place::Arena);
        let mut prepared = prepare(value);
        STEPS.store(0, Ordering::Relaxed);
        traced(&mut || run(&mut prepared));
        drop(prepared);
        PLACE.set(Place::System);
        let steps = STEPS.load(Ordering::Relaxed);
        assert!((8..MOST).contains(&steps), "{steps} instructions of {MOST} at most");
        let found = &log[..steps];
        if let Some(step) = found.iter().position(|step| step.1 == UNKNOWN) {
            let around = format!("addresses from a vector\n{}", told(found, step));
            return Err(Shown { secret, step, around });
        }
        if secret == 0 {
            first = found.to_vec();
        } else if first != found {
            let step = first.iter().zip(found).take_while(|(a, b)| a == b).count();
            let around = format!("{}\nand\n{}", told(&first, step), told(found, step));
            return Err(Shown { secret, step, around });
        }
    }
    drop(guard);
    Ok(first.len())
}

fn install() {
    // SAFETY: `note` is a handler of this kind; all of `action` is initialised.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
    }
}

/// Steps about `step`, in words where `addr2line` is installed.
fn told(steps: &[Step], step: usize) -> String {
    let line = |&(at, touched): &Step| {
        let offset = at.wrapping_sub(image());
        let place = std::process::Command::new("addr2line")
            .args(["-Cfsp", "-e"])
            .arg(std::env::current_exe().unwrap_or_default())
            .arg(format!("{offset:#x}"))
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        format!("{offset:#x} {touched:#018x} {}", place.unwrap_or_default())
    };
    let end = steps.len().min(step + 3);
    steps[step.saturating_sub(4).min(end)..end].iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Where the program lies in memory.
fn image() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let start = maps.split('-').next().unwrap_or_default();
    u64::from_str_radix(start, 16).unwrap_or_default()
}
