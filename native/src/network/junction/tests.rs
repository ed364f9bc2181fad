//! Laws of the junction forest, against enumeration.

use crate::network::enumeration::{enumerated, score};
use crate::network::junction::cliques::{Junction, within};
use crate::network::junction::elimination::Elimination;
use crate::network::{Network, NetworkScores};
use crate::numeric::random::Random;
use crate::threads::{Interrupt, pool};
use proptest::prelude::*;

/// Scores from -width / 2 to width / 2.
fn scores(n: usize, width: f64, seed: u64) -> Vec<f64> {
    let mut stream = Random::new(seed, n as u64);
    (0..n).map(|_| width * (stream.uniform() - 0.5)).collect()
}

/// A graph of up to 7 variables of 2 to 4 states, with every edge as likely as not.
fn networks() -> impl Strategy<Value = Network> {
    prop::collection::vec(2u32..=4, 1..=7).prop_flat_map(|states| {
        let n = states.len() as u32;
        let pairs: Vec<(u32, u32)> = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        prop::collection::vec(any::<(bool, bool)>(), pairs.len()).prop_map(move |chosen| {
            let ends = pairs.iter().zip(&chosen).filter(|(_, chosen)| chosen.0);
            let edges = ends.map(|(&(i, j), &(_, turned))| if turned { (j, i) } else { (i, j) }).collect();
            Network::new(states.clone(), edges).unwrap()
        })
    })
}

fn junction(network: &Network) -> Junction {
    Junction::new(network, &Interrupt::default()).unwrap().unwrap()
}

fn grid(rows: u32, columns: u32) -> Network {
    let at = |i, j| i * columns + j;
    let right = (0..rows).flat_map(|i| (1..columns).map(move |j| (at(i, j - 1), at(i, j))));
    let down = (1..rows).flat_map(|i| (0..columns).map(move |j| (at(i - 1, j), at(i, j))));
    Network::new(vec![2; (rows * columns) as usize], right.chain(down).collect()).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10
}

proptest! {
    #[test]
    fn everything_equals_enumeration(network in networks(), seed in 0u64..1000, width in 0.0f64..20.0) {
        let node = scores(network.n_node_scores(), width, seed);
        let edge = scores(network.n_edge_scores(), width, seed + 1);
        let scores = NetworkScores::new(&network, &node, &edge).unwrap();
        let (junction, interrupt, pool) = (junction(&network), Interrupt::default(), pool(2).unwrap());
        let (log_z, all) = enumerated(scores);
        let place = |x: &[u32], v: usize| network.node(v).start + x[v] as usize;
        let length = node.len();
        let mut pairs = vec![0.0; length * length];
        for (x, log) in &all {
            for (i, j) in (0..x.len()).flat_map(|i| (0..x.len()).map(move |j| (i, j))) {
                pairs[place(x, i) * length + place(x, j)] += (log - log_z).exp();
            }
        }
        let up = junction.conditionals(scores, Some(pool), &interrupt).unwrap();
        prop_assert!(close(up.log_z, log_z));
        let alone = junction.conditionals(scores, None, &interrupt).unwrap();
        let marginals = alone.marginals(scores, None, &interrupt).unwrap();
        for at in 0..length {
            prop_assert!(close(marginals.nodes[at], pairs[at * length + at]));
        }
        for (e, &(i, j)) in network.edges().iter().enumerate() {
            let cells = network.node(i as usize).flat_map(|a| network.node(j as usize).map(move |b| a * length + b));
            prop_assert!(cells.zip(&marginals.edges[network.table(e)]).all(|(cell, &p)| close(p, pairs[cell])));
        }
        let actual = up.pairs(&network, &marginals.nodes, pool, &interrupt).unwrap();
        prop_assert!(actual.iter().zip(&pairs).all(|(&a, &b)| close(a, b)));
        let best = junction.most_probable(scores, Some(pool), &interrupt).unwrap();
        let most = all.iter().fold(f64::NEG_INFINITY, |most, (_, score)| score.max(most));
        prop_assert!(close(score(scores, &best), most));
    }

    #[test]
    fn separators_hold_every_later_neighbour_and_lie_in_the_parents_clique(network in networks()) {
        let elimination = Elimination::of(&network, &Interrupt::default()).unwrap().unwrap();
        prop_assert_eq!(elimination.variables.len(), network.n_variables());
        let junction = junction(&network);
        for k in 0..junction.n_variables() {
            let held: Vec<u32> = junction.axes(k).iter().map(|axis| junction.variables[axis.clique as usize]).collect();
            let later = &junction.variables[k + 1..];
            for neighbour in network.neighbours(junction.variables[k] as usize) {
                prop_assert!(held.contains(&neighbour.variable) || !later.contains(&neighbour.variable));
            }
            if let Some(axis) = junction.axes(k).first() {
                let above: Vec<u32> = junction.axes(axis.clique as usize).iter().map(|axis| axis.clique).collect();
                prop_assert!(junction.axes(k)[1..].iter().all(|axis| above.contains(&axis.clique)));
            }
        }
    }
}

