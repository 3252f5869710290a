//! Work on all threads of the host, by rayon; one item after the other where there are no threads:
//! in a browser, whose modules rayon would only make larger.

#[cfg(not(target_family = "wasm"))]
pub use rayon::{current_num_threads, join, prelude};
#[cfg(target_family = "wasm")]
pub use serial::{current_num_threads, join, prelude};

use prelude::*;

/// What `add` makes of all numbers below `count`, on each thread from `zero` on; `sum` joins what
/// two of them made.
pub fn fold<T: Send>(
    count: usize,
    zero: impl Fn() -> T + Sync + Send,
    add: impl Fn(T, usize) -> T + Sync + Send,
    sum: impl Fn(T, T) -> T + Sync + Send,
) -> T {
    #[cfg(not(target_family = "wasm"))]
    return (0..count).into_par_iter().fold(&zero, add).reduce(&zero, sum);
    #[cfg(target_family = "wasm")]
    {
        let _ = sum;
        (0..count).into_par_iter().fold(zero(), add)
    }
}

/// rayon's names for what iterators do.
#[cfg(any(test, target_family = "wasm"))]
mod serial {
    /// Threads that work at once.
    pub fn current_num_threads() -> usize {
        1
    }

    /// Both, the first one first.
    pub fn join<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
        (a(), b())
    }

    /// What rayon's documentation says of the same names.
    #[allow(missing_docs)] // There.
    pub mod prelude {
        pub use std::iter::ExactSizeIterator as IndexedParallelIterator;
        use std::slice::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};

        /// Anything that can be iterated.
        pub trait IntoParallelIterator: IntoIterator + Sized {
            fn into_par_iter(self) -> Self::IntoIter {
                self.into_iter()
            }
        }

        impl<T: IntoIterator> IntoParallelIterator for T {}

        /// Collections by reference.
        pub trait IntoParallelRefIterator<'a> {
            type Iter;
            fn par_iter(&'a self) -> Self::Iter;
        }

        impl<'a, T: ?Sized + 'a> IntoParallelRefIterator<'a> for T
        where
            &'a T: IntoIterator,
        {
            type Iter = <&'a T as IntoIterator>::IntoIter;

            fn par_iter(&'a self) -> Self::Iter {
                self.into_iter()
            }
        }

        /// Collections by reference that may be written.
        pub trait IntoParallelRefMutIterator<'a> {
            type Iter;
            fn par_iter_mut(&'a mut self) -> Self::Iter;
        }

        impl<'a, T: ?Sized + 'a> IntoParallelRefMutIterator<'a> for T
        where
            &'a mut T: IntoIterator,
        {
            type Iter = <&'a mut T as IntoIterator>::IntoIter;

            fn par_iter_mut(&'a mut self) -> Self::Iter {
                self.into_iter()
            }
        }

        /// Chunks of slices.
        pub trait ParallelSlice<T> {
            fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
            fn par_chunks_exact(&self, size: usize) -> ChunksExact<'_, T>;
        }

        impl<T> ParallelSlice<T> for [T] {
            fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
                self.chunks(size)
            }

            fn par_chunks_exact(&self, size: usize) -> ChunksExact<'_, T> {
                self.chunks_exact(size)
            }
        }

        /// Chunks of slices that may be written.
        pub trait ParallelSliceMut<T> {
            fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
            fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T>;
        }

        impl<T> ParallelSliceMut<T> for [T] {
            fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
                self.chunks_mut(size)
            }

            fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
                self.chunks_exact_mut(size)
            }
        }

        /// What iterators have under other names.
        pub trait ParallelIterator: Iterator + Sized {
            fn flat_map_iter<I: IntoIterator>(
                self,
                of: impl FnMut(Self::Item) -> I,
            ) -> impl Iterator<Item = I::Item> {
                self.flat_map(of)
            }

            fn position_first(mut self, is: impl Fn(Self::Item) -> bool) -> Option<usize> {
                self.position(is)
            }

            fn find_any(mut self, is: impl Fn(&Self::Item) -> bool) -> Option<Self::Item> {
                self.find(is)
            }

            fn for_each_init<T>(self, init: impl Fn() -> T, run: impl Fn(&mut T, Self::Item)) {
                let mut room = init();
                self.for_each(|item| run(&mut room, item));
            }

            fn try_for_each_init<T, E>(
                mut self,
                init: impl Fn() -> T,
                run: impl Fn(&mut T, Self::Item) -> Result<(), E>,
            ) -> Result<(), E> {
                let mut room = init();
                self.try_for_each(|item| run(&mut room, item))
            }
        }

        impl<T: Iterator> ParallelIterator for T {}
    }
}

#[cfg(test)]
mod tests {
    use super::serial;

    /// The same text by either prelude.
    macro_rules! all_of {
        ($prelude:path) => {{
            use $prelude::*;
            let mut words: Vec<u32> = (0..23).into_par_iter().map(|i| 7 * i).collect();
            words.par_iter_mut().enumerate().for_each(|(i, w)| *w += i as u32);
            words.par_chunks_mut(5).for_each(|some| some.reverse());
            words.par_chunks_exact_mut(4).enumerate().for_each_init(
                || [0u32; 1],
                |room, (i, some)| {
                    room[0] = i as u32;
                    some[0] += room[0];
                },
            );
            fn sums(words: &[u32]) -> impl IndexedParallelIterator<Item = u32> {
                words.par_chunks(6).map(|some| some.iter().sum())
            }
            let all: Vec<u32> = sums(&words).collect();
            let pairs = words.par_chunks(3).zip(words.par_chunks_exact(2));
            let sums: Vec<u32> =
                pairs.map(|(a, b)| a.iter().sum::<u32>() * b.iter().sum::<u32>()).collect();
            let many: Vec<u32> = sums.par_iter().flat_map_iter(|&x| [x, x + 1]).collect();
            let found = (0..40usize).into_par_iter().find_any(|i| i * i == 169);
            let first = words.par_chunks(2).position_first(|some| some[0] > 60);
            let whole = words.par_iter().try_for_each_init(
                || 3,
                |least, &word| if word < *least { Err(word) } else { Ok(()) },
            );
            let even: Result<Vec<u32>, u32> =
                many.par_iter().map(|&x| if x % 2 == 0 { Ok(x) } else { Err(1) }).collect();
            (words, all, sums, many, (found, first), whole, even)
        }};
    }

    #[test]
    fn one_thread_does_what_all_do() {
        assert_eq!(all_of!(serial::prelude), all_of!(rayon::prelude));
        assert_eq!(serial::join(|| 1, || "b"), rayon::join(|| 1, || "b"));
        assert_eq!(serial::current_num_threads(), 1);
    }

    #[test]
    fn folds_see_every_number_once() {
        for count in [0, 1, 1000] {
            let bits = super::fold(
                count,
                || vec![0; 1000],
                |mut seen: Vec<u32>, i| {
                    seen[i] += 1;
                    seen
                },
                |a, b| a.iter().zip(b).map(|(a, b)| a + b).collect(),
            );
            assert!(bits.iter().enumerate().all(|(i, &n)| n == u32::from(i < count)), "{count}");
        }
    }
}
