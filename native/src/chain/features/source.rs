//! The features of a chain with all names: what a model is made of.

use crate::chain::features::Features;
use crate::corpus::alphabet::Alphabet;

/// All parts of a model except its weights.
pub struct Source<'a> {
    pub features: &'a Features,
    /// Names of the attributes.
    pub attributes: &'a Alphabet,
    pub labels: &'a [String],
    /// Settings and training summary, as JSON.
    pub settings: String,
    pub template: Option<&'a str>,
    /// Name of the attribute that every token has, if there is one.
    pub intercept: Option<&'a str>,
}
