//! `rookery template`: build, list and remove what guests are cloned from.

mod build;
mod list;
mod remove;

use std::path::PathBuf;

use crate::{
    cli::{TemplateBuildCommand, TemplateCommand, TemplatePlace},
    exit::{Code, Failure},
};

pub(crate) fn run(command: &TemplateCommand) -> Result<Code, Failure> {
    match command {
        TemplateCommand::Build(TemplateBuildCommand::Lamp(args)) => build::run(args),
        TemplateCommand::List(args) => list::run(args),
        TemplateCommand::Remove(args) => remove::run(args),
    }
}

fn directory(place: &TemplatePlace) -> Result<PathBuf, Failure> {
    super::places::templates(place.templates.as_deref())
}

/// `281 MiB`, `1.3 GiB`.
fn size(mib: f64) -> String {
    if mib < 10.0 {
        format!("{mib:.1} MiB")
    } else if mib < 1000.0 {
        format!("{mib:.0} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        assert_eq!(size(0.24), "0.2 MiB");
        assert_eq!(size(281.4), "281 MiB");
        assert_eq!(size(1331.0), "1.3 GiB");
    }
}
