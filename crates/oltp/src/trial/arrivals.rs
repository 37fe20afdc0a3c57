//! Open loads (being written).
use super::{TrialConfig, client::Client, worker::Worker};
use rookery_driver::crew::Nanos;
use rookery_workload::orderentry::terminal::Terminal;
use std::rc::Rc;
#[derive(Debug, Default)]
pub(super) struct Lobby {}
impl Lobby {
    pub(super) const ROW: u32 = u32::MAX;
    pub(super) fn new(_: &TrialConfig, _: usize, _: usize) -> Self {
        Self {}
    }
    pub(super) fn ring(&self) {}
    pub(super) fn cut(&self, _: Nanos) {}
    pub(super) fn expects(&self) -> bool {
        false
    }
    pub(super) fn close(&self, _: &Worker) {}
}
pub(super) async fn receive(_: Rc<Worker>) {}
#[derive(Debug)]
pub(super) struct Visited {
    pub(super) client: Client,
    pub(super) terminal: Terminal,
}
impl Visited {
    pub(super) async fn serve(self) {
        let _ = (self.client, self.terminal);
    }
}
