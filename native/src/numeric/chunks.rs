//! Loops over long vectors, chunk by chunk, on many threads.
//!
//! Vectors are cut into chunks of a fixed size. Each chunk gives its own sums, and the sums of the chunks are added up first
//! chunk first: results are bitwise the same on any number of threads. Within a chunk the compiler turns the loops over lanes
//! into vector instructions, whose sums are the same on every processor; `pulp` chooses the instruction set.

use crate::numeric::arch::arch;
use crate::numeric::{LANES, prefetch_range};
use crate::threads;
use pulp::{Simd, WithSimd};

/// Elements of a chunk: chunks of several vectors fit the second-level cache together, and the part of one vector is long
/// enough for its cache lines to be fetched ahead.
pub const CHUNK: usize = 2048;
/// Elements of vectors, read and written together, for which no thread is woken: they take some tens of microseconds.
pub const SMALL: usize = 1 << 18;
/// Elements between two requests for memory ahead.
pub const PIECE: usize = 64;

/// Applies `work` to all chunks and returns the results, first chunk first. Uses `n_threads` threads if the chunks have more
/// than `SMALL` elements together.
pub fn on_chunks<T: Send, R: Send + Sync>(
    elements: usize,
    n_threads: usize,
    chunks: impl Iterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    match threads::pool(n_threads) {
        Ok(pool) if elements > SMALL => threads::share(pool, chunks.collect(), work),
        _ => chunks.map(work).collect(),
    }
}

/// Compiles the closure for every instruction set and calls the version for this processor.
#[inline(always)]
pub fn dispatched<R, F: FnOnce() -> R>(work: F) -> R {
    struct Work<F>(F);
    impl<R, F: FnOnce() -> R> WithSimd for Work<F> {
        type Output = R;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) -> R {
            (self.0)()
        }
    }
    arch().dispatch(Work(work))
}

/// Adds up K sums of each chunk, first chunk first.
pub fn total<const K: usize>(parts: &[[f64; K]]) -> [f64; K] {
    parts.iter().fold([0.0; K], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        total
    })
}

/// K sums of terms(i) over i < n. Each lane has its own sum: the compiler makes vectors of the lanes.
#[inline(always)]
pub fn lanes<const K: usize>(n: usize, mut terms: impl FnMut(usize) -> [f64; K]) -> [f64; K] {
    let mut sums = [[0.0; LANES]; K];
    let whole = n - n % LANES;
    let mut at = 0;
    while at < whole {
        for lane in 0..LANES {
            let term = terms(at + lane);
            for k in 0..K {
                sums[k][lane] += term[k];
            }
        }
        at += LANES;
    }
    let mut total = sums.map(|lanes| lanes.iter().sum());
    for i in whole..n {
        let term = terms(i);
        for k in 0..K {
            total[k] += term[k];
        }
    }
    total
}

/// Asks the processor to load the piece of x that begins one chunk after `at`, which the next chunk will read. Without such
/// requests the memory idles while the processor computes, and the processor idles while it waits for memory.
#[inline(always)]
pub fn fetch_ahead<T>(x: &[T], at: usize) {
    prefetch_range(x, at + CHUNK..at + CHUNK + PIECE);
}

/// Calls `work` with consecutive ranges of `PIECE` elements that cover 0..n; the last range may be shorter. The compiler sees
/// that all others are whole.
#[inline(always)]
pub fn pieces(n: usize, mut work: impl FnMut(std::ops::Range<usize>)) {
    let whole = n - n % PIECE;
    let mut at = 0;
    while at < whole {
        work(at..at + PIECE);
        at += PIECE;
    }
    if whole < n {
        work(whole..n);
    }
}
