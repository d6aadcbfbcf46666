//! Views: ready-made, from the command line, from a folder, and sent by clients.

use serde_json::json;
use tachograph_monitor::View;

use crate::client::{get, post, target};
use crate::test_server::{Machine, TestOptions, TestServer};

const CHOSEN: &str = r"
    version = 1
    points = 40
    view = 'report'
    [[counter]]
    path = '\\FAKE\Things(*)\Number'
    scale = -2
    colour = 3
    except = ['\Things(p0)\Number']
    [[counter]]
    path = '\Things(p1)\Things/sec'
    shown = false
    highlighted = true";

#[test]
fn the_page_opens_with_the_view_of_the_command_line() {
    let machine = Machine::new(3);
    let view = View::parse(CHOSEN).expect("a view");
    let server = TestServer::start(&machine, TestOptions { view: Some(view), ..TestOptions::default() });
    let start = get(server.address, "/api/views/start").json();
    assert_eq!((&start["name"], &start["points"]), (&json!("start"), &json!(40)));
    let panel = &start["panels"][0];
    assert_eq!((&panel["kind"], &panel["axis"]), (&json!("report"), &json!("scaled")));
    // The paths do not contain the name of this machine.
    let expected = json!([
        {
            "path": r"\Things(*)\Number", "or": [], "label": null, "only_active": false, "colour": 3, "scale": -2,
            "is_shown": true, "is_highlighted": false, "except": [r"\Things(p0)\Number"],
        },
        {
            "path": r"\Things(p1)\Things/sec", "or": [], "label": null, "only_active": false, "colour": null,
            "scale": null, "is_shown": false, "is_highlighted": true, "except": [],
        },
    ]);
    assert_eq!(panel["counters"], expected);
}

#[test]
fn views_are_listed_and_fitted_to_a_source() {
    let machine = Machine::new(3);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    file(
        "ours.toml",
        "version = 2\ntitle = 'Ours'\n[[panel]]\n[[panel.counter]]\npath = '\\Things(*)\\Number'\n",
    );
    file("broken.toml", "version = 2\nwrong = 1\n");
    file("secret.txt", "not a view");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.toml")).expect("a link");
    let views = Some(folder.path().to_owned());
    let server = TestServer::start(&machine, TestOptions { views, ..TestOptions::default() });
    let list = get(server.address, "/api/views").json();
    let names: Vec<_> = list["views"].as_array().expect("a list").iter().map(|view| &view["name"]).collect();
    assert!(names.contains(&&json!("overview")) && names.contains(&&json!("ours.toml")), "{names:?}");
    assert!(!names.contains(&&json!("link.toml")) && !names.contains(&&json!("secret.txt")), "{names:?}");

    let ours = get(server.address, "/api/views/ours.toml").json();
    assert_eq!(
        (&ours["title"], &ours["panels"][0]["counters"][0]["path"]),
        (&json!("Ours"), &json!(r"\Things(*)\Number"))
    );
    let broken = get(server.address, "/api/views/broken.toml");
    assert_eq!(broken.status, 422);
    let error = broken.json()["error"].as_str().expect("a message").to_owned();
    assert!(error.contains("broken.toml, line 2") && !error.contains("/"), "{error}");
    for name in ["link.toml", "secret.txt", "..%2Fours.toml", "nothing"] {
        assert_eq!(get(server.address, &format!("/api/views/{name}")).status, 404, "{name}");
    }
    // The overview of a log has a panel for each of its sets.
    let id =
        get(server.address, "/api/sources").json()["sources"][1]["id"].as_str().expect("an id").to_owned();
    while get(server.address, &format!("/api/sources/{id}")).json()["state"] == "reading" {}
    let overview = get(server.address, &target("/api/views/start", &[("source", &id)])).json();
    let titles: Vec<_> =
        overview["panels"].as_array().expect("panels").iter().map(|panel| &panel["title"]).collect();
    assert_eq!((&overview["name"], titles), (&json!("overview"), vec![&json!("Things")]));
}

