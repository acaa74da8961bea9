use proptest::prelude::*;

use super::*;
use crate::record::records;

/// Returns a format with these fields: declaration, offset, size, signed.
fn format(fields: &[(&str, u32, u32, u32)]) -> Format {
    let lines = fields.iter().map(|(declaration, offset, size, signed)| {
        format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
    });
    let common = "name: e\nID: 77\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
    Format::parse(&lines.fold(common.to_owned(), |text, line| text + &line)).expect("understood")
}

fn plan(fields: &[(&str, u32, u32, u32)]) -> (EventKind, Plan) {
    Plan::new("s", &format(fields))
}

/// Returns a kernel record of thread 9 with these bytes after the common fields.
fn raw(rest: &[u8]) -> Vec<u8> {
    [&[77, 0, 0, 0, 9, 0, 0, 0], rest].concat()
}

/// Returns the fields of the converted record.
fn copied(plan: &Plan, rest: &[u8]) -> Vec<u8> {
    let mut out = vec![0xaa; 8];
    plan.append(5, &raw(rest), &mut out);
    let record = out.split_off(8);
    let (head, fields) = records(&record).next().expect("a whole record");
    assert_eq!((head.time, head.event, head.thread, usize::from(head.len)), (5, 77, 9, record.len()));
    fields.to_vec()
}

fn kind(declaration: &str, size: u32, signed: u32) -> FieldKind {
    plan(&[(declaration, 8, size, signed)]).0.fields.remove(0).kind
}

#[test]
fn every_type_has_its_kind() {
    let array = |item: FieldKind, count| FieldKind::Array { item: Box::new(item), count };
    let (decimal, hexadecimal) = (Base::Decimal, Base::Hexadecimal);
    assert_eq!(kind("pid_t pid", 4, 1), FieldKind::Signed { bytes: 4 });
    assert_eq!(kind("bool b", 1, 0), integer(1, false, decimal));
    assert_eq!(kind("const char * s", 8, 0), integer(8, false, hexadecimal));
    assert_eq!(kind("unsigned long args[6]", 48, 0), array(integer(8, false, decimal), 6));
    assert_eq!(kind("u32 counts[SOME]", 8, 0), array(integer(4, false, decimal), 2));
    assert_eq!(kind("u8 id[16]", 16, 0), array(integer(1, false, decimal), 16));
    assert_eq!(kind("struct in6_addr a", 16, 0), array(integer(1, false, hexadecimal), 16));
    assert_eq!(kind("struct thing t[SOME]", 6, 0), array(integer(1, false, hexadecimal), 6));
    assert_eq!(kind("char comm[16]", 16, 0), FieldKind::Text);
    assert_eq!(kind("char comm[TASK_COMM_LEN]", 16, 1), FieldKind::Text);
    assert_eq!(kind("__data_loc char[] f", 4, 0), FieldKind::Text);
    assert_eq!(kind("__data_loc u64[] f", 4, 0), FieldKind::Text);
    assert_eq!(kind("char buf[]", 0, 0), FieldKind::Text);
}

#[test]
fn common_fields_are_left_out_and_names_are_made_unique() {
    let (kind, _) = plan(&[("int a", 8, 4, 1), ("int a", 12, 4, 1)]);
    assert_eq!((kind.id, kind.name.as_str()), (77, "s:e"));
    assert_eq!(kind.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["a", "a_"]);
}

