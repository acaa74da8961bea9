//! Tests of the page of comparisons.

use super::*;
use crate::comparison::hosts::tests::fleet;

#[test]
fn the_page_has_verdicts_hosts_and_what_is_missing() {
    let hosts: Vec<(String, f64)> =
        (0..12).map(|host| (format!("n{host}"), if host == 7 { 0.6 } else { 0.95 })).collect();
    let hosts: Vec<(&str, f64)> = hosts.iter().map(|(name, factor)| (name.as_str(), *factor)).collect();
    let comparison = fleet(&hosts, &["lonely"]);
    let compared = Compared { comparison: &comparison, environment: &[], noise: "", all_metrics: false };
    let page = comparison_page(&[compared], &["torn: ended".to_owned()], Some("A fleet"));
    for part in [
        "<h1>A fleet</h1>",
        "Different from the rest: n7",
        "lonely (6.1)",
        "drained",
        "12 hosts",
        "torn: ended",
        "<svg",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < PAGE_BYTES_MAX);
}

#[test]
fn a_large_fleet_fits_the_page() {
    let names: Vec<String> = (0..400).map(|host| format!("{host:060}")).collect();
    let hosts: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.95)).collect();
    let comparison = fleet(&hosts, &[]);
    let compared = Compared { comparison: &comparison, environment: &[], noise: "", all_metrics: false };
    let page = comparison_page(&[compared; 40], &[], None);
    assert!(page.len() < PAGE_BYTES_MAX, "{}", page.len());
    assert!(crate::is_page(&page));
}
