use super::*;

fn arguments(words: &[&str]) -> ReportArguments {
    use clap::Parser;
    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: ReportArguments,
    }
    Command::try_parse_from([&["report"], words].concat())
        .unwrap_or_else(|error| panic!("{words:?}: {error}"))
        .arguments
}

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let output = directory.path().join("page.html");
    let first = page(&[], &[], &PageOptions { title: Some("first".to_owned()), ..PageOptions::default() });
    write(&output, &first, false).expect("nothing is there");
    let second = page(&[], &[], &PageOptions { title: Some("second".to_owned()), ..PageOptions::default() });
    write(&output, &second, false).expect("a page is there");
    assert_eq!(fs::read_to_string(&output).expect("the page"), second);

    fs::write(&output, "my diary").expect("room on the disk");
    let error = write(&output, &first, false).expect_err("no page is there").to_string();
    assert!(error.contains("page.html") && error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(&output).expect("the diary"), "my diary");
    write(&output, &first, true).expect("it was asked for");
    assert_eq!(fs::read_to_string(&output).expect("the page"), first);
    assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 1, "no temporary file stays");

    let error = write(directory.path(), &first, true).expect_err("a directory").to_string();
    assert!(error.contains("directory"), "{error}");
}

#[test]
fn a_page_of_one_run_directory_goes_into_it() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().to_str().expect("a path of letters");
    assert_eq!(output(&arguments(&[path])), directory.path().join("report.html"));
    assert_eq!(output(&arguments(&[path, path])), Path::new("headwater-report.html"));
    assert_eq!(output(&arguments(&["published:pipes"])), Path::new("headwater-report.html"));
    assert_eq!(output(&arguments(&[path, "-o", "x.html"])), Path::new("x.html"));
}

#[test]
fn a_wrong_chart_gets_the_names() {
    let error = chart_of_name("perfomance").expect_err("a misspelling");
    assert!(error.contains("heatmap") && error.contains("did you mean performance"), "{error}");
    assert_eq!(chart_of_name("delay"), Ok("delay"));
}

#[test]
fn filters_choose_rows_and_a_filter_of_none_is_an_error() {
    let loaded = load(&arguments(&["published:fifo", "--filter", "64x*"])).expect("the table has messages of 64 B");
    let rows = || loaded.runs.iter().flat_map(|(_, run)| &run.results);
    assert!(rows().count() > 0 && rows().all(|result| result.row.id.split('/').any(|part| part.starts_with("64x"))));
    let error = load(&arguments(&["published:fifo", "--filter", "fif0"])).expect_err("no row").to_string();
    assert!(error.contains("--filter fif0") && error.contains("did you mean"), "{error}");
}

#[test]
fn a_baseline_is_a_run_or_a_subject() {
    let loaded = load(&arguments(&["published:pipes"])).expect("a table");
    let runs = &loaded.runs;
    let subject = runs[0].1.results[0].row.subject.clone();
    assert_eq!(baseline(&subject, &loaded).expect("a subject"), subject);
    assert_eq!(baseline(&runs[1].0, &loaded).expect("a run"), runs[1].0);
    let error = baseline("nobody", &loaded).expect_err("nothing").to_string();
    assert!(error.contains("--baseline nobody"), "{error}");
}

#[test]
fn a_figure_that_a_chart_does_not_have_is_named_with_those_that_it_has() {
    let wrong = |words: &[&str]| {
        let arguments = arguments(&[&["published:pipes", "--svg", "performance"], words].concat());
        let loaded = load(&arguments).expect("a table");
        let runs: Vec<(String, &Run)> = loaded.runs.iter().map(|(name, run)| (name.clone(), run)).collect();
        let chart = chart::find("performance").expect("a chart");
        let figures = chart::figures(chart, &runs, &[], None);
        choose(chart, &figures, &arguments).map(|figure| figure.heading.clone()).map_err(|error| error.to_string())
    };
    let error = wrong(&["--pattern", "bogus"]).expect_err("no such pattern");
    assert!(error.starts_with("--pattern bogus: the chart performance") && error.contains("stream"), "{error}");
    let error = wrong(&["--placement", "two-cpus"]).expect_err("the tables are of one CPU");
    assert!(error.starts_with("--placement two-cpus: the chart performance"), "{error}");
    assert!(wrong(&["--pattern", "stream"]).is_ok());
}
