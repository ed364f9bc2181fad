//! Python's collection of reference cycles, paused while many objects are made that form none.

use pyo3::ffi;
use pyo3::prelude::*;

/// No collection runs while this lives: the more objects a list of results has, the more often it would be searched in vain.
pub struct Paused<'py> {
    _py: Python<'py>,
    was_enabled: bool,
}

impl<'py> Paused<'py> {
    /// Pauses the collection until the value is dropped.
    pub fn new(py: Python<'py>) -> Self {
        // Safety: the interpreter is attached, which is all that the function asks for.
        Paused { _py: py, was_enabled: unsafe { ffi::PyGC_Disable() } != 0 }
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // Safety: as above; `_py` shows that the interpreter is still attached.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
