//! Thread pools by size, and the flag that interrupts long work.

use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

static POOLS: Mutex<Option<HashMap<usize, Arc<ThreadPool>>>> = Mutex::new(None);

/// The number of threads meant by a setting: 0 stands for all cores.
pub fn count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads.min(1024) }
}

/// A pool of that many threads, made once per size.
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

/// Runs of neighbouring items that a thread should get: few, for neighbours share caches, but enough to even out.
const RUNS: usize = 8;

/// Does work on every item; returns the results in the order of the items. The calling thread takes its share, so that
/// as many threads are at it as the pool has, and with one no other is woken.
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

/// Set from outside to stop long work; workers look at it between blocks.
#[derive(Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A slice in parts of these sizes, one behind the other.
pub fn parts<T>(mut whole: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes
        .map(|size| {
            let (part, rest) = std::mem::take(&mut whole).split_at_mut(size);
            whole = rest;
            part
        })
        .collect()
}

/// A panic elsewhere leaves buffers that are cleared before use: the lock may be taken all the same.
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
