//! Paths: minima at falling strengths of the L1 penalty, each from the weights of the one before (Friedman, Hastie & Tibshirani,
//! Journal of Statistical Software 33(1), 2010, section 2.5).

use crate::classifier::descent::{Ending, Rules, minimise};
use crate::classifier::gap::gap;
use crate::classifier::gram::KeptGram;
use crate::classifier::newton::NewtonSettings;
use crate::classifier::objective::Classifier;
use crate::classifier::point::Point;
use crate::classifier::screen::Screen;
use crate::error::Result;
use crate::threads::Interrupt;
use std::sync::Arc;

/// A path of a classifier on its way.
pub struct Walk {
    classifier: Arc<Classifier>,
    settings: NewtonSettings,
    point: Point,
    grams: KeptGram,
    /// The largest absolute value in each column; none if all values are 1.
    largest: Option<Vec<f64>>,
}

/// A point of a path.
pub struct Reached {
    pub w: Vec<f64>,
    /// The negative log-likelihood.
    pub nll: f64,
    /// A bound of the distance of the objective from its minimum, nats.
    pub gap: f64,
    pub ending: Ending,
}

impl Walk {
    /// The start of a path at some weights.
    pub fn new(classifier: Arc<Classifier>, w: Vec<f64>, settings: NewtonSettings) -> Walk {
        let (mut point, largest) = (Point::at(&classifier, w), classifier.largest_values());
        point.screen = classifier.design.table().is_none().then(|| Screen::new(&classifier));
        Walk { classifier, settings, point, grams: KeptGram::on(), largest }
    }

    /// Minimises at a strength of the L1 penalty.
    pub fn minimise(&mut self, l1: f64, rules: &Rules, interrupt: &Interrupt) -> Result<Reached> {
        self.settings.l1 = l1;
        let Walk { classifier, settings, point, grams, .. } = self;
        let Point { w, residuals, gradient, screen, .. } = &mut *point;
        if let Some(screen) = screen {
            screen.gradient(classifier, residuals, w, l1, gradient, interrupt);
            interrupt.check()?;
        }
        let ending = minimise(classifier, point, grams, settings, rules, interrupt)?;
        Ok(self.reached(ending))
    }

    /// The weights where an interruption has left off.
    pub fn left(&mut self, l1: f64) -> Reached {
        self.settings.l1 = l1;
        // Of the rest of the point, the interruption may have left a part of the step before.
        self.point = Point::at(&self.classifier, std::mem::take(&mut self.point.w));
        let (objective, violation) =
            self.point.measure(&self.classifier, (l1, self.settings.l2), &self.settings.excluded);
        self.reached(Ending { objective, violation, steps: 0, evaluations: 1, converged: false, failed: false })
    }

    fn reached(&self, ending: Ending) -> Reached {
        let Point { w, nll, .. } = &self.point;
        let penalty = (self.settings.l1, self.settings.l2);
        let gap = gap(&self.classifier, &self.point, self.largest.as_deref(), penalty, ending.objective);
        let mut w = w.clone();
        if self.classifier.n_outputs() > 1 {
            // What is added to the intercepts of all classes changes nothing.
            let intercepts = &mut w[self.classifier.n_penalised()..];
            let mean = intercepts.iter().sum::<f64>() / intercepts.len() as f64;
            intercepts.iter_mut().for_each(|w| *w -= mean);
        }
        Reached { w, nll: *nll, gap, ending }
    }
}
