//! Tables and numbers for people.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ContentArrangement, Table};

/// A table without lines, whose columns from `first_number` on are numbers, set to the right.
pub(crate) fn table(header: &[&str], first_number: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(header);
    // Where the output is no terminal, lines are as long as they need to be: nothing is wrapped in a file.
    table.set_content_arrangement(if std::io::stdout().is_terminal() {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    });
    table.add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= first_number {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A number as people read it: digits in groups, three decimals, more where the number is small.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if magnitude >= 1e15 {
        return format!("{value:.3e}");
    }
    if value.fract() == 0.0 {
        return grouped(&format!("{value:.0}"));
    }
    if magnitude >= 1.0 {
        return grouped(&format!("{value:.3}"));
    }
    if magnitude >= 1e-6 {
        // Three digits that say something.
        let decimals = 2 + (-magnitude.log10()).ceil().max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.3e}")
}

/// `1 sample`, `1,234 samples`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { many })
}

/// Puts commas between groups of three digits before the point.
pub(crate) fn grouped(digits: &str) -> String {
    let (sign, rest) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = sign.to_owned();
    for (number, digit) in whole.chars().enumerate() {
        if number > 0 && (whole.len() - number).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (53.90787244, "53.908"),
            (5309.188746893078, "5,309.189"),
            (-1234567.0, "-1,234,567"),
            (113057792.0, "113,057,792"),
            (0.15, "0.15"),
            (0.008170940934075234, "0.00817"),
            (9.2e18, "9.200e18"),
            (1.5e-9, "1.500e-9"),
            (999.9999, "1,000.000"),
            (0.99996, "1"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }
}
