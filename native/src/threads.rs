//! Thread pools, work shared among their threads, and the flag that interrupts long work.

use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The pools made so far, by their number of threads.
static POOLS: Mutex<Option<HashMap<usize, Arc<ThreadPool>>>> = Mutex::new(None);

/// The number of threads that the option `threads` asks for: 0 stands for all cores.
pub fn count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads.min(1024) }
}

/// The pool of `threads` threads (0: all cores). Pools are made once for each size and kept.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    let threads = count(threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("loglinear-{index}"))
        .build()
        .map_err(|error| Error::Option(format!("cannot start {threads} threads: {error}; ask for fewer")))?;
    let pool = Arc::new(pool);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

/// Runs of neighbouring items that each thread should get: few, because neighbours share caches, but enough that threads
/// finish at about the same time.
const RUNS: usize = 8;

/// Applies `work` to every item and returns the results, first item first.
///
/// The calling thread works too: as many threads are busy as the pool has, and a pool of one wakes no other thread.
pub fn share<T: Send, R: Send + Sync>(pool: &ThreadPool, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = pool.current_num_threads().min(items.len()).saturating_sub(1);
    if helpers == 0 {
        return items.into_iter().map(work).collect();
    }
    let slots: Vec<_> = items.into_iter().map(|item| (Mutex::new(Some(item)), OnceLock::new())).collect();
    let next = AtomicUsize::new(0);
    let run_of = (slots.len() / (RUNS * (helpers + 1))).max(1);
    let run = || {
        while let Some(rest) = slots.get(next.fetch_add(run_of, Ordering::Relaxed)..).filter(|rest| !rest.is_empty()) {
            for (item, result) in rest.iter().take(run_of) {
                let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
                let _ = item.map(|item| result.set(work(item)));
            }
        }
    };
    pool.in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| run()));
        run();
    });
    slots.into_iter().filter_map(|(_, result)| result.into_inner()).collect()
}

/// The flag that stops long work: one thread sets it, workers read it between blocks.
#[derive(Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    /// Asks all work that watches the flag to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether work should stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Error::Interrupted` if the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Cuts a slice into consecutive parts of the given sizes.
pub fn parts<T>(mut whole: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes
        .map(|size| {
            let (part, rest) = std::mem::take(&mut whole).split_at_mut(size);
            whole = rest;
            part
        })
        .collect()
}

/// The lock of a buffer, also after a panic of another thread that held it: every use clears the buffer first.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_work_is_done_once_and_in_order() {
        for (threads, items) in [(1, 5), (2, 0), (2, 1), (3, 1000), (4, 3)] {
            let pool = pool(threads).unwrap();
            let results = share(&pool, (0..items).collect(), |item: usize| item * item);
            assert_eq!(results, (0..items).map(|item| item * item).collect::<Vec<_>>());
        }
    }
}
