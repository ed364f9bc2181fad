//! Pieces of sentences laid out in groups of eight, with the features of their cells.

use crate::chain::inference::Pieces;
use crate::chain::objective::costs::Costs;
use crate::chain::objective::pruned::by_attribute::FeaturesByAttribute;
use crate::chain::objective::pruned::entries::CellEntries;
use crate::chain::objective::pruned::pieces::{Cutter, Piece, length, row_of};
use crate::chain::objective::weighted::Weighted;
use crate::corpus::Corpus;
use crate::numeric::arch::{arch, simd_task};
use crate::numeric::{self, LANES};
use std::ops::Range;

/// The pieces of a block's sentences.
pub struct PrunedBlock {
    groups: Vec<Group>,
    /// Token of a group -> its number of slots.
    slots: Vec<u16>,
    /// Factors of pieces, eight for each group, or for each token of a group of single pieces.
    weights: Vec<[f64; LANES]>,
    labels: Vec<[u16; LANES]>,
    /// Slot x lanes: what scores begin at, -inf in empty slots; before `begin_at` the marginals, 0 in empty slots.
    offsets: Vec<[f64; LANES]>,
    /// Entries of features that several blocks meet, group by group; places are slots x lanes.
    shared: CellEntries,
    /// Entries of the block's own features; their numbers count from the first of these.
    own: CellEntries,
    pub own_range: Range<usize>,
    /// Group -> the end of the places of its gold cells.
    gold_ends: Vec<u32>,
    gold: Vec<u32>,
    /// The cost of the token of each gold cell; empty if no token has any.
    gold_costs: Vec<f64>,
    /// Transitions, then triples: their counts among the gold labels of the pieces.
    pub gold_links: Vec<f64>,
}

/// Eight pieces abreast, or any number of single pieces, eight a token.
struct Group {
    /// Ends in `slots`, in `labels` and `offsets`, and in `weights`.
    ends: [u32; 3],
    is_single: bool,
}

/// A token of a group.
struct Token {
    number: usize,
    /// The range of its attributes in the corpus.
    attributes: Range<usize>,
    /// The place of its first slot.
    place: u32,
    /// The places of its labels' slots.
    slots: usize,
    /// Bit per label, of the first 64: whether it has a slot.
    labels: u64,
}

/// The number of tokens that take turns in laying out an entry: then sums of neighbouring entries do not wait for each other,
/// neither scores of cells nor gradients of features.
const TURNS: usize = 4;

/// The buffers of building a block.
#[derive(Default)]
struct Buffers {
    tokens: Vec<Token>,
    /// Token x labels -> slot, or `NOWHERE`.
    slots: Vec<u16>,
    shared_entries: (Vec<(u32, u32)>, Vec<f64>),
    own_entries: (Vec<(u32, u32)>, Vec<f64>),
}

/// The slot of a label that a token does not keep.
const NOWHERE: u16 = u16::MAX;

impl PrunedBlock {
    /// Lays out the pieces that a cutter holds.
    pub fn new(
        sentences: Weighted<'_>,
        own_range: Range<usize>,
        cutter: &Cutter,
        by_attribute: &FeaturesByAttribute<'_>,
    ) -> PrunedBlock {
        let Weighted { corpus, costs, .. } = sentences;
        let mut laid = PrunedBlock {
            groups: Vec::new(),
            slots: Vec::new(),
            weights: Vec::new(),
            labels: Vec::new(),
            offsets: Vec::new(),
            shared: CellEntries::default(),
            own: CellEntries::default(),
            own_range,
            gold_ends: Vec::new(),
            gold: Vec::new(),
            gold_costs: Vec::new(),
            gold_links: vec![0.0; by_attribute.features.first_state()],
        };
        for piece in cutter.pieces.iter().filter(|piece| !piece.is_single) {
            let gold = &corpus.gold[piece.token..piece.token + piece.rows.len()];
            by_attribute.count_links(gold, piece.weight, &mut laid.gold_links);
        }
        arch().dispatch(AddGroups(&mut laid, (corpus, costs), cutter, by_attribute));
        laid
    }

    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of entries of features.
    pub fn n_entries(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    /// The shape of a group.
    #[inline(always)]
    pub fn pieces(&self, group: usize) -> Pieces<'_> {
        let [slots, rows, weights] = self.ranges(group);
        let (labels, offsets) = (&self.labels[rows.clone()], &self.offsets[rows]);
        let is_single = self.groups[group].is_single;
        Pieces { slots: &self.slots[slots], labels, offsets, weights: &self.weights[weights], is_single }
    }

