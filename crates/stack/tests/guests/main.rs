//! Guests of LAMP and of databases, proven by really starting them: this host's packages in a
//! temporary directory, on loopback addresses.
//!
//! This file's own executable, called with `supervise FILE`, is the guest's program; that is why
//! the cases have a binary of their own, without Rust's harness.

mod database;
mod lamp;

use std::path::Path;

use libtest_mimic::Arguments;
use rookery_stack::supervise;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, file] = &words[..]
        && verb == "supervise"
    {
        if let Err(error) = supervise::run(Path::new(file)) {
            eprintln!("{error}");
            std::process::exit(5);
        }
        return;
    }
    let mut arguments = Arguments::from_args();
    // Several stacks at once would only make each other slow.
    arguments.test_threads.get_or_insert(1);
    let trials = lamp::trials().into_iter().chain(database::trials());
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
