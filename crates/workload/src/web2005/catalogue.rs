//! What users of a workload do by default: its pages, its walk, its think times.

use super::{
    Model,
    page_type::{ChainState, PageType},
    pages::{banking, ecommerce, support},
};
use crate::WorkloadKind;

impl Model {
    /// The workload that it is.
    #[must_use]
    pub fn kind(self) -> WorkloadKind {
        match self {
            Self::Banking => WorkloadKind::WebBanking,
            Self::Ecommerce => WorkloadKind::WebEcommerce,
            Self::Support => WorkloadKind::WebSupport,
        }
    }

    /// The model of a workload, where it is one of the three.
    #[must_use]
    pub fn of_kind(kind: WorkloadKind) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.kind() == kind)
    }

    /// Its page types, in the order of the published tables.
    #[must_use]
    pub fn pages(self) -> &'static [PageType] {
        match self {
            Self::Banking => &banking::PAGES,
            Self::Ecommerce => &ecommerce::PAGES,
            Self::Support => &support::PAGES,
        }
    }

    /// The page type of this name.
    #[must_use]
    pub fn page(self, name: &str) -> Option<&'static PageType> {
        self.pages().iter().find(|page| page.name == name)
    }

    /// The states of its walk. A session begins in the first.
    #[must_use]
    pub fn states(self) -> &'static [ChainState] {
        match self {
            Self::Banking => &banking::STATES,
            Self::Ecommerce => &ecommerce::STATES,
            Self::Support => &support::STATES,
        }
    }

    /// Users of whom one session slot takes one for each session; 0 where no one logs in.
    #[must_use]
    pub fn identities_per_slot(self) -> u32 {
        match self {
            Self::Banking => 50,
            Self::Ecommerce => 10,
            Self::Support => 0,
        }
    }

    /// Mean think time, s, and the longest.
    #[must_use]
    pub fn think_s(self) -> (f64, f64) {
        match self {
            Self::Banking | Self::Ecommerce => (10.0, 150.0),
            Self::Support => (5.0, 75.0),
        }
    }

    /// Whether the original encrypted a page type: all of banking, of e-commerce those from the
    /// cart on.
    #[must_use]
    pub fn encrypts(self, page: &str) -> bool {
        match self {
            Self::Banking => true,
            Self::Ecommerce => {
                matches!(page, "cart" | "login" | "shipping" | "billing" | "confirm")
            }
            Self::Support => false,
        }
    }

    /// Sessions of the reference platform, which has an index of 100.
    #[must_use]
    pub fn reference_sessions(self) -> f64 {
        match self {
            Self::Banking => 120.0,
            Self::Ecommerce => 114.0,
            Self::Support => 162.0,
        }
    }
}

/// The index of three workloads that ran on the same system: the geometric mean of their sessions
/// as shares of those of the reference platform, times 100 and rounded.
///
/// Source: the published result that 4900, 6200 and 6500 sessions make 4466.
///
/// ```
/// use rookery_workload::web2005::web_index;
/// assert_eq!(web_index([4900, 6200, 6500]), 4466);
/// ```
#[must_use]
pub fn web_index(sessions: [u32; 3]) -> u64 {
    let share = |(model, sessions): (Model, u32)| f64::from(sessions) / model.reference_sessions();
    let product: f64 = Model::ALL.into_iter().zip(sessions).map(share).product();
    rookery_cast::truncate_u64((100.0 * product.cbrt()).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web2005::{files, page_type::PageKind};

    #[test]
    fn the_index_is_that_of_the_published_result() {
        assert_eq!(web_index([4900, 6200, 6500]), 4466);
        assert_eq!(web_index([120, 114, 162]), 100);
        assert_eq!(web_index([0, 114, 162]), 0);
    }

    #[test]
    fn pages_are_encrypted_as_in_the_original() {
        let share = |model: Model| {
            let chain = crate::web2005::Chain::new(model);
            let pages = model.pages().iter().enumerate();
            let encrypted = pages.filter(|(_, page)| model.encrypts(page.name));
            encrypted.map(|(place, _)| chain.share(place)).sum::<f64>()
        };
        assert!((share(Model::Banking) - 1.0).abs() < 1e-9);
        // The specification has 18.54 % of the pages of e-commerce.
        assert!((share(Model::Ecommerce) - 0.1854).abs() < 5e-5);
        assert!(share(Model::Support).abs() < 1e-12);
    }

    #[test]
    fn every_model_is_a_workload_of_its_name() {
        for model in Model::ALL {
            assert_eq!(Model::of_kind(model.kind()), Some(model));
            assert_eq!(model.kind().name(), format!("web-{}", model.name()));
        }
        assert_eq!(Model::of_kind(WorkloadKind::Sample), None);
    }

    #[test]
    fn pages_have_the_published_bytes() {
        // The body, the images that are loaded, and 250 bytes for the head of each answer.
        for model in Model::ALL {
            assert_eq!(model.pages().len(), files::pages(model).len());
            for (page, set) in model.pages().iter().zip(files::pages(model)) {
                assert_eq!(page.name, set.name);
                if page.kind != PageKind::Page {
                    continue;
                }
                let products = f64::from(page.products.count)
                    * if page.products.class == 0 {
                        10_658.0
                    } else {
                        22_865.0
                    };
                let loaded = |image: files::ImageUse| {
                    f64::from(image.size) * (1.0 - f64::from(image.p304_percent) / 100.0)
                };
                let images: f64 = set.images().map(loaded).sum();
                let answers = 1 + set.images().count() + usize::from(page.products.count);
                let bytes = f64::from(set.html_bytes) + images + products + 250.0 * answers as f64;
                let off = bytes / page.published_bytes - 1.0;
                assert!(off.abs() < 0.001, "{}: {off}", page.name);
            }
        }
    }
}
