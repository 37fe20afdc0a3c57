//! Users of content-management sites: what the driver is told.

use rookery_study::CmsUse;
use rookery_web::{
    Script,
    workloads::{cms::CmsScript, http::SiteName},
};
use rookery_workload::{DelayDistribution, cms::CmsData, http::Tls};

use super::{
    LoadRequest,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that serve these pages.
pub(super) fn load(request: &LoadRequest<'_>, wanted: &CmsUse, data: CmsData) -> Users {
    let script = |address| {
        Script::Cms(Box::new(CmsScript {
            data,
            contract: wanted.contract,
            site: SiteName::at(address),
            matrix: *wanted.matrix,
            pacing: wanted.pacing,
            pace: wanted.pace,
            on_error: wanted.on_error,
            random_page: wanted.random_page,
            random_page_max: wanted.random_page_max,
            wrong_login_ppm: wanted.wrong_login_ppm,
            gzip: wanted.gzip,
            keep_cookies: wanted.keep_cookies,
            tls: Tls::default(),
        }))
    };
    let behaviour = Behaviour {
        script: &script,
        pacing: wanted.pacing,
        // Spreads the first operations of users; the others have pauses of their own.
        think_time: wanted.pace.means[0],
        think_distribution: DelayDistribution::Constant,
    };
    Users(config(request, &behaviour))
}
