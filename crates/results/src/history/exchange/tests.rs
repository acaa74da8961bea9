use super::*;
use crate::history::own_figure;
use crate::origin::facts_of;
use crate::schema::{Event, RowResult, Run, RunStatus};
use crate::summary::Fold;
use crate::testing::{environment, header, launch};

fn run(name: &str) -> Run {
    let mut header = header(&["a", "b"]);
    header.run_id = name.to_owned();
    header.labels.insert("commit".to_owned(), "c\u{1b}[31m\"<b>'; --".to_owned());
    let mut events = vec![Event::RunStarted(Box::new(header))];
    for block in 0..3 {
        events.push(Event::LaunchFinished(Box::new(launch("a", block, &[1e6 / 3.0 + f64::from(block); 3]))));
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("in order")
}

/// Returns the lines of two runs, as the archive writes them.
fn lines() -> String {
    let mut writer = Writer::new();
    let runs = [run("one"), run("two")];
    for (id, result) in runs[0].results.iter().enumerate() {
        writer.row(id as i64, &Arc::new(result.row.clone()));
    }
    writer.rows_end();
    for (number, run) in runs.iter().enumerate() {
        let header = &run.header;
        writer.facts(7, || facts_of(header));
        writer.run(number as i64, 7, Origin::of(&header.run_id, run));
        for (row, result) in run.results.iter().enumerate() {
            let figure = own_figure(result).map(|own| Figure {
                estimate: own.estimate,
                launches: own.launches.clone(),
                blocks: own.blocks.clone(),
            });
            writer.figure(number as i64, row as i64, figure);
        }
    }
    writer.finish()
}

#[test]
fn figures_are_those_of_the_runs() {
    let mut reader = Reader::default();
    let heard: Vec<Heard> = lines().lines().map(|line| reader.line(line).expect("a line")).collect();
    let found: Vec<&Found> =
        heard.iter().filter_map(|heard| if let Heard::Found(found) = heard { Some(&**found) } else { None }).collect();
    let runs = ["one", "two"].map(run);
    let of_run = |(number, run): (usize, &Run)| {
        let origin = Arc::new(Origin::of(&run.header.run_id, run));
        let found = move |result: &RowResult| Found {
            run: number as i64,
            origin: Arc::clone(&origin),
            row: Arc::new(result.row.clone()),
            figure: own_figure(result).cloned(),
        };
        run.results.iter().map(found).collect::<Vec<Found>>()
    };
    let expected: Vec<Found> = runs.iter().enumerate().flat_map(of_run).collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
    assert_eq!(lines().matches("{\"facts\":{\"id\"").count(), 1, "facts are written once");
    assert!(found[1].figure.as_ref().is_err_and(|reason| reason.contains("its turn")));
    assert_eq!(heard.last(), Some(&Heard::End));
    assert_eq!(reader.rows().map(|(id, row)| (id, row.id.as_str())).collect::<Vec<_>>(), [(0, "a"), (1, "b")]);
}

#[test]
fn a_line_that_cannot_be_is_an_error() {
    let text = lines();
    let (first, rest) = text.split_once('\n').expect("lines");
    let says = |lines: &[&str], what: &str| {
        let mut reader = Reader::default();
        let error = lines.iter().find_map(|line| reader.line(line).err()).expect("an error");
        assert!(error.contains(what), "{error}");
    };
    says(&[rest.lines().next().expect("a line")], "no version");
    says(&[first, first], "second version");
    says(&[r#"{"version":1}"#], "version 1");
    says(&[first, "{\"row\""], "EOF");
    says(&[first, r#"{"left":{"run":0,"row":0,"reason":"x"}}"#], "run 0 is not known");
    let figure = text.lines().find(|line| line.contains("\"figure\"")).expect("a figure");
    let with_wrong = |from: &str, to: &str| {
        let wrong = figure.replacen(from, to, 1);
        assert_ne!(wrong, figure);
        let mut all: Vec<&str> = text.lines().filter(|line| !line.contains("\"figure\"")).collect();
        all.push(&wrong);
        says(&all, "no figure of a");
    };
    with_wrong("\"blocks\":[0,", "\"blocks\":[");
    with_wrong("\"median\":", "\"median\":-");
}

#[test]
fn wanted_rows_come_back() {
    assert_eq!(read_wanted(&wanted(&[3, 1])), Ok(vec![3, 1]));
    assert!(read_wanted("[1,").is_err());
}
