//! A whole file set: how many units it has, and every file by its path.

use super::{
    content::{Content, ContentKind},
    downloads::DOWNLOADS,
    images::ImageUse,
    pages::{folders, page, pages},
};
use crate::web2005::{Model, hash::hash};

/// The most users and customers that a set may have.
pub const LARGEST_IDENTITY: u32 = 100_000_000;

/// Users of banking for each session, in a set that is not scaled down.
const USERS_PER_SLOT: u32 = 50;
/// Product lines for each session.
const LINES_PER_SLOT: f64 = 5.0;
/// Download directories for each session.
const DIRECTORIES_PER_SLOT: f64 = 0.25;
/// Checks of a user, each with a front and a back.
const CHECKS: u64 = 10;
/// Products of a line, and images of a product.
const PRODUCTS: u64 = 10;
const PRODUCT_CLASSES: u64 = 3;

/// What the bytes of a file are drawn for.
const TAG_IMAGE: u64 = 101;
const TAG_PADDING: u64 = 102;
const TAG_UNIT: u64 = 103;

/// Why there is no such file set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// No sessions.
    #[error("a file set is for at least one session")]
    NoSessions,
    /// A scale outside (0, 1].
    #[error("the scale of a file set is more than 0 and at most 1")]
    Scale,
    /// More users than identities have digits for.
    #[error("{sessions} sessions have more than {LARGEST_IDENTITY} users, lines or directories")]
    TooLarge {
        /// The sessions asked for.
        sessions: u32,
    },
}

/// A file set, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    model: Model,
    sessions: u32,
    /// Users for each session; 1 for the workloads whose units are no users.
    users_per_slot: u32,
    units: u32,
    sub_directories: u32,
    seed: u64,
}

/// A file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// From the root of the set, without a slash at its begin.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// What they are.
    pub content: Content,
}

impl Shape {
    /// The set for so many simultaneous sessions. `scale`, more than 0 and at most 1, multiplies
    /// how many users, product lines or directories a session has; sizes of files never change.
    ///
    /// # Errors
    /// For no sessions, a scale outside its range, and more than a hundred million units.
    pub fn new(model: Model, sessions: u32, scale: f64, seed: u64) -> Result<Self, ShapeError> {
        if sessions == 0 {
            return Err(ShapeError::NoSessions);
        }
        if !(scale > 0.0 && scale <= 1.0) {
            return Err(ShapeError::Scale);
        }
        let too_large = ShapeError::TooLarge { sessions };
        // A product that should be whole may lie above it by a rounding error.
        let up = |value: f64| rookery_cast::truncate_u64((value - 1e-9).ceil().max(1.0));
        let per_slot = |each: f64| up(each * f64::from(sessions) * scale);
        let users_per_slot = match model {
            Model::Banking => up(f64::from(USERS_PER_SLOT) * scale),
            Model::Ecommerce | Model::Support => 1,
        };
        let units = match model {
            Model::Banking => u64::from(sessions) * users_per_slot,
            Model::Ecommerce => per_slot(LINES_PER_SLOT),
            Model::Support => per_slot(DIRECTORIES_PER_SLOT),
        };
        let units = u32::try_from(units)
            .ok()
            .filter(|units| *units <= LARGEST_IDENTITY)
            .ok_or(too_large)?;
        Ok(Self {
            model,
            sessions,
            users_per_slot: u32::try_from(users_per_slot).map_err(|_| too_large)?,
            units,
            sub_directories: 0,
            seed,
        })
    }

    /// The same set of banking with its user directories spread over so many others; 0 for none.
    #[must_use]
    pub fn with_sub_directories(self, sub_directories: u32) -> Self {
        Self {
            sub_directories: sub_directories.min(99_999),
            ..self
        }
    }

    /// The workload.
    #[must_use]
    pub fn model(&self) -> Model {
        self.model
    }

    /// The sessions that it is for.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Whose bytes it has.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Directories that user directories are spread over; 0 for none.
    #[must_use]
    pub fn sub_directories(&self) -> u32 {
        self.sub_directories
    }

    /// Users, product lines or download directories, numbered from 1.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Users of banking for each session.
    #[must_use]
    pub fn users_per_slot(&self) -> u32 {
        self.users_per_slot
    }

    /// Product lines of e-commerce; those of a set of one session for the others.
    #[must_use]
    pub fn lines(&self) -> u32 {
        match self.model {
            Model::Ecommerce => self.units,
            Model::Banking | Model::Support => 5,
        }
    }

    /// Download directories of support; one for the others.
    #[must_use]
    pub fn directories(&self) -> u32 {
        match self.model {
            Model::Support => self.units,
            Model::Banking | Model::Ecommerce => 1,
        }
    }

