//! Samples as JSON: one object per sample and line, in full precision. Schema: docs/json.md.

use serde::Serialize;

use super::sample::{Row, Sample, Scope};

#[derive(Serialize)]
struct Record<'a> {
    time: String,
    seconds: f64,
    process: Option<&'a Row>,
    system: Option<&'a Row>,
    processors: Vec<Processor<'a>>,
}

#[derive(Serialize)]
struct Processor<'a> {
    processor: usize,
    #[serde(flatten)]
    row: &'a Row,
}

pub(super) fn push(text: &mut String, sample: &Sample) {
    let processor = |row| match row {
        row @ &Row { scope: Scope::Processor(processor), .. } => Some(Processor { processor, row }),
        _ => None,
    };
    let record = Record {
        time: sample.at.rfc3339(),
        seconds: sample.seconds,
        process: sample.process.as_ref(),
        system: sample.system.as_ref(),
        processors: sample.processors.iter().filter_map(processor).collect(),
    };
    text.push_str(&serde_json::to_string(&record).expect("numbers and texts are JSON"));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cpi::csv;
    use crate::commands::cpi::sample::tests::sample;

    #[test]
    fn each_sample_is_one_object() {
        let mut text = String::new();
        push(&mut text, &sample());
        let rows = [
            r#"{"user_only":true,"instructions":1000000,"cycles":2000000,"cycles_scaled":null,"core_cycles":1500000,"cpi":2.0,"cpi_wb":null,"core_cpi":1.5,"idle_percent":null,"busy_percent":null,"counters_running_percent":50.0}"#,
            r#"{"user_only":false,"instructions":4000,"cycles":8000,"cycles_scaled":4000,"core_cycles":3000,"cpi":2.0,"cpi_wb":1.0,"core_cpi":0.75,"idle_percent":50.0,"busy_percent":50.0,"counters_running_percent":25.0}"#,
            r#"{"processor":0,"user_only":false,"instructions":1000,"cycles":4000,"cycles_scaled":2000,"core_cycles":1500,"cpi":4.0,"cpi_wb":2.0,"core_cpi":1.5,"idle_percent":50.0,"busy_percent":50.0,"counters_running_percent":25.0}"#,
            r#"{"processor":2,"user_only":false,"instructions":3000,"cycles":4000,"cycles_scaled":2000,"core_cycles":1500,"cpi":1.3333333333333333,"cpi_wb":0.6666666666666666,"core_cpi":0.5,"idle_percent":50.0,"busy_percent":50.0,"counters_running_percent":25.0}"#,
        ];
        let [process, system, first, second] = rows;
        let expected = format!(
            "{{\"time\":\"2013-02-19T18:50:17.844-08:00\",\"seconds\":1.5,\"process\":{process},\"system\":{system},\
             \"processors\":[{first},{second}]}}\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn keys_are_the_columns_of_csv() {
        let columns: Vec<&str> = csv::HEADER.trim_end().split(',').collect();
        let row = serde_json::to_string(sample().system.as_ref().expect("the system")).expect("JSON");
        let places: Vec<_> = columns[3..].iter().map(|column| row.find(&format!("\"{column}\":"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{row}");
        assert_eq!(row.matches("\":").count(), columns.len() - 3, "{row}");
    }
}
