//! What integers ask of the server key that computes on them, and arrays on its device.

use crate::operation::{Operand, Operation, Request};
use crate::{Result, error::mismatch};
use girih_backend::Progress;
use girih_rlwe::{KeyId, Mismatch};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// Programs that are kept: each is some hundred look-ups, a division some ten thousand.
const MOST_PROGRAMS: usize = 256;

pub trait Sealed {}

/// What an element is made of.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub digits: usize,
    pub is_condition: bool,
}

impl Form {
    /// The largest digit.
    pub fn most(self) -> u8 {
        if self.is_condition { 1 } else { 3 }
    }
}

/// Values of digits, element by element, lowest digit first; of conditions 0 or 1.
pub type Digits = Zeroizing<Vec<u8>>;

/// A server key that computes on integers: [`girih_tfhe::ServerKey`], a ciphertext for each digit
/// of each element, or [`girih_discrete::ServerKey`], one for a digit of 32,768 elements.
///
/// Functions that are generic over it run on both:
///
/// ```
/// use girih_integer::{Engine, FheUint, Result};
///
/// fn capped<E: Engine>(a: &FheUint<16, E>, b: &FheUint<16, E>) -> Result<FheUint<16, E>> {
///     a.add(b)?.min(1000u16)
/// }
/// ```
pub trait Engine: Sealed + Sized + Send + Sync + 'static {
    /// The key that decrypts.
    type ClientKey: EncryptionKey<Engine = Self>;

    /// Its parameter sets.
    type Set;

    /// Encrypted digits on the host.
    type Ciphertexts: Clone + PartialEq + std::fmt::Debug + Send + Sync;

    /// Fresh ciphertexts without masks.
    type Seeded;

    /// The same on a device.
    #[doc(hidden)]
    type Words: Send + Sync;

    /// What is known of a digit of an array.
    #[doc(hidden)]
    type Digit: Clone + Eq + Hash + std::fmt::Debug + Send + Sync;

    /// A recorded operation.
    #[doc(hidden)]
    type Program: Send + Sync;

    /// What recording and running need besides.
    #[doc(hidden)]
    type Context: Send + Sync;

    /// Behind the name of integers in bytes.
    #[doc(hidden)]
    const SUFFIX: &'static str;

    /// Whether an array that is several operands is one to a recording.
    #[doc(hidden)]
    const JOINS: bool;

    /// The most arrays that one program adds.
    #[doc(hidden)]
    const MOST_TERMS: usize;

    /// What it takes to compute on integers.
    #[doc(hidden)]
    fn context(&self) -> Result<Self::Context>;

    #[doc(hidden)]
    fn name(&self) -> String;

    #[doc(hidden)]
    fn key_id(&self) -> KeyId;

    #[doc(hidden)]
    fn synchronize(&self) -> Result<()>;

    #[doc(hidden)]
    fn record(&self, of: &Self::Context, request: &Request<Self::Digit>) -> Result<Self::Program>;

    /// The results of a program: operands without an array are known.
    #[doc(hidden)]
    fn execute(
        inner: &Inner<Self>,
        program: &Self::Program,
        arrays: &[Option<&Array<Self>>],
        count: usize,
    ) -> Result<Vec<Held<Self>>>;

    /// Digits under a client key, without masks.
    #[doc(hidden)]
    fn encrypt_seeded(
        client: &Self::ClientKey,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<Self::Seeded>;

    #[doc(hidden)]
    fn upload(
        inner: &Inner<Self>,
        ciphertexts: &Self::Ciphertexts,
        count: usize,
        form: Form,
    ) -> Result<Held<Self>>;

    #[doc(hidden)]
    fn download(array: &Array<Self>) -> Result<Self::Ciphertexts>;

    /// Known digits on the device.
    #[doc(hidden)]
    fn constants(
        inner: &Inner<Self>,
        digits: &[u8],
        count: usize,
        form: Form,
    ) -> Result<Held<Self>>;

    /// Elements that there are, in any order, at least one.
    #[doc(hidden)]
    fn take(array: &Array<Self>, elements: &[usize]) -> Result<Held<Self>>;

    /// Whether nothing is to be done before clients read digits.
    #[doc(hidden)]
    fn is_settled(array: &Array<Self>, form: Form) -> bool;

    /// None where a digit is none.
    #[doc(hidden)]
    fn decrypt(
        client: &Self::ClientKey,
        ciphertexts: &Self::Ciphertexts,
        count: usize,
        form: Form,
    ) -> Result<Option<Digits>>;

    #[doc(hidden)]
    fn set(ciphertexts: &Self::Ciphertexts) -> &Self::Set;

    /// None of constants.
    #[doc(hidden)]
    fn key_of(ciphertexts: &Self::Ciphertexts) -> Option<KeyId>;

    /// Why these are not the digits of so many elements, which are called `of`.
    #[doc(hidden)]
    fn check(
        ciphertexts: &Self::Ciphertexts,
        count: usize,
        form: Form,
        of: &str,
    ) -> std::result::Result<(), Mismatch>;

    #[doc(hidden)]
    fn to_bytes(ciphertexts: &Self::Ciphertexts, count: usize) -> Result<Vec<u8>>;

    /// Ciphertexts, and of how many elements they say to be: of this set and at most so many where
    /// that is given.
    #[doc(hidden)]
    fn from_bytes(
        bytes: &[u8],
        most: Option<(&Self::Set, usize)>,
        form: Form,
    ) -> Result<(Self::Ciphertexts, usize)>;
}

