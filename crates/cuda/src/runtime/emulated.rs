//! The host in the place of a GPU: kernels compiled by the system's C++ compiler and run thread by
//! thread (`cuda/host/emulation.hpp`). Slow, exact, and the same sources: for tests.
// Loads and calls compiled kernels, and hands out raw addresses as device memory does.
#![allow(unsafe_code)]

use crate::runtime::machine::{Kernel, KernelCost, LaunchSize, Machine, Mark, Offer, Queue};
use crate::runtime::source::{CONSTANTS, Source};
use girih_backend::{BackendError, Result, cache_key, new_private_folder};
use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

const ID: &str = "cuda:emulated";
const EMULATION: &str = girih_kernels::host::EMULATION;
const ALIGNMENT: usize = 256;

/// Kernels keep their state in globals, which the loader shares among all libraries: one launch at
/// a time.
static ALONE: Mutex<()> = Mutex::new(());

type Launch = unsafe extern "C" fn(*const c_void, c_uint, c_uint, c_uint) -> c_int;

pub(crate) struct Emulated {
    folder: PathBuf,
    /// Keeps libraries and allocations alive.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    libraries: Vec<libloading::Library>,
    allocations: HashMap<u64, Layout>,
    /// Allocations that are still granted, where they are counted.
    granted: Option<usize>,
}

fn failed(what: impl Into<String>) -> BackendError {
    BackendError::DeviceFailed { device: ID.into(), what: what.into() }
}