    /// Adds the weights of a group's features to its scores. `shared_weights` are the weights of features that several blocks
    /// meet, `own_weights` the weights of the block's own features.
    #[inline(always)]
    pub fn add_weights(&self, group: usize, shared_weights: &[f64], own_weights: &[f64], scores: &mut [f64]) {
        self.shared.add_weights(group, shared_weights, scores);
        self.own.add_weights(group, own_weights, scores);
    }

    /// Adds the marginals of a group to the gradient of its features.
    #[inline(always)]
    pub fn spread(&self, group: usize, marginals: &[f64], shared_gradient: &mut [f64], own_gradient: &mut [f64]) {
        self.shared.spread(group, marginals, 1, shared_gradient);
        self.own.spread(group, marginals, 1, own_gradient);
    }

    /// Before `begin_at`: adds p (1 - p) times the squared value of each entry to the targets.
    pub fn spread_curvatures(&self, shared_sums: &mut [f64], own_sums: &mut [f64]) {
        let mut curvatures = Vec::new();
        for group in 0..self.n_groups() {
            let pieces = self.pieces(group);
            curvatures.clear();
            for (offsets, weights) in pieces.offsets.iter().zip(pieces.weights_of_slots()) {
                curvatures.extend(offsets.iter().zip(weights).map(|(p, weight)| p * (1.0 - p).max(0.0) * weight));
            }
            self.shared.spread(group, &curvatures, 2, shared_sums);
            self.own.spread(group, &curvatures, 2, own_sums);
        }
    }

    /// Before `begin_at`: adds the counts of the gold labels of the pieces, less the expected ones, to the targets.
    pub fn spread_errors(&self, shared_counts: &mut [f64], own_counts: &mut [f64]) {
        let mut marginals = Vec::new();
        for group in 0..self.n_groups() {
            let pieces = self.pieces(group);
            let weights: Vec<[f64; LANES]> = pieces.weights_of_slots().collect();
            marginals.clear();
            for (offsets, weights) in pieces.offsets.iter().zip(&weights) {
                marginals.extend(offsets.iter().zip(weights).map(|(p, weight)| -p * weight));
            }
            for &place in &self.gold[self.gold_places(group)] {
                marginals[place as usize] += weights[place as usize / LANES][place as usize % LANES];
            }
            self.spread(group, &marginals, shared_counts, own_counts);
        }
    }

    /// Makes single pieces begin at their log marginals at `w`, and the others at 0.
    pub fn begin_at(&mut self, w: &[f64]) {
        let mut scores = Vec::new();
        for group in 0..self.n_groups() {
            let ([_, rows, _], places) = (self.ranges(group), self.gold_places(group));
            let offsets = self.offsets[rows.clone()].as_flattened_mut();
            if !self.groups[group].is_single {
                offsets.iter_mut().for_each(|offset| *offset = if *offset > 0.0 { 0.0 } else { f64::NEG_INFINITY });
                let costs = self.gold_costs.get(places.clone()).unwrap_or_default();
                self.gold[places].iter().zip(costs).for_each(|(&place, cost)| offsets[place as usize] -= cost);
                continue;
            }
            arch().dispatch(Logs(offsets));
            scores.clear();
            scores.resize(rows.len() * LANES, 0.0);
            self.add_weights(group, w, &w[self.own_range.start..], &mut scores);
            for (offsets, scores) in self.offsets[rows].iter_mut().zip(scores.as_chunks::<LANES>().0) {
                offsets.iter_mut().zip(scores).for_each(|(offset, score)| *offset -= score);
            }
        }
    }

