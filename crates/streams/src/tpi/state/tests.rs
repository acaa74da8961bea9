use super::Event::*;
use super::State::*;
use super::*;

/// The specification's rows, written as "event: from -> to", and compared with the table cell by cell.
const ROWS: &[(Event, &[(State, State)])] = &[
    (BindReq, &[(Unbound, AwaitBindAck)]),
    (UnbindReq, &[(Idle, AwaitUnbindAck)]),
    (
        OptmgmtReq,
        &[
            (Unbound, Unbound),
            (Idle, AwaitOptionsAck),
            (AwaitConfirm, AwaitConfirm),
            (AwaitResponse, AwaitResponse),
            (Connected, Connected),
            (AwaitRelease, AwaitRelease),
            (Releasing, Releasing),
        ],
    ),
    (BindAck, &[(AwaitBindAck, Idle)]),
    (
        OptmgmtAck,
        &[
            (Unbound, Unbound),
            (AwaitOptionsAck, Idle),
            (AwaitConfirm, AwaitConfirm),
            (AwaitResponse, AwaitResponse),
            (Connected, Connected),
            (AwaitRelease, AwaitRelease),
            (Releasing, Releasing),
        ],
    ),
    (
        ErrorAck,
        &[
            (Unbound, Unbound),
            (AwaitBindAck, Unbound),
            (AwaitUnbindAck, Idle),
            (Idle, Idle),
            (AwaitOptionsAck, Idle),
            (AwaitConnectAck, Idle),
            (AwaitConfirm, AwaitConfirm),
            (AwaitResponse, AwaitResponse),
            (AwaitResponseAck, AwaitResponse),
            (Connected, Connected),
            (AwaitRelease, AwaitRelease),
            (Releasing, Releasing),
            (AwaitDisconnectAck6, AwaitConfirm),
            (AwaitDisconnectAck7, AwaitResponse),
            (AwaitDisconnectAck9, Connected),
            (AwaitDisconnectAck10, AwaitRelease),
            (AwaitDisconnectAck11, Releasing),
        ],
    ),
    (
        OkAck1,
        &[
            (AwaitUnbindAck, Unbound),
            (AwaitConnectAck, AwaitConfirm),
            (AwaitDisconnectAck6, Idle),
            (AwaitDisconnectAck9, Idle),
            (AwaitDisconnectAck10, Idle),
            (AwaitDisconnectAck11, Idle),
        ],
    ),
    (OkAck2, &[(AwaitResponseAck, Connected), (AwaitDisconnectAck7, Idle)]),
    (OkAck3, &[(AwaitResponseAck, Idle)]),
    (OkAck4, &[(AwaitResponseAck, AwaitResponse), (AwaitDisconnectAck7, AwaitResponse)]),
    (UnitdataReq, &[(Idle, Idle)]),
    (UnitdataInd, &[(Idle, Idle)]),
    (UderrorInd, &[(Idle, Idle)]),
    (ConnReq, &[(Idle, AwaitConnectAck)]),
    (ConnRes, &[(AwaitResponse, AwaitResponseAck)]),
    (
        DisconReq,
        &[
            (AwaitConfirm, AwaitDisconnectAck6),
            (AwaitResponse, AwaitDisconnectAck7),
            (Connected, AwaitDisconnectAck9),
            (AwaitRelease, AwaitDisconnectAck10),
            (Releasing, AwaitDisconnectAck11),
        ],
    ),
    (DataReq, &[(Connected, Connected), (Releasing, Releasing)]),
    (ExdataReq, &[(Connected, Connected), (Releasing, Releasing)]),
    (OrdrelReq, &[(Connected, AwaitRelease), (Releasing, Idle)]),
    (ConnInd, &[(Idle, AwaitResponse), (AwaitResponse, AwaitResponse)]),
    (ConnCon, &[(AwaitConfirm, Connected)]),
    (DataInd, &[(Connected, Connected), (AwaitRelease, AwaitRelease)]),
    (ExdataInd, &[(Connected, Connected), (AwaitRelease, AwaitRelease)]),
    (OrdrelInd, &[(Connected, Releasing), (AwaitRelease, Idle)]),
    (DisconInd1, &[(AwaitConfirm, Idle), (Connected, Idle), (AwaitRelease, Idle), (Releasing, Idle)]),
    (DisconInd2, &[(AwaitResponse, Idle)]),
    (DisconInd3, &[(AwaitResponse, AwaitResponse)]),
    (PassConn, &[(Unbound, Connected), (Idle, Connected)]),
];

#[test]
fn every_event_in_every_state_leads_where_the_specification_says() {
    assert_eq!((State::ALL.len(), Event::ALL.len(), ROWS.len()), (17, 28, 28));
    for event in Event::ALL {
        let (_, row) = ROWS.iter().find(|(of, _)| of == event).expect("a row of each");
        for from in State::ALL {
            let expected = row.iter().find(|(state, _)| state == from).map(|(_, to)| *to);
            assert_eq!(from.after(*event), expected, "{event:?} in {from:?}");
        }
    }
}

#[test]
fn numbers_and_values_are_each_others_inverse() {
    for (number, state) in State::ALL.iter().enumerate() {
        assert_eq!((state.number() as usize, State::of(number as u32)), (number, Some(*state)));
    }
    assert_eq!((State::of(17), Event::of(28)), (None, None));
    for (number, event) in Event::ALL.iter().enumerate() {
        assert_eq!((event.number() as usize, Event::of(number as u32)), (number, Some(*event)));
    }
}
