//! The file of a network, written and read.

use crate::bindings::arrays::read;
use crate::network::file;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The content of a network's file; fields as in `network::file::NetworkFile`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct NetworkFile {
    settings: String,
    edges: Py<PyArray1<u32>>,
    node_weights: Py<PyArray1<f64>>,
    edge_weights: Py<PyArray1<f64>>,
}

/// Writes the file of a network, whole or not at all.
#[pyfunction]
pub fn write_network(
    py: Python<'_>,
    path: PathBuf,
    settings: String,
    edges: PyReadonlyArray2<'_, u32>,
    node_weights: PyReadonlyArray1<'_, f64>,
    edge_weights: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let file = file::NetworkFile {
        settings,
        edges: read(&edges)?.to_vec(),
        node_weights: read(&node_weights)?.to_vec(),
        edge_weights: read(&edge_weights)?.to_vec(),
    };
    Ok(py.detach(|| file.save(&path))?)
}

/// Reads the file of a network.
#[pyfunction]
pub fn read_network(py: Python<'_>, path: PathBuf) -> PyResult<NetworkFile> {
    let file = py.detach(|| file::NetworkFile::open(&path))?;
    Ok(NetworkFile {
        settings: file.settings,
        edges: PyArray1::from_vec(py, file.edges).unbind(),
        node_weights: PyArray1::from_vec(py, file.node_weights).unbind(),
        edge_weights: PyArray1::from_vec(py, file.edge_weights).unbind(),
    })
}
