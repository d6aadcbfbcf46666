//! Logs: opening, charts, statistics, downloads, uploads.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{
    StatisticsOptions, StatisticsSink, write_statistics_csv, write_statistics_json,
};
use tachograph_flow::{Selection, WindowBounds};
use tachograph_perflib::InstanceKey;

use crate::client::{connect, get, request, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::wait_until_read;

const RATES: &str = r"\Things(*)\Things/sec";

#[test]
fn sources_sets_and_instances_are_listed() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let source = wait_until_read(&server, "1");
    assert_eq!(source["name"], "server.blg");
    assert_eq!(source["machines"], serde_json::json!(["FAKE"]));
    assert_eq!((&source["samples"], &source["interval"]), (&101.into(), &1.0.into()));
    assert_eq!((&source["is_formatted"], &source["is_closable"]), (&false.into(), &false.into()));
    // The log has no counters of processors, and Tachograph wrote it.
    assert_eq!((&source["operating_system"], &source["processors"]), (&Value::Null, &Value::Null));
    let live = get(server.address, "/api/sources/live").json();
    assert_eq!((&live["operating_system"], &live["processors"]), (&"Fake 1.0".into(), &3.into()));
    let list = get(server.address, "/api/sources").json();
    let ids: Vec<_> =
        list["sources"].as_array().expect("a list").iter().map(|source| &source["id"]).collect();
    assert_eq!(ids, ["live", "1"]);
    let names: Vec<_> = list["logs"].as_array().expect("a list").iter().map(|log| &log["name"]).collect();
    assert_eq!(names, ["logs/a.blg", "logs/deep/b.blg"]);
    for id in ["live", "1"] {
        let sets = get(server.address, &format!("/api/sources/{id}/sets")).json();
        assert_eq!(sets["sets"][0]["name"], "Things");
        assert_eq!(sets["sets"][0]["counters"][0]["name"], "Things/sec");
        let instances = get(server.address, &format!("/api/sources/{id}/instances?set=things")).json();
        assert_eq!(instances["instances"], serde_json::json!(["p0", "p1", "p2"]));
        let unknown = get(server.address, &format!("/api/sources/{id}/instances?set=No"));
        assert_eq!(unknown.status, 404);
    }
}

#[test]
fn statistics_equal_those_of_the_command() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let source = wait_until_read(&server, "1");
    let begin = source["begin"].as_str().expect("a time").replace(".0000000Z", ".5Z");
    let end = source["end"].as_str().expect("a time");
    for bounds in [vec![], vec![("begin", begin.as_str())], vec![("begin", begin.as_str()), ("end", end)]] {
        let time = |name: &str| {
            let text = bounds.iter().find(|(known, _)| *known == name)?.1;
            Some(TimeArgument::parse(text).expect("a time"))
        };
        let query = LogQuery {
            selection: Selection::new(vec![PathPattern::parse(RATES).expect("a path")]),
            bounds: WindowBounds { begin: time("begin"), end: time("end") },
            ..LogQuery::new(vec![server.file("server.blg")])
        };
        let mut sink = StatisticsSink::new(StatisticsOptions::default());
        let mut pipeline = query.samples().expect("the log");
        tachograph_flow::run(&mut *pipeline.source, &mut sink, || {}).expect("the log");
        let (mut json, mut csv) = (Vec::new(), Vec::new());
        write_statistics_json(&sink.rows(), &mut json).expect("written");
        write_statistics_csv(&sink.rows(), &mut csv).expect("written");
        let mut parameters = vec![("path", RATES)];
        parameters.extend(&bounds);
        let response = get(server.address, &target("/api/sources/1/statistics", &parameters));
        assert_eq!(response.text(), String::from_utf8(json).expect("UTF-8"));
        parameters.push(("format", "csv"));
        let response = get(server.address, &target("/api/sources/1/statistics", &parameters));
        assert_eq!(response.text(), String::from_utf8(csv).expect("UTF-8"));
        parameters.pop();
        // A chart of the same range has the same statistics.
        let chart = get(server.address, &target("/api/sources/1/series", &parameters)).json();
        let rows = sink.rows();
        let series = chart["series"].as_array().expect("a list");
        assert_eq!(series.len(), rows.len());
        for row in rows {
            let same = series.iter().find(|series| series["path"] == row.path).expect("the same path");
            let statistics = &same["statistics"];
            assert_eq!(statistics["average"].as_f64(), row.summary.average, "{}", row.path);
            assert_eq!(statistics["values"].as_u64(), Some(row.summary.values));
            assert_eq!(statistics["maximum"].as_f64(), row.summary.maximum);
        }
    }
}

