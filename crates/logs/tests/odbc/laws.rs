//! Values that are read are those that were written.

use tachograph_logs::sql::SqlStart;
use tachograph_logs::{Format, LogWriter as _, open};

use crate::generated::recording;
use crate::samples::{assert_equal, expected, extremes, open_writer, plain, read, try_write, write};
use crate::{name_in, run_sql, servers};

const DATABASE: char = 'a';

#[test]
fn values_of_all_counter_types_are_read_back() {
    for server in servers() {
        for seed in 0..2 {
            let samples = recording(seed, 30);
            let name = name_in(&server, DATABASE, &format!("recording {seed}"));
            write(&name, &samples);
            assert_equal(&read(&name), &expected(&samples));
        }
    }
}

#[test]
fn names_and_extreme_values_are_read_back() {
    for server in servers() {
        let name = name_in(&server, DATABASE, "lög's \"name\" \\'; --");
        write(&name, &extremes());
        assert_equal(&read(&name), &expected(&extremes()));
        // Names that differ in case or in trailing blanks are different.
        for other in ["LÖG's \"name\" \\'; --", "lög's \"name\" \\'; -- "] {
            let error = open(&name_in(&server, DATABASE, other)).err().expect("no such log").to_string();
            assert!(error.contains("no log '"), "{server}: {error}");
        }
    }
}

#[test]
fn an_existing_log_is_refused_replaced_or_continued() {
    for server in servers() {
        let (name, other) = (name_in(&server, DATABASE, "existing"), name_in(&server, DATABASE, "other"));
        let samples: Vec<_> = (0..6).map(plain).collect();
        write(&name, &samples[..2]);
        write(&other, &samples);
        let refused = try_write(&name, SqlStart::New, &samples).expect_err("the log exists");
        assert_eq!(refused.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists));
        try_write(&name, SqlStart::Append, &samples[2..4]).expect("appended");
        assert_equal(&read(&name), &expected(&samples[..4]));
        let earlier =
            try_write(&name, SqlStart::Append, &samples[3..]).expect_err("an equal time").to_string();
        assert!(earlier.contains("cannot append: the log ends at 2024-03-05 09:00:03:123 UTC"), "{earlier}");
        assert_equal(&read(&name), &expected(&samples[..4]));
        try_write(&name, SqlStart::Replace, &samples[5..]).expect("replaced");
        assert_equal(&read(&name), &expected(&samples[5..]));
        assert_equal(&read(&other), &expected(&samples));
        let facts = open(&name).expect("the log can be opened").facts().clone();
        assert_eq!((facts.format, facts.zone.bias_minutes), (Format::Sql, -60));
        assert_eq!(facts.zone.standard_name, "W. Europe Standard Time");
    }
}

/// While a log is written, readers see the last commit, and another program can write another log.
#[test]
fn logs_can_be_read_and_written_at_the_same_time() {
    for server in servers().into_iter().filter(|server| server != "lite") {
        let names = ["one", "two"].map(|log| name_in(&server, DATABASE, log));
        let samples: Vec<_> = (0..4).map(plain).collect();
        let mut writers = Vec::new();
        for name in &names {
            let mut writer = open_writer(name, SqlStart::New).expect("written");
            // Commits the description of the log, so that no transaction is open when the next writer starts.
            writer.flush().expect("committed");
            writers.push(writer);
        }
        for (index, sample) in samples.iter().enumerate() {
            for writer in &mut writers {
                writer.write(sample).expect("written");
                writer.flush().expect("committed");
            }
            for name in &names {
                assert_equal(&read(name), &expected(&samples[..=index]));
            }
        }
        let last = plain(9);
        for writer in &mut writers {
            writer.write(&last).expect("written");
        }
        assert_equal(&read(&names[0]), &expected(&samples));
        drop(writers);
        assert_equal(&read(&names[1]), &expected(&samples));
    }
}

/// Tables whose names were created in quotes, as tools for the migration from SQL Server do.
#[test]
fn quoted_names_of_postgresql_are_found() {
    for server in servers().into_iter().filter(|server| server == "pg") {
        let name = name_in(&server, 'b', "quoted");
        let samples = recording(3, 20);
        write(&name, &samples[..10]);
        let mut statements = Vec::new();
        for (table, columns) in [
            (
                "CounterDetails",
                "CounterID MachineName ObjectName CounterName CounterType DefaultScale InstanceName InstanceIndex \
              ParentName ParentObjectID TimeBaseA TimeBaseB",
            ),
            (
                "DisplayToID",
                "GUID RunID DisplayString LogStartTime LogStopTime NumberOfRecords MinutesToUTC TimeZoneName",
            ),
            (
                "CounterData",
                "GUID CounterID RecordIndex CounterDateTime CounterValue FirstValueA FirstValueB SecondValueA \
              SecondValueB MultiCount",
            ),
        ] {
            for column in columns.split_whitespace() {
                statements.push(format!("ALTER TABLE {table} RENAME COLUMN {column} TO \"{column}\""));
            }
            statements.push(format!("ALTER TABLE {table} RENAME TO \"{table}\""));
        }
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        run_sql(&server, 'b', &statements);
        assert_equal(&read(&name), &expected(&samples[..10]));
        try_write(&name, SqlStart::Append, &samples[10..]).expect("appended");
        assert_equal(&read(&name), &expected(&samples));
    }
}

/// Columns of other types: text, exact numbers, times, and NUL after the time.
#[test]
fn columns_of_other_types_are_read() {
    for server in servers().into_iter().filter(|server| server == "pg") {
        let name = name_in(&server, 'c', "types");
        let samples = recording(4, 20);
        write(&name, &samples);
        let time =
            "to_timestamp(replace(CounterDateTime, ' ', 'T'), 'YYYY-MM-DD\"T\"HH24:MI:SS:MS')::timestamp";
        run_sql(
            &server,
            'c',
            &[
                "ALTER TABLE CounterData ALTER COLUMN FirstValueA TYPE text, ALTER COLUMN FirstValueB TYPE numeric, \
                 ALTER COLUMN SecondValueA TYPE bigint, ALTER COLUMN SecondValueB TYPE double precision, \
                 ALTER COLUMN RecordIndex TYPE numeric(10), ALTER COLUMN GUID TYPE char(36)",
                "ALTER TABLE DisplayToID ALTER COLUMN GUID TYPE char(36), ALTER COLUMN MinutesToUTC TYPE text",
                &format!("ALTER TABLE CounterData ALTER COLUMN CounterDateTime TYPE timestamp USING {time}"),
                "UPDATE CounterDetails SET InstanceName = rpad(InstanceName, 40) WHERE InstanceName = 'none of them'",
            ],
        );
        assert_equal(&read(&name), &expected(&samples));
        // Unsigned halves and a point before the milliseconds.
        run_sql(
            &server,
            'c',
            &[
                "ALTER TABLE CounterData ALTER COLUMN CounterDateTime TYPE varchar(64) USING to_char(CounterDateTime, \
                 'YYYY-MM-DD HH24:MI:SS.MS')",
                "UPDATE CounterData SET SecondValueA = SecondValueA & 4294967295",
            ],
        );
        assert_equal(&read(&name), &expected(&samples));
    }
}
