//! What a device implements to run schedules.

use std::any::Any;
use std::sync::Arc;

use girih_ring::sampler::PublicStream;

use super::{ResidentShape, RingShape, Schedule};
use crate::{Progress, Result, Waiting, at_once};

/// Number of a buffer of limbs on a device; never used again after it is freed.
pub type BufferId = u64;

/// Number of a resident polynomial on a device; never used again after it is freed.
pub type ResidentId = u64;

/// Number of a prepared routine; never used again after it is freed.
pub type RoutineId = u64;

/// A polynomial in a buffer: its limbs side by side from limb `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The buffer.
    pub buffer: BufferId,
    /// Its first limb there.
    pub first: usize,
}

/// What one call of a routine works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// For each input slot, where the polynomial lies.
    pub inputs: Vec<Place>,
    /// For each output slot, where it goes. No output shares a limb with an input or output of any
    /// call that runs with it.
    pub outputs: Vec<Place>,
}

/// Hands out resident polynomials limb by limb, so that no second whole copy exists on the host.
/// Limbs may be asked for in any order and from several threads at once.
pub trait ResidentSource: Sync {
    /// The polynomials, in order.
    fn shapes(&self) -> Vec<ResidentShape>;

    /// Writes limb `limb` of polynomial `polynomial`: N / 2^log2_run canonical words.
    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]);

    /// The public stream that [`ResidentSource::limb`] takes this limb's words from, one after the
    /// other by [`RandomStream::uniform_below`] its prime, if it does: a device that can may expand
    /// the stream itself instead of asking for the words.
    ///
    /// [`RandomStream::uniform_below`]: girih_ring::sampler::RandomStream::uniform_below
    fn stream(&self, _polynomial: usize, _limb: usize) -> Option<PublicStream> {
        None
    }

    /// What these are, for progress and for errors, such as "rotation keys".
    fn what(&self) -> &str {
        "polynomials"
    }
}

/// A device with the tables of one ring loaded. Nothing is checked here: the engine of this crate
/// checks before it calls, and is all that others see.
///
/// Calls take effect in the order in which they are made; only loading, reading and `synchronize`
/// wait. Each of these has a form that is awaited: a device that has something to wait on
/// implements it, others leave it as it is.
pub trait PolyDevice: Any + Send + Sync {
    /// The ring.
    fn ring(&self) -> &Arc<RingShape>;

    /// Makes room for `limbs` limbs.
    ///
    /// # Errors
    /// When memory runs out.
    fn allocate(&self, limbs: usize) -> Result<BufferId>;

    /// Frees a buffer when all calls made so far are done with it.
    fn free(&self, buffer: BufferId);

    /// Writes whole limbs.
    ///
    /// # Errors
    /// When the device fails.
    fn write(&self, to: Place, words: &[u32]) -> Result<()>;

    /// Reads whole limbs, after all calls made so far.
    ///
    /// # Errors
    /// When the device fails.
    fn read(&self, from: Place, words: &mut [u32]) -> Result<()>;

    /// `read`, awaited.
    fn read_async<'a>(&'a self, from: Place, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        at_once(move || self.read(from, words))
    }

    /// Copies `limbs` limbs on the device.
    ///
    /// # Errors
    /// When the device fails.
    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()>;

    /// Copies `limbs` limbs from another device with the same ring, after all calls made there so
    /// far and before those that come. `false`, and nothing is done, where there is no way between
    /// the two: they are read there and written here instead.
    ///
    /// # Errors
    /// When one of the devices fails.
    fn copy_from(
        &self,
        _peer: &dyn PolyDevice,
        _from: Place,
        _to: Place,
        _limbs: usize,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Makes polynomials resident; one number each, in order.
    ///
    /// # Errors
    /// When memory runs out or the device fails; then none of them is resident.
    fn load(&self, source: &dyn ResidentSource, progress: &dyn Progress)
    -> Result<Vec<ResidentId>>;

    /// `load`, awaited.
    fn load_async<'a>(
        &'a self,
        source: &'a dyn ResidentSource,
        progress: &'a dyn Progress,
    ) -> Waiting<'a, Result<Vec<ResidentId>>> {
        at_once(move || self.load(source, progress))
    }

    /// How often `load` asks for each limb that is not expanded: once a copy, of which several
    /// devices as one have one each.
    fn copies(&self) -> usize {
        1
    }

    /// Writes a resident polynomial anew: all of its limbs, N / 2^log2_run canonical words each.
    /// The routines that read it stay.
    ///
    /// # Errors
    /// When the device fails.
    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()>;

    /// Frees a resident polynomial when all calls made so far are done with it.
    fn unload(&self, resident: ResidentId);

    /// Makes a schedule ready to run: compiles kernels, uploads tables, lays out what calls need.
    /// `residents` are those of the schedule's program, by slot.
    ///
    /// # Errors
    /// When something does not fit this device, or memory runs out.
    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId>;

    /// Frees a routine when all calls made so far are done with it.
    fn forget(&self, routine: RoutineId);

    /// Runs independent calls of one routine.
    ///
    /// # Errors
    /// When memory for their arenas runs out or the device fails.
    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()>;

    /// Runs one call and reads what it left: every limb that the schedule kept, those of the first
    /// value first. They lie in the arena of that call, in inputs or in outputs.
    ///
    /// # Errors
    /// As `run`.
    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>>;

    /// Waits until every routine that is prepared has the kernels that it keeps, and says how many
    /// waited for some. Devices whose routines begin with others ([`Specialise`]) implement it.
    ///
    /// # Errors
    /// When a kernel cannot be compiled, or memory runs out.
    ///
    /// [`Specialise`]: crate::Specialise
    fn settle(&self) -> Result<usize> {
        Ok(0)
    }

    /// Waits until everything is done.
    ///
    /// # Errors
    /// When the device fails.
    fn synchronize(&self) -> Result<()>;

    /// `synchronize`, awaited.
    fn synchronize_async(&self) -> Waiting<'_, Result<()>> {
        at_once(|| self.synchronize())
    }

    /// Bytes that resident polynomials, buffers, arenas and tables take on the device.
    fn bytes_in_use(&self) -> u64;
}
