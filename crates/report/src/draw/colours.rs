//! Colours of series. They differ for readers who tell fewer colours apart, and what is written on
//! them is readable.

/// Colours of series, in their order. Each differs from the next for protanopes and deuteranopes
/// too, and stands out from a light and a dark page.
pub(super) const SERIES: [&str; 8] = [
    "#0072b2", "#e69f00", "#b8433a", "#77838f", "#c4501b", "#9c2f5f", "#4fa8dc", "#009e73",
];
/// Text on light and on dark fills.
const TEXT: [&str; 2] = ["#10161c", "#ffffff"];
/// How much of a colour is left where limits were missed; the rest is white.
const PALE: f64 = 0.4;

/// Red, green and blue, each from 0 to 1.
pub(super) type Rgb = [f64; 3];

/// The parts of `#rrggbb`; anything else is black.
pub(super) fn rgb(colour: &str) -> Rgb {
    let part = |at: usize| {
        let digits = colour.get(at..at + 2).unwrap_or("00");
        f64::from(u8::from_str_radix(digits, 16).unwrap_or(0)) / 255.0
    };
    [part(1), part(3), part(5)]
}

/// `#rrggbb`.
fn hex(colour: Rgb) -> String {
    let [r, g, b] = colour.map(|part| rookery_cast::truncate_u64((part * 255.0).round()).min(255));
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Somewhere between two colours: 0 is the first, 1 the second.
pub(super) fn mixed(from: &str, to: &str, share: f64) -> String {
    let (from, to) = (rgb(from), rgb(to));
    hex([0, 1, 2].map(|i| from[i] + (to[i] - from[i]) * share.clamp(0.0, 1.0)))
}

/// The colour of what missed its limits. It is opaque, so that text on it is as readable on a dark
/// page as on a light one.
pub(super) fn pale(colour: &str) -> String {
    mixed("#ffffff", colour, PALE)
}

/// The colour of text on a fill: whichever contrasts more.
pub(super) fn text_on(fill: &str) -> &'static str {
    let [dark, light] = TEXT.map(|text| contrast(text, fill));
    TEXT[usize::from(light > dark)]
}

/// Contrast of two colours after WCAG 2.2: from 1 for equal ones to 21 for black on white.
pub(super) fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: &str) -> f64 {
    let [r, g, b] = rgb(colour).map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// A part of an sRGB colour as light.
fn linear(part: f64) -> f64 {
    if part <= 0.040_45 {
        part / 12.92
    } else {
        ((part + 0.055) / 1.055).powf(2.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Sight without red or green receptors: Machado, Oliveira and Fernandes 2009, severity 1.
    const PROTANOPIA: Matrix = [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ];
    const DEUTERANOPIA: Matrix = [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ];
    const COMPLETE: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// sRGB light to XYZ over the white point D65.
    const TO_XYZ: Matrix = [
        [0.433_953, 0.376_219, 0.189_828],
        [0.212_673, 0.715_152, 0.072_175],
        [0.017_758, 0.109_477, 0.872_766],
    ];

    fn product(matrix: &Matrix, vector: Rgb) -> Rgb {
        matrix.map(|row| (0..3).map(|i| row[i] * vector[i]).sum())
    }

    /// CIE L*a*b* as seen through `sight`.
    fn lab(colour: &str, sight: &Matrix) -> Rgb {
        let seen = product(sight, rgb(colour).map(linear)).map(|part| part.clamp(0.0, 1.0));
        let [x, y, z] = product(&TO_XYZ, seen).map(|part| {
            if part > 0.008_856 {
                part.cbrt()
            } else {
                7.787 * part + 16.0 / 116.0
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// ΔE of 1976, the least over all three kinds of sight.
    fn difference(a: &str, b: &str) -> f64 {
        [COMPLETE, PROTANOPIA, DEUTERANOPIA]
            .iter()
            .map(|sight| {
                let (a, b) = (lab(a, sight), lab(b, sight));
                (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn series_differ_for_colour_blind_readers_too() {
        assert!(
            difference("#3a9d6e", "#c65b6a") < 6.0,
            "green and red of old are nearly one to deuteranopes"
        );
        for (at, colour) in SERIES.iter().enumerate() {
            let next = SERIES[(at + 1) % SERIES.len()];
            let neighbours = difference(colour, next);
            assert!(
                neighbours >= 25.0,
                "{colour} beside {next}: {neighbours:.1}"
            );
            for other in &SERIES[at + 1..] {
                let any = difference(colour, other);
                assert!(any >= 15.0, "{colour} and {other}: {any:.1}");
            }
        }
    }

    #[test]
    fn text_on_bars_is_readable() {
        for colour in SERIES {
            for fill in [colour.to_owned(), pale(colour)] {
                let found = contrast(text_on(&fill), &fill);
                assert!(found >= 4.5, "on {fill}: {found:.2}");
            }
        }
    }

    #[test]
    fn series_stand_out_from_light_and_dark_pages() {
        for colour in SERIES {
            for page in ["#ffffff", "#1a2027"] {
                let found = contrast(colour, page);
                assert!(found >= 2.0, "{colour} on {page}: {found:.2}");
            }
        }
    }

    #[test]
    fn pale_colours_are_nearer_to_white() {
        assert_eq!(pale("#000000"), "#999999");
        assert_eq!(mixed("#000000", "#ffffff", 1.0), "#ffffff");
    }
}
