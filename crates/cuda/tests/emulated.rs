//! The kernels' own sources on the host, against the vectors and the exact twin.
#![cfg(feature = "emulation")]

use girih_backend::{Backend, BackendError, DeviceInfo, Engine, KeySource, LoadOptions, Progress};
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{compare, shapes};
use girih_cpu::CpuBackend;
use girih_cuda::EmulatedBackend;

fn device() -> EmulatedBackend {
    EmulatedBackend::new().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn vectors_bit_for_bit() {
    let device = device();
    for (name, text) in PUBLISHED {
        let replay = VectorFile::parse(name, text).map(|f| f.replay(&device).unwrap_or_else(|e| panic!("{name}: {e}")));
        let replay = replay.unwrap_or_else(|e| panic!("{e}"));
        assert!(replay.failures.is_empty(), "{name}: {}", replay.failures.join("\n"));
    }
}

/// Key switches by tiles, which else only large batches take.
#[test]
fn vectors_by_tiles() {
    let device = Tiled(device());
    let mut replayed = 0;
    for (name, text) in PUBLISHED {
        let file = VectorFile::parse(name, text).unwrap_or_else(|e| panic!("{name}: {e}"));
        match file.replay(&device) {
            Ok(replay) => {
                replayed += 1;
                assert!(replay.failures.is_empty(), "{name}: {}", replay.failures.join("\n"));
            }
            Err(e) => assert!(e.to_string().contains("too many for a tile"), "{name}: {e}"),
        }
    }
    assert!(replayed > 0, "no vector has a base small enough for tiles");
}

/// The device, asked for tiles.
struct Tiled(EmulatedBackend);

impl Backend for Tiled {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        let mut options = options.clone();
        options.plan.choices.insert("tiled".into(), 1);
        self.0.load(keys, &options, progress)
    }
}

fn for_shapes(run: impl Fn(&shapes::NamedShape)) {
    let only = std::env::var("GIRIH_SHAPE").unwrap_or_default();
    for case in shapes::all().iter().filter(|s| s.name.contains(&only) && s.shape.polynomial_size <= 2048) {
        run(case);
    }
}

#[test]
fn shapes_bit_for_bit() {
    let device = device();
    for_shapes(|case| {
        let differences = compare::bit_for_bit(&device, &CpuBackend::new(), &case.shape);
        let differences = differences.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(differences.is_empty(), "{}: {}", case.name, differences.join("\n"));
        eprintln!("{} exact", case.name);
    });
}

#[test]
fn shapes_within_the_fft_error() {
    let device = device();
    for_shapes(|case| {
        let differences = compare::within_fft_error(&device, &CpuBackend::new(), &case.shape);
        let differences = differences.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(differences.is_empty(), "{}: {}", case.name, differences.join("\n"));
        eprintln!("{} within its error", case.name);
    });
}
