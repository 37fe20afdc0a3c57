//! Arithmetic of the walks: how often each state is visited, and how long sessions are.

use super::Model;

/// What follows from a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Mean visits to each page type in a session, in the order of [`Model::pages`].
    pub visits: Vec<f64>,
    /// Mean visits to each state.
    pub state_visits: Vec<f64>,
    /// Mean pages of a session.
    pub pages_per_session: f64,
    /// Share of pages before which users think, 0 to 1: all but the first of a session, and those
    /// that a browser loads by itself.
    pub think_share: f64,
    /// Share of sessions that end as they should, 0 to 1; the others are left.
    pub completed: f64,
}

impl Chain {
    /// That of a workload.
    ///
    /// Visits of an absorbing chain are the first row of its fundamental matrix (J. G. Kemeny and
    /// J. L. Snell, "Finite Markov Chains", 1960, theorem 3.2.4): they solve v = e + P' v.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let (states, pages) = (model.states(), model.pages());
        let state_visits = visits(model);
        let mut visits = vec![0.0; pages.len()];
        let mut completed = 0.0;
        for (state, count) in states.iter().zip(&state_visits) {
            visits[state.page] += count;
            if state.next.is_empty() {
                completed += count;
            }
        }
        let pages_per_session: f64 = visits.iter().sum();
        let thinking = pages.iter().zip(&visits).filter(|(page, _)| page.thinks());
        let thinking: f64 = thinking.map(|(_, count)| count).sum();
        Self {
            visits,
            state_visits,
            pages_per_session,
            think_share: (thinking - 1.0) / pages_per_session,
            completed,
        }
    }

    /// How often a page type is among all pages, 0 to 1.
    #[must_use]
    pub fn share(&self, page: usize) -> f64 {
        self.visits
            .get(page)
            .map_or(0.0, |visits| visits / self.pages_per_session)
    }

    /// Pages per second that `sessions` simultaneous sessions ask for, where the mean think time
    /// and the mean response time of a page are these: N / (f Z + R), with f the share of pages
    /// with a think time.
    ///
    /// ```
    /// use rookery_workload::web2005::{Chain, Model};
    /// let banking = Chain::new(Model::Banking);
    /// // The published result has 733.26 pages/s at 4900 sessions and 0.5066 s.
    /// let offered = banking.pages_per_s(4900.0, 10.0, 0.5066);
    /// assert!((offered / 733.26 - 1.0).abs() < 0.005);
    /// ```
    #[must_use]
    pub fn pages_per_s(&self, sessions: f64, think_s: f64, response_s: f64) -> f64 {
        let cycle_s = self.think_share * think_s + response_s;
        if cycle_s > 0.0 {
            sessions / cycle_s
        } else {
            0.0
        }
    }
}

