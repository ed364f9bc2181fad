//! What happens when memory runs out.
//!
//! Rust ends the process with SIGABRT when an allocation fails. Large tables, which `Aligned` holds, are allocated fallibly: a
//! failure ends the work with a panic that carries `OutOfMemory`, which the bindings turn into Python's `MemoryError`. On the
//! command line every failed allocation ends the process as other failures do: a message, and exit code 1.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// An allocation that failed.
#[derive(Debug, Clone, Copy)]
pub struct OutOfMemory {
    pub bytes: usize,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "out of memory: could not allocate {} MB; {REMEDY}", self.bytes.div_ceil(1_000_000))
    }
}

/// What to do when memory runs out.
pub const REMEDY: &str =
    "give the data in parts, leave out rare attributes in training (--min-count), or use a machine with more memory";

/// Reserves room for `more` values in the vector, or panics with `OutOfMemory`.
pub fn reserve<T>(vector: &mut Vec<T>, more: usize) {
    if vector.try_reserve_exact(more).is_err() {
        std::panic::panic_any(OutOfMemory { bytes: more.saturating_mul(size_of::<T>()) });
    }
}

/// The system's allocator, which ends the process if the command line has requested that.
pub struct Allocator;

/// Whether a failed allocation ends the process.
static ENDS: AtomicBool = AtomicBool::new(false);

/// From now on a failed allocation ends the process with a message and exit code 1.
pub fn end_when_exhausted() {
    ENDS.store(true, Ordering::Relaxed);
}

// SAFETY: every method hands its arguments to the system's allocator and returns what that returns, or does not return.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() && ENDS.load(Ordering::Relaxed) {
        end(bytes);
    }
    pointer
}

/// Ends the process. Nothing here may allocate.
#[cold]
fn end(bytes: usize) -> ! {
    use std::io::Write;
    let mut text = [0u8; 256];
    let mut rest = &mut text[..];
    let _ = writeln!(rest, "loglinear: {}", OutOfMemory { bytes });
    let length = 256 - rest.len();
    #[cfg(unix)]
    // SAFETY: a write of initialised bytes to stderr, and an end without destructors.
    unsafe {
        libc::write(2, text.as_ptr().cast(), length);
        libc::_exit(1)
    }
    #[cfg(not(unix))]
    {
        let _ = std::io::stderr().write_all(&text[..length]);
        std::process::exit(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_no_memory_holds_is_a_panic_with_its_size() {
        let mut table: Vec<f64> = Vec::new();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reserve(&mut table, 1 << 58)));
        let error = *panic.unwrap_err().downcast::<OutOfMemory>().unwrap();
        assert_eq!(error.bytes, 1 << 61);
        assert!(error.to_string().contains("2305843009214 MB;"), "{error}");
    }
}
