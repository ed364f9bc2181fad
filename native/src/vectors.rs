//! Vector work of the optimisers.