    /// The range of a group's places in `gold`.
    fn gold_places(&self, group: usize) -> Range<usize> {
        let start = if group == 0 { 0 } else { self.gold_ends[group - 1] as usize };
        start..self.gold_ends[group] as usize
    }

    #[inline(always)]
    fn ranges(&self, group: usize) -> [Range<usize>; 3] {
        let starts = if group == 0 { [0; 3] } else { self.groups[group - 1].ends };
        let ends = self.groups[group].ends;
        std::array::from_fn(|k| starts[k] as usize..ends[k] as usize)
    }

    /// Appends the slots of a group.
    fn add_shape(&mut self, cutter: &Cutter, group: &[Piece], no_label: u16) {
        let is_single = group[0].is_single;
        for at in 0..length(group) {
            let first = self.labels.len();
            let rows = |lane: usize| row_of(group, at, lane);
            let slots = cutter.slots(group, at);
            self.labels.resize(first + slots, [no_label; LANES]);
            self.offsets.resize(first + slots, [0.0; LANES]);
            for lane in 0..LANES {
                match rows(lane) {
                    Some(row) => {
                        for (slot, &(label, p)) in cutter.row(row).iter().enumerate() {
                            self.labels[first + slot][lane] = label;
                            self.offsets[first + slot][lane] = f64::from(p);
                        }
                    }
                    None => self.offsets[first][lane] = 1.0,
                }
            }
            self.slots.push(slots as u16);
            if is_single || at == 0 {
                let eight = &group[if is_single { at * LANES } else { 0 }..];
                self.weights.push(std::array::from_fn(|lane| eight.get(lane).map_or(0.0, |piece| piece.weight)));
            }
        }
        let ends = [self.slots.len(), self.labels.len(), self.weights.len()].map(|end| end as u32);
        self.groups.push(Group { ends, is_single });
    }

    /// Appends the entries of a group, a few tokens at a time: the first attribute of each token, then the second of each.
    #[inline(always)]
    fn add_entries(
        &mut self,
        (corpus, costs): (&Corpus, &Costs),
        cutter: &Cutter,
        group: &[Piece],
        by_attribute: &FeaturesByAttribute<'_>,
        buffers: &mut Buffers,
    ) {
        let n_labels = by_attribute.features.n_labels;
        let most = self.list_tokens(corpus, cutter, group, n_labels + 1, buffers);
        let Buffers { tokens, slots, shared_entries, own_entries } = buffers;
        for entries in [&mut *shared_entries, &mut *own_entries] {
            entries.0.clear();
            entries.1.clear();
        }
        for (tokens, turn) in tokens.chunks(TURNS).flat_map(|tokens| (0..most).map(move |turn| (tokens, turn))) {
            for token in tokens {
                let at = token.attributes.start + turn;
                if at >= token.attributes.end {
                    continue;
                }
                let Some(features) = by_attribute.of(corpus.states.ids[at]) else { continue };
                let is_own =
                    features.first as usize >= self.own_range.start && features.end as usize <= self.own_range.end;
                let base = if is_own { self.own_range.start as u32 } else { 0 };
                let (entries, values) = if is_own { &mut *own_entries } else { &mut *shared_entries };
                let slots = &slots[token.slots..token.slots + n_labels];
                let mut add = |feature: u32, slot: u16| {
                    entries.push((feature - base, token.place + u32::from(slot) * LANES as u32));
                };
                if n_labels <= 64 {
                    let mut both = features.labels & token.labels;
                    while both != 0 {
                        let before = features.labels & ((both & both.wrapping_neg()) - 1);
                        add(features.first + before.count_ones(), slots[both.trailing_zeros() as usize]);
                        both &= both - 1;
                    }
                } else {
                    let range = features.first as usize..features.end as usize;
                    for (feature, &label) in (features.first..).zip(&by_attribute.features.state_labels[range]) {
                        if slots[usize::from(label)] != NOWHERE {
                            add(feature, slots[usize::from(label)]);
                        }
                    }
                }
                if !corpus.values.is_empty() {
                    values.resize(entries.len(), corpus.value(at));
                }
            }
        }
        let [_, rows, _] = self.ranges(self.n_groups() - 1);
        let n_places = rows.len() * LANES;
        let n_features = by_attribute.features.state_labels.len();
        self.shared.extend(&shared_entries.0, &shared_entries.1, n_features, n_places);
        self.own.extend(&own_entries.0, &own_entries.1, self.own_range.len(), n_places);
        self.shared.end_group();
        self.own.end_group();
        for token in &*tokens {
            let slot = slots[token.slots + corpus.gold[token.number] as usize];
            if slot != NOWHERE {
                self.gold.push(token.place + u32::from(slot) * LANES as u32);
                self.gold_costs.extend(costs.of(token.number..token.number + 1));
            }
        }
        self.gold_ends.push(self.gold.len() as u32);
    }

