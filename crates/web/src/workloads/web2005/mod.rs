//! Banking, e-commerce and support: users that walk over the pages of a chain and judge every
//! answer.

mod page;
mod visitor;

use std::{cell::RefCell, collections::HashMap, net::SocketAddr};

use rookery_cast::count_u8;
use rookery_driver::{OperationId, OperationTable, Span, seconds};
use rookery_workload::{
    http::Tls,
    web2005::{
        Bands, Model, PAGE, Profile, Rules, Web2005Counters, WebData, WebDataset, WebThink, files,
        http_date,
    },
};
use serde::{Deserialize, Serialize};

use super::{http::SiteName, problem::ScriptProblem};
use crate::browser::{
    cache::{SharedValidators, Validator},
    tls::{TlsClient, TlsUser},
};

pub(crate) use visitor::WebVisitor;

/// Any page with all that is loaded behind it.
const WHOLE: OperationId = OperationId::new(0);

/// What the users of one guest are configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Web2005Script {
    /// What the server holds; it says which of the three workloads it is.
    pub dataset: WebDataset,
    /// Where users do it. All page types have its scheme, but for those of `secure`.
    pub site: SiteName,
    /// Where page types are that the profile encrypts: the same host, over TLS.
    #[serde(default)]
    pub secure: Option<SocketAddr>,
    /// How browsers behave.
    #[serde(default)]
    pub profile: Profile,
    /// How long users think.
    pub think: WebThink,
    /// Connections of one user.
    pub connections: u8,
    /// The most that one user receives, bytes/s; `None` = no limit.
    pub receive_rate: Option<u64>,
    /// Which pages are good, and which tolerable.
    pub bands: Bands,
    /// What a window must keep.
    pub rules: Rules,
    /// How users encrypt, where the site wants it.
    pub tls: Tls,
}

impl Web2005Script {
    pub(crate) fn operations(&self) -> OperationTable {
        let pages = self.dataset.model.pages().iter();
        OperationTable::of_names(PAGE, pages.map(|page| page.name))
    }

    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        ScriptProblem::unless_plain(&self.site.authority)?;
        ScriptProblem::unless_plain(&self.site.base)?;
        self.dataset.shape().map_err(|error| ScriptProblem {
            what: format!("the file set of the users: {error}"),
            help: "change the number of sessions or the scale",
        })?;
        self.tls().map(|_| ())
    }

    /// The site of the page types that the original encrypted.
    fn secure_site(&self) -> Option<SiteName> {
        let address = self.secure?;
        Some(SiteName {
            https: true,
            base: self.site.base.clone(),
            ..SiteName::at(address)
        })
    }

    /// Whether a page type is asked for at the second place.
    fn is_secure(&self, page: &str) -> bool {
        self.secure.is_some() && self.profile.encrypts(self.dataset.model, page)
    }

    /// How many of the page types are.
    fn secure_pages(&self) -> usize {
        let pages = self.dataset.model.pages().iter();
        pages.filter(|page| self.is_secure(page.name)).count()
    }

    fn tls(&self) -> Result<Option<TlsClient>, ScriptProblem> {
        if !self.site.https && self.secure.is_none() {
            return Ok(None);
        }
        let client = TlsClient::new(&self.tls, self.site.host());
        client.map(Some).map_err(|what| ScriptProblem {
            what,
            help: "give the certificate that signs the server's, or say that it is not verified",
        })
    }

    /// Counters of its users, all zero.
    fn empty(&self) -> Web2005Counters {
        Web2005Counters {
            think_s: self.think.mean.as_secs_f64(),
            encrypted: self.site.https || self.secure_pages() > 0,
            mixed: !self.site.https
                && (1..self.dataset.model.pages().len()).contains(&self.secure_pages()),
            profile: self.profile,
            rate_bytes_per_s: self.receive_rate,
            rules: self.rules,
            ..Web2005Counters::new(self.dataset.model)
        }
    }
}