#[test]
fn charts_have_the_requested_columns() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let parameters = [("path", r"\Things(p1)\Things/sec"), ("path", r"\Other(*)\X"), ("columns", "10")];
    let chart = get(server.address, &target("/api/sources/1/series", &parameters)).json();
    assert_eq!(chart["columns"], 10);
    assert_eq!(chart["times"].as_array().expect("a list").len(), 10);
    let series = &chart["series"][0];
    assert_eq!(series["average"], serde_json::json!([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]));
    assert_eq!((&series["instance"], &series["unit"]), (&"p1".into(), &"1/s".into()));
    assert_eq!(chart["missing"][0]["path"], r"\Other(*)\X");
    // There are no values outside the log.
    let parameters = [("path", RATES), ("begin", "2030-01-01T00:00:00Z"), ("end", "2030-01-02T00:00:00Z")];
    let chart = get(server.address, &target("/api/sources/1/series", &parameters)).json();
    assert_eq!(chart["series"].as_array().expect("a list").len(), 0);
    assert_eq!(get(server.address, &target("/api/sources/1/statistics", &parameters)).status, 404);
}

#[test]
fn exports_can_be_uploaded() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let statistics_of = |id: &str| {
        let response =
            get(server.address, &target(&format!("/api/sources/{id}/statistics"), &[("path", RATES)]));
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    };
    let whole = statistics_of("1");
    for (format, kind) in [("blg", "application/octet-stream"), ("csv", "text/csv; charset=utf-8")] {
        let parameters = [("path", RATES), ("format", format)];
        let export = get(server.address, &target("/api/sources/1/export", &parameters));
        assert_eq!(export.header("content-type"), Some(kind));
        let name = format!("attachment; filename=\"server.{format}\"");
        assert_eq!(export.header("content-disposition"), Some(&*name));
        let headers = [("Content-Type", "application/octet-stream")];
        let name = target("/api/upload", &[("name", r"C:\logs\again.blg")]);
        let uploaded = request(server.address, "POST", &name, &headers, &export.body);
        assert_eq!(uploaded.status, 201, "{}", uploaded.text());
        let uploaded = uploaded.json();
        assert_eq!((&uploaded["name"], &uploaded["is_uploaded"]), (&"again.blg".into(), &true.into()));
        assert_eq!(uploaded["is_closable"], true);
        let id = uploaded["id"].as_str().expect("an id");
        assert_eq!(wait_until_read(&server, id)["state"], "ready");
        if format == "blg" {
            assert_eq!(statistics_of(id), whole);
        } else {
            assert!(statistics_of(id).contains(r#""average_kind":"arithmetic""#));
        }
        server.wait_for_uploads(1);
        let closed = request(server.address, "DELETE", &format!("/api/sources/{id}"), &[], b"");
        assert_eq!(closed.status, 204);
        assert_eq!(get(server.address, &format!("/api/sources/{id}")).status, 404);
        server.wait_for_uploads(0);
    }
    assert_eq!(request(server.address, "DELETE", "/api/sources/1", &[], b"").status, 403);
    assert_eq!(request(server.address, "DELETE", "/api/sources/live", &[], b"").status, 403);
}

#[test]
fn excluded_counters_are_omitted() {
    let machine = Machine::new(300);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    // There are more counters than the maximum number of paths.
    let out = [r"\\FAKE\Things(p7)\Things/sec", r"\things(P299)\things/SEC"];
    let parameters = |format| [("path", RATES), ("except", out[0]), ("except", out[1]), ("format", format)];
    let is_kept = |path: &str| !path.contains("(p7)") && !path.contains("(p299)");
    for id in ["live", "1"] {
        // The ring needs samples.
        get(server.address, &target("/api/query", &[("path", RATES)]));
        let ask = |request: &str, parameters: &[(&str, &str)]| {
            let response = get(server.address, &target(&format!("/api/sources/{id}/{request}"), parameters));
            assert_eq!(response.status, 200, "{id} {request}: {}", response.text());
            response
        };
        let csv = ask("export", &parameters("csv")).text();
        let head: Vec<_> = csv.lines().next().expect("a line").split(',').skip(1).collect();
        assert_eq!(head.len(), 298, "{id}");
        assert!(head.iter().all(|path| is_kept(path)));
        let statistics = ask("statistics", &parameters("json")).json();
        let rows = statistics.as_array().expect("a list");
        assert_eq!(rows.len(), 298, "{id}");
        assert!(rows.iter().all(|row| is_kept(row["path"].as_str().expect("a path"))));
        // The counters are omitted from raw values, too.
        let blg = ask("export", &parameters("blg"));
        let headers = [("Content-Type", "application/octet-stream")];
        let uploaded = request(server.address, "POST", "/api/upload", &headers, &blg.body).json();
        let uploaded = uploaded["id"].as_str().expect("an id");
        wait_until_read(&server, uploaded);
        let saved = get(server.address, &format!("/api/sources/{uploaded}/statistics")).json();
        assert_eq!(saved.as_array().expect("a list").len(), 298, "{id}");
    }
    let status = |parameters: &[(&str, &str)]| {
        get(server.address, &target("/api/sources/1/export", parameters)).status
    };
    assert_eq!(status(&[("except", out[0])]), 400, "except without path");
    assert_eq!(status(&[("path", RATES), ("except", "Things")]), 400);
    assert_eq!(status(&[&[("path", RATES)], &[("except", r"\A\B"); 1025][..]].concat()), 400);
}

#[test]
fn logs_of_the_folders_are_opened_by_name() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, TestOptions::default());
    let json = [("Content-Type", "application/json")];
    let open = |body: &str| request(server.address, "POST", "/api/sources", &json, body.as_bytes());
    let opened = open(r#"{"log":"logs/deep/b.blg"}"#);
    assert_eq!(opened.status, 201, "{}", opened.text());
    assert_eq!(wait_until_read(&server, opened.json()["id"].as_str().expect("an id"))["samples"], 11);
    // Two logs of one machine are one source.
    let opened = open(r#"{"logs":["logs/a.blg","logs/deep/b.blg"]}"#);
    let source = wait_until_read(&server, opened.json()["id"].as_str().expect("an id"));
    assert_eq!((&source["samples"], &source["name"]), (&22.into(), &"logs/a.blg and 1 more".into()));
    let list = get(server.address, "/api/sources").json();
    let closable: Vec<_> =
        list["sources"].as_array().expect("a list").iter().map(|source| &source["is_closable"]).collect();
    assert_eq!(closable, [false, false, true, true]);
    assert_eq!(request(server.address, "DELETE", "/api/sources/2", &[], b"").status, 204);
}

/// A CSV log; its samples are a second apart.
fn wide_log(counters: usize, samples: usize) -> Vec<u8> {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..counters).for_each(|index| text += &format!(r#","\\WEB1\Things(p{index})\Number""#));
    text += "\r\n";
    for sample in 0..samples {
        text += &format!("\"03/05/2024 10:00:{sample:02}.000\"");
        text += &",\"1\"".repeat(counters);
        text += "\r\n";
    }
    text.into_bytes()
}

#[test]
fn requests_for_too_many_counters_are_refused() {
    let machine = Machine::new(1);
    let mut server =
        TestServer::start(&machine, TestOptions { max_upload: 64 << 20, ..TestOptions::default() });
    let stream = [("Content-Type", "application/octet-stream")];
    let uploaded = request(server.address, "POST", "/api/upload", &stream, &wide_log(60_000, 3));
    assert_eq!(uploaded.status, 201, "{}", uploaded.text());
    assert_eq!(wait_until_read(&server, "2")["state"], "ready");
    for request in ["statistics?path=%5CThings(*)%5C*", "statistics", "series?path=%5CThings(*)%5C*"] {
        let response = get(server.address, &format!("/api/sources/2/{request}"));
        assert_eq!(response.status, 413, "{request}");
        assert_eq!(response.json()["error"], "more than 50000 counters: select fewer");
    }
    let some = get(server.address, "/api/sources/2/statistics?path=%5CThings(p1*)%5C*");
    assert_eq!(some.json().as_array().expect("a list").len(), 11_111);
    // Shutdown does not wait for readers.
    let mut stream = connect(server.address);
    let text = format!("GET /api/sources/2/export HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(text.as_bytes()).expect("sent");
    let start = Instant::now();
    server.stop();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

/// A text log of one sample, whose counter has a name in Windows' code page 1251.
const CYRILLIC: &[u8] = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\\xcf\xe0\xec\xff\xf2\xfc\\Free\"\r\n\"01/02/2024 00:00:00.000\",\"78.80082537392173947\"\r\n";

fn upload(server: &TestServer, text: &[u8]) -> String {
    let stream = [("Content-Type", "application/octet-stream")];
    let response = request(server.address, "POST", "/api/upload?name=a.csv", &stream, text);
    assert_eq!(response.status, 201, "{}", response.text());
    let id = response.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(wait_until_read(server, &id)["state"], "ready");
    id
}

#[test]
fn text_logs_are_read_in_the_configured_encoding() {
    let machine = Machine::new(1);
    for (code_page, name) in [("1251", "Память"), ("1252", "Ïàìÿòü")] {
        let encoding = Some(code_page.parse().expect("a code page"));
        let server = TestServer::start(&machine, TestOptions { encoding, ..TestOptions::default() });
        let id = upload(&server, CYRILLIC);
        let sets = get(server.address, &format!("/api/sources/{id}/sets")).text();
        assert!(sets.contains(name), "{sets}");
    }
}

#[test]
fn series_without_a_value_in_the_last_sample_have_ended() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    // The last sample has no value of `a` and of the other machine, whose samples have other times.
    let log = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Things(a)\\N\",\"\\\\M\\Things(b)\\N\",\"\\\\O\\Things(c)\\N\"\r\n\
        \"01/02/2024 00:00:00.000\",\"1\",\"2\",\"3\"\r\n\"01/02/2024 00:00:01.000\",\" \",\"2\",\" \"\r\n";
    let path = format!("/api/sources/{}/series", upload(&server, log));
    let ended = |end: &str| {
        let chart = get(server.address, &target(&path, &[("path", r"\Things(*)\N"), ("end", end)])).json();
        let series = chart["series"].as_array().expect("a list").clone();
        series.iter().map(|line| line["has_ended"] == true).collect::<Vec<_>>()
    };
    assert_eq!(ended("2024-01-02T00:00:01.5Z"), [true, false, false]);
    assert_eq!(ended("2024-01-02T00:00:00.5Z"), [false, false, false]);
}

#[test]
fn exports_have_the_digits_of_their_log() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let id = upload(&server, CYRILLIC);
    for format in ["csv", "tsv"] {
        let path = format!("/api/sources/{id}/export");
        let parameters = [("format", format), ("path", r"\*\Free")];
        let text = get(server.address, &target(&path, &parameters)).text();
        assert!(text.contains("\"78.80082537392173947\""), "{text}");
    }
}

#[test]
fn a_blg_converted_from_a_text_log_is_marked_as_formatted() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let stream = [("Content-Type", "application/octet-stream")];
    let is_formatted = |name: &str, log: &[u8]| {
        let target = target("/api/upload", &[("name", name)]);
        let response = request(server.address, "POST", &target, &stream, log);
        assert_eq!(response.status, 201, "{}", response.text());
        let id = response.json()["id"].as_str().expect("an id").to_owned();
        (wait_until_read(&server, &id)["is_formatted"].clone(), id)
    };
    let (of_text, id) = is_formatted("a.csv", &wide_log(2, 3));
    assert_eq!(of_text, true);
    let blg = get(server.address, &target(&format!("/api/sources/{id}/export"), &[("format", "blg")]));
    assert_eq!(blg.status, 200, "{}", blg.text());
    assert_eq!(is_formatted("converted.blg", &blg.body).0, true);
}

#[test]
fn instances_with_the_same_name_are_summed() {
    let machine = Machine::new(3);
    // The instances w, w#1 and p2.
    let same = |id: u32| Arc::new(InstanceKey::new("w", id, id.into()));
    machine.names.lock().expect("no panic")[..2].clone_from_slice(&[same(0), same(1)]);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let ask = |what: &str, parameters: &[(&str, &str)]| {
        get(server.address, &target(&format!("/api/sources/1/{what}"), parameters))
    };
    let all = [("path", r"\Things(*)\Number"), ("path", RATES)];
    let each = ask("series", &all).json();
    let paths: Vec<_> =
        each["series"].as_array().expect("series").iter().map(|it| it["path"].clone()).collect();
    assert_eq!(paths.len(), 6, "{paths:?}");
    let figure = |answer: &Value, instance: &str, counter: &str, figure: &str| {
        let series = answer["series"].as_array().expect("series");
        let found = series.iter().find(|it| it["instance"] == instance && it["counter"] == counter);
        found.expect("the series")["statistics"][figure].as_f64().expect("a number")
    };
    let summed = ask("series", &[&all[..], &[("group_by", "name"), ("columns", "4")]].concat()).json();
    assert_eq!(summed["series"].as_array().map(Vec::len), Some(4), "w and p2");
    for counter in ["Number", "Things/sec"] {
        for name in ["average", "last"] {
            let of = |answer: &Value, instance: &str| figure(answer, instance, counter, name);
            let sum = of(&each, "w") + of(&each, "w#1");
            assert!((of(&summed, "w") - sum).abs() < 1e-9, "{counter} {name}: {sum} {}", of(&summed, "w"));
            assert!((of(&summed, "p2") - of(&each, "p2")).abs() < 1e-9);
        }
    }
    let statistics = ask("statistics", &[&all[..], &[("group_by", "name")]].concat()).json();
    let rows = statistics.as_array().expect("rows");
    let row = rows.iter().find(|row| row["instance"] == "w" && row["counter"] == "Things/sec");
    let average = row.expect("the sum")["average"].as_f64().expect("a number");
    assert!((average - figure(&summed, "w", "Things/sec", "average")).abs() < 1e-9);
    // For the path of a single instance, the response contains the reason why it selects nothing.
    let one = [("path", r"\Things(w#1)\Number"), ("path", r"\Things(p2)\Number"), ("group_by", "name")];
    let missing = &ask("series", &one).json()["missing"];
    let expected = json!([{ "path": r"\Things(w#1)\Number", "reason": "included in the sum for its name" }]);
    assert_eq!(missing, &expected);
    // Exports have the sums of each sample. The parameter `except` excludes a sum, not one of its instances.
    let export = |more: &[(&str, &str)]| {
        ask("export", &[&all[..1], &[("group_by", "name"), ("format", "csv")], more].concat())
            .text()
            .to_owned()
    };
    let column = |text: &str, instance: &str| -> Option<Vec<f64>> {
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.trim_matches('"').split("\",\"").collect()).collect();
        let index = rows[0].iter().position(|head| head.contains(instance))?;
        Some(rows[1..].iter().map(|row| row[index].parse().expect("a number")).collect())
    };
    let each = ask("export", &[all[0], ("format", "csv")]).text().to_owned();
    let (first, second) = (column(&each, "(w)").expect("w"), column(&each, "(w#1)").expect("w#1"));
    let sums: Vec<f64> = first.iter().zip(&second).map(|(one, other)| one + other).collect();
    let summed = export(&[]);
    assert_eq!(column(&summed, "(w)"), Some(sums.clone()));
    assert!(sums.len() > 2 && column(&summed, "(p2)") == column(&each, "(p2)") && !summed.contains("w#1"));
    assert_eq!(column(&export(&[("except", r"\Things(p2)\Number")]), "(w)"), Some(sums));
    assert_eq!(column(&export(&[("except", r"\Things(w)\Number")]), "(w"), None);
    for (what, value) in [("series", "set"), ("statistics", ""), ("export", "set")] {
        let refused = ask(what, &[all[0], ("group_by", value)]);
        assert!(refused.status == 400 && refused.text().contains("group_by: "), "{what}: {}", refused.text());
    }
    let refused = ask("export", &[all[0], ("group_by", "name"), ("format", "blg")]);
    assert!(refused.status == 400 && refused.text().contains("format=csv"), "{}", refused.text());
}
