//! The colours and characters of a terminal.

use ratatui::style::{Color, Modifier, Style};
use tachograph_monitor::palette::{self, Background, Colour};

/// The user's choice of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The background that the terminal reports in `COLORFGBG`, or dark if it reports none.
    Detect,
    /// A dark background.
    Dark,
    /// A light background.
    Light,
    /// No colours, only bold, dim and reversed text.
    None,
}

/// The number of colours that a terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourDepth {
    /// 24-bit colours.
    Full,
    /// The 256 colours of xterm.
    Indexed,
    /// The 16 colours of ANSI.
    Ansi,
}

/// The colours and characters of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// The background; `None` for no colours.
    pub background: Option<Background>,
    /// The number of colours.
    pub depth: ColourDepth,
    /// Whether characters beyond ASCII are used.
    pub is_unicode: bool,
}

impl Default for Theme {
    /// A dark background, with all colours and characters.
    fn default() -> Self {
        Self { background: Some(Background::Dark), depth: ColourDepth::Full, is_unicode: true }
    }
}

impl Theme {
    /// Detects the theme from environment variables, which `variable` looks up. An empty variable counts as unset.
    ///
    /// `NO_COLOR` disables colours unless a background is requested. `COLORFGBG` ends in the index of the background colour. The
    /// first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set decides whether the locale uses UTF-8.
    pub fn detect(choice: ThemeChoice, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let background = match choice {
            ThemeChoice::Dark => Some(Background::Dark),
            ThemeChoice::Light => Some(Background::Light),
            ThemeChoice::None => None,
            ThemeChoice::Detect if variable("NO_COLOR").is_some() => None,
            ThemeChoice::Detect => {
                let index = variable("COLORFGBG");
                let index = index.as_deref().and_then(|text| text.rsplit(';').next()?.parse::<u8>().ok());
                let is_light = matches!(index, Some(7 | 9..=15));
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
        // The font of the Linux console has no Braille.
        let is_unicode = (locale.contains("utf-8") || locale.contains("utf8")) && term != "linux";
        Self { background, depth, is_unicode }
    }

    /// The style of a counter's line.
    pub fn line(&self, style: palette::Style, is_highlighted: bool) -> Style {
        let Some(background) = self.background else {
            return if is_highlighted { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        };
        if is_highlighted {
            let bold = Style::new().add_modifier(Modifier::BOLD);
            // Without a colour, because "white" is grey on some terminals with 16 colours.
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

    /// The style of a min-max band: dimmer than the line.
    pub fn band(&self, style: palette::Style) -> Style {
        match self.background {
            Some(background) if self.depth != ColourDepth::Ansi => {
                Style::new().fg(self.colour(style.colour(background).mixed(background.colour(), 0.5)))
            }
            _ => self.line(style, false).add_modifier(Modifier::DIM),
        }
    }

    /// The style of axes, separators and hints.
    pub fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The style of error messages and of the recording status.
    pub fn problem(&self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.background.is_some() { bold.fg(Color::Red) } else { bold }
    }

    /// The style of values above a limit.
    pub fn warning(&self) -> Style {
        self.problem()
    }

    /// The mark before values above a limit, if no colour shows them.
    pub fn warning_mark(&self) -> &'static str {
        if self.background.is_none() { "!" } else { "" }
    }

    /// The style of the selection.
    pub fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colour(&self, colour: Colour) -> Color {
        match self.depth {
            ColourDepth::Full => Color::Rgb(colour.0, colour.1, colour.2),
            ColourDepth::Indexed | ColourDepth::Ansi => Color::Indexed(nearest_xterm_colour(colour)),
        }
    }

    /// Returns `unicode` if characters beyond ASCII are used, otherwise `ascii`.
    pub fn either<'a>(&self, unicode: &'a str, ascii: &'a str) -> &'a str {
        if self.is_unicode { unicode } else { ascii }
    }
}

/// The colours of lines on terminals with 16 colours.
const ANSI: [Color; palette::COLOURS] = {
    use Color::*;
    [Cyan, Yellow, Green, LightYellow, Magenta, Red, Gray, Blue]
};

/// The index of the nearest xterm colour: 16 to 231 are a cube of 6 x 6 x 6, 232 to 255 are greys.
fn nearest_xterm_colour(colour: Colour) -> u8 {
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
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Theme::detect(choice, variable)
    }

    #[test]
    fn the_environment_selects_the_theme() {
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
    fn colours_map_to_the_nearest_xterm_colour() {
        assert_eq!(nearest_xterm_colour(Colour(255, 255, 255)), 231);
        assert_eq!(nearest_xterm_colour(Colour(0, 0, 0)), 16);
        assert_eq!(nearest_xterm_colour(Colour(0xd0, 0xd0, 0xd0)), 252);
        assert_eq!(nearest_xterm_colour(Colour(0xd5, 0x5e, 0)), 16 + 36 * 4 + 6);
    }
}