#[test]
fn a_view_file_is_checked_and_fitted() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let send = |text: &str| post(server.address, "/api/views", "application/toml", text.as_bytes());
    let fitted = send(
        "version = 2\noptional = true\n[[panel]]\nkind = 'table'\nset = 'Things'\ntop = 2\n[[panel]]\n[[panel.counter]]\npath = '\\No\\Such'\n",
    );
    assert_eq!(fitted.status, 200);
    let fitted = fitted.json();
    assert_eq!(fitted["missing"], json!([r"\No\Such"]));
    let panels = fitted["panels"].as_array().expect("panels");
    assert_eq!(
        (panels.len(), &panels[0]["table"]["set"], &panels[0]["table"]["top"]),
        (1, &json!("Things"), &json!(2))
    );
    let counters: Vec<_> = panels[0]["table"]["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| &column["counter"])
        .collect();
    assert!(counters.contains(&&json!("Number")) && counters.contains(&&json!(null)), "{counters:?}");
    for (text, part) in [
        ("version = 2\n[[panel]]\nkind = 'pie'", "line 3"),
        ("version = 9", "version"),
        ("\u{0}", "view file"),
    ] {
        let refused = send(text);
        let error = refused.json()["error"].to_string();
        assert!(refused.status == 400 && error.contains(part), "{error}");
    }
    let wrong_type = post(server.address, "/api/views", "text/plain", b"version = 2");
    assert_eq!(wrong_type.status, 415);
}

#[test]
fn a_view_has_bands_and_annotations() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let text = "version = 2
        [[annotation]]
        begin = '2024-03-05T10:00:00+01:00'
        text = 'deployed'
        [[annotation]]
        begin = '2024-03-05T10:00:00Z'
        end = '2024-03-05T10:30:00Z'
        text = 'backup'
        [[panel]]
        kind = 'heatmap'
        bands = [[80, 100]]
        [[panel.counter]]
        path = '\\Things(*)\\Number'";
    let fitted = post(server.address, "/api/views", "application/toml", text.as_bytes()).json();
    let expected = json!([
        { "begin": "2024-03-05T09:00:00.0000000Z", "end": null, "text": "deployed" },
        { "begin": "2024-03-05T10:00:00.0000000Z", "end": "2024-03-05T10:30:00.0000000Z", "text": "backup" },
    ]);
    assert_eq!(fitted["annotations"], expected);
    let panel = &fitted["panels"][0];
    assert_eq!((&panel["kind"], &panel["bands"]), (&json!("heatmap"), &json!([[80.0, 100.0]])));
}

#[test]
fn processes_have_properties() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let found = get(server.address, "/api/processes?id=7&id=8").json();
    let expected = json!({ "processes": [
        { "id": 7, "user": "alice", "state": "S", "command": "sleep 1", "cgroup": "/user.slice" },
    ]});
    assert_eq!(found, expected);
    assert_eq!(get(server.address, "/api/processes").json(), json!({ "processes": [] }));
    let refused = get(server.address, "/api/processes?id=x");
    assert_eq!((refused.status, refused.json()["error"].to_string().contains("id: ")), (400, true));
}

#[test]
fn the_headline_has_the_capacities_of_panels_and_the_counters_of_the_view() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let view = r"
        version = 2
        [[headline]]
        path = '\\FAKE\Things(p1)\Number'
        label = ''
        [[panel]]
        title = 'Room'
        [[panel.counter]]
        path = '\Things(p0)\Number'
        label = 'total'
        capacity = true
        [[panel.counter]]
        path = '\Things(p2)\Number'";
    let fitted = post(server.address, "/api/views?source=live", "application/toml", view.as_bytes()).json();
    let named = |counter: &serde_json::Value| (counter["path"].clone(), counter["label"].clone());
    let headline: Vec<_> = fitted["headline"].as_array().expect("a list").iter().map(named).collect();
    // The panel's title says more than the label of its capacity. This machine is not named.
    let expected = [(json!(r"\Things(p0)\Number"), json!("room")), (json!(r"\Things(p1)\Number"), json!(""))];
    assert_eq!(headline, expected);
    let counters = fitted["panels"][0]["counters"].as_array().expect("a list");
    assert!(counters.len() == 1 && counters[0]["path"] == r"\Things(p2)\Number", "{counters:?}");
}
