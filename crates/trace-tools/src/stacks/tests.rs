use super::*;

fn identity(path: &str) -> Identity {
    Identity { path: path.as_bytes().to_owned(), build_id: String::new(), changed: 0 }
}

fn with(modules: &[(u32, u64, &str)]) -> Modules {
    let mut all = Modules::default();
    for (pid, time, path) in modules {
        let file = all.place(identity(path));
        all.add(*pid, Module { start: 0x1000, end: 0x2000, base: 0x1000, time: *time, file });
    }
    all
}

#[test]
fn an_address_is_in_the_file_that_was_mapped_there_at_the_time() {
    // A process that has executed another program, or closed one file and opened another.
    let modules = with(&[(7, 10, "/bin/first"), (7, 20, "/bin/second"), (7, 30, "/bin/first"), (8, 5, "/bin/other")]);
    for (time, expected) in [(5, "first"), (10, "first"), (19, "first"), (20, "second"), (29, "second"), (31, "first")]
    {
        assert_eq!(modules.name(7, time, 0x1010), Some(format!("{expected}+0x10")), "{time}");
    }
    assert_eq!(modules.name(7, 10, 0x2000), None);
    assert_eq!(modules.name(9, 10, 0x1010), None);
}

#[test]
fn parts_that_name_the_same_files_again_add_nothing() {
    let modules = with(&[(7, 10, "/bin/first"), (7, 20, "/bin/first"), (7, 30, "/bin/first")]);
    assert_eq!((modules.of_process[&7].len(), modules.files.len()), (1, 1));
}

#[test]
fn names_are_those_of_the_source_and_harmless() {
    for (name, expected) in [
        ("_ZN4shop3ask17h0123456789abcdefE", "shop::ask"),
        ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
        ("_ZN4shop3askEi", "_ZN4shop3askEi"),
        ("main", "main"),
        ("a\u{1b}[2Jb\u{202e}c\n", "a?[2Jb?c?"),
    ] {
        assert_eq!(demangled(name), expected);
    }
    assert_eq!(demangled(&"x".repeat(201)), "x".repeat(200) + "...");
    let modules = with(&[(7, 10, "/bin/\u{1b}]0;x\u{7}")]);
    assert_eq!(modules.name(7, 10, 0x1010).as_deref(), Some("?]0;x?+0x10"));
}