/// The place of a page type in the table.
fn id_of(page: usize) -> OperationId {
    OperationId::new(count_u8(page + 1))
}

/// A fixed file that a page embeds.
#[derive(Clone, Debug)]
struct Embedded {
    target: String,
    bytes: u64,
    p304_percent: u8,
}

/// The users of one guest on one thread: what they know, and what they count.
#[derive(Debug)]
pub(crate) struct WebSite {
    script: Web2005Script,
    data: WebData,
    target: SocketAddr,
    secure: Option<SiteName>,
    /// By page type.
    embedded: Vec<Vec<Embedded>>,
    /// The version of every file.
    modified: Option<Validator>,
    /// Versions of files that servers told, for all users.
    validators: RefCell<SharedValidators>,
    tls: Option<TlsClient>,
    record: RefCell<Web2005Counters>,
    /// By the number of the user: what the request under way writes.
    pending: RefCell<HashMap<u32, Vec<(&'static str, u64)>>>,
}

impl WebSite {
    /// # Errors
    /// When the script cannot be done.
    pub(crate) fn new(script: &Web2005Script, target: SocketAddr) -> Result<Self, ScriptProblem> {
        let data = script.dataset.data().map_err(|error| ScriptProblem {
            what: format!("the file set of the users: {error}"),
            help: "change the number of sessions or the scale",
        })?;
        let date = http_date(files::modified_s(script.dataset.seed));
        let of_page = |page: &files::PageFiles| {
            let image = |image: files::ImageUse| Embedded {
                target: format!("/{}", data.shape.image_path(image)),
                bytes: image.size.into(),
                p304_percent: image.p304_percent,
            };
            page.images().map(image).collect()
        };
        Ok(Self {
            embedded: files::pages(script.dataset.model)
                .iter()
                .map(of_page)
                .collect(),
            modified: Validator::modified(date.as_bytes()),
            validators: RefCell::default(),
            tls: script.tls()?,
            secure: script.secure_site(),
            record: RefCell::new(script.empty()),
            pending: RefCell::default(),
            script: script.clone(),
            data,
            target,
        })
    }

    fn model(&self) -> Model {
        self.script.dataset.model
    }

    /// Where a page type is asked for: the site, its address, and whether it is the second one.
    fn place_of(&self, page: usize) -> (&SiteName, SocketAddr, bool) {
        let name = self.model().pages().get(page).map_or("", |page| page.name);
        match (&self.secure, self.script.secure) {
            (Some(site), Some(address)) if self.script.is_secure(name) => (site, address, true),
            _ => (&self.script.site, self.target, false),
        }
    }

    fn tls_user(&self) -> Option<TlsUser> {
        self.tls.as_ref().map(TlsClient::user)
    }