impl Emulated {
    /// An emulated machine, if a C++ compiler answers.
    pub fn new() -> Result<Self> {
        let missing = |why: String| BackendError::NoDevice { requested: ID.into(), why };
        Command::new(compiler())
            .arg("--version")
            .output()
            .map_err(|e| missing(format!("no C++ compiler `{}`: {e}", compiler())))?;
        // What is compiled there is run: nobody else may put anything into it.
        let folder = new_private_folder("girih-emulation")
            .map_err(|e| missing(format!("no folder to compile in: {e}")))?;
        Ok(Self { folder, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants so many more allocations and refuses all that follow, as a device without memory
    /// does; with `None`, refuses none.
    #[cfg(test)]
    pub fn grant(&self, allocations: Option<usize>) {
        self.state().granted = allocations;
    }

    /// Bytes that are allocated now.
    #[cfg(test)]
    pub fn bytes_in_use(&self) -> usize {
        self.state().allocations.values().map(Layout::size).sum()
    }

    /// Where a source is compiled, and where what comes of it lies.
    fn library(&self, source: &Source) -> (PathBuf, PathBuf) {
        let folder = self.folder.join(cache_key(&[source.whole_text().as_bytes()]));
        let library = folder.join("kernel.so");
        (folder, library)
    }

    fn compile(&self, source: &Source) -> Result<PathBuf> {
        let (folder, library) = self.library(source);
        if library.exists() {
            return Ok(library);
        }
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).map_err(|e| failed(format!("{name}: {e}")))
        };
        std::fs::create_dir_all(&folder)
            .map_err(|e| failed(format!("{}: {e}", folder.display())))?;
        for (name, text) in source.file.headers {
            write(name, text)?;
        }
        write("emulation.hpp", EMULATION)?;
        write(CONSTANTS, &source.constants)?;
        write("kernel.cpp", source.file.text)?;
        let output = Command::new(compiler())
            .args([
                "-std=c++17",
                "-O1",
                "-fPIC",
                "-shared",
                "-ffp-contract=off",
                "-fwrapv",
                "-fno-strict-aliasing",
                "-w",
                "-DGIRIH_EMULATED",
            ])
            .args(std::env::var("GIRIH_EMULATION_FLAGS").unwrap_or_default().split_whitespace())
            .arg("-I")
            .arg(&folder)
            .arg(folder.join("kernel.cpp"))
            .arg("-o")
            .arg(&library)
            .output()
            .map_err(|e| failed(e.to_string()))?;
        if output.status.success() {
            Ok(library)
        } else {
            Err(failed(String::from_utf8_lossy(&output.stderr)))
        }
    }
}

fn compiler() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".into())
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // Leaving a temporary folder behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Machine for Emulated {
    fn id(&self) -> &str {
        ID
    }

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64> {
        let out_of_memory = || BackendError::OutOfMemory {
            device: ID.into(),
            bytes: bytes as u64,
            what: what.into(),
        };
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| out_of_memory())?;
        let mut state = self.state();
        if let Some(granted) = &mut state.granted {
            *granted = granted.checked_sub(1).ok_or_else(out_of_memory)?;
        }
        // SAFETY: `Buffer` never asks for zero bytes.
        let address = unsafe { std::alloc::alloc(layout) } as u64;
        if address == 0 {
            return Err(out_of_memory());
        }
        // SAFETY: just allocated with this size. Device memory has no defined contents; a pattern
        // shows reads of it.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0xa5, bytes) };
        state.allocations.insert(address, layout);
        Ok(address)
    }

    fn free(&self, address: u64) {
        if let Some(layout) = self.state().allocations.remove(&address) {
            // SAFETY: allocated in `allocate` with this layout, removed from the list,
            // so freed once.
            unsafe { std::alloc::dealloc(address as *mut u8, layout) }
        }
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: engines address only their own buffers, within their sizes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn mark(&self, queue: Queue) -> Result<Mark> {
        // Every call is over when it returns.
        Ok(Mark { queue, number: 0 })
    }

    fn wait(&self, _: Queue, _: Mark) -> Result<()> {
        Ok(())
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: as in `upload`.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len())
        };
        Ok(())
    }

    fn copy(&self, _: Queue, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: as in `upload`; the buffers are different ones.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }

    fn offer(&self, _: Queue) -> Result<Option<Offer>> {
        Ok(Some(Offer::Host))
    }

    fn take(&self, queue: Queue, offer: &Offer, from: u64, to: u64, bytes: usize) -> Result<bool> {
        match offer {
            Offer::Host => self.copy(queue, from, to, bytes).map(|()| true),
            Offer::Gpu { .. } => Ok(false),
        }
    }

    fn write(&self, _: Queue, to: u64, bytes: &[u8]) -> Result<()> {
        self.upload(to, bytes)
    }

    fn zero(&self, _: Queue, at: u64, bytes: usize) -> Result<()> {
        // SAFETY: as in `upload`.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0, bytes) };
        Ok(())
    }

    fn is_kept(&self, source: &Source) -> bool {
        self.library(source).1.exists()
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>> {
        let path = self.compile(source)?;
        // SAFETY: a library just compiled from this crate's own sources, without initialisers that
        // do anything.
        let library =
            unsafe { libloading::Library::new(&path) }.map_err(|e| failed(e.to_string()))?;
        let kernels = source
            .file
            .kernels
            .iter()
            .map(|name| {
                // SAFETY: `EXPORT` in emulation.hpp declares every kernel with this type.
                let symbol =
                    unsafe { library.get::<Launch>(format!("launch_{name}\0").as_bytes()) };
                symbol.map(|f| Kernel(*f as usize)).map_err(|e| failed(e.to_string()))
            })
            .collect();
        self.state().libraries.push(library);
        kernels
    }

    fn prepare(&self, _: Kernel, _: LaunchSize) -> Result<KernelCost> {
        Ok(KernelCost::default())
    }

    fn launch(&self, _: Queue, kernel: Kernel, size: LaunchSize, bytes: &[u8]) -> Result<()> {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `load` made the kernel from a function of this type in a
        // library that `state` keeps.
        let launch: Launch = unsafe { std::mem::transmute(kernel.0) };
        // SAFETY: the bytes are those of the struct that the kernel takes,
        // its addresses those of live buffers.
        match unsafe {
            launch(
                bytes.as_ptr().cast(),
                size.blocks as u32,
                size.threads as u32,
                size.shared_bytes as u32,
            )
        } {
            0 => Ok(()),
            _ => Err(failed("a barrier that some threads never reach")),
        }
    }

    fn keeps_time(&self) -> bool {
        false
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
