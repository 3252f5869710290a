//! Rings opened on the CPU, and the choices there are.

use std::sync::Arc;

use girih_backend::poly::{
    Choices, Loader, PolyDevice, PolyOptions, PolyPlan, RingShape, unknown_choice,
};
use girih_backend::{BackendError, Result};
use girih_ring::fft::Simd;

use super::device::CpuPoly;
use crate::CpuBackend;

/// The one choice beside the plan: threads that share a launch, all of them by default.
const THREADS: &str = "threads";

impl Loader for CpuBackend {
    fn open_by(&self, ring: Arc<RingShape>, choices: &Choices) -> Result<Box<dyn PolyDevice>> {
        let most = girih_backend::parallel::current_num_threads();
        if let Some(name) = choices.keys().find(|name| *name != THREADS) {
            return Err(unknown_choice(name, &[THREADS]));
        }
        let threads = choices.get(THREADS).map_or(most, |&threads| threads as usize);
        if !(1..=most).contains(&threads) {
            return Err(BackendError::InvalidRequest(format!(
                "{threads} threads: this machine has 1 to {most}"
            )));
        }
        Ok(Box::new(CpuPoly::new(ring, Simd::detect(), threads)?))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        // A slot is a row of 4 KiB, or as much of a column tile: the second-level cache holds many.
        PolyPlan { most_row_slots: 128, ..PolyPlan::default() }
    }

    fn alternatives(&self, ring: &RingShape) -> Vec<PolyOptions> {
        let own = self.plan(ring);
        let rows = |most_row_slots| PolyPlan { most_row_slots, ..own };
        let sums = |most_column_sums| PolyPlan { most_column_sums, ..own };
        let plans = [own, rows(48), rows(256), sums(16), sums(32), sums(128)];
        let mut all: Vec<PolyOptions> = plans.into_iter().map(PolyOptions::of).collect();
        // Where two threads share a core, one of them may do better alone.
        let half = girih_backend::parallel::current_num_threads() / 2;
        all.extend((half > 0).then(|| PolyOptions::of(own).with(THREADS, half as u32)));
        all
    }

    fn memory_bytes(&self) -> Option<u64> {
        let table = std::fs::read_to_string("/proc/meminfo").ok()?;
        let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_backend::poly::PolyEngine;
    use girih_backend::poly::random::ring;
    use girih_backend::{NoProgress, PlanSource};

    #[test]
    fn every_alternative_opens_and_other_choices_are_refused() {
        let (device, ring) = (CpuBackend::new(), ring(6));
        let alternatives = device.alternatives(&ring);
        assert_eq!(alternatives[0].plan, Some(device.plan(&ring)));
        for options in &alternatives {
            let engine = PolyEngine::open_with(&device, ring.clone(), options, &NoProgress);
            let engine = engine.expect("worth measuring");
            assert_eq!(Some(*engine.plan()), options.plan);
            assert_eq!(engine.plan_source(), PlanSource::Request);
        }
        for (name, value, why) in [
            ("warps", 4, "it knows threads"),
            (THREADS, 0, "has 1 to"),
            (THREADS, 9999, "has 1 to"),
        ] {
            let options = PolyOptions::default().with(name, value);
            let refused = PolyEngine::open_with(&device, ring.clone(), &options, &NoProgress);
            let error = refused.expect_err("a choice that there is not").to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