/// Digits on a device, and what is known of each.
pub type Held<E> = (<E as Engine>::Words, Vec<<E as Engine>::Digit>);

/// Programs by what they were recorded for.
type Programs<E> = HashMap<Request<<E as Engine>::Digit>, Arc<<E as Engine>::Program>>;

/// A key that encrypts integers: a client key, or a public key, which needs no secret.
pub trait EncryptionKey: Sealed {
    /// The server keys that compute on what it encrypts.
    type Engine: Engine;

    #[doc(hidden)]
    fn encrypt_digits(
        &self,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<<Self::Engine as Engine>::Ciphertexts>;
}

/// An array of numbers of digits on a device, whatever they stand for.
pub struct Array<E: Engine> {
    pub inner: Arc<Inner<E>>,
    pub words: Arc<E::Words>,
    pub count: usize,
    pub digits: Vec<E::Digit>,
}

// Derived, it would ask the same of server keys.
impl<E: Engine> Clone for Array<E> {
    fn clone(&self) -> Self {
        let (inner, words) = (Arc::clone(&self.inner), Arc::clone(&self.words));
        Self { inner, words, count: self.count, digits: self.digits.clone() }
    }
}

impl<E: Engine> Array<E> {
    pub fn new(inner: &Arc<Inner<E>>, count: usize, of: Held<E>) -> Self {
        Self { inner: Arc::clone(inner), words: Arc::new(of.0), count, digits: of.1 }
    }

    /// Elements in any order, and as often as wanted.
    pub fn take(&self, elements: &[usize]) -> Result<Self> {
        if let Some(&beyond) = elements.iter().find(|&&e| e >= self.count) {
            return mismatch(Mismatch::index("an element of an array", beyond, self.count));
        }
        if elements.is_empty() {
            return mismatch(Mismatch::empty("elements to take"));
        }
        Ok(Self::new(&self.inner, elements.len(), E::take(self, elements)?))
    }

    /// An operation with one result.
    pub fn run(
        &self,
        operation: Operation,
        signed: bool,
        more: &[Argument<'_, E>],
    ) -> Result<Self> {
        Ok(self.run_all(operation, signed, more)?.swap_remove(0))
    }

    pub fn run_all(
        &self,
        operation: Operation,
        signed: bool,
        more: &[Argument<'_, E>],
    ) -> Result<Vec<Self>> {
        let first = [Argument::Array(self)];
        let arguments: Vec<&Argument<'_, E>> = first.iter().chain(more).collect();
        self.inner.run(operation, signed, &arguments)
    }
}

/// An operand of [`Inner::run`].
pub enum Argument<'a, E: Engine> {
    Array(&'a Array<E>),
    /// Digits, lowest first.
    Plain(Vec<u8>),
}

/// What [`Integers`](crate::Integers) share: the server key, and the programs that are loaded.
pub struct Inner<E: Engine> {
    pub server: E,
    pub context: E::Context,
    programs: Mutex<Programs<E>>,
    pub look_ups: AtomicU64,
    pub listener: Mutex<Option<Arc<dyn Progress + Send>>>,
}

impl<E: Engine> Inner<E> {
    pub fn new(server: E) -> Result<Self> {
        let context = server.context()?;
        let (programs, look_ups, listener) = Default::default();
        Ok(Self { server, context, programs, look_ups, listener })
    }

    /// Who hears of look-ups.
    pub fn listener(&self) -> Option<Arc<dyn Progress + Send>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn count_look_ups(&self, count: usize) {
        self.look_ups.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Runs an operation on operands of which one is an array at least.
    pub fn run(
        self: &Arc<Self>,
        operation: Operation,
        signed: bool,
        arguments: &[&Argument<'_, E>],
    ) -> Result<Vec<Array<E>>> {
        let mut arrays: Vec<Option<&Array<E>>> = Vec::with_capacity(arguments.len());
        let mut operands = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let array = match argument {
                Argument::Plain(digits) => {
                    operands.push(Operand::Plain(digits.clone()));
                    arrays.push(None);
                    continue;
                }
                Argument::Array(array) => *array,
            };
            if !Arc::ptr_eq(&array.inner, self) {
                return mismatch(Mismatch::Server { what: "some of these integers" });
            }
            let is_same = |a: &Option<&Array<E>>| {
                E::JOINS && a.is_some_and(|a| Arc::ptr_eq(&a.words, &array.words))
            };
            operands.push(match arrays.iter().position(is_same) {
                Some(earlier) => Operand::Same(earlier),
                None => Operand::Digits(array.digits.clone()),
            });
            arrays.push(Some(array));
        }
        let lengths: Vec<usize> = arrays.iter().flatten().map(|a| a.count).collect();
        let Some(&count) = lengths.first() else {
            return mismatch(Mismatch::empty("arrays among the operands"));
        };
        if lengths.iter().any(|&l| l != count) {
            return mismatch(Mismatch::Lengths { what: "arrays of integers", found: lengths });
        }
        let program = self.program(Request { operation, signed, operands })?;
        let results = E::execute(self, &program, &arrays, count)?;
        Ok(results.into_iter().map(|of| Array::new(self, count, of)).collect())
    }

    fn program(&self, request: Request<E::Digit>) -> Result<Arc<E::Program>> {
        let locked = || self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(&request) {
            return Ok(Arc::clone(known));
        }
        let program = Arc::new(self.server.record(&self.context, &request)?);
        let mut programs = locked();
        if programs.len() >= MOST_PROGRAMS {
            programs.clear();
        }
        programs.insert(request, Arc::clone(&program));
        Ok(program)
    }
}