#[test]
fn tasks_and_the_cliques_above_them_are_all_cliques_once() {
    let forest = Network::new(vec![2; 100_000], (1..100_000).filter(|i| i % 1000 != 0).map(|i| (i / 2, i)).collect());
    for network in [grid(10, 40), grid(3, 3000), forest.unwrap()] {
        let junction = junction(&network);
        let mut all: Vec<usize> =
            junction.tasks.iter().cloned().flatten().chain(junction.top.iter().copied()).collect();
        assert!(junction.tasks.len() > 1);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..network.n_variables()));
        for task in &junction.tasks {
            assert!(task.clone().all(|k| junction.firsts[k] as usize >= task.start));
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let network = grid(10, 40);
    let (node, edge) = (scores(network.n_node_scores(), 3.0, 1), scores(network.n_edge_scores(), 3.0, 2));
    let scores = NetworkScores::new(&network, &node, &edge).unwrap();
    let (junction, interrupt) = (junction(&network), Interrupt::default());
    let run = |threads| {
        let pool = pool(threads).unwrap();
        let up = || junction.conditionals(scores, Some(pool), &interrupt).unwrap();
        let marginals = up().marginals(scores, Some(pool), &interrupt).unwrap();
        (up().samples(40, 3, pool, &interrupt).unwrap(), marginals.log_z, marginals.nodes, marginals.edges)
    };
    let one = run(1);
    assert!([2, 3, 4].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn orders_of_trees_and_grids_are_as_narrow_as_they_can_be() {
    let wheel =
        |n: u32| Network::new(vec![2; n as usize], (1..n).flat_map(|i| [(0, i), (i, i % (n - 1) + 1)]).collect());
    let chain = Network::new(vec![3; 1000], (1..1000).map(|i| (i, i - 1)).collect());
    for (network, largest) in [
        (chain.unwrap(), 9),
        (wheel(2000).unwrap(), 16),
        (grid(5, 200), 64),
        (grid(10, 30), 2048),
        (grid(30, 10), 2048),
    ] {
        assert_eq!(junction(&network).largest(), largest);
    }
}

#[test]
fn dense_graphs_are_given_up() {
    let complete = (0..400).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let mut stream = Random::new(1, 1);
    let mut random: Vec<(u32, u32)> = (0..51_000)
        .map(|_| ((stream.uniform() * 5000.0) as u32, (stream.uniform() * 5000.0) as u32))
        .filter(|(i, j)| i < j)
        .collect();
    random.extend((0..5000).zip(1..5000));
    random.sort_unstable();
    random.dedup();
    for (n, edges) in [(400, complete), (5000, random)] {
        let network = Network::new(vec![2; n], edges).unwrap();
        let junction = Junction::new(&network, &Interrupt::default()).unwrap();
        let message = within(junction.as_ref(), 1 << 22).err().unwrap().to_string();
        assert!(message.contains("2^32") && message.contains("loopy_bp"), "{message}");
    }
}
