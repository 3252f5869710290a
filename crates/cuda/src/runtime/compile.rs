//! NVRTC: sources to cubins, kept in the user's cache folder.
#![allow(unsafe_code)] // Calls the C interface of NVRTC.

use crate::runtime::shipped::Place;
use crate::runtime::source::{CONSTANTS, Source};
use cudarc::nvrtc::sys;
use girih_backend::{cache_folder, cache_key, keep_compiled, read_compiled};
use std::ffi::{CString, c_char};
use std::path::PathBuf;

/// Why a kernel was not compiled.
#[derive(Debug)]
pub enum CompileError {
    /// No libnvrtc on this machine, and why kernels that were compiled ahead do not help, where
    /// there are some.
    NoCompiler(Option<String>),
    /// The compiler refused; its log.
    Refused(String),
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoCompiler(shipped) => {
                let shipped = shipped.iter().map(|why| format!("{why}, and ")).collect::<String>();
                write!(
                    f,
                    "{shipped}libnvrtc was not found: install the CUDA 13 runtime compiler \
                     (package cuda-nvrtc-13-0, or the Python wheel nvidia-cuda-nvrtc) and put its \
                     folder on the library path"
                )
            }
            Self::Refused(log) => write!(f, "NVRTC refused a kernel: {log}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// The cubin of `source` for compute capability `capability` (90 for sm_90), from the folder of
/// kernels that were compiled ahead ([`KERNELS_VARIABLE`](crate::KERNELS_VARIABLE) or
/// [`look_in`](crate::look_in)), from the cache, or compiled now; `note` hears what users should
/// know of the two.
///
/// # Errors
/// Where there is no compiler, or it refuses.
pub fn compile(
    source: &Source,
    capability: u32,
    note: impl Fn(String),
) -> Result<Vec<u8>, CompileError> {
    compile_beside(Place::own().as_ref(), source, capability, &note)
}

/// The same with kernels that were compiled ahead there, or none.
fn compile_beside(
    place: Option<&Place>,
    source: &Source,
    capability: u32,
    note: &dyn Fn(String),
) -> Result<Vec<u8>, CompileError> {
    if let Some(cubin) = place.and_then(|place| place.read(source, capability, note)) {
        return Ok(cubin);
    }
    // SAFETY: only asks the loader for a library.
    if !unsafe { sys::is_culib_present() } {
        return Err(CompileError::NoCompiler(place.map(|place| place.lacks(capability))));
    }
    let path = cached_path(source, capability);
    // What is damaged, or may be somebody else's, is compiled anew.
    match path.as_ref().map(|path| read_compiled(path)) {
        Some(Ok(Some(cubin))) => return Ok(cubin),
        Some(Err(why)) => note(why),
        Some(Ok(None)) | None => {}
    }
    let cubin = compile_now(source, capability)?;
    if let Some(path) = path {
        // A cache that cannot be written costs time, not correctness.
        if let Err(e) = keep_compiled(&path, &cubin) {
            note(format!("the compiled kernel could not be kept in {} ({e})", path.display()));
        }
    }
    Ok(cubin)
}

/// Whether the cubin of `source` was compiled before. Whether it is whole is seen when it is read.
pub(crate) fn is_kept(source: &Source, capability: u32) -> bool {
    if Place::own().is_some_and(|place| place.has(source, capability)) {
        return true;
    }
    // SAFETY: only asks the loader for a library.
    let has_compiler = unsafe { sys::is_culib_present() };
    has_compiler && cached_path(source, capability).is_some_and(|path| path.exists())
}

/// What NVRTC is told beside the architecture. Lambdas in kernels carry no annotation:
/// `-default-device` makes them device code.
const OPTIONS: &[&str] = if cfg!(feature = "line-info") {
    &["--std=c++17", "-default-device", "-lineinfo"]
} else {
    &["--std=c++17", "-default-device"]
};

/// Where the cubin is kept; nowhere if the system has no cache folder.
fn cached_path(source: &Source, capability: u32) -> Option<PathBuf> {
    let key = cache_key(&[
        source.whole_text().as_bytes(),
        capability.to_string().as_bytes(),
        compiler_version().as_bytes(),
        OPTIONS.join(" ").as_bytes(),
    ]);
    Some(
        cache_folder()?
            .join("cuda")
            .join(format!("{}-sm_{capability}-{key}.cubin", source.file.name)),
    )
}

/// NVRTC's version, `13.0`.
fn compiler_version() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers; `compile` made sure that the library is there.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    format!("{major}.{minor}")
}

fn text(s: &str) -> Result<CString, CompileError> {
    CString::new(s).map_err(|e| CompileError::Refused(e.to_string()))
}

/// A program that destroys itself.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created once by `nvrtcCreateProgram`, destroyed once here.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

fn check(result: sys::nvrtcResult, doing: &str) -> Result<(), CompileError> {
    if result == sys::nvrtcResult::NVRTC_SUCCESS {
        Ok(())
    } else {
        Err(CompileError::Refused(format!("{doing}: {result:?}")))
    }
}

fn compile_now(source: &Source, capability: u32) -> Result<Vec<u8>, CompileError> {
    let (body, name) = (text(source.file.text)?, text(&format!("{}.cu", source.file.name))?);
    let mut names = vec![text(CONSTANTS)?];
    let mut headers = vec![text(&source.constants)?];
    for (name, header) in source.file.headers {
        names.push(text(name)?);
        headers.push(text(header)?);
    }
    let pointers =
        |strings: &[CString]| strings.iter().map(|s| s.as_ptr()).collect::<Vec<*const c_char>>();
    let (header_pointers, name_pointers) = (pointers(&headers), pointers(&names));
    let mut program = Program(std::ptr::null_mut());
    // SAFETY: all strings end with a zero byte and live until the call returns; both lists have
    // `headers.len()` entries.
    let created = unsafe {
        sys::nvrtcCreateProgram(
            &mut program.0,
            body.as_ptr(),
            name.as_ptr(),
            headers.len() as i32,
            header_pointers.as_ptr(),
            name_pointers.as_ptr(),
        )
    };
    check(created, "creating a program")?;
    let mut options = vec![text(&format!("--gpu-architecture=sm_{capability}"))?];
    for option in OPTIONS {
        options.push(text(option)?);
    }
    let option_pointers = pointers(&options);
    // SAFETY: `options` lives until the call returns.
    let compiled = unsafe {
        sys::nvrtcCompileProgram(program.0, options.len() as i32, option_pointers.as_ptr())
    };
    if compiled != sys::nvrtcResult::NVRTC_SUCCESS {
        return Err(CompileError::Refused(format!(
            "{}.cu: {}",
            source.file.name,
            log_of(&program)
        )));
    }
    let mut size = 0;
    // SAFETY: the program was compiled for a real architecture, so it has a cubin.
    check(unsafe { sys::nvrtcGetCUBINSize(program.0, &mut size) }, "asking for the cubin's size")?;
    let mut cubin = vec![0u8; size];
    // SAFETY: `cubin` has the size that was asked for.
    check(unsafe { sys::nvrtcGetCUBIN(program.0, cubin.as_mut_ptr().cast()) }, "taking the cubin")?;
    Ok(cubin)
}

fn log_of(program: &Program) -> String {
    let mut size = 0;
    // SAFETY: writes one integer.
    if unsafe { sys::nvrtcGetProgramLogSize(program.0, &mut size) }
        != sys::nvrtcResult::NVRTC_SUCCESS
    {
        return "no log".into();
    }
    let mut log = vec![0u8; size];
    // SAFETY: `log` has the size that was asked for.
    unsafe { sys::nvrtcGetProgramLog(program.0, log.as_mut_ptr().cast()) };
    // The first messages say what is wrong; template errors go on for pages.
    String::from_utf8_lossy(&log).trim_end_matches('\0').chars().take(2000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::shipped::{ship, ship_contents};
    use crate::runtime::source::KernelFile;
    use std::cell::RefCell;

    /// Kernels of another version are not loaded: NVRTC compiles them, or its absence is told with
    /// what there is.
    #[test]
    fn kernels_of_another_version_are_compiled_instead() {
        let text = "extern \"C\" __global__ void sum(int* a) { a[0] += 1; }\n";
        let file = KernelFile { name: "sum", text, kernels: &["sum"], headers: &[] };
        let source = Source { file, constants: String::new() };
        let folder = std::env::temp_dir().join(format!("girih-beside-{}", std::process::id()));
        ship_contents(&folder, [90]).expect("writable");
        ship(&folder, &source, 90, b"code").expect("writable");
        let (place, notes) = (Place::Packed(folder.clone()), RefCell::new(Vec::new()));
        let beside = |place: &Place| {
            compile_beside(Some(place), &source, 90, &|note| notes.borrow_mut().push(note))
        };
        assert_eq!(beside(&place).expect("it is there"), b"code");
        let other = folder.join("other");
        std::fs::create_dir(&other).expect("ours");
        for entry in std::fs::read_dir(&folder).expect("ours").flatten() {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), other.join(entry.file_name())).expect("ours");
            }
        }
        let contents = std::fs::read_to_string(other.join("contents.txt")).expect("written");
        let texts = contents.replace("texts ", "texts 0");
        std::fs::write(other.join("contents.txt"), texts).expect("ours");
        assert!(notes.borrow().is_empty());
        match beside(&Place::Packed(other)) {
            Ok(cubin) => assert!(cubin != b"code", "what another version compiled was taken"),
            Err(CompileError::NoCompiler(why)) => {
                let why = why.expect("there is a folder");
                assert!(why.ends_with("are none of this version"), "{why}");
            }
            Err(error) => panic!("{error}"),
        }
        let notes = notes.into_inner();
        assert!(notes[0].contains("are those of another version"), "{notes:?}");
        assert!(notes[0].ends_with("kernels are compiled on this machine instead"), "{notes:?}");
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
