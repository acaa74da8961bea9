//! The explanation below the summary: intervals, highlighted and dimmed values.

use headwater_results::schema::Standing;

use super::frame::Page;
use crate::markup::prose;
use crate::rows;
use crate::text::short_list;

/// Returns one paragraph.
pub(super) fn paragraph(page: &Page<'_>) -> String {
    let estimates = || {
        page.source
            .runs
            .iter()
            .flat_map(|(_, run)| rows::all_measured(run))
            .filter_map(rows::own)
            .map(|own| own.estimate)
    };
    let (Some(least), Some(most)) = (estimates().map(|one| one.n).min(), estimates().map(|one| one.n).max()) else {
        return String::new();
    };
    let mut words = Vec::new();
    if most < 2 {
        words.push("Each figure rests on one launch, and so has no interval.".to_owned());
    } else {
        let coverage = estimates().filter(|one| one.n > 1).map(|one| one.confidence).fold(1.0, f64::min);
        // Coverage is rounded down, because it must not be overstated.
        let coverage = (coverage * 1000.0).floor() / 10.0;
        let launches = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        words.push(format!(
            "Each figure is the median over {launches} launches, each in fresh processes; \u{b1} is half the width of its \
             interval, which covers the true median with at least {coverage:.1} %."
        ));
        words.push(crate::meaning::marked("Bold"));
    }
    for (standing, meaning) in [
        (Standing::Limit, "limits, which show what the hardware allows and do not compete"),
        (Standing::Null, "the harness alone"),
    ] {
        let series = page.source.panels.iter().flat_map(|panel| &panel.series);
        let names = rows::unique(series.filter(|series| series.standing == standing).map(|series| series.key.subject));
        if !names.is_empty() {
            words.push(format!("{}: {meaning}.", short_list(&names, 6)));
        }
    }
    words.push("Rates are per second with prefixes of 1000; sizes in KiB are powers of 1024.".to_owned());
    let dashes = if page.has_several() { " A dash is that of a run." } else { "" };
    words.push(format!("In every chart the colour is that of the family, and the marker that of its member.{dashes}"));
    format!(
        "<details class=\"more\"><summary>How to read the figures</summary>\n<p class=\"note\">{}</p></details>\n",
        prose(&words.join(" "))
    )
}
