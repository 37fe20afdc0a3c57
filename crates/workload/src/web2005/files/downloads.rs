//! The sixteen downloads of a directory.

/// Downloads of about the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadClass {
    /// How many of 10,000 downloads are of the class.
    pub share_10000: u32,
    /// Place of its first file in [`DOWNLOADS`].
    pub first: usize,
    /// How many files it has.
    pub files: usize,
}

/// A file of each download directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Download {
    /// Its class, from 0.
    pub class: u8,
    /// Its number in the class, from 0.
    pub file: u8,
    /// Bytes.
    pub size: u64,
    /// How many of 1,000 downloads of the class are of the file.
    pub share_1000: u32,
}

const fn class(share_10000: u32, first: usize, files: usize) -> DownloadClass {
    DownloadClass {
        share_10000,
        first,
        files,
    }
}

const fn file(class: u8, file: u8, size: u64, share_1000: u32) -> Download {
    Download {
        class,
        file,
        size,
        share_1000,
    }
}

/// The classes.
pub static CLASSES: [DownloadClass; 6] = [
    class(1_366, 0, 5),
    class(1_261, 5, 3),
    class(2_840, 8, 4),
    class(2_232, 12, 2),
    class(1_250, 14, 1),
    class(1_051, 15, 1),
];

/// The files of a directory; their place is the index in file numbers.
pub static DOWNLOADS: [Download; 16] = [
    file(0, 0, 104_858, 273),
    file(0, 1, 209_716, 91),
    file(0, 2, 314_574, 165),
    file(0, 3, 419_432, 186),
    file(0, 4, 524_290, 285),
    file(1, 0, 629_146, 579),
    file(1, 1, 754_975, 178),
    file(1, 2, 880_804, 243),
    file(2, 0, 1_048_576, 275),
    file(2, 1, 1_541_407, 170),
    file(2, 2, 2_034_238, 170),
    file(2, 3, 2_527_069, 385),
    file(3, 0, 4_194_304, 667),
    file(3, 1, 5_546_967, 333),
    file(4, 0, 9_992_929, 1_000),
    file(5, 0, 37_748_736, 1_000),
];

impl Download {
    /// The place in [`DOWNLOADS`] of a draw: `class` uniform below 10,000, `file` below 1,000.
    #[must_use]
    pub fn drawn(class: u32, file: u32) -> usize {
        let wanted = &CLASSES[place(CLASSES.iter().map(|class| class.share_10000), class)];
        let files = &DOWNLOADS[wanted.first..wanted.first + wanted.files];
        wanted.first + place(files.iter().map(|file| file.share_1000), file)
    }
}

/// Where a draw lies among shares; the last one for draws beyond their sum.
fn place(shares: impl ExactSizeIterator<Item = u32>, drawn: u32) -> usize {
    let last = shares.len() - 1;
    let mut sum = 0;
    for (place, share) in shares.enumerate() {
        sum += share;
        if drawn < sum {
            return place;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_places_follow_each_other() {
        let shares: u32 = CLASSES.iter().map(|class| class.share_10000).sum();
        assert_eq!(shares, 10_000);
        for (number, class) in CLASSES.iter().enumerate() {
            let files = &DOWNLOADS[class.first..class.first + class.files];
            assert_eq!(files.iter().map(|file| file.share_1000).sum::<u32>(), 1_000);
            for (index, file) in files.iter().enumerate() {
                assert_eq!(
                    (usize::from(file.class), usize::from(file.file)),
                    (number, index)
                );
            }
        }
    }

    #[test]
    fn a_directory_and_a_mean_download_have_the_bytes_of_the_tables() {
        assert_eq!(
            DOWNLOADS.iter().map(|file| file.size).sum::<u64>(),
            68_472_021
        );
        let mean: f64 = DOWNLOADS
            .iter()
            .map(|file| {
                let class = CLASSES[usize::from(file.class)].share_10000;
                file.size as f64 * f64::from(class) / 1e4 * f64::from(file.share_1000) / 1e3
            })
            .sum();
        assert!((mean - 6_918_596.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn every_draw_gives_each_file_its_share() {
        let mut counts = [0u64; 16];
        for class in 0..10_000 {
            for file in 0..1_000 {
                counts[Download::drawn(class, file)] += 1;
            }
        }
        for (file, count) in DOWNLOADS.iter().zip(counts) {
            let class = CLASSES[usize::from(file.class)].share_10000;
            assert_eq!(count, u64::from(class) * u64::from(file.share_1000));
        }
        assert_eq!(Download::drawn(u32::MAX, u32::MAX), 15);
    }
}
