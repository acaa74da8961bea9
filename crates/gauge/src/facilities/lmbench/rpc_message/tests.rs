use super::*;

/// Encodes values as words of 4 bytes: the layout of RFC 5531, section 9.
fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn called(xid: u32, procedure: u32) -> Vec<u8> {
    let mut calls = Calls::new(procedure).expect("it fits");
    for _ in 1..xid {
        calls.next();
    }
    calls.next().0.to_vec()
}

fn answered(request: &[u8]) -> Vec<u8> {
    let mut buffer = [0; MESSAGE_MAX];
    let length = write_reply(request, &mut buffer).expect("it fits");
    buffer[..length].to_vec()
}

#[test]
fn messages_are_those_of_the_standard() {
    // Mark; number, call (0), version of the protocol, program, its version, procedure, no credentials, no verifier.
    let call = called(7, NULL_PROCEDURE);
    assert_eq!(call, words(&[0x8000_0028, 7, 0, 2, PROGRAM, VERSION, 0, 0, 0, 0, 0]));
    // Mark; number, reply (1), accepted (0), no verifier, success (0).
    assert_eq!(answered(&call), words(&[0x8000_0018, 7, 1, 0, 0, 0, 0]));
    assert_eq!(record_mark(0x28).to_vec(), call[..RECORD_MARK]);
}

#[test]
fn a_service_refuses_what_it_does_not_have() {
    let status = |request: &[u8]| answered(request)[RECORD_MARK + 20..].to_vec();
    let mut call = called(1, NULL_PROCEDURE);
    assert_eq!(status(&called(1, 9)), words(&[3]), "PROC_UNAVAIL");
    call[RECORD_MARK + 16..RECORD_MARK + 20].copy_from_slice(&9_u32.to_be_bytes());
    assert_eq!(status(&call), words(&[2, VERSION, VERSION]), "PROG_MISMATCH");
    call[RECORD_MARK + 12..RECORD_MARK + 16].copy_from_slice(&9_u32.to_be_bytes());
    assert_eq!(status(&call), words(&[1]), "PROG_UNAVAIL");
    assert!(write_reply(&answered(&call), &mut [0; MESSAGE_MAX]).is_err(), "a reply is no call");
}

#[test]
fn only_the_success_of_the_own_call_is_accepted() {
    let reply = answered(&called(7, NULL_PROCEDURE));
    assert!(accept_reply(&reply, 7).is_ok());
    assert_eq!(accept_reply(&reply, 8).expect_err("another call").kind(), io::ErrorKind::InvalidData);
    assert!(accept_reply(&called(7, NULL_PROCEDURE), 7).is_err(), "a call is no reply");
    let refusal = accept_reply(&answered(&called(7, 9)), 7).expect_err("refused");
    assert!(refusal.to_string().contains("ProcedureUnavailable"), "{refusal}");
    assert!(accept_reply(&reply[..reply.len() - 1], 7).is_err(), "cut off");
}

#[test]
fn a_length_is_known_when_the_mark_is_complete() {
    let call = called(7, NULL_PROCEDURE);
    assert_eq!(length(&call[..RECORD_MARK - 1]).expect("nothing wrong"), None);
    assert_eq!(length(&call[..RECORD_MARK]).expect("a mark"), Some(call.len()));
    assert!(length(&words(&[0x0000_0028])).is_err(), "a first fragment");
    assert!(length(&record_mark(MESSAGE_MAX)).is_err(), "too long");
}
