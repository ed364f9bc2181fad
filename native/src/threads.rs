//! Thread pools by size, and the flag that interrupts long work.

use crate::error::{Error, Result};
use rayon::ThreadPool;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

static POOLS: Mutex<Option<HashMap<usize, Arc<ThreadPool>>>> = Mutex::new(None);

/// The number of threads meant by a setting: 0 stands for all cores.
pub fn count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads.min(1024) }
}

/// A pool of that many threads, made once per size.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    let threads = count(threads);
    let mut pools = POOLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
