//! An order in which one user can do every operation once.

use std::collections::BTreeSet;

use super::{HttpOperation, HttpWorkload};
use crate::data_driven::{Template, Walk};

/// What an operation uses before its answer has come, and what its answer gives.
struct Needs {
    uses: BTreeSet<String>,
    gives: BTreeSet<String>,
}

impl HttpWorkload {
    /// Every operation once, so that values are captured before they are used: first the login,
    /// then as the script or the matrix leads, then in the order of the file. Operations that no
    /// session comes to are the last; where captures need each other in a ring, the order is that
    /// without them.
    #[must_use]
    pub fn each_once(&self) -> Vec<usize> {
        let needs: Vec<Needs> = self.operations.iter().map(Needs::new).collect();
        let captured: BTreeSet<&String> = needs.iter().flat_map(|one| &one.gives).collect();
        let mut known: BTreeSet<String> = self.fed();
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.operations.len() {
            let wanted = self.preferred(&order);
            let ready = |index: &usize| {
                let mut uses = needs[*index].uses.iter();
                // What no capture gives will not be there later either.
                uses.all(|name| known.contains(name) || !captured.contains(name))
            };
            let Some(next) = wanted
                .iter()
                .copied()
                .find(ready)
                .or(wanted.first().copied())
            else {
                break;
            };
            known.extend(needs[next].gives.iter().cloned());
            order.push(next);
        }
        order
    }

    /// The names of all values that no operation has to capture.
    fn fed(&self) -> BTreeSet<String> {
        let own = crate::data_driven::OWN_VALUES.map(str::to_owned);
        let feeders = self.feeders.iter().flat_map(|feeder| feeder.values());
        own.into_iter().chain(feeders).collect()
    }

    /// The operations that are not done yet, the best next one first.
    fn preferred(&self, done: &[usize]) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.operations.len())
            .filter(|index| !done.contains(index))
            .collect();
        let last = done.last().copied();
        // Equal ones stay in the order of the file.
        left.sort_by(|a, b| self.rank(last, *a).total_cmp(&self.rank(last, *b)));
        left
    }

    /// How late an operation comes behind `last`.
    fn rank(&self, last: Option<usize>, index: usize) -> f64 {
        if self.login == Some(index) {
            return -1.0;
        }
        if !self.walk.reaches(index) {
            return f64::MAX;
        }
        match &self.walk {
            Walk::Weights { .. } => 0.0,
            Walk::Script(list) => {
                let place = list.iter().position(|step| *step == index);
                place.unwrap_or(list.len()) as f64
            }
            Walk::Matrix(matrix) => {
                let rows = matrix.rows();
                let login = self.login;
                let from = match last.filter(|last| login != Some(*last)) {
                    Some(last) => &rows.next[last],
                    None => &rows.start,
                };
                // What follows is likelier than what does not; what ends sessions comes late.
                let follows = from.get(index).copied().unwrap_or_default();
                let ends = rows.next[index].last().copied().unwrap_or_default();
                let apart = if follows > 0.0 { 0.0 } else { 2.0 };
                apart + 4.0 * f64::from(u8::from(ends >= 1.0)) + (1.0 - follows)
            }
        }
    }
}

impl Needs {
    fn new(operation: &HttpOperation) -> Self {
        let gives: BTreeSet<String> = operation
            .captures
            .iter()
            .map(|capture| capture.name.clone())
            .collect();
        let objects = operation.objects.iter().map(|object| &object.path);
        // Objects are loaded when the captures of their page are there.
        let of_objects: BTreeSet<&str> = objects.flat_map(Template::names).collect();
        let uses = operation.templates().flat_map(Template::names);
        let own = |name: &&str| of_objects.contains(name) && gives.contains(*name);
        Self {
            uses: uses.filter(|name| !own(name)).map(str::to_owned).collect(),
            gives,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        RandomDelay,
        data_driven::{OnFailure, Rows},
        http::{Body, Browser, Capture, CaptureSource, Method, Statuses, Tls},
    };

    fn operation(name: &str, path: &str, gives: &[&str]) -> HttpOperation {
        HttpOperation {
            name: name.to_owned(),
            method: Method::Get,
            path: Template::parse(path).expect("a template"),
            headers: Vec::new(),
            body: Body::Empty,
            captures: gives
                .iter()
                .map(|name| Capture {
                    name: (*name).to_owned(),
                    source: CaptureSource::Cookie("c".to_owned()),
                })
                .collect(),
            checks: Vec::new(),
            statuses: Statuses::Success,
            follow: true,
            delay: RandomDelay::default(),
            timeout: None,
            body_limit: 1,
            objects: Vec::new(),
            find_objects: false,
            counts: None,
        }
    }

    fn order(operations: &[HttpOperation], walk: Walk, login: Option<usize>) -> Vec<usize> {
        HttpWorkload {
            operations: operations.to_vec(),
            feeders: Vec::new(),
            walk,
            login,
            on_failure: OnFailure::Restart,
            session_pause: None,
            headers: Vec::new(),
            browser: Browser::default(),
            tls: Tls::default(),
        }
        .each_once()
    }

    #[test]
    fn what_captures_comes_before_what_uses() {
        let weights = |count| Walk::Weights {
            weights: vec![1.0; count],
            session: None,
        };
        let all = [
            operation("buy", "/buy/${item}", &[]),
            operation("list", "/list?t=${token}", &["item"]),
            operation("home", "/", &["token"]),
            operation("login", "/login?user=${user}", &[]),
        ];
        assert_eq!(order(&all, weights(4), Some(3)), [3, 2, 1, 0]);
        let ring = [
            operation("a", "/${y}", &["x"]),
            operation("b", "/${x}", &["y"]),
        ];
        assert_eq!(order(&ring, weights(2), None), [0, 1]);
    }

    #[test]
    fn scripts_and_matrices_lead() {
        let all = [
            operation("a", "/a", &[]),
            operation("b", "/b", &[]),
            operation("out", "/out", &[]),
            operation("never", "/never", &[]),
        ];
        assert_eq!(order(&all, Walk::Script(vec![1, 0, 1]), None), [1, 0, 2, 3]);
        // From `b`, the end is likelier than `a`; but behind `out` nothing more would be done.
        let rows = Rows {
            start: vec![0.0, 1.0, 0.0, 0.0],
            next: vec![
                vec![0.5, 0.0, 0.5, 0.0, 0.0],
                vec![0.1, 0.0, 0.9, 0.0, 0.0],
                vec![0.0, 0.0, 0.0, 0.0, 1.0],
                vec![0.0, 0.0, 0.0, 0.0, 1.0],
            ],
        };
        let matrix = rows.try_into().expect("rows sum to 1");
        assert_eq!(order(&all, Walk::Matrix(matrix), None), [1, 0, 2, 3]);
    }
}