/// Mean visits to each state, by elimination with the largest pivot of each column.
fn visits(model: Model) -> Vec<f64> {
    let states = model.states();
    let count = states.len();
    // Rows of I - P', with the right-hand side behind them.
    let mut rows = vec![vec![0.0; count + 1]; count];
    for (from, state) in states.iter().enumerate() {
        rows[from][from] += 1.0;
        for &(to, probability) in state.next {
            rows[to][from] -= probability;
        }
    }
    rows[0][count] = 1.0;
    for column in 0..count {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)));
        rows.swap(column, pivot.unwrap_or(column));
        let pivot = rows[column].clone();
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / pivot[column];
            for (value, above) in row.iter_mut().zip(&pivot).skip(column) {
                *value -= factor * above;
            }
        }
    }
    let mut found = vec![0.0; count];
    for place in (0..count).rev() {
        let row = &rows[place];
        let known: f64 = row[place + 1..count]
            .iter()
            .zip(&found[place + 1..])
            .map(|(a, b)| a * b)
            .sum();
        found[place] = (row[count] - known) / row[place];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits per session as the specification states them, to five digits.
    const BANKING: [(&str, f64); 16] = [
        ("login", 1.0),
        ("account_summary", 0.703_45),
        ("check_detail_html", 0.393_93),
        ("bill_pay", 0.642_92),
        ("add_payee", 0.051_43),
        ("payee_info", 0.037_03),
        ("quick_pay", 0.308_60),
        ("billpay_status", 0.102_87),
        ("chg_profile", 0.056_28),
        ("post_profile", 0.040_52),
        ("req_checks", 0.056_28),
        ("post_chk_order", 0.040_52),
        ("req_xfer_form", 0.08),
        ("post_fund_xfer", 0.057_60),
        ("logout", 0.285_71),
        ("check_image", 0.787_86),
    ];
    const ECOMMERCE: [(&str, f64); 13] = [
        ("index", 1.621_91),
        ("search", 0.810_95),
        ("browse", 1.454_29),
        ("browse_productline", 1.239_45),
        ("productdetail", 0.991_56),
        ("customize1", 2.094_68),
        ("customize2", 1.109_38),
        ("customize3", 0.762_70),
        ("cart", 0.654_89),
        ("login", 0.467_59),
        ("shipping", 0.440_47),
        ("billing", 0.418_45),
        ("confirm", 0.313_84),
    ];
    const SUPPORT: [(&str, f64); 7] = [
        ("home", 1.2),
        ("search", 1.866_67),
        ("catalog", 1.733_33),
        ("product", 3.666_67),
        ("fileCatalog", 3.333_33),
        ("file", 2.0),
        ("download", 1.0),
    ];

    fn check(model: Model, stated: &[(&str, f64)], pages: f64, think: f64, completed: f64) {
        let chain = Chain::new(model);
        assert_eq!(chain.visits.len(), stated.len());
        for ((page, found), (name, visits)) in model.pages().iter().zip(&chain.visits).zip(stated) {
            assert_eq!(page.name, *name);
            assert!((found - visits).abs() < 6e-6, "{name}: {found} of {visits}");
        }
        assert!((chain.pages_per_session - pages).abs() < 6e-5, "{chain:?}");
        assert!((chain.think_share - think).abs() < 6e-6, "{chain:?}");
        assert!((chain.completed - completed).abs() < 6e-5, "{chain:?}");
    }

    #[test]
    fn visits_are_those_of_the_specification() {
        // The specification has 0.61578, from the shares that the benchmark expected.
        check(Model::Banking, &BANKING, 4.6450, 0.615_10, 0.285_71);
        check(Model::Ecommerce, &ECOMMERCE, 12.3802, 0.919_23, 0.313_84);
        check(Model::Support, &SUPPORT, 14.8, 0.932_43, 1.0);
    }

    #[test]
    fn no_state_has_more_than_probability_one() {
        for model in Model::ALL {
            for state in model.states() {
                let sum: f64 = state.next.iter().map(|(_, probability)| probability).sum();
                assert!(sum < 1.0 + 1e-12, "{model:?}: {state:?}");
            }
        }
    }

    #[test]
    fn the_sizing_rule_predicts_the_published_results() {
        // Sessions, pages in 1800 s and mean response time of the nine iterations.
        let runs = [
            (
                Model::Banking,
                4900.0,
                [1_319_868.0, 1_317_797.0, 1_318_351.0],
                [0.5066, 0.5124, 0.5177],
            ),
            (
                Model::Ecommerce,
                6200.0,
                [1_030_322.0, 1_030_247.0, 1_030_376.0],
                [1.591, 1.6019, 1.5937],
            ),
            (
                Model::Support,
                6500.0,
                [1_153_618.0, 1_153_125.0, 1_152_691.0],
                [5.4516, 5.498, 5.4883],
            ),
        ];
        for (model, sessions, pages, responses) in runs {
            let chain = Chain::new(model);
            for (pages, response) in pages.into_iter().zip(responses) {
                let offered = chain.pages_per_s(sessions, model.think_s().0, response);
                let off: f64 = offered / (pages / 1800.0) - 1.0;
                assert!(off.abs() < 0.0046, "{model:?}: {off}");
            }
        }
    }
}
