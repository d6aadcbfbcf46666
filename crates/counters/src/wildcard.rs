//! Comparing names: ignoring case, with the wildcards `*` and `?`, and by similarity.
//!
//! Two names are equal if their characters are equal after conversion to lower case with Unicode's *simple* mapping
//! (one character to one character). All parts of counter paths are compared in this way (reference: "Paths, logs and
//! tools of the PDH world", 1.2).

/// Converts a character to lower case with Unicode's simple mapping.
fn to_lower(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    // Only U+0130 has a full mapping to more than one character, which begins with its simple mapping.
    character.to_lowercase().next().unwrap_or(character)
}

/// Whether two names are equal, ignoring case.
///
/// ```
/// use tachograph_counters::wildcard::eq_ignore_case;
/// assert!(eq_ignore_case("% Processor Time", "% processor time"));
/// assert!(eq_ignore_case("ÜBERTRAGUNG", "übertragung"));
/// assert!(!eq_ignore_case("System", "System "));
/// ```
#[must_use]
pub fn eq_ignore_case(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        return a.eq_ignore_ascii_case(b);
    }
    a.chars().map(to_lower).eq(b.chars().map(to_lower))
}

/// Converts a name to lower case. The result is the same for all names that are equal according to [`eq_ignore_case`].
///
/// ```
/// use tachograph_counters::wildcard::fold_case;
/// assert_eq!(fold_case("PhysicalDisk"), fold_case("physicaldisk"));
/// ```
#[must_use]
pub fn fold_case(name: &str) -> String {
    name.chars().map(to_lower).collect()
}

/// A name with wildcards: `*` matches any text, including the empty text, and `?` matches exactly one character.
///
/// Case is ignored. There is no escape character. A match takes at most (length of the pattern) x (length of the name)
/// steps and allocates nothing.
///
/// ```
/// use tachograph_counters::wildcard::Pattern;
/// let pattern = Pattern::new("svc*#?");
/// assert!(pattern.matches("SvcHost#2"));
/// assert!(!pattern.matches("svchost"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The pattern as it was written.
    text: String,
    /// `text` in lower case.
    folded: String,
    shape: Shape,
}

/// How a pattern is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// No wildcards: names must be equal.
    Literal,
    /// One or more `*` and nothing else: everything matches.
    Everything,
    /// Wildcards, and only ASCII characters: ASCII names are compared as bytes.
    Ascii,
    /// Wildcards, and characters outside ASCII.
    Unicode,
}

impl Pattern {
    /// Compiles a pattern. Every text is valid.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let folded = fold_case(text);
        let shape = if !folded.contains(['*', '?']) {
            Shape::Literal
        } else if folded.bytes().all(|byte| byte == b'*') {
            Shape::Everything
        } else if folded.is_ascii() {
            Shape::Ascii
        } else {
            Shape::Unicode
        };
        Self { text: text.to_owned(), folded, shape }
    }

    /// The original text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the pattern has no wildcards.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.shape == Shape::Literal
    }

    /// Whether the pattern has only `*`, and so matches every name.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.shape == Shape::Everything
    }

    /// Whether the pattern matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self.shape {
            Shape::Everything => true,
            Shape::Literal => eq_ignore_case(&self.folded, name),
            Shape::Ascii if name.is_ascii() => {
                let lower_case = name.bytes().map(|byte| byte.to_ascii_lowercase());
                matches_parts(self.folded.bytes(), lower_case, b'*', b'?')
            }
            Shape::Ascii | Shape::Unicode => {
                matches_parts(self.folded.chars(), name.chars().map(to_lower), '*', '?')
            }
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Matches a pattern from left to right. After a mismatch, extends the match of the latest `*` by one character.
/// Extending an earlier `*` would not help, since the latest one can match the additional text. This bounds the number
/// of steps.
fn matches_parts<P, N, T>(mut pattern: P, mut name: N, any_text: T, any_character: T) -> bool
where
    P: Iterator<Item = T> + Clone,
    N: Iterator<Item = T> + Clone,
    T: PartialEq + Copy,
{
    // The pattern after the latest `*`, and the part of the name that this `*` does not match.
    let mut latest: Option<(P, N)> = None;
    loop {
        let at_name = name.clone();
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some(wanted), _) if wanted == any_text => {
                name = at_name.clone();
                latest = Some((pattern.clone(), at_name));
            }
            (Some(wanted), Some(found)) if wanted == any_character || wanted == found => {}
            (Some(_), None) => return false,
            (_, Some(_)) => {
                let Some((after, from)) = latest.as_mut() else { return false };
                from.next();
                pattern = after.clone();
                name = from.clone();
            }
        }
    }
}

/// The candidate most similar to `wanted`, for "did you mean ...?". `None` if none is similar enough.
///
/// The distance is the number of characters to insert, remove, replace, or swap with their neighbour, ignoring case. It
/// must not exceed a third of the length of `wanted`, or 1 if that is larger. If several candidates have the smallest
/// distance, the first one is returned.
///
/// ```
/// use tachograph_counters::wildcard::closest;
/// let counters = ["% Processor Time", "% User Time", "Interrupts/sec"];
/// assert_eq!(closest("% procesor tiem", counters.into_iter()), Some("% Processor Time"));
/// assert_eq!(closest("Disk Reads/sec", counters.into_iter()), None);
/// ```
pub fn closest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.chars().map(to_lower).collect();
    if wanted.is_empty() {
        return None;
    }
    let mut limit = (wanted.len() / 3).max(1);
    let mut best = None;
    let mut rows = Rows::default();
    let mut characters: Vec<char> = Vec::new();
    for candidate in candidates {
        characters.clear();
        // One more character than could match is enough to reject a candidate that is too long.
        characters.extend(candidate.chars().map(to_lower).take(wanted.len() + limit + 1));
        let Some(distance) = edit_distance(&wanted, &characters, limit, &mut rows) else { continue };
        best = Some(candidate);
        if distance == 0 {
            break;
        }
        // Only a more similar candidate replaces this one.
        limit = distance - 1;
    }
    best
}

/// Three rows of the distance table, reused between candidates.
#[derive(Default)]
struct Rows {
    /// The row before `last`.
    before_last: Vec<usize>,
    /// The row before `current`.
    last: Vec<usize>,
    current: Vec<usize>,
}

/// The number of edits between two names (optimal string alignment); `None` if it exceeds the limit.
fn edit_distance(a: &[char], b: &[char], limit: usize, rows: &mut Rows) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let Rows { before_last, last, current } = rows;
    last.clear();
    last.extend(0..=b.len());
    before_last.clear();
    before_last.resize(b.len() + 1, 0);
    for (i, &from) in a.iter().enumerate() {
        current.clear();
        current.push(i + 1);
        let mut row_min = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut cost = replaced.min(last[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row_min = row_min.min(cost);
            current.push(cost);
        }
        // The minimum never decreases from row to row, except that a swap refers to the row before the last one.
        if row_min > limit && last.iter().all(|&cost| cost > limit) {
            return None;
        }
        std::mem::swap(before_last, last);
        std::mem::swap(last, current);
    }
    last.last().copied().filter(|&distance| distance <= limit)
}
