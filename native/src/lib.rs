//! loglinear, the native half.
