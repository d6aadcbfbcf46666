//! Samples as CSV: a row per sample and scope, in full precision. Schema: docs/json.md.

use std::fmt::{Display, Write as _};

use super::sample::{Row, Sample, Scope};

pub(super) const HEADER: &str = "time,seconds,scope,user_only,instructions,cycles,cycles_scaled,core_cycles,cpi,cpi_wb,\
                                 core_cpi,idle_percent,busy_percent,counters_running_percent\n";

/// Appends a row for each scope.
pub(super) fn push(text: &mut String, sample: &Sample) {
    for row in sample.rows() {
        // Writing into a String cannot fail.
        let _ = write!(text, "{},{},", sample.at, sample.seconds);
        let _ = match row.scope {
            Scope::Process => write!(text, "process"),
            Scope::System => write!(text, "system"),
            Scope::Processor(index) => write!(text, "cpu{index}"),
        };
        let _ = write!(text, ",{}", row.user_only);
        let Row { instructions, cycles, cycles_scaled, core_cycles, .. } = *row;
        for count in [instructions, cycles, cycles_scaled, core_cycles] {
            push_field(text, count);
        }
        let Row { cpi, cpi_wb, core_cpi, idle_percent, busy_percent, counters_running_percent, .. } = *row;
        for value in [cpi, cpi_wb, core_cpi, idle_percent, busy_percent, counters_running_percent] {
            push_field(text, value);
        }
        text.push('\n');
    }
}

pub(super) fn push_field(text: &mut String, value: Option<impl Display>) {
    text.push(',');
    if let Some(value) = value {
        let _ = write!(text, "{value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cpi::sample::tests::sample;

    #[test]
    fn each_scope_has_a_row() {
        let mut text = HEADER.to_owned();
        push(&mut text, &sample());
        let expected = "\
time,seconds,scope,user_only,instructions,cycles,cycles_scaled,core_cycles,cpi,cpi_wb,core_cpi,idle_percent,busy_percent,counters_running_percent
2013-02-19T18:50:17.844-08:00,1.5,process,true,1000000,2000000,,1500000,2,,1.5,,,50
2013-02-19T18:50:17.844-08:00,1.5,system,false,4000,8000,4000,3000,2,1,0.75,50,50,25
2013-02-19T18:50:17.844-08:00,1.5,cpu0,false,1000,4000,2000,1500,4,2,1.5,50,50,25
2013-02-19T18:50:17.844-08:00,1.5,cpu2,false,3000,4000,2000,1500,1.3333333333333333,0.6666666666666666,0.5,50,50,25
";
        assert_eq!(text, expected);
    }
}
