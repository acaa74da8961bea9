use headwater_results::schema::RowOutcome;
use headwater_results::summary::Fold;

use super::{ImportError, Options, TABLE, find};

/// Arbitrary text is accepted or refused with a place; nothing panics.
#[test]
fn noise_is_refused_with_its_place() {
    let noise = [
        "",
        "\n\n",
        "\u{0}",
        "1",
        "1 2 3 4 5 6",
        "1 2 3 4 5 6\n1 2 3",
        "nan nan nan nan nan nan\n",
        "\"",
        "\"size=",
        "[",
        "{}\n",
        "\"mappings\n1e400 1\n",
        "Pipe latency: \n",
        "Pipe latency: -1 microseconds\n",
        "Elapsed Time (sec),x\n,\n",
        ",,,,\n",
        "UDP STREAM TEST from\n",
        "\"size=4k ovr=1\n0 1\n",
        "\"size=4k ovr=1\n2\n",
        "\"stride=8\n1 0\n",
        "0k 1\n",
        "\u{e9}\u{e9}\n",
    ];
    for format in TABLE {
        for text in noise {
            let error = format.import(&[("noise".to_owned(), text.to_owned())], &Options::default()).expect_err(text);
            assert!(error.to_string().starts_with("noise:"), "{error}");
        }
    }
}

#[test]
fn an_error_names_file_line_and_remedy() {
    let error = ImportError { file: "a".into(), line: 3, message: "what".into() };
    assert_eq!(error.to_string(), "a:3: what");
    assert_eq!(ImportError { line: 0, ..error }.to_string(), "a: what");
}

#[test]
fn what_is_imported_folds_to_a_whole_run() {
    let text = "[lmbench3.0 results for Linux brook 6.1.0 #1 SMP]\nPipe latency: 8.5 microseconds\n".to_owned();
    let format = find("lmbench").expect("the format exists");
    let imported = format
        .import(&[("brook.0".into(), text.clone()), ("brook.1".into(), text)], &Options::default())
        .expect("results");
    let run = Fold::run_of(imported.events("id", "2025-01-01T00:00:00Z", vec!["x".into()])).expect("a run");
    assert_eq!((run.header.run_id.as_str(), run.header.environment.host.as_str()), ("id", "brook"));
    assert_eq!(run.results.len(), 1);
    assert_eq!(run.results[0].outcome, RowOutcome::Measured);
    assert_eq!(run.results[0].metrics[0].launches, [8500.0, 8500.0]);
    assert_eq!(run.status, headwater_results::schema::RunStatus::Complete);
}
