//! One operation: its request, the redirects behind it, its objects.

use std::{cell::RefCell, collections::VecDeque};

use futures_util::future::join_all;
use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::http::{HttpOperation, Method, embedded_objects};

use super::{
    HttpSite,
    begin::BeginCheck,
    compiled::{Operation, Values},
    judge, request,
};
use crate::{
    browser::{
        address::{Reference, resolve},
        answer::{Answer, Enough, Wanted},
        cache::{Cache, Need, Validator},
        line::{Line, Link},
    },
    http::decode::Pool,
};

/// Most redirects behind one request.
const MOST_REDIRECTS: u32 = 5;
/// The status of an object that the user has already.
const NOT_MODIFIED: u16 = 304;
/// What embedded objects may be asked again for is known for so many of them.
const MOST_VERSIONS: usize = 100_000;

/// What an operation needs beside its connections.
pub(super) struct Page<'p> {
    pub(super) site: &'p HttpSite,
    pub(super) link: Link<'p>,
    pub(super) described: &'p HttpOperation,
    pub(super) operation: &'p Operation,
    pub(super) cache: &'p RefCell<Cache>,
    pub(super) logged_in: bool,
}

/// What happened behind the scenes of one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    pub(super) redirects: u64,
    pub(super) objects: u64,
    pub(super) not_modified: u64,
    pub(super) from_cache: u64,
}

/// An object to be loaded.
pub(super) struct Wish {
    pub(super) target: Vec<u8>,
    /// The version that the user has.
    validator: Option<Validator>,
    /// Its version is kept for all users, as its requests are conditional by chance.
    by_chance: bool,
}

impl Page<'_> {
    /// Sends the request and what follows from it; takes values from the answer.
    pub(super) async fn load(
        &self,
        lines: &mut [Line],
        values: &mut Values,
        behind: &mut Behind,
        mut chance: impl FnMut() -> f64,
    ) -> Result<(), Fault> {
        let Some(line) = lines.first_mut() else {
            return Err(Fault::new(ErrorClass::Driver, "no-connection"));
        };
        let redirected = |_: &[u8], _: &Answer| behind.redirects += 1;
        let (target, answer) = self.ask(line, values, redirected).await?;
        let worker = self.link.worker;
        let judged = self.judge(&answer, values);
        if judged.is_err() {
            worker.set_evidence(&answer.kept);
        }
        let wishes =
            judged.and_then(|()| self.wishes(&target, &answer, values, behind, &mut chance));
        worker.give_back(answer.kept);
        worker.with_pool(|pool| pool.give(target));
        let wishes = wishes?;
        if wishes.is_empty() {
            return Ok(());
        }
        self.load_objects(lines, wishes, behind).await
    }

    fn judge(&self, answer: &Answer, values: &mut Values) -> Result<(), Fault> {
        judge::status(self.described, answer, self.logged_in)?;
        judge::content(self.operation, answer, values)?;
        let cookies = self.link.cookies.borrow();
        judge::capture(self.operation, answer, &cookies, values)
    }

    /// Sends the request and follows redirects; the target that answered. `redirected` hears of
    /// each redirect: where it leads, and the answer that said so.
    pub(super) async fn ask(
        &self,
        line: &mut Line,
        values: &Values,
        mut redirected: impl FnMut(&[u8], &Answer),
    ) -> Result<(Vec<u8>, Answer), Fault> {
        let worker = self.link.worker;
        let mut target = worker.with_pool(Pool::take);
        request::target(&mut target, self.site, &self.operation.path, values)?;
        let (mut method, mut with_content) = (self.described.method, true);
        let begin = self.operation.begin.as_ref();
        let has_texts = |body: &[u8]| self.operation.has_texts(body, values);
        let is_enough = |body: &[u8]| begin.is_some_and(|begin| begin.is_enough(body, has_texts));
        for _ in 0..=MOST_REDIRECTS {
            let mut bytes = worker.with_pool(Pool::take);
            let what = (method, target.as_slice(), with_content);
            request::operation(
                &mut bytes,
                self.site,
                self.operation,
                what,
                values,
                self.link.cookies.borrow().header(),
            )?;
            let from_begin = self.operation.whole && begin.is_some_and(BeginCheck::is_due);
            let wanted = Wanted {
                enough: from_begin.then_some(Enough(&is_enough)),
                ..self.wanted(method)
            };
            let answer = line
                .exchange(&self.link, &bytes, method.is_repeatable(), wanted)
                .await?;
            worker.with_pool(|pool| pool.give(bytes));
            if let Some(begin) = begin.filter(|_| from_begin)
                && answer.is_large_and_whole()
            {
                begin.missed();
            }
            let status = answer.told.status;
            let redirects = matches!(status, 301 | 302 | 303 | 307 | 308);
            if !redirects || !self.described.follow {
                return Ok((target, answer));
            }
            target = self.next_target(&target, &answer)?;
            redirected(&target, &answer);
            if matches!(status, 301..=303) && method != Method::Head {
                (method, with_content) = (Method::Get, false);
            }
            worker.give_back(answer.kept);
        }
        Err(Fault::new(ErrorClass::Redirect, "loop"))
    }

    fn next_target(&self, target: &[u8], answer: &Answer) -> Result<Vec<u8>, Fault> {
        let fault = |sub_class| Err(Fault::new(ErrorClass::Redirect, sub_class));
        let Some(location) = &answer.told.location else {
            return fault("no-location");
        };
        let site = &self.site.site;
        match resolve(site.scheme(), &site.authority, target, location) {
            Reference::Here(target) => Ok(target),
            Reference::Elsewhere => {
                self.link.worker.set_evidence(location);
                fault("other-authority")
            }
            Reference::Nowhere => fault("bad-location"),
        }
    }

    fn wanted(&self, method: Method) -> Wanted<'_> {
        Wanted {
            header_bytes: self.link.worker.limits().header_bytes,
            body_bytes: self.described.body_limit,
            whole: self.operation.whole,
            digest: self.operation.digest,
            markers: None,
            no_body: method == Method::Head,
            versions: false,
            enough: None,
            headers: &self.operation.wanted_headers,
        }
    }
}

