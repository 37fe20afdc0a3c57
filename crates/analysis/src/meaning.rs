//! What the numbers of a point mean: points that mean different things are never compared.

use rookery_study::{OpenLoad, Study};

/// What must be equal for response times and units of work to mean the same, each with its name.
pub(crate) fn meaning(study: &Study) -> [(&'static str, String); 4] {
    let open = study.load.open().map(|open| OpenLoad {
        rate: Vec::new(),
        ..open.clone()
    });
    [
        ("loop type", format!("{:?}", study.load.model())),
        (
            "arrivals",
            open.map_or_else(|| "none".to_owned(), |open| format!("{open:?}")),
        ),
        ("think time", study.workload.pauses()),
        ("order", study.workload.unit_of_work()),
    ]
}
