//! The table, cell by cell, against the rules of XNS 5.2 in the form in which its tables have them: for each state the events that
//! can happen there.

use super::{Event, State};
use headwater_streams::tpi;

/// State, event, next state: all that XNS 5.2 allows.
const ALLOWED: &[(State, &[(Event, State)])] = {
    use Event as E;
    use State as S;
    &[
        (S::Uninitialized, &[(E::Open, S::Unbound)]),
        (
            S::Unbound,
            &[
                (E::Close, S::Uninitialized),
                (E::Bind, S::Idle),
                (E::ManageOptions, S::Unbound),
                (E::TakeConnection, S::Connected),
            ],
        ),
        (
            S::Idle,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Idle),
                (E::Unbind, S::Unbound),
                (E::SendDatagram, S::Idle),
                (E::ReceiveDatagram, S::Idle),
                (E::ReceiveDatagramError, S::Idle),
                (E::Connect, S::Connected),
                (E::ConnectBegun, S::Connecting),
                (E::Listen, S::Listening),
                (E::TakeConnection, S::Connected),
            ],
        ),
        (
            S::Connecting,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Connecting),
                (E::ReceiveConnect, S::Connected),
                (E::Disconnect, S::Idle),
                (E::ReceiveDisconnect, S::Idle),
            ],
        ),
        (
            S::Listening,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Listening),
                (E::Listen, S::Listening),
                (E::AcceptHere, S::Connected),
                (E::AcceptElsewhere, S::Idle),
                (E::AcceptOneOfMany, S::Listening),
                (E::Disconnect, S::Idle),
                (E::RefuseOneOfMany, S::Listening),
                (E::CallerGone, S::Idle),
                (E::OneCallerGone, S::Listening),
            ],
        ),
        (
            S::Connected,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Connected),
                (E::Send, S::Connected),
                (E::Receive, S::Connected),
                (E::Release, S::Releasing),
                (E::ReceiveRelease, S::Released),
                (E::Disconnect, S::Idle),
                (E::ReceiveDisconnect, S::Idle),
            ],
        ),
        (
            S::Releasing,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Releasing),
                (E::Receive, S::Releasing),
                (E::ReceiveRelease, S::Idle),
                (E::Disconnect, S::Idle),
                (E::ReceiveDisconnect, S::Idle),
            ],
        ),
        (
            S::Released,
            &[
                (E::Close, S::Uninitialized),
                (E::ManageOptions, S::Released),
                (E::Send, S::Released),
                (E::Release, S::Idle),
                (E::Disconnect, S::Idle),
                (E::ReceiveDisconnect, S::Idle),
            ],
        ),
    ]
};

#[test]
fn table_agrees_with_xns() {
    assert_eq!(ALLOWED.len(), State::ALL.len());
    let mut cells = 0;
    for (state, allowed) in ALLOWED {
        for event in Event::ALL {
            let expected = allowed.iter().find(|(other, _)| *other == event).map(|(_, next)| *next);
            assert_eq!(state.after(event), expected, "{event:?} in {state:?}");
            cells += 1;
        }
    }
    assert_eq!(cells, 200);
}

#[test]
fn numbers_are_in_order() {
    for (at, state) in State::ALL.into_iter().enumerate() {
        assert_eq!((usize::from(state.number()), State::from_number(at as u8)), (at, state));
    }
    for (at, event) in Event::ALL.into_iter().enumerate() {
        assert_eq!(event as usize, at);
    }
    assert_eq!(State::from_number(8), State::Uninitialized);
}

#[test]
fn changing_provider_has_no_state() {
    let known = tpi::State::ALL.iter().filter(|state| State::from_provider(**state).is_some());
    assert_eq!(known.count(), 7);
    assert_eq!(State::from_provider(tpi::State::AwaitBindAck), None);
    assert_eq!(State::from_provider(tpi::State::AwaitResponse), Some(State::Listening));
}
