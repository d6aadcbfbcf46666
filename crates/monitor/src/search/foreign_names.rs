//! The names of metrics in other tools, and the corresponding counters.
//!
//! `foreign_names.tsv` is the only table: the search uses it for synonyms, and `docs/linux.md` is generated from it.

/// The tool of rows that are everyday words, such as `ram`.
pub const EVERYDAY: &str = "word";

/// A row of the table: a metric of another tool, or an everyday word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignName {
    /// The tool, such as `sar`, or [`EVERYDAY`].
    pub tool: &'static str,
    /// The name of the metric, such as `%iowait`.
    pub name: &'static str,
    /// The counter path, with wildcards; `None` if no counter corresponds.
    pub path: Option<&'static str>,
    /// How metric and counter differ, or why no counter corresponds; can be empty if there is a path.
    pub remark: &'static str,
}

/// All rows, in the order of the table. A word or metric that corresponds to several paths has several rows.
pub fn foreign_names() -> impl Iterator<Item = ForeignName> {
    let rows = include_str!("foreign_names.tsv").lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let mut fields = line.split('\t');
        let (tool, name, path) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
        let path = Some(path).filter(|path| !path.is_empty());
        Some(ForeignName { tool, name, path, remark: fields.next().unwrap_or_default() })
    })
}

#[cfg(test)]
mod tests {
    use tachograph_counters::path::PathPattern;

    use super::*;

    #[test]
    fn every_row_has_a_path_or_a_reason() {
        let lines = include_str!("foreign_names.tsv").lines().count();
        assert_eq!(foreign_names().count(), lines - 1, "a line is not a row");
        for row in foreign_names() {
            assert!(!row.tool.is_empty() && !row.name.is_empty(), "{row:?}");
            match row.path {
                Some(path) => assert!(PathPattern::parse(path).is_ok(), "{row:?}"),
                None => assert!(row.remark.ends_with('.'), "{row:?}"),
            }
        }
    }

    #[test]
    fn no_row_is_repeated() {
        let mut rows: Vec<_> = foreign_names().map(|row| (row.tool, row.name, row.path)).collect();
        rows.sort_unstable();
        let repeated: Vec<_> = rows.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
    }
}