#[test]
fn fields_are_copied_without_gaps() {
    let (_, plan) = plan(&[("u8 a", 8, 1, 0), ("u16 b", 10, 2, 0), ("char c[4]", 12, 4, 0), ("u32 d", 16, 4, 0)]);
    let fields = copied(&plan, &[1, 99, 2, 3, b'h', b'i', 0, b'x', 4, 5, 6, 7]);
    assert_eq!(fields, [1, 2, 3, b'h', b'i', 0, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0]);
    // Missing bytes of a record that ends early are zero.
    assert_eq!(copied(&plan, &[1, 99, 2]), [1, 2, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn contents_at_an_offset_are_copied_within_the_record() {
    let text = |fields: Vec<u8>| fields.split(|byte| *byte == 0).next().map(<[u8]>::to_vec).expect("a first part");
    let (_, there) = plan(&[("__data_loc char[] f", 8, 4, 0)]);
    assert_eq!(text(copied(&there, &[12, 0, 3, 0, b'a', b'b', 0])), b"ab");
    assert_eq!(text(copied(&there, &[12, 0, 99, 0, b'a', b'b'])), b"ab", "too long");
    assert_eq!(text(copied(&there, &[99, 0, 3, 0, b'a', b'b'])), b"", "outside");
    assert_eq!(text(copied(&there, &[12, 0])), b"", "not there at all");
    let (_, from_here) = plan(&[("__rel_loc char[] f", 8, 4, 0)]);
    assert_eq!(text(copied(&from_here, &[1, 0, 2, 0, b'x', b'a', b'b'])), b"ab");
    let (_, tail) = plan(&[("char buf[]", 8, 0, 0)]);
    assert_eq!(text(copied(&tail, b"to the end")), b"to the end");
    let (_, invalid) = plan(&[("char c[8]", 8, 8, 0)]);
    assert_eq!(text(copied(&invalid, b"\xc3\xa9\xff\xfe!")), "\u{e9}??!".as_bytes());
}

#[test]
fn arrays_whose_length_differs_become_numbers() {
    let text = |fields: Vec<u8>| String::from_utf8(fields).expect("text").trim_end_matches('\0').to_owned();
    let (_, unsigned) = plan(&[("__data_loc u16[] f", 8, 4, 0)]);
    assert_eq!(text(copied(&unsigned, &[12, 0, 5, 0, 1, 0, 0xff, 0xff, 9])), "1 65535");
    let (_, signed) = plan(&[("__data_loc s16[] f", 8, 4, 1)]);
    assert_eq!(text(copied(&signed, &[12, 0, 4, 0, 1, 0, 0xff, 0xff])), "1 -1");
}

#[test]
fn fields_beyond_a_records_size_are_cut() {
    let (kind, long) = plan(&[("u8 a[9000]", 8, 9000, 0), ("char t[9000]", 9008, 9000, 0), ("u8 last", 8, 1, 0)]);
    assert_eq!(kind.fields.len(), 1, "there was no room for more: {kind:?}");
    assert_eq!(copied(&long, &[7; 18000]).len(), RECORD_MAX - HEAD);
    let (_, texts) = plan(&[("char t[]", 8, 0, 0), ("char u[]", 8, 0, 0), ("u64 last", 8, 8, 0)]);
    let fields = copied(&texts, &[b'7'; 5000]);
    assert_eq!(fields.len(), RECORD_MAX - HEAD);
    assert_eq!(fields[fields.len() - 10..], [b"\0\0".as_slice(), &[b'7'; 8]].concat());
}

proptest! {
    #[test]
    fn any_plan_makes_whole_records_of_any_bytes(
        fields in prop::collection::vec((0..7usize, 0..5000u32, 0..5000u32), 0..8),
        data in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        const DECLARATIONS: [&str; 7] =
            ["int a", "char a[]", "u64 a[4]", "__data_loc char[] a", "__rel_loc s16[] a", "struct s a", "__data_loc u64[] a"];
        let fields: Vec<_> = fields.iter().map(|(which, offset, size)| (DECLARATIONS[*which], *offset, *size, 1)).collect();
        let (_, plan) = plan(&fields);
        let mut out = Vec::new();
        plan.append(1, &data, &mut out);
        plan.append(2, &data, &mut out);
        let lengths: Vec<usize> = records(&out).map(|(head, _)| usize::from(head.len)).collect();
        prop_assert!(lengths.len() == 2 && lengths.iter().sum::<usize>() == out.len());
    }
}