    /// Every file that is the same whatever the number of units: images, then padding.
    pub fn fixed_files(&self) -> impl Iterator<Item = FileEntry> + '_ {
        let images = folders(self.model)
            .iter()
            .flat_map(|folder| folder.images())
            .map(|image| self.image(image));
        let padding = pages(self.model)
            .iter()
            .filter(|page| page.html_bytes > 0)
            .map(|page| self.padding(page.name, page.html_bytes));
        images.chain(padding)
    }

    /// How many files a unit has.
    #[must_use]
    pub fn files_per_unit(&self) -> u64 {
        match self.model {
            Model::Banking => CHECKS * 2,
            Model::Ecommerce => PRODUCTS * PRODUCT_CLASSES,
            Model::Support => DOWNLOADS.len() as u64,
        }
    }

    /// The files of a unit, which is from 1 to [`units`](Self::units).
    pub fn unit_files(&self, unit: u32) -> impl Iterator<Item = FileEntry> + '_ {
        (0..self.files_per_unit()).map(move |index| self.unit_file(unit, index))
    }

    /// The bytes of a unit's files.
    #[must_use]
    pub fn bytes_per_unit(&self) -> u64 {
        (0..self.files_per_unit())
            .map(|index| unit_size(self.model, index))
            .sum()
    }

    /// Files in all.
    #[must_use]
    pub fn total_files(&self) -> u64 {
        self.fixed_files().count() as u64 + u64::from(self.units) * self.files_per_unit()
    }

    /// Bytes in all.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        let fixed: u64 = self.fixed_files().map(|file| file.size).sum();
        fixed + u64::from(self.units) * self.bytes_per_unit()
    }

    /// Directory of a unit's files, without a slash at its end.
    #[must_use]
    pub fn unit_directory(&self, unit: u32) -> String {
        match (self.model, self.sub_directories) {
            (Model::Banking, 0) => format!("bank/images/user{unit:010}"),
            (Model::Banking, count) => {
                format!("bank/images/subdir{:05}/user{unit:010}", unit % count)
            }
            (Model::Ecommerce, _) => format!("ecommerce/images/line{unit:010}"),
            (Model::Support, _) => format!("support/downloads/dir{unit:010}"),
        }
    }

    /// Path of an image that pages embed.
    #[must_use]
    pub fn image_path(&self, image: ImageUse) -> String {
        let directory = self.model.directory();
        format!("{directory}/images/{}{}", image.folder, image.number)
    }

    /// The file of a path; nothing where the set has none. Takes any text.
    #[must_use]
    pub fn locate(&self, path: &str) -> Option<FileEntry> {
        let rest = path
            .strip_prefix(self.model.directory())?
            .strip_prefix('/')?;
        if let Some(name) = rest.strip_prefix("dynamic_padding/") {
            let page = page(self.model, name).filter(|page| page.html_bytes > 0)?;
            return Some(self.padding(page.name, page.html_bytes));
        }
        let (directory, name) = path.rsplit_once('/')?;
        if let Some(unit) = self.unit_of(directory) {
            let index = unit_index(self.model, name)?;
            return Some(self.unit_file(unit, index));
        }
        let (folder, number) = match rest.strip_prefix("images/")?.rsplit_once('/') {
            Some((_, number)) => (rest.strip_prefix("images/")?.strip_suffix(number)?, number),
            None => ("", rest.strip_prefix("images/")?),
        };
        let folder = folders(self.model)
            .iter()
            .find(|known| known.name == folder)?;
        let image = folder.image(plain_number(number)?.try_into().ok()?)?;
        Some(self.image(image))
    }

    /// The unit of a directory.
    fn unit_of(&self, directory: &str) -> Option<u32> {
        // The digits stand at the end, whatever the workload.
        let digits = directory.get(directory.len().checked_sub(10)?..)?;
        let unit = digits_of(digits, 10).and_then(|unit| u32::try_from(unit).ok())?;
        let known = (1..=self.units).contains(&unit);
        (known && self.unit_directory(unit) == directory).then_some(unit)
    }

    fn image(&self, image: ImageUse) -> FileEntry {
        let place = folders(self.model)
            .iter()
            .position(|folder| folder.name == image.folder)
            .unwrap_or(0) as u64;
        FileEntry {
            path: self.image_path(image),
            size: u64::from(image.size),
            content: self.content(
                ContentKind::Binary,
                TAG_IMAGE,
                place,
                u64::from(image.number),
            ),
        }
    }

    fn padding(&self, name: &str, bytes: u32) -> FileEntry {
        let place = pages(self.model)
            .iter()
            .position(|page| page.name == name)
            .unwrap_or(0) as u64;
        FileEntry {
            path: format!("{}/dynamic_padding/{name}", self.model.directory()),
            size: u64::from(bytes),
            content: self.content(ContentKind::Text, TAG_PADDING, place, 0),
        }
    }

    fn unit_file(&self, unit: u32, index: u64) -> FileEntry {
        let name = unit_name(self.model, index);
        FileEntry {
            path: format!("{}/{name}", self.unit_directory(unit)),
            size: unit_size(self.model, index),
            content: self.content(ContentKind::Binary, TAG_UNIT, u64::from(unit), index),
        }
    }

    fn content(&self, kind: ContentKind, tag: u64, a: u64, b: u64) -> Content {
        let tag = tag + (u64::from(self.model.number()) << 8);
        Content::new(hash(self.seed, tag, a, b), kind)
    }
}

