//! What the links of guests carry on this host, without guests: each kind of link is made as a lab
//! has it, and measured with iperf3.

use std::{net::IpAddr, ops::ControlFlow, path::Path};

use rookery_guest::{AskedLink, check_network, with_link};
use rookery_host::{
    RealHost,
    iperf::{Ends, IperfError, StreamPoint, measure, version},
};
use rookery_study::{LabShape, LinkShape};
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// The port of the measurements, in namespaces where nothing else is.
const PORT: u16 = 5201;

/// What a link carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkCeiling {
    /// `loopback`, or the device of the guest's interface.
    pub device: String,
    /// Its largest packet, bytes; `None` = that of the loopback.
    pub mtu: Option<u32>,
    /// For each number of streams.
    pub points: Vec<StreamPoint>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkCeilings {
    /// What measured it: `iperf 3.12 (cJSON 1.7.15)`.
    pub tool: String,
    /// Seconds at each point.
    pub seconds: u32,
    /// One for each kind of link.
    pub links: Vec<LinkCeiling>,
}

/// How links are measured.
#[derive(Clone, Debug)]
pub struct LinkGauge {
    /// The links; `None` = the loopback.
    pub links: Vec<Option<LinkShape>>,
    /// Streams at the same time.
    pub streams: Vec<u32>,
    /// Seconds at each point.
    pub seconds: u32,
}

/// Called with every point as it is measured; breaks to stop.
pub type LinkListener<'a> = dyn FnMut(&LinkCeiling, &StreamPoint) -> ControlFlow<()> + Send + 'a;

impl LinkGauge {
    /// Measure all of it; what was measured until `listener` broke.
    ///
    /// # Errors
    /// When iperf3 is missing or fails, or a link cannot be made on this host.
    pub fn measure(&self, listener: &mut LinkListener<'_>) -> Result<LinkCeilings, LabError> {
        let tool = version(&RealHost)?;
        for link in self.links.iter().flatten() {
            check_network(&LabShape::Container(link.clone()), &[])?;
        }
        let mut ceilings = LinkCeilings {
            tool,
            seconds: self.seconds,
            links: Vec::new(),
        };
        for link in &self.links {
            let done = with_link(&RealHost, link.as_ref().map(AskedLink::from), |ends| {
                self.link(link.as_ref(), ends, listener)
            });
            let (ceiling, flow) = done.map_err(IperfError::from)??;
            ceilings.links.push(ceiling);
            if flow.is_break() {
                break;
            }
        }
        Ok(ceilings)
    }

    fn link(
        &self,
        shape: Option<&LinkShape>,
        ends: &rookery_guest::LinkEnds,
        listener: &mut LinkListener<'_>,
    ) -> Result<(LinkCeiling, ControlFlow<()>), IperfError> {
        let mut ceiling = LinkCeiling {
            device: shape
                .map_or("loopback", |shape| shape.device.name())
                .to_owned(),
            mtu: shape.map(|shape| shape.mtu),
            points: Vec::new(),
        };
        let server: (&Path, IpAddr) = (&ends.guest, ends.address);
        for streams in &self.streams {
            let ends = Ends {
                server,
                client: &ends.lab,
                port: PORT,
            };
            let point = measure(&RealHost, &ends, *streams, self.seconds)?;
            let flow = listener(&ceiling, &point);
            ceiling.points.push(point);
            if flow.is_break() {
                return Ok((ceiling, flow));
            }
        }
        Ok((ceiling, ControlFlow::Continue(())))
    }
}
