use super::{Point, SPOTS_MAX, thinned};

fn spots(count: usize) -> Vec<Point> {
    (0..count).map(|index| Point { x: index as f64, ..Point::default() }).collect()
}

#[test]
fn long_lines_keep_their_ends() {
    assert_eq!(thinned(&spots(17)), spots(17));
    let thin = thinned(&spots(65_536));
    assert_eq!(thin.len(), SPOTS_MAX);
    assert_eq!((thin[0].x, thin[SPOTS_MAX - 1].x), (0.0, 65_535.0));
    assert!(thin.windows(2).all(|pair| pair[0].x < pair[1].x), "in order, none twice");
}
