//! The instruction set that loops over vectors are dispatched to: the processor's best, or a lower one to compare results with.

use pulp::Arch;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names, the lowest instruction set first. NEON is the only one of AArch64 apart from the baseline.
pub const NAMES: [&str; 4] = ["baseline", "NEON", "AVX2 and FMA", "AVX-512"];

/// The highest instruction set that is used, by its place in `NAMES`.
static HIGHEST: AtomicUsize = AtomicUsize::new(NAMES.len() - 1);

/// A struct of arguments to `dispatch` to an instruction set, or to `vectorize`: its work is compiled for each of them, apart from
/// its callers.
macro_rules! simd_task {
    ($(#[$doc:meta])* $visibility:vis $name:ident$(<$($life:lifetime),*>)?($($field:ident: $type:ty),*) -> $output:ty,
     |$simd:pat_param| $work:expr) => {
        $(#[$doc])*
        $visibility struct $name$(<$($life),*>)?($($visibility $type),*);

        impl$(<$($life),*>)? pulp::WithSimd for $name$(<$($life),*>)? {
            type Output = $output;

            #[inline(always)]
            fn with_simd<S: pulp::Simd>(self, $simd: S) -> $output {
                let $name($($field),*) = self;
                $work
            }
        }
    };
}
pub(crate) use simd_task;

/// The instruction set to dispatch to.
#[inline]
pub fn arch() -> Arch {
    match HIGHEST.load(Ordering::Relaxed) {
        0 => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        2 => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

/// Leaves out instruction sets above the named one, from now on and on all threads. What the processor lacks stays unused.
/// Returns whether the name is one of `NAMES`.
pub fn limit(name: &str) -> bool {
    let highest = NAMES.iter().position(|&candidate| candidate == name);
    if let Some(highest) = highest {
        HIGHEST.store(highest, Ordering::Relaxed);
    }
    highest.is_some()
}

/// The name of the instruction set in use.
pub fn name() -> &'static str {
    simd_task!(Width() -> usize, |_| S::F64_LANES);
    // One, two, four or eight numbers in a vector.
    NAMES[arch().dispatch(Width()).ilog2() as usize]
}
