//! Users of banking, e-commerce and support: what the driver is told.

use std::net::SocketAddr;

use rookery_stack::web2005::TLS_PORT;
use rookery_stats::Pacing;
use rookery_study::Web2005Use;
use rookery_web::{
    Script,
    workloads::{http::SiteName, web2005::Web2005Script},
};
use rookery_workload::{DelayDistribution, http::Tls, web2005::WebDataset};

use super::{
    LoadRequest,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that serve these pages.
pub(super) fn load(request: &LoadRequest<'_>, wanted: &Web2005Use, dataset: WebDataset) -> Users {
    let script = |address: SocketAddr| {
        Script::Web2005(Box::new(Web2005Script {
            dataset,
            site: SiteName::at(address),
            secure: wanted
                .encrypted
                .then(|| SocketAddr::new(address.ip(), TLS_PORT)),
            profile: wanted.profile,
            think: wanted.think,
            connections: wanted.connections,
            receive_rate: wanted.receive_rate,
            bands: wanted.bands,
            rules: wanted.rules,
            tls: Tls {
                // Our own server made its certificate when it started: nobody has signed it.
                insecure: wanted.tls.insecure || wanted.encrypted,
                ..wanted.tls.clone()
            },
        }))
    };
    let behaviour = Behaviour {
        script: &script,
        pacing: Pacing::Think,
        // Spreads the first pages of users; the other pauses are those of the script.
        think_time: wanted.think.mean,
        think_distribution: DelayDistribution::Constant,
    };
    Users(config(request, &behaviour))
}
