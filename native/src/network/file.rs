//! The file of a pairwise Markov random field: safetensors, with the checksum of all model files.
//!
//! | tensor | type, shape | content |
//! | --- | --- | --- |
//! | `network.edges` | u32 (n, 2) | variables of each edge |
//! | `network.node_weights` | f64 (n,) | scores of the states of all variables |
//! | `network.edge_weights` | f64 (n,) | tables of all edges |
//!
//! The metadata hold `settings` (JSON), which name variables and states.

use crate::error::{Error, Result};
use crate::files::model_file::{self, Expected, Storage, Tensor};
use safetensors::tensor::Dtype;
use std::collections::HashMap;
use std::path::Path;

/// The tensors of the file.
const EXPECTED: [Expected; 3] = [
    ("network.edges", Dtype::U32, 2),
    ("network.node_weights", Dtype::F64, 1),
    ("network.edge_weights", Dtype::F64, 1),
];

/// The content of the file.
#[derive(Debug, PartialEq)]
pub struct NetworkFile {
    /// JSON
    pub settings: String,
    /// First and second variable of edge 0, then of edge 1, and so on.
    pub edges: Vec<u32>,
    pub node_weights: Vec<f64>,
    pub edge_weights: Vec<f64>,
}

impl NetworkFile {
    /// Writes the file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        model_file::save(&self.bytes()?, path)
    }

    pub fn bytes(&self) -> Result<Storage> {
        let tensor =
            |at: usize, shape: Vec<usize>, bytes| Tensor { name: EXPECTED[at].0, kind: EXPECTED[at].1, shape, bytes };
        let tensors = vec![
            tensor(0, vec![self.edges.len() / 2, 2], bytemuck::cast_slice(&self.edges)),
            tensor(1, vec![self.node_weights.len()], bytemuck::cast_slice(&self.node_weights)),
            tensor(2, vec![self.edge_weights.len()], bytemuck::cast_slice(&self.edge_weights)),
        ];
        let metadata = HashMap::from([("settings".to_owned(), self.settings.clone())]);
        model_file::encode(tensors, metadata)
    }

    /// Reads the file.
    pub fn open(path: &Path) -> Result<Self> {
        NetworkFile::of_bytes(&Storage::open(path)?, &path.display().to_string())
    }

    /// The network of the bytes of its file; `name` is what errors call it.
    pub fn of_bytes(storage: &[u8], name: &str) -> Result<Self> {
        let contents = model_file::decode(storage, name, &EXPECTED, &[])?;
        let settings = contents.metadata.get("settings").cloned();
        let settings = settings.ok_or_else(|| Error::ModelFile(format!("{name}: not a network model")))?;
        let bytes = |at: usize| &storage[contents.range(EXPECTED[at].0)];
        let numbers = |at| bytes(at).chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        Ok(NetworkFile {
            settings,
            edges: bytes(0).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect(),
            node_weights: numbers(1),
            edge_weights: numbers(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("network");
        let file = NetworkFile {
            settings: "{}".into(),
            edges: vec![0, 1, 1, 2],
            node_weights: vec![0.0, 0.5, 0.0, -1.0, 0.0, 2.0],
            edge_weights: vec![1.5; 8],
        };
        file.save(&path).unwrap();
        assert_eq!(NetworkFile::open(&path).unwrap(), file);
    }
}