    /// Lists the tokens of a group that keep several labels; returns the most attributes of a token.
    #[inline(always)]
    fn list_tokens(
        &self,
        corpus: &Corpus,
        cutter: &Cutter,
        group: &[Piece],
        n_labels: usize,
        buffers: &mut Buffers,
    ) -> usize {
        let Buffers { tokens, slots: slots_of, .. } = buffers;
        tokens.clear();
        slots_of.clear();
        let (mut first_slot, mut most) = (0, 0);
        let [slots, ..] = self.ranges(self.n_groups() - 1);
        for (at, &slots) in self.slots[slots].iter().enumerate() {
            for (lane, row) in (0..LANES).filter_map(|lane| Some((lane, row_of(group, at, lane)?))) {
                let cells = cutter.row(row);
                if cells.len() > 1 {
                    let (number, start) = (token_of(group, at, lane), slots_of.len());
                    let (attributes, place) = (corpus.states.range(number), (first_slot * LANES + lane) as u32);
                    most = most.max(attributes.len());
                    numeric::prefetch_range(&corpus.states.ids, attributes.clone());
                    let labels = cells.iter().filter(|cell| cell.0 < 64).fold(0, |bits, cell| bits | 1 << cell.0);
                    tokens.push(Token { number, attributes, place, slots: start, labels });
                    slots_of.resize(start + n_labels, NOWHERE);
                    for (slot, cell) in cells.iter().enumerate() {
                        slots_of[start + usize::from(cell.0)] = slot as u16;
                    }
                }
            }
            first_slot += usize::from(slots);
        }
        most
    }
}

simd_task!(
    /// Lays out all groups; dispatched to the machine's instruction set, because it counts bits.
    AddGroups<'a>(laid: &'a mut PrunedBlock, data: (&'a Corpus, &'a Costs), cutter: &'a Cutter, by_attribute: &'a FeaturesByAttribute<'a>) -> (),
    |_| {
        let mut buffers = Buffers::default();
        for group in cutter.groups() {
            laid.add_shape(cutter, group, by_attribute.features.n_labels as u16);
            laid.add_entries(data, cutter, group, by_attribute, &mut buffers);
        }
    }
);

/// The token of the corpus at this place.
fn token_of(group: &[Piece], at: usize, lane: usize) -> usize {
    if group[0].is_single { group[at * LANES + lane].token } else { group[lane].token + at }
}

simd_task!(
    /// Takes logarithms in place; of 0, -inf.
    Logs<'a>(values: &'a mut [f64]) -> (),
    |simd| {
        values.iter_mut().for_each(|p| *p = p.max(f64::MIN_POSITIVE));
        numeric::ln_in_place(simd, values);
    }
);