/// Embedded objects.
impl Page<'_> {
    /// The objects to load: those that are listed, and those that are found in the page.
    pub(super) fn wishes(
        &self,
        target: &[u8],
        answer: &Answer,
        values: &Values,
        behind: &mut Behind,
        chance: &mut impl FnMut() -> f64,
    ) -> Result<VecDeque<Wish>, Fault> {
        let mut wishes = VecDeque::new();
        for (path, conditional) in &self.operation.objects {
            let mut object = Vec::new();
            request::target(&mut object, self.site, path, values)?;
            match conditional {
                Some(share) => wishes.push_back(self.by_chance(object, *share, chance())),
                None => wishes.extend(self.as_cached(object, behind)),
            }
        }
        if self.described.find_objects {
            let site = &self.site.site;
            for reference in embedded_objects(&answer.kept) {
                let object = resolve(site.scheme(), &site.authority, target, reference);
                if let Reference::Here(object) = object
                    && !wishes.iter().any(|wish| wish.target == object)
                {
                    wishes.extend(self.as_cached(object, behind));
                }
            }
        }
        Ok(wishes)
    }

    /// An object whose requests are conditional by chance, once its version is known.
    fn by_chance(&self, target: Vec<u8>, share: f64, draw: f64) -> Wish {
        let versions = self.site.versions.borrow();
        let known = versions.get(&target).filter(|_| draw < share);
        Wish {
            validator: known.cloned(),
            target,
            by_chance: true,
        }
    }

    /// An object as the cache of the user says.
    fn as_cached(&self, target: Vec<u8>, behind: &mut Behind) -> Option<Wish> {
        let need = if self.site.workload.browser.cache {
            let now = self.link.worker.clock().now();
            self.cache.borrow().need(&target, now)
        } else {
            Need::Everything
        };
        let validator = match need {
            Need::Nothing => {
                behind.from_cache += 1;
                return None;
            }
            Need::Changes(validator) => Some(validator),
            Need::Everything => None,
        };
        Some(Wish {
            target,
            validator,
            by_chance: false,
        })
    }

    /// Loads objects over all connections at once; the first fault.
    async fn load_objects(
        &self,
        lines: &mut [Line],
        wishes: VecDeque<Wish>,
        behind: &mut Behind,
    ) -> Result<(), Fault> {
        let count = wishes.len();
        let queue = RefCell::new(Queue {
            wishes,
            fault: None,
            behind: *behind,
        });
        let drains = lines
            .iter_mut()
            .take(count)
            .map(|line| self.drain(line, &queue));
        join_all(drains).await;
        let queue = queue.into_inner();
        *behind = queue.behind;
        queue.fault.map_or(Ok(()), Err)
    }

    /// Loads object after object over one connection.
    async fn drain(&self, line: &mut Line, queue: &RefCell<Queue>) {
        loop {
            let wish = {
                let mut queue = queue.borrow_mut();
                if queue.fault.is_some() {
                    return;
                }
                queue.wishes.pop_front()
            };
            let Some(wish) = wish else { return };
            let loaded = self.load_object(line, &wish).await;
            let mut queue = queue.borrow_mut();
            match loaded {
                Ok(object) => {
                    queue.behind.objects += 1;
                    queue.behind.not_modified += u64::from(object.status == NOT_MODIFIED);
                }
                Err(fault) => {
                    queue.fault.get_or_insert(fault);
                    return;
                }
            }
        }
    }

    /// Loads one object.
    pub(super) async fn load_object(&self, line: &mut Line, wish: &Wish) -> Result<Loaded, Fault> {
        let worker = self.link.worker;
        let mut bytes = worker.with_pool(Pool::take);
        request::object(
            &mut bytes,
            self.site,
            &wish.target,
            wish.validator.as_ref(),
            self.link.cookies.borrow().header(),
        );
        let wanted = Wanted {
            header_bytes: worker.limits().header_bytes,
            body_bytes: self.described.body_limit,
            whole: false,
            digest: false,
            markers: None,
            no_body: false,
            versions: wish.by_chance || self.site.workload.browser.cache,
            enough: None,
            headers: &[],
        };
        let answer = line.exchange(&self.link, &bytes, true, wanted).await?;
        worker.with_pool(|pool| pool.give(bytes));
        let loaded = Loaded {
            status: answer.told.status,
            bytes: answer.bytes,
        };
        if loaded.status != 200 && (loaded.status != NOT_MODIFIED || wish.validator.is_none()) {
            worker.set_evidence(&answer.kept);
            return Err(Fault::code(ErrorClass::Status, loaded.status));
        }
        self.keep(wish, &answer);
        worker.give_back(answer.kept);
        Ok(loaded)
    }

    /// The version of an object is remembered: by its user, or for all.
    fn keep(&self, wish: &Wish, answer: &Answer) {
        let told = &answer.told;
        if wish.by_chance {
            let mut versions = self.site.versions.borrow_mut();
            if let Some(version) = told.modified.clone().or_else(|| told.tag.clone())
                && versions.len() < MOST_VERSIONS
            {
                versions.insert(wish.target.clone(), version);
            }
            return;
        }
        if self.site.workload.browser.cache {
            let now = self.link.worker.clock().now();
            let shared = &mut *self.site.validators.borrow_mut();
            told.keep_in(&mut self.cache.borrow_mut(), &wish.target, now, shared);
        }
    }
}

/// An object that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub(super) status: u16,
    /// Length of the body after decompression.
    pub(super) bytes: u64,
}

/// The objects that are still to be loaded, and what came of the others.
struct Queue {
    wishes: VecDeque<Wish>,
    fault: Option<Fault>,
    behind: Behind,
}