/// Name of a file of a unit, by its index below [`Shape::files_per_unit`].
fn unit_name(model: Model, index: u64) -> String {
    match model {
        Model::Banking if index < CHECKS => format!("CIF{:06}", index + 1),
        Model::Banking => format!("CIB{:06}", index - CHECKS + 1),
        Model::Ecommerce => format!("p{}_{}", index / PRODUCT_CLASSES, index % PRODUCT_CLASSES),
        Model::Support => {
            let place = rookery_cast::index(index).min(DOWNLOADS.len() - 1);
            let file = &DOWNLOADS[place];
            format!("download{}_{}", file.class, file.file)
        }
    }
}

/// Its size in bytes.
fn unit_size(model: Model, index: u64) -> u64 {
    match model {
        Model::Banking if index < CHECKS => 10_757 + 511 * (index + 1),
        Model::Banking => 5_458 + 334 * (index - CHECKS + 1),
        Model::Ecommerce => {
            let product = index / PRODUCT_CLASSES;
            match index % PRODUCT_CLASSES {
                0 => 3_521 + 1_586 * product,
                1 => 6_710 + 3_590 * product,
                _ => 5_327 + 3_911 * product,
            }
        }
        Model::Support => {
            let place = rookery_cast::index(index).min(DOWNLOADS.len() - 1);
            DOWNLOADS[place].size
        }
    }
}

/// The index of a file of a unit by its name.
fn unit_index(model: Model, name: &str) -> Option<u64> {
    match model {
        Model::Banking => {
            let check = |prefix| digits_of(name.strip_prefix(prefix)?, 6);
            let (check, side) = check("CIF")
                .map(|check| (check, 0))
                .or_else(|| Some((check("CIB")?, CHECKS)))?;
            (1..=CHECKS).contains(&check).then(|| side + check - 1)
        }
        Model::Ecommerce => {
            let (product, class) = name.strip_prefix('p')?.split_once('_')?;
            let (product, class) = (digits_of(product, 1)?, digits_of(class, 1)?);
            (class < PRODUCT_CLASSES).then(|| product * PRODUCT_CLASSES + class)
        }
        Model::Support => {
            let place = DOWNLOADS
                .iter()
                .enumerate()
                .position(|(index, _)| unit_name(model, index as u64) == name)?;
            Some(place as u64)
        }
    }
}

/// A number of exactly so many digits.
fn digits_of(text: &str, digits: usize) -> Option<u64> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

