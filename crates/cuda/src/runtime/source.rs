//! What a kernel is compiled from: texts alone, whatever family they are of.

/// The header that holds what fixes a kernel for one plan; every kernel includes it.
pub const CONSTANTS: &str = "constants.cuh";

/// A header: the name under which kernels include it, and its text.
pub type Header = (&'static str, &'static str);

/// What a GPU and the host in its place differ in.
pub const PLATFORM: Header = ("platform.cuh", girih_kernels::lib::PLATFORM);
/// Arithmetic modulo primes, constants of a kernel or data.
pub const WORD: Header = ("word.cuh", girih_kernels::lib::WORD);

/// One kernel file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFile {
    /// Its name, that of its main kernel.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The kernels in it.
    pub kernels: &'static [&'static str],
    /// All headers of its family.
    pub headers: &'static [Header],
}

/// A kernel file and the constants it is compiled with.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file.
    pub file: KernelFile,
    /// The text of [`CONSTANTS`].
    pub constants: String,
}

impl Source {
    /// Everything that decides what is compiled, for cache keys.
    pub fn whole_text(&self) -> String {
        let headers: String =
            self.file.headers.iter().map(|(name, text)| format!("{name}\n{text}\n")).collect();
        format!("{}\n{}\n{}\n{headers}", self.file.name, self.file.text, self.constants)
    }
}
