//! Names of images, and which of them a user means.

use rookery_diagnosis::outside_text;

use crate::digest::Digest;

/// What an image is called where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    pub(crate) digest: Option<Digest>,
}

impl Names {
    /// For people.
    pub(crate) fn shown(&self) -> String {
        if self.names.is_empty() {
            return match &self.digest {
                Some(digest) => format!("`{digest}`"),
                None => "an image without a name".to_owned(),
            };
        }
        let names: Vec<String> = self
            .names
            .iter()
            .map(|name| format!("`{}`", outside_text(name)))
            .collect();
        names.join(" = ")
    }
}

/// Whether `wanted` is one of the names, the end of one after its registry or its repository, or
/// the digest.
pub(crate) fn means(wanted: &str, image: &Names) -> bool {
    let by_digest = image
        .digest
        .is_some_and(|digest| digest.to_string() == wanted);
    by_digest
        || image.names.iter().any(|name| {
            name.strip_suffix(wanted)
                .is_some_and(|before| before.is_empty() || before.ends_with(['/', ':']))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_its_name_in_parts_too() {
        let image = Names {
            names: vec!["docker.io/library/app:1.0".to_owned()],
            digest: Some(Digest::of(b"abc")),
        };
        for wanted in [
            "docker.io/library/app:1.0",
            "app:1.0",
            "1.0",
            "library/app:1.0",
        ] {
            assert!(means(wanted, &image), "{wanted}");
        }
        for wanted in ["pp:1.0", "app", "0", "app:1"] {
            assert!(!means(wanted, &image), "{wanted}");
        }
        assert!(means(&Digest::of(b"abc").to_string(), &image));
    }
}