/// A number of up to three digits without leading zeros.
fn plain_number(text: &str) -> Option<u64> {
    let right = (1..=3).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !text.starts_with('0');
    right.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn shape(model: Model, sessions: u32, scale: f64) -> Shape {
        Shape::new(model, sessions, scale, 7).expect("a shape")
    }

    #[test]
    fn a_unit_has_the_bytes_of_the_specification() {
        let bytes = |model| shape(model, 1, 1.0).bytes_per_unit();
        assert_eq!(Model::ALL.map(bytes), [208_625, 564_495, 68_472_021]);
        for model in Model::ALL {
            let shape = shape(model, 1, 1.0);
            let sum: u64 = shape.unit_files(1).map(|file| file.size).sum();
            assert_eq!(sum, shape.bytes_per_unit());
        }
    }

    #[test]
    fn sets_are_as_large_as_the_specification_says() {
        let bank = shape(Model::Banking, 4_900, 1.0);
        assert_eq!(bank.units(), 245_000);
        assert_eq!(u64::from(bank.units()) * bank.files_per_unit(), 4_900_000);
        let gigabytes =
            |shape: Shape| (u64::from(shape.units()) * shape.bytes_per_unit()) as f64 / 1e9;
        assert!((gigabytes(bank) - 51.1).abs() < 0.05);
        let ecommerce = shape(Model::Ecommerce, 6_200, 1.0);
        assert_eq!(ecommerce.units(), 31_000);
        assert!((gigabytes(ecommerce) - 17.5).abs() < 0.05);
        for (sessions, directories) in [(100, 25), (500, 125), (1000, 250), (6500, 1625), (1, 1)] {
            assert_eq!(
                shape(Model::Support, sessions, 1.0).directories(),
                directories
            );
        }
        assert_eq!(shape(Model::Banking, 10, 0.1).units(), 50);
        assert_eq!(shape(Model::Banking, 10, 0.001).users_per_slot(), 1);
        assert_eq!(shape(Model::Ecommerce, 10, 0.1).lines(), 5);
    }

    #[test]
    fn names_are_those_of_the_specification() {
        let bank = shape(Model::Banking, 2, 1.0);
        let paths: Vec<String> = bank.unit_files(58).map(|file| file.path).collect();
        assert_eq!(paths[2], "bank/images/user0000000058/CIF000003");
        assert_eq!(paths[12], "bank/images/user0000000058/CIB000003");
        let spread = bank.with_sub_directories(50);
        assert_eq!(
            spread.unit_directory(58),
            "bank/images/subdir00008/user0000000058"
        );
        let ecommerce = shape(Model::Ecommerce, 2, 1.0);
        assert_eq!(
            ecommerce
                .unit_files(3)
                .last()
                .map(|file| file.path)
                .as_deref(),
            Some("ecommerce/images/line0000000003/p9_2")
        );
        let support = shape(Model::Support, 40, 1.0);
        assert_eq!(
            support
                .unit_files(10)
                .last()
                .map(|file| file.path)
                .as_deref(),
            Some("support/downloads/dir0000000010/download5_0")
        );
    }

    #[test]
    fn every_file_is_found_by_its_path_and_no_two_are_the_same() {
        for shape in [
            shape(Model::Banking, 2, 0.1),
            shape(Model::Banking, 2, 0.1).with_sub_directories(3),
            shape(Model::Ecommerce, 1, 1.0),
            shape(Model::Support, 8, 1.0),
        ] {
            let units = (1..=shape.units()).flat_map(|unit| shape.unit_files(unit));
            let files: Vec<FileEntry> = shape.fixed_files().chain(units).collect();
            assert_eq!(files.len() as u64, shape.total_files());
            assert_eq!(
                files.iter().map(|file| file.size).sum::<u64>(),
                shape.total_bytes()
            );
            let mut paths = BTreeSet::new();
            let mut begins = BTreeSet::new();
            for file in files {
                assert_eq!(shape.locate(&file.path).as_ref(), Some(&file));
                let mut begin = [0; 16];
                file.content.fill(0, &mut begin);
                assert!(begins.insert(begin), "{}", file.path);
                assert!(paths.insert(file.path));
            }
        }
    }

    #[test]
    fn what_is_not_in_the_set_is_not_found() {
        let bank = shape(Model::Banking, 2, 0.1);
        for path in [
            "",
            "/",
            "bank",
            "bank/",
            "bank/images",
            "bank/images/",
            "bank/images/0",
            "bank/images/01",
            "bank/images/45",
            "bank/images/4/",
            "bank/images/x/4",
            "/bank/images/4",
            "bank/images/user0000000011/CIF000001",
            "bank/images/user0000000000/CIF000001",
            "bank/images/user0000000001/CIF000011",
            "bank/images/user0000000001/CIF000000",
            "bank/images/user0000000001/CIF1",
            "bank/images/user1/CIF000001",
            "bank/images/../images/4",
            "bank/images/subdir00001/user0000000001/CIF000001",
            "bank/dynamic_padding/",
            "bank/dynamic_padding/check_image",
            "ecommerce/images/cart/1",
        ] {
            assert_eq!(bank.locate(path), None, "{path}");
        }
    }

    #[test]
    fn impossible_sets_are_refused() {
        let new = |sessions, scale| Shape::new(Model::Banking, sessions, scale, 1);
        assert_eq!(new(0, 1.0), Err(ShapeError::NoSessions));
        for scale in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
            assert_eq!(new(1, scale), Err(ShapeError::Scale));
        }
        assert_eq!(
            new(2_000_001, 1.0),
            Err(ShapeError::TooLarge {
                sessions: 2_000_001
            })
        );
        assert!(new(2_000_000, 1.0).is_ok());
    }

    proptest! {
        #[test]
        fn any_path_is_answered(path in ".{0,80}", seed in any::<u64>()) {
            for model in Model::ALL {
                let shape = Shape::new(model, 100, 1.0, seed).expect("a shape");
                if let Some(found) = shape.locate(&path) {
                    prop_assert_eq!(found.path, path.clone());
                }
            }
        }
    }
}
