//! Colours and characters that a terminal can show.

use ratatui::style::{Color, Modifier, Style};
use tachograph_monitor::palette::{self, Background, Colour};

/// What colours are drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeChoice {
    /// As the terminal says of itself (`COLORFGBG`), else dark.
    Detect,
    /// A dark background.
    Dark,
    /// A light background.
    Light,
    /// No colours: bold, dim, reversed.
    None,
}

/// How many colours a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourDepth {
    /// All of 24 bits.
    Full,
    /// The 256 of xterm.
    Indexed,
    /// The 16 of ANSI.
    Ansi,
}

/// Colours and characters that are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// What is drawn on; `None` for no colours.
    pub background: Option<Background>,
    /// How many colours there are.
    pub depth: ColourDepth,
    /// Whether characters beyond ASCII are shown.
    pub is_unicode: bool,
}

impl Default for Theme {
    /// Dark, all colours, all characters.
    fn default() -> Self {
        Self { background: Some(Background::Dark), depth: ColourDepth::Full, is_unicode: true }
    }
}

impl Theme {
    /// What the environment says of the terminal. `variable` gives what a variable holds; an empty one counts as none.
    ///
    /// `NO_COLOR` leaves colours out unless a background is asked for. `COLORFGBG` ends in the number of the background's
    /// colour. The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set says whether the locale is one of UTF-8.
    pub fn detect(choice: ThemeChoice, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let background = match choice {
            ThemeChoice::Dark => Some(Background::Dark),
            ThemeChoice::Light => Some(Background::Light),
            ThemeChoice::None => None,
            ThemeChoice::Detect if variable("NO_COLOR").is_some() => None,
            ThemeChoice::Detect => {
                let number = variable("COLORFGBG");
                let number = number.as_deref().and_then(|text| text.rsplit(';').next()?.parse::<u8>().ok());
                let is_light = matches!(number, Some(7 | 9..=15));
                Some(if is_light { Background::Light } else { Background::Dark })
            }
        };
        let term = variable("TERM").unwrap_or_default();
        let depth = match variable("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => ColourDepth::Full,
            _ if term.contains("256") || term.starts_with("tmux") => ColourDepth::Indexed,
            _ if term.contains("direct") || term.contains("kitty") || term.contains("alacritty") => {
                ColourDepth::Full
            }
            _ => ColourDepth::Ansi,
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        // The console of Linux has no Braille in its font.
        let is_unicode = (locale.contains("utf-8") || locale.contains("utf8")) && term != "linux";
        Self { background, depth, is_unicode }
    }

    /// How a line is drawn.
    pub fn line(&self, style: palette::Style, is_highlighted: bool) -> Style {
        let Some(background) = self.background else {
            return if is_highlighted { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        };
        if is_highlighted {
            let bold = Style::new().add_modifier(Modifier::BOLD);
            // The terminal's own white may be grey.
            return if self.depth == ColourDepth::Ansi {
                bold
            } else {
                bold.fg(self.colour(background.highlight()))
            };
        }
        if self.depth == ColourDepth::Ansi {
            return Style::new().fg(ANSI[style.0 % ANSI.len()]);
        }
        Style::new().fg(self.colour(style.colour(background)))
    }

    /// How the band of a line from minimum to maximum is drawn: dimmer.
    pub fn band(&self, style: palette::Style) -> Style {
        match self.background {
            Some(background) if self.depth != ColourDepth::Ansi => {
                Style::new().fg(self.colour(style.colour(background).mixed(background.colour(), 0.5)))
            }
            _ => self.line(style, false).add_modifier(Modifier::DIM),
        }
    }

    /// What stands back: axes, rules, hints.
    pub fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What something is wrong with.
    pub fn trouble(&self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.background.is_some() { bold.fg(Color::Red) } else { bold }
    }

    /// What is selected.
    pub fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colour(&self, colour: Colour) -> Color {
        match self.depth {
            ColourDepth::Full => Color::Rgb(colour.0, colour.1, colour.2),
            ColourDepth::Indexed | ColourDepth::Ansi => Color::Indexed(nearest(colour)),
        }
    }

    /// The first text where characters beyond ASCII are shown, else the second.
    pub fn either<'a>(&self, unicode: &'a str, ascii: &'a str) -> &'a str {
        if self.is_unicode { unicode } else { ascii }
    }
}

/// For terminals with 16 colours, nearest to the palette.
const ANSI: [Color; palette::COLOURS] = [
    Color::Cyan,
    Color::Yellow,
    Color::Green,
    Color::LightYellow,
    Color::Magenta,
    Color::Red,
    Color::Gray,
    Color::Blue,
];

/// The nearest of xterm's colours: a cube of 6 x 6 x 6 from 16 on, and 24 greys from 232 on.
fn nearest(colour: Colour) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let Colour(red, green, blue) = colour;
    let step = |part: u8| (0..6).min_by_key(|&step| STEPS[step].abs_diff(part)).unwrap_or_default();
    let [r, g, b] = [red, green, blue].map(step);
    let distance = |other: [u8; 3]| -> u32 {
        [red, green, blue].iter().zip(other).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    let in_cube = distance([STEPS[r], STEPS[g], STEPS[b]]);
    let mean = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let shade = 8 + 10 * grey;
    if distance([shade; 3]) < in_cube { 232 + grey } else { (16 + 36 * r + 6 * g + b) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(choice: ThemeChoice, variables: &[(&str, &str)]) -> Theme {
        let of = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Theme::detect(choice, of)
    }

    #[test]
    fn what_the_environment_says() {
        let detect = ThemeChoice::Detect;
        assert_eq!(theme(detect, &[]).background, Some(Background::Dark));
        assert_eq!(theme(detect, &[("COLORFGBG", "0;15")]).background, Some(Background::Light));
        assert_eq!(theme(detect, &[("COLORFGBG", "15;default;0")]).background, Some(Background::Dark));
        assert_eq!(theme(detect, &[("NO_COLOR", "1"), ("COLORFGBG", "0;15")]).background, None);
        assert_eq!(theme(detect, &[("NO_COLOR", "")]).background, Some(Background::Dark));
        assert_eq!(theme(ThemeChoice::Light, &[("NO_COLOR", "1")]).background, Some(Background::Light));
        assert_eq!(theme(detect, &[("TERM", "tmux-256color")]).depth, ColourDepth::Indexed);
        assert_eq!(theme(detect, &[("TERM", "xterm"), ("COLORTERM", "truecolor")]).depth, ColourDepth::Full);
        assert_eq!(theme(detect, &[("TERM", "vt220")]).depth, ColourDepth::Ansi);
        assert!(theme(detect, &[("LANG", "de_DE.UTF-8")]).is_unicode);
        assert!(theme(detect, &[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).is_unicode);
        assert!(!theme(detect, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).is_unicode);
        assert!(!theme(detect, &[]).is_unicode);
    }

    #[test]
    fn nearest_of_256() {
        assert_eq!(nearest(Colour(255, 255, 255)), 231);
        assert_eq!(nearest(Colour(0, 0, 0)), 16);
        assert_eq!(nearest(Colour(0xd0, 0xd0, 0xd0)), 252);
        assert_eq!(nearest(Colour(0xd5, 0x5e, 0)), 16 + 36 * 4 + 6);
    }
}
