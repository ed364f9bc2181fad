//! Thread pools, work shared among their threads, and the flag that interrupts long work.

use crate::error::{Error, Result};
use rayon::{Scope, ThreadPool};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The threads of this process, by the size of their pool.
type Started = Mutex<HashMap<usize, Arc<ThreadPool>>>;

/// The threads started so far; null before the first, and again in the child of a fork: no thread but the forking one lives on
/// there, and a lock that another thread held stays locked. So the child does not touch the threads and their lock and starts its
/// own.
static STARTED: AtomicPtr<Started> = AtomicPtr::new(std::ptr::null_mut());
/// The threads of this process.
fn started() -> &'static Started {
    loop {
        // Safety: the pointer is null or comes from `Box::leak` below.
        if let Some(started) = unsafe { STARTED.load(Ordering::Acquire).as_ref() } {
            return started;
        }
        clear_by_fork();
        let fresh: *mut Started = Box::leak(Box::default());
        if STARTED.compare_exchange(std::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // Safety: no other thread has seen the pointer.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

/// Has every fork from now on clear `STARTED` in its child. Two threads may both do so, which is harmless; a lock here could be
/// held during a fork.
fn clear_by_fork() {
    #[cfg(unix)]
    {
        /// Whether a fork clears `STARTED` in its child already.
        static CLEARED_BY_FORK: AtomicBool = AtomicBool::new(false);
        extern "C" fn clear() {
            STARTED.store(std::ptr::null_mut(), Ordering::Release);
        }
        if !CLEARED_BY_FORK.load(Ordering::Acquire) {
            // Safety: `clear` does nothing but an atomic store.
            unsafe { libc::pthread_atfork(None, None, Some(clear)) };
            CLEARED_BY_FORK.store(true, Ordering::Release);
        }
    }
}

/// The number of threads for the option `threads`: 0 means all cores.
pub fn count(threads: usize) -> usize {
    /// Asking the system takes longer than an evaluation on small data.
    static CORES: OnceLock<usize> = OnceLock::new();
    match threads {
        0 => *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        _ => threads.min(1024),
    }
}

/// A number of threads to share work among. Each process starts the threads once for each number and reuses them. A pool that a
/// forked process inherits starts its threads again.
#[derive(Clone, Copy)]
pub struct Pool {
    n_threads: usize,
}

/// The pool of `threads` threads (0: all cores), which are started unless they run already.
pub fn pool(threads: usize) -> Result<Pool> {
    let pool = Pool { n_threads: count(threads) };
    pool.threads().map(|_| pool)
}

impl Pool {
    pub fn n_threads(self) -> usize {
        self.n_threads
    }

    /// The threads of this process.
    fn threads(self) -> Result<Arc<ThreadPool>> {
        let mut started = locked(started());
        if let Some(threads) = started.get(&self.n_threads) {
            return Ok(Arc::clone(threads));
        }
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(self.n_threads)
            .thread_name(|index| format!("loglinear-{index}"))
            .build()
            .map_err(|error| Error::Option(format!("cannot start {} threads: {error}; use fewer", self.n_threads)))?;
        let threads = Arc::new(threads);
        started.insert(self.n_threads, Arc::clone(&threads));
        Ok(threads)
    }

    /// Runs work whose parallel iterators share these threads.
    pub fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        let (mut work, mut result) = (Some(work), None);
        self.install_once(&mut || result = work.take().map(|work| work()));
        result.expect("a pool runs what it is given, or panics")
    }

    /// `install` of work that keeps its own result. Like `run_all` it is not generic, so it is compiled once.
    fn install_once(self, work: &mut (dyn FnMut() + Send)) {
        match self.threads() {
            Ok(threads) => threads.install(work),
            // Only a forked process may be unable to start the threads again.
            Err(error) => panic!("{error}"),
        }
    }
}

impl Pool {
    /// Runs work on the calling thread. What it spawns into the scope runs on these threads, and has ended when this returns.
    pub fn scope<'s, R>(self, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        match self.threads() {
            Ok(threads) => threads.in_place_scope(work),
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs `work`, which takes item after item until none is left, on the calling thread and on others: as many threads are busy
    /// as the pool has, but at most one for each of `n_items`. A single item wakes no other thread.
    pub fn work_together(self, n_items: usize, work: &(dyn Fn() + Sync)) {
        let helpers = self.n_threads.min(n_items).saturating_sub(1);
        let threads = if helpers == 0 { None } else { self.threads().ok() };
        let Some(threads) = threads else { return work() };
        threads.in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| work()));
            work();
        });
    }
}

/// Runs of neighbouring items that each thread should get: few, because neighbours share caches, but enough that threads
/// finish at about the same time.
const RUNS: usize = 8;

/// Applies `work` to every item and returns the results, first item first.
///
/// The calling thread works too: as many threads are busy as the pool has, and a pool of one wakes no other thread.
pub fn share<T: Send, R: Send + Sync>(pool: Pool, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if pool.n_threads.min(items.len()) < 2 {
        return items.into_iter().map(work).collect();
    }
    let slots: Vec<_> = items.into_iter().map(|item| (Mutex::new(Some(item)), OnceLock::new())).collect();
    run_all(pool, slots.len(), &|index| {
        let (item, result) = &slots[index];
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = item.map(|item| result.set(work(item)));
    });
    slots.into_iter().filter_map(|(_, result)| result.into_inner()).collect()
}

/// Calls `work` with every number below `n_items`, on the threads of a pool.
fn run_all(pool: Pool, n_items: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let run_of = (n_items / (RUNS * pool.n_threads.min(n_items).max(1))).max(1);
    pool.work_together(n_items, &|| {
        loop {
            let first = next.fetch_add(run_of, Ordering::Relaxed);
            if first >= n_items {
                break;
            }
            (first..n_items.min(first + run_of)).for_each(work);
        }
    });
}

/// The flag that stops long work: one thread sets it, workers read it between blocks. Clones are the same flag.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

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
            let results = share(pool, (0..items).collect(), |item: usize| item * item);
            assert_eq!(results, (0..items).map(|item| item * item).collect::<Vec<_>>());
        }
    }

    #[test]
    fn work_on_one_item_stays_on_the_calling_thread() {
        let caller = std::thread::current().id();
        for (threads, items, expected) in [(1, 9, 1), (3, 0, 1), (3, 1, 1), (3, 2, 2), (3, 9, 3)] {
            let calls = Mutex::new(Vec::new());
            let work = || locked(&calls).push(std::thread::current().id());
            pool(threads).unwrap().work_together(items, &work);
            let calls = locked(&calls);
            assert_eq!(calls.len(), expected);
            assert_eq!(calls.iter().filter(|&&thread| thread == caller).count(), 1);
        }
    }
}
