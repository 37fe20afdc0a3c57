//! `rookery app`: the embedded stack, as it runs in guests and by itself.

pub(crate) mod orderentry;

use std::ops::ControlFlow;

use rookery_stack::embedded::{self, EmbeddedError, Pages, ServeConfig, Server, StopSignal};
use rookery_workload::dvdstore::{ParseSizeError, Size};

use crate::{
    cli::{AppDvdstoreArgs, PagesArg},
    commands::words,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &AppDvdstoreArgs) -> Result<Code, Failure> {
    if let Some(size) = &args.size
        && !args.database.exists()
    {
        let size: Size = size
            .parse()
            .map_err(|error: ParseSizeError| Failure::from_error(Code::Usage, &error))?;
        output::remark(format!(
            "loading a {size} database into {}",
            args.database.display()
        ));
        let words = words::lists(&args.words)?;
        embedded::load(&args.database, size, &words, &|_| ControlFlow::Continue(()))
            .map_err(|error| Failure::from_error(Code::Guest, &error))?;
    }
    let config = ServeConfig {
        database: args.database.clone(),
        listen: args.listen,
        workers: args.workers,
        behaviour: match args.pages {
            PagesArg::Corrected => Pages::Corrected,
            PagesArg::Faithful => Pages::Faithful,
        },
        extra_cpu: args.extra_cpu,
        directory: args.directory.clone(),
    };
    let failure = |error: EmbeddedError| Failure::from_error(Code::Guest, &error);
    let stop = StopSignal::on_termination().map_err(|error| {
        Failure::new(
            Code::Internal,
            format!("cannot listen for signals: {error}"),
        )
    })?;
    let server = Server::bind(&config).map_err(failure)?;
    output::remark(format!(
        "serving http://{}/{}/index.html until interrupted",
        server.local_addr(),
        args.directory
    ));
    server.run(&stop).map_err(failure)?;
    Ok(Code::Done)
}
