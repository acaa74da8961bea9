use proptest::prelude::*;

use super::*;
use crate::tpi::{OptionStatus, TransportOption, XTI_GENERIC, options};

const INFO: ProviderInfo = ProviderInfo {
    tsdu: 1,
    etsdu: -1,
    connect_data: -2,
    disconnect_data: 4,
    address: 5,
    options: 6,
    tidu: 7,
    service: Service::OrderlyConnections,
    state: State::Connected,
    flags: ProviderInfo::SENDZERO,
};

/// One of each, with parts of several lengths.
fn all() -> Vec<Primitive<'static>> {
    use Primitive as P;
    let flags = ManagementFlags::NEGOTIATE;
    vec![
        P::ConnReq { destination: b"abc", options: b"optional" },
        P::ConnRes { acceptor: 7, options: b"", sequence: 9 },
        P::DisconReq { sequence: P::NO_SEQUENCE },
        P::DataReq { more: true },
        P::ExdataReq { more: false },
        P::InfoReq,
        P::BindReq { address: b"", waiting: 5 },
        P::UnbindReq,
        P::UnitdataReq { destination: b"abcde", options: b"" },
        P::OptmgmtReq { options: b"12345678", flags },
        P::OrdrelReq,
        P::ConnInd { source: b"a", options: b"o", sequence: 3 },
        P::ConnCon { responder: b"ab", options: b"" },
        P::DisconInd { reason: 111, sequence: 4 },
        P::DataInd { more: false },
        P::ExdataInd { more: true },
        P::InfoAck(INFO),
        P::BindAck { address: b"1234", waiting: 1 },
        P::ErrorAck { of: PrimitiveNumber::OrdrelInd, error: TransportError::System, errno: 12 },
        P::OkAck { of: PrimitiveNumber::ConnReq },
        P::UnitdataInd { source: b"", options: b"xy" },
        P::UderrorInd { destination: b"gone", options: b"", error: 111 },
        P::OptmgmtAck { options: b"", flags: ManagementFlags::SUCCESS },
        P::OrdrelInd,
        P::AddrReq,
        P::AddrAck { local: b"l", remote: b"remote" },
        P::OptdataReq { more: true, expedited: true, options: b"q" },
        P::OptdataInd { more: false, expedited: true, options: b"" },
        P::CapabilityReq { wanted: Capabilities { info: true, acceptor: false } },
        P::CapabilityAck { given: Capabilities { info: true, acceptor: true }, info: INFO, acceptor: 77 },
    ]
}

#[test]
fn each_primitive_is_decoded_as_it_was_encoded_and_has_its_number() {
    for (number, primitive) in all().into_iter().enumerate() {
        let bytes = primitive.encode();
        assert_eq!(Primitive::decode(&bytes), Ok(primitive));
        assert_eq!(primitive.number(), PrimitiveNumber::ALL[number], "{primitive:?}");
        assert_eq!(bytes[..4], (number as u32).to_ne_bytes());
        assert!(bytes.len() >= 4 * WORDS[number]);
    }
    assert_eq!(PrimitiveNumber::of(30), None);
}

#[test]
fn a_part_lies_behind_the_fixed_part_where_its_words_say() {
    let bytes = Primitive::ConnReq { destination: b"abc", options: b"optional" }.encode();
    let words: Vec<u32> = bytes[..20].chunks(4).map(|word| u32::from_ne_bytes(word.try_into().expect("4"))).collect();
    assert_eq!(words, [0, 3, 20, 8, 24]);
    assert_eq!((&bytes[20..23], &bytes[24..32]), (&b"abc"[..], &b"optional"[..]));
}

#[test]
fn no_length_or_offset_leads_outside() {
    for primitive in all() {
        let bytes = primitive.encode();
        for len in 0..4 * WORDS[primitive.number() as usize] {
            assert_eq!(Primitive::decode(&bytes[..len]), Err(Malformed), "{primitive:?} of {len} bytes");
        }
    }
    let request = Primitive::UnitdataReq { destination: b"abcde", options: b"" }.encode();
    for (len, offset) in [(6, 20), (5, 21), (1, 25), (1, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
        let mut bytes = request.clone();
        bytes[4..8].copy_from_slice(&u32::to_ne_bytes(len));
        bytes[8..12].copy_from_slice(&u32::to_ne_bytes(offset));
        assert_eq!(Primitive::decode(&bytes), Err(Malformed), "{len} at {offset}");
    }
    // The offset of nothing does not matter.
    let mut bytes = request;
    bytes[4..12].copy_from_slice(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(Primitive::decode(&bytes), Ok(Primitive::UnitdataReq { destination: b"", options: b"" }));
}

#[test]
fn what_a_user_sends_is_told_from_what_a_provider_sends() {
    let requests = PrimitiveNumber::ALL.iter().filter(|number| number.is_request()).count();
    let fatal = PrimitiveNumber::ALL.iter().filter(|number| number.is_request() && !number.is_acknowledged()).count();
    let high = PrimitiveNumber::ALL.iter().filter(|number| number.is_high_priority()).count();
    assert_eq!((requests, fatal, high), (14, 5, 10));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(number in 0u32..40, rest in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut bytes = number.to_ne_bytes().to_vec();
        bytes.extend(&rest);
        if let Ok(primitive) = Primitive::decode(&bytes) {
            let again = primitive.encode();
            prop_assert_eq!(Primitive::decode(&again), Ok(primitive));
        }
        let _ = Primitive::decode(&rest);
        prop_assert!(options(&rest).count() <= rest.len() / 16 + 1);
    }

    /// Small words, as a hostile user would choose them: many of them lie just inside or just outside.
    #[test]
    fn small_words_are_decoded_or_refused(words in proptest::collection::vec(0u32..48, 1..16)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        if let Ok(primitive) = Primitive::decode(&bytes) {
            let again = primitive.encode();
            prop_assert_eq!(Primitive::decode(&again), Ok(primitive));
        }
        for option in options(&bytes).flatten() {
            prop_assert!(option.value.len() <= bytes.len());
        }
    }

    #[test]
    fn options_are_read_as_they_were_written(values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..6)) {
        let mut list = Vec::new();
        let option = |name: usize| {
            TransportOption { level: XTI_GENERIC, name: name as u32, status: OptionStatus::NONE, value: &values[name] }
        };
        (0..values.len()).for_each(|name| option(name).append_to(&mut list));
        let read: Result<Vec<_>, _> = options(&list).collect();
        prop_assert_eq!(read, Ok((0..values.len()).map(option).collect::<Vec<_>>()));
    }
}