    /// A request that writes this is on its way.
    fn sending(&self, user: u32, writes: Vec<(&'static str, u64)>) {
        if !writes.is_empty() {
            self.pending.borrow_mut().insert(user, writes);
        }
    }

    /// That request ended: with the right answer, without one, or before a byte of it was sent
    /// (`None`).
    fn ended(&self, user: u32, acknowledged: Option<bool>) {
        let writes = self.pending.borrow_mut().remove(&user);
        if let (Some(writes), Some(acknowledged)) = (writes, acknowledged) {
            let mut record = self.record.borrow_mut();
            for (what, count) in writes {
                record.told(what, count, acknowledged);
            }
        }
    }

    /// What was counted; the site counts anew from here. What is still under way may have been
    /// written.
    pub(crate) fn take_record(&self) -> Web2005Record {
        let users: Vec<u32> = self.pending.borrow().keys().copied().collect();
        for user in users {
            self.ended(user, Some(false));
        }
        Web2005Record(self.record.replace(self.script.empty()))
    }
}

/// The counters of one guest on one thread, or on several.
#[derive(Clone, Debug)]
pub(crate) struct Web2005Record(Web2005Counters);

impl Web2005Record {
    /// Nothing was counted yet.
    pub(crate) fn new(script: &Web2005Script) -> Self {
        Self(script.empty())
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The counters over `window`.
    pub(crate) fn counters(self, window: Span) -> Web2005Counters {
        Web2005Counters {
            window_s: seconds(window.length()),
            ..self.0
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::{ProofRow, web2005::ledger};

    use super::*;

    pub(super) fn script(model: Model) -> Web2005Script {
        Web2005Script {
            dataset: WebDataset {
                model,
                sessions: 10,
                scale_ppm: 1_000_000,
                seed: 7,
            },
            site: SiteName::at(([127, 0, 0, 1], 80).into()),
            secure: None,
            profile: Profile::default(),
            think: WebThink::new(model),
            connections: 2,
            receive_rate: Some(100_000),
            bands: Bands::new(model),
            rules: Rules::default(),
            tls: Tls::default(),
        }
    }

    fn site(model: Model) -> WebSite {
        WebSite::new(&script(model), ([127, 0, 0, 1], 80).into()).expect("a site")
    }

    #[test]
    fn every_page_knows_its_files() {
        let site = site(Model::Banking);
        let login = &site.embedded[0];
        assert_eq!(login.len(), 8);
        assert_eq!(login[0].target, "/bank/images/5");
        assert_eq!((login[0].bytes, login[0].p304_percent), (36_789, 33));
        assert_eq!(script(Model::Support).operations().entries().len(), 8);
        assert!(site.modified.is_some());
    }

    #[test]
    fn writes_are_acknowledged_unanswered_or_never_sent() {
        let site = site(Model::Banking);
        let payment = || vec![(ledger::PAYMENTS, 2), (ledger::PAYMENT_CENTS, 500)];
        site.sending(1, payment());
        site.ended(1, Some(true));
        site.sending(2, payment());
        site.ended(2, None);
        site.sending(3, payment());
        site.ended(4, Some(true));
        let mut all = Web2005Record::new(&site.script);
        all.merge(&site.take_record());
        let rows = all.counters(Span { start: 0, end: 10 }).proof().rows;
        assert_eq!(rows[0], ProofRow::new(ledger::PAYMENTS, 2, 2));
        assert_eq!(rows[1], ProofRow::new(ledger::PAYMENT_CENTS, 500, 500));
        assert!(site.pending.borrow().is_empty());
    }

    #[test]
    fn pages_are_asked_for_where_the_original_had_them() {
        let site = |model| {
            let mut script = script(model);
            script.secure = Some(([127, 0, 0, 1], 443).into());
            script.tls.insecure = true;
            WebSite::new(&script, ([127, 0, 0, 1], 80).into()).expect("a site")
        };
        let ports = |site: &WebSite| -> Vec<u16> {
            let pages = 0..site.model().pages().len();
            pages.map(|page| site.place_of(page).1.port()).collect()
        };
        let shop = site(Model::Ecommerce);
        assert_eq!(ports(&shop)[..8], [80; 8]);
        assert_eq!(ports(&shop)[8..], [443; 5]);
        let counters = shop.script.empty();
        assert!(counters.encrypted && counters.mixed);
        let bank = site(Model::Banking);
        assert_eq!(ports(&bank), [443; 16]);
        let counters = bank.script.empty();
        assert!(counters.encrypted && !counters.mixed);
        assert!(!site(Model::Support).script.empty().encrypted);
    }

    #[test]
    fn scripts_that_cannot_be_done_are_refused() {
        assert!(script(Model::Support).check().is_ok());
        let mut none = script(Model::Support);
        none.dataset.sessions = 0;
        assert!(none.check().is_err());
        let mut encrypted = script(Model::Banking);
        encrypted.site.https = true;
        assert!(encrypted.check().is_err(), "no certificate is known");
        encrypted.tls.insecure = true;
        assert!(encrypted.check().is_ok());
    }
}
