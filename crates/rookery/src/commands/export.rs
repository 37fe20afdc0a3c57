//! `rookery export`: a stored run for other programs.

use rookery_analysis::{Run, layers};

use crate::{
    cli::{ExportArgs, ExportFormat},
    commands::report,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &ExportArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.places.runs, &args.run)?;
    let store = report::open(&directory)?;
    let failure = |error: rookery_store::StoreError| Failure::from(error);
    match args.format {
        ExportFormat::Csv => {
            let out = args.out.clone().unwrap_or_else(|| directory.join("export"));
            rookery_store::export_csv(&store, &out).map_err(failure)?;
            output::result(out.display());
            Ok(Code::Done)
        }
        ExportFormat::Json => {
            let mut value = rookery_store::export_json(&store).map_err(failure)?;
            // What is judged of it, beside what is stored.
            let run = Run::read(&store).map_err(failure)?;
            value["layers"] = serde_json::to_value(layers::across(&[&run]))
                .map_err(|error| Failure::new(Code::Internal, error))?;
            let Some(out) = &args.out else {
                return output::json(&value);
            };
            let text = serde_json::to_vec_pretty(&value)
                .map_err(|error| Failure::new(Code::Internal, error))?;
            rookery_lab::write_whole(out, &text).map_err(|error| {
                Failure::new(
                    Code::Store,
                    format!("cannot write {}: {error}", out.display()),
                )
            })?;
            output::result(out.display());
            Ok(Code::Done)
        }
    }
}
