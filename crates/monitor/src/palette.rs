//! Colours and line styles that can be distinguished with any colour vision.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// The colour at `share` (0 to 1) of the way to another one.
    #[must_use]
    pub fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |from: u8, to: u8| {
            (f64::from(from) + (f64::from(to) - f64::from(from)) * share.clamp(0.0, 1.0)).round() as u8
        };
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineStyle {
    /// Solid.
    Solid,
    /// Dashed.
    Dashed,
    /// Dotted.
    Dotted,
    /// Dashes and dots in turn.
    DashDotted,
}

impl LineStyle {
    /// All styles, in order of assignment.
    pub const ALL: [Self; 4] = [Self::Solid, Self::Dashed, Self::Dotted, Self::DashDotted];

    /// Whether the line is drawn at this point, counted from the start of the line.
    pub fn is_drawn_at(self, point: usize) -> bool {
        match self {
            Self::Solid => true,
            Self::Dashed => point % 6 < 4,
            Self::Dotted => point.is_multiple_of(2),
            Self::DashDotted => matches!(point % 8, 0..4 | 6),
        }
    }
}

/// The background of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Background {
    /// Black or nearly black.
    #[default]
    Dark,
    /// White or nearly white.
    Light,
}

impl Background {
    /// The colour.
    pub fn colour(self) -> Colour {
        match self {
            Self::Dark => Colour(0, 0, 0),
            Self::Light => Colour(255, 255, 255),
        }
    }

    /// The colour of highlighted lines: the one with the highest contrast.
    pub fn highlight(self) -> Colour {
        match self {
            Self::Dark => Colour(255, 255, 255),
            Self::Light => Colour(0, 0, 0),
        }
    }
}

/// The number of colours. Further styles repeat them with the next [`LineStyle`].
pub const COLOURS: usize = 8;

/// The number of styles, colours times line styles. Further styles repeat from the first.
pub const STYLES: usize = COLOURS * LineStyle::ALL.len();

// Okabe and Ito, "Color Universal Design" (2008), with grey for black and a lighter blue, for contrast on black.
const ON_DARK: [Colour; COLOURS] = [
    Colour(0x56, 0xb4, 0xe9),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xf0, 0xe4, 0x42),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0xd0, 0xd0, 0xd0),
    Colour(0x40, 0x70, 0xe0),
];

// The same hues where possible, each with a contrast of at least 3:1 to white (WCAG 1.4.11). This leaves less room
// between the colours, so they were moved apart until the test below passed.
const ON_LIGHT: [Colour; COLOURS] = [
    Colour(0x00, 0x53, 0xbd),
    Colour(0x9d, 0x34, 0x05),
    Colour(0x33, 0x9b, 0xd3),
    Colour(0xa5, 0x96, 0x00),
    Colour(0xad, 0x59, 0x85),
    Colour(0x23, 0x1c, 0x6f),
    Colour(0x47, 0x1e, 0x00),
    Colour(0x00, 0x00, 0x00),
];

/// Index of a combination of colour and line style; wraps at [`STYLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Style(pub usize);

impl Style {
    /// The colour on a background.
    pub fn colour(self, background: Background) -> Colour {
        let colours = match background {
            Background::Dark => &ON_DARK,
            Background::Light => &ON_LIGHT,
        };
        colours[self.0 % COLOURS]
    }

    /// The line style.
    pub fn line(self) -> LineStyle {
        LineStyle::ALL[self.0 / COLOURS % LineStyle::ALL.len()]
    }

    /// The first unused style, or the least used one.
    pub fn next_free(used: impl Iterator<Item = Self>) -> Self {
        let mut counts = [0usize; STYLES];
        used.for_each(|style| counts[style.0 % STYLES] += 1);
        let min = counts.iter().min().copied().unwrap_or_default();
        Self(counts.iter().position(|&count| count == min).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009),
    /// severity 1.0: protanopia, deuteranopia, tritanopia; and normal vision.
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn linear_rgb(colour: Colour) -> [f64; 3] {
        [colour.0, colour.1, colour.2].map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(colour: Colour) -> f64 {
        let [red, green, blue] = linear_rgb(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: Colour, other: Colour) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// CIE 1976 L*a*b* of a colour as seen with this vision.
    fn perceived_lab(colour: Colour, vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let rgb = linear_rgb(colour);
        let part = |row: &[f64; 3]| row.iter().zip(rgb).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0);
        let [red, green, blue] = [part(&vision[0]), part(&vision[1]), part(&vision[2])];
        let x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047;
        let y = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        let z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883;
        let [x, y, z] =
            [x, y, z].map(|t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_differ_for_every_vision_and_from_the_background() {
        for background in [Background::Dark, Background::Light] {
            let colours: Vec<_> = (0..COLOURS).map(|number| Style(number).colour(background)).collect();
            for (number, &colour) in colours.iter().enumerate() {
                assert!(contrast(colour, background.colour()) >= 3.0, "{colour:?} on {background:?}");
                for vision in &VISIONS {
                    for &other in &colours[..number] {
                        let apart =
                            perceived_lab(colour, vision).into_iter().zip(perceived_lab(other, vision));
                        let distance = apart.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(distance > 15.0, "{colour:?} and {other:?} on {background:?}: {distance}");
                    }
                }
            }
        }
    }

    #[test]
    fn free_styles_come_first() {
        assert_eq!(Style::next_free([].into_iter()), Style(0));
        assert_eq!(Style::next_free([Style(0), Style(2)].into_iter()), Style(1));
        assert_eq!(Style::next_free((0..STYLES).map(Style)), Style(0));
        assert_eq!(Style::next_free((0..STYLES).map(Style).chain([Style(0)])), Style(1));
        assert_eq!((Style(8).line(), Style(31).line()), (LineStyle::Dashed, LineStyle::DashDotted));
        assert_eq!(Style(8).colour(Background::Dark), Style(0).colour(Background::Dark));
    }
}
