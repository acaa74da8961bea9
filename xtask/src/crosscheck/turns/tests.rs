use std::cell::RefCell;

use anyhow::anyhow;

use super::*;

#[test]
fn every_block_has_every_row_once_by_each_side_in_all_orders() {
    let calls = RefCell::new(Vec::new());
    let figure = |side, row, block| {
        calls.borrow_mut().push((side, row, block));
        if (side, row, block) == (1, 2, 4) { Err(anyhow!("no memory")) } else { Ok(block) }
    };
    let all = by_turns(Extent { blocks: 30, seed: 1, rows: 3, sides: 3 }, figure, |_| false);
    let blocks: Vec<u32> = (0..30).collect();
    assert!(all[0].figures.iter().all(|side| *side == blocks), "{all:?}");
    assert_eq!((all[2].figures[0].len(), all[2].missing.as_deref()), (4, Some("no memory")), "{all:?}");
    let calls = calls.into_inner();
    let orders: std::collections::BTreeSet<Vec<usize>> = calls
        .iter()
        .filter(|call| call.1 == 0)
        .map(|call| call.0)
        .collect::<Vec<_>>()
        .chunks(3)
        .map(<[_]>::to_vec)
        .collect();
    assert_eq!(orders.len(), 6, "every order of three sides: {orders:?}");
}

#[test]
fn a_row_that_is_done_is_measured_no_more() {
    let all = by_turns(
        Extent { blocks: 9, seed: 1, rows: 2, sides: 2 },
        |_, row, _| Ok(row),
        |turns| turns.figures[0].len() >= if turns.figures[0].first() == Some(&1) { 3 } else { 5 },
    );
    assert_eq!(all.iter().map(|turns| turns.figures[1].len()).collect::<Vec<_>>(), [5, 3]);
}
