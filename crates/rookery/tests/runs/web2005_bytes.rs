//! The bytes of every page type, as the published results have them.

use rookery_workload::web2005::{
    Model,
    files::{PageFiles, pages},
};

use crate::{
    common::Place,
    web2005_planted::{number, page, seen, served},
};

/// Fewest pages of a type whose mean says anything.
const FEWEST: u64 = 20;

/// Standard error of the mean bytes of so many pages of a type: each image is sent or not.
fn standard_error(files: &PageFiles, count: u64) -> f64 {
    let variance: f64 = files
        .images()
        .map(|image| {
            let kept = f64::from(image.p304_percent) / 100.0;
            f64::from(image.size).powi(2) * kept * (1.0 - kept)
        })
        .sum();
    (variance / count as f64).sqrt()
}

#[test]
fn pages_of_an_unloaded_server_have_the_published_bytes() {
    for model in Model::ALL {
        let place = Place::among_others();
        let (_app, port) = served(&place, model.name(), &[]);
        let words = ["--settle", "2s", "--steady", "8s"];
        let guest = seen(&place, model.name(), port, &words);
        assert_eq!(guest["errors"], serde_json::json!([]), "{guest}");
        let mut judged = 0;
        for files in pages(model) {
            let found = page(&guest, files.name);
            let count = number(found, "requests");
            let page_type = model.page(files.name).expect("a page type");
            let published = page_type.published_bytes;
            // Files of users and products differ from one to the next, and a small set has few.
            let is_varied = files.html_bytes == 0 || page_type.products.count > 0;
            if count < FEWEST || is_varied {
                continue;
            }
            let mean = number(found, "bytes") as f64 / count as f64;
            let allowed = (0.01 * published).max(4.0 * standard_error(files, count));
            assert!(
                (mean - published).abs() < allowed,
                "{}: {mean} of {published}, {count} pages",
                files.name
            );
            judged += 1;
        }
        assert!(judged >= 5, "{}: {judged} page types", model.name());
    }
}
