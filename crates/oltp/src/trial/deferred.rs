//! Deferred deliveries: one worker of each guest executes in turn what terminals queued, over a
//! connection of its own.

use rookery_workload::orderentry::{Kind, terminal::Input};

use super::{client::Client, operations::operation};

/// Executes what is queued, one after the other.
pub(super) async fn execute(mut client: Client) {
    let link = &client.link;
    let (worker, guest, row) = (std::rc::Rc::clone(&link.worker), link.guest, link.row);
    let Some(queue) = worker.shared.job.queues.get(guest) else {
        return;
    };
    let Some(mut receiver) = queue.take_receiver() else {
        return;
    };
    while let Some(queued) = receiver.recv().await {
        worker.set_working(row, true);
        let finished = client.transact(&Input::Delivery(queued.input)).await;
        worker.set_working(row, false);
        queue.executed();
        match finished.end {
            Ok(_) if queued.within => worker
                .tally(guest)
                .executed(finished.done.saturating_sub(queued.at)),
            Ok(_) => {}
            Err(fault) => {
                worker.failure(guest, operation(Kind::Delivery), fault, &finished.evidence)
            }
        }
        if finished.is_last {
            return;
        }
    }
}
