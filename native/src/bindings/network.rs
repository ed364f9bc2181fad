//! `Network`: inference in pairwise Markov random fields.

use super::arrays::{numbers, read};
use super::errors::OptionError;
use crate::network;
use crate::network_file::NetworkFile;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;

#[pyclass(module = "loglinear._core", frozen)]
pub struct Network {
    inner: network::Network,
    threads: usize,
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (states, edges, *, threads=0))]
    fn new(states: PyReadonlyArray1<'_, i64>, edges: PyReadonlyArray2<'_, i64>, threads: usize) -> PyResult<Self> {
        let states: Vec<u32> = numbers("numbers of states", &states, 1 << 16)?.into_iter().map(|r| r as u32).collect();
        if edges.shape()[1] != 2 {
            return Err(OptionError::new_err("edges need two columns"));
        }
        let ends: Option<Vec<u32>> = edges.as_array().iter().map(|&v| u32::try_from(v).ok()).collect();
        let ends = ends.ok_or_else(|| OptionError::new_err("edges name variables by numbers of at least 0"))?;
        let edges = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Ok(Network { inner: network::Network::new(states, edges)?, threads })
    }

    #[getter]
    fn n_variables(&self) -> usize {
        self.inner.n_variables()
    }

    #[getter]
    fn n_edges(&self) -> usize {
        self.inner.edges().len()
    }

    #[getter]
    fn n_threads(&self) -> usize {
        crate::threads::count(self.threads)
    }
}

/// Writes the file of a network, which is replaced whole or not at all.
#[pyfunction]
pub fn write_network(
    py: Python<'_>,
    path: PathBuf,
    settings: String,
    edges: PyReadonlyArray2<'_, u32>,
    node_weights: PyReadonlyArray1<'_, f64>,
    edge_weights: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let file = NetworkFile {
        settings,
        edges: read(&edges)?.to_vec(),
        node_weights: read(&node_weights)?.to_vec(),
        edge_weights: read(&edge_weights)?.to_vec(),
    };
    Ok(py.detach(|| file.save(&path))?)
}

/// Settings, pairs of variables one behind the other, node and edge weights.
type Parts<'py> = (String, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Reads the file of a network.
#[pyfunction]
pub fn read_network(py: Python<'_>, path: PathBuf) -> PyResult<Parts<'_>> {
    let file = py.detach(|| NetworkFile::open(&path))?;
    let edges = PyArray1::from_vec(py, file.edges);
    let [nodes, tables] = [file.node_weights, file.edge_weights].map(|weights| PyArray1::from_vec(py, weights));
    Ok((file.settings, edges, nodes, tables))
}
