//! Arrow's data of any library, read where they lie, and the arrays of results.
//!
//! Source: the Arrow C data interface, its stream interface and its PyCapsule interface,
//! arrow.apache.org/docs/format/CDataInterface.html.

pub mod columns;
pub mod decimals;
pub mod export;
pub mod memory;
pub mod objects;
pub mod sentences;
pub mod strings;
