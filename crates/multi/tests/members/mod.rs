//! Hosts that stand for members: one under any name, one that fails when it is told to.

use girih_backend::bootstrap::{BootstrapDevice, Loader, Pipelining};
use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, DeviceInfo, LinearJob, LoadOptions,
    LoadRequest, PlanReport, Result, Stage, StageOutput, Transform, Waiting,
};
use girih_cpu::CpuBackend;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The CPU under another name.
pub struct Renamed(CpuBackend, DeviceInfo);

impl Renamed {
    pub fn new(name: &str) -> Self {
        let cpu = CpuBackend::new();
        let mut info = cpu.info().clone();
        (info.id, info.name) = (name.into(), name.into());
        Self(cpu, info)
    }
}

impl Backend for Renamed {
    fn info(&self) -> &DeviceInfo {
        &self.1
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        self.0.bootstrap()
    }
}

/// A CPU that can be made to refuse what is written to it.
pub struct Refusing(pub CpuBackend, pub Arc<AtomicBool>);
struct RefusingDevice(Box<dyn BootstrapDevice>, Arc<AtomicBool>);

impl Backend for Refusing {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }
}

impl Loader for Refusing {
    fn alternatives(&self, _: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        Ok(Vec::new())
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        Box::pin(async move {
            let device = Loader::load(&self.0, request).await?;
            Ok(Box::new(RefusingDevice(device, Arc::clone(&self.1))) as Box<dyn BootstrapDevice>)
        })
    }
}

impl BootstrapDevice for RefusingDevice {
    fn shape(&self) -> &BootstrapShape {
        self.0.shape()
    }
    fn transform(&self) -> Transform {
        self.0.transform()
    }
    fn report(&self) -> PlanReport {
        self.0.report()
    }
    fn grow(&self, from: usize, to: usize) -> Result<()> {
        self.0.grow(from, to)
    }
    fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        if self.1.load(Ordering::SeqCst) {
            return Err(BackendError::OutOfMemory {
                device: "cpu".into(),
                bytes: 1,
                what: "a test".into(),
            });
        }
        self.0.write(first, words)
    }
    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        self.0.read(first, words)
    }
    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<()> {
        self.0.add_tables(held, polynomials)
    }
    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()> {
        self.0.write_tables(first, polynomials)
    }
    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        self.0.bootstrap(jobs)
    }
    fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        self.0.combine(jobs)
    }
    fn synchronize(&self) -> Waiting<'_, Result<()>> {
        self.0.synchronize()
    }
    fn pipelining(&self) -> Pipelining {
        self.0.pipelining()
    }
    fn time_of(&self, bootstrappings: usize) -> f64 {
        self.0.time_of(bootstrappings)
    }
    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        self.0.trace(job, stages)
    }
}
