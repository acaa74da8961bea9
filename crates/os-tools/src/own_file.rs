//! Whether a file can only have been written by this user, and a directory can be written to as this user's own. Called where the contents
//! of a file decide what this process does: which programs it starts; and before it writes to files in a directory that it is given.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use headwater_os::files::own_user;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

/// Returns why another user may have written the file that was opened by this path, in words that follow "it"; `None` if no other
/// user can have. Then the file is a regular one, it and the directory that holds it belong to this user, and neither can be written
/// by its group or by others.
///
/// What was opened is judged, and not what the path leads to at another time. Directories above the file's own are not
/// judged: by changing them another user can only choose among the files that this user has written.
///
/// # Errors
/// Errors of the system.
pub fn foreign(file: &File, path: &Path) -> io::Result<Option<&'static str>> {
    let opened = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(opened.st_mode) != FileType::RegularFile {
        return Ok(Some("is no regular file"));
    }
    if opened.st_uid != own_user() {
        return Ok(Some("belongs to another user"));
    }
    if is_written_by_others(&opened) {
        return Ok(Some("can be written by its group or by others (`chmod go-w` ends that)"));
    }
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let directory = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let holder = rustix::fs::fstat(&directory)?;
    if holder.st_uid != own_user() {
        return Ok(Some("is in a directory of another user"));
    }
    if is_written_by_others(&holder) {
        return Ok(Some("is in a directory that its group or others can write to (`chmod go-w` ends that)"));
    }
    let entry = rustix::fs::statat(&directory, path.file_name().unwrap_or_default(), AtFlags::SYMLINK_NOFOLLOW)?;
    let is_entry = (entry.st_dev, entry.st_ino) == (opened.st_dev, opened.st_ino);
    Ok((!is_entry).then_some("is reached by a symbolic link, or was replaced meanwhile"))
}

/// Returns the whole path of a directory in which only this user makes, replaces and links files, on a path that no other user can lead
/// elsewhere. Where another user can, a file of that name may be a link to any file of this user's, at any time.
///
/// # Errors
/// `PermissionDenied` that says which directory another user can change; errors of the system.
pub fn own_directory(directory: &Path) -> io::Result<PathBuf> {
    own_from(directory, 0)
}

/// As [`own_directory`], for a directory that is `first` directories above the one that files are written to.
fn own_from(directory: &Path, first: usize) -> io::Result<PathBuf> {
    let whole = std::fs::canonicalize(directory)?;
    for (above, path) in (first..).zip(whole.ancestors()) {
        let status = rustix::fs::lstat(path)?;
        let mode = Mode::from_raw_mode(status.st_mode);
        let is_open = above == 0 && mode.contains(Mode::WGRP);
        let is_others = above == 0 && status.st_uid != own_user();
        let why = if is_others { Some(OF_OTHERS) } else { changed_by_others(&status, above) };
        if let Some(why) = why.or(is_open.then_some(WRITABLE)) {
            let text = format!(
                "{} {why}, and files are written here: do it as that user, or in a directory of your own",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
    }
    Ok(whole)
}

/// Returns why another user can put another program where this path leads, in words; `None` if no other user can, except the administrator
/// and members of groups that may write to it.
///
/// # Errors
/// Errors of the system.
pub fn replaceable(program: &Path) -> io::Result<Option<String>> {
    let whole = std::fs::canonicalize(program)?;
    for (above, path) in whole.ancestors().enumerate() {
        if let Some(why) = changed_by_others(&rustix::fs::lstat(path)?, above) {
            return Ok(Some(format!("{} {why}", path.display())));
        }
    }
    Ok(None)
}

const OF_OTHERS: &str = "belongs to another user";
const WRITABLE: &str = "can be written by other users";

/// Returns why another user can change what is `above` directories above a file that is used.
fn changed_by_others(status: &Stat, above: usize) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(status.st_mode);
    // Other users may make files in a sticky directory, and replace none of ours.
    let is_open = mode.contains(Mode::WOTH) && (above == 0 || !mode.contains(Mode::SVTX));
    let is_others = status.st_uid != own_user() && status.st_uid != 0;
    is_others.then_some(OF_OTHERS).or(is_open.then_some(WRITABLE))
}

/// Makes a directory with these permissions, and those above it that are missing, and returns its whole path. It, or one that is there,
/// must be as [`own_directory`] demands. Nothing is made where another user could replace it.
///
/// # Errors
/// Those of [`own_directory`]; what mkdir(2) reports.
pub fn make_own_directory(directory: &Path, mode: u32) -> io::Result<PathBuf> {
    let named = |path: &Path| if path == Path::new("") { PathBuf::from(".") } else { path.to_owned() };
    let mut missing = directory.ancestors().enumerate().map(|(above, path)| (above, named(path)));
    if let Some((above, holder)) = missing.find(|(_, path)| path.exists()) {
        // The path may lead elsewhere from now on; what it led to cannot.
        let rest: PathBuf = directory.components().rev().take(above).collect::<Vec<_>>().into_iter().rev().collect();
        let whole = own_from(&holder, above)?.join(rest);
        DirBuilder::new().recursive(true).mode(mode).create(&whole)?;
        return own_directory(&whole);
    }
    own_directory(directory)
}

fn is_written_by_others(status: &Stat) -> bool {
    Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_can_change_or_lead_elsewhere_is_not_own() {
        let home = std::env::temp_dir().join(format!("headwater-own-directory-{}", std::process::id()));
        let [open, inner, own] = [home.join("open"), home.join("open/inner"), home.join("own")];
        [&inner, &own].into_iter().for_each(|path| fs::create_dir_all(path).expect("a new directory"));
        let with = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
        with(&home, 0o755);
        with(&inner, 0o755);
        symlink(&own, open.join("link")).expect("a link");
        for (of_own, of_open, expect) in [(0o755, 0o755, [true, true, true]), (0o775, 0o755, [false, true, false])]
            .into_iter()
            .chain([(0o700, 0o777, [true, false, true]), (0o757, 0o1777, [false, true, false])])
        {
            with(&own, of_own);
            with(&open, of_open);
            let found = [&own, &inner, &open.join("link")].map(|path| own_directory(path).is_ok());
            assert_eq!(found, expect, "{of_own:o} {of_open:o}");
        }
        // Nothing is made there, also where a link of another user leads.
        with(&open, 0o777);
        symlink(open.join("other"), open.join("lead")).expect("a link");
        for inside in ["made", "made/below", "inner/../made", "lead"] {
            make_own_directory(&open.join(inside), 0o700).expect_err("others can replace it");
        }
        assert!(!open.join("other").exists());
        assert!(!open.join("made").exists());
        with(&open, 0o755);
        let made = make_own_directory(&open.join("made/below"), 0o750).expect("ours");
        assert!(made.ends_with("open/made/below"));
        assert_eq!(fs::metadata(&made).expect("it is there").permissions().mode() & 0o027, 0);
        with(&own, 0o755);
        assert_eq!(own_directory(&open.join("link")).expect("ours"), fs::canonicalize(&own).expect("there"));
        if own_user() == 0 {
            rustix::fs::chown(&own, Some(rustix::fs::Uid::from_raw(65501)), None).expect("root");
            let error = own_directory(&own).expect_err("another user's");
            assert!(error.to_string().contains("belongs to another user"), "{error}");
        }
        fs::remove_dir_all(&home).expect("it is there");
    }

    #[test]
    fn only_a_file_and_directory_that_no_other_user_writes_are_own() {
        let home = std::env::temp_dir().join(format!("headwater-own-file-{}", std::process::id()));
        let [directory, file] = [home.join("run"), home.join("run/file")];
        fs::create_dir_all(&directory).expect("a new directory");
        fs::write(&file, "x").expect("room on the disk");
        let why = |path: &Path| foreign(&File::open(path).expect("open"), path).expect("fstat");
        let with = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
        };
        with(&home, 0o777);
        with(&directory, 0o755);
        for (of_file, of_directory, expect) in [
            (0o644, 0o755, None),
            (0o400, 0o500, None),
            (0o664, 0o755, Some("its group or by others")),
            (0o646, 0o755, Some("its group or by others")),
            (0o644, 0o775, Some("in a directory")),
            (0o644, 0o1777, Some("in a directory")),
        ] {
            with(&file, of_file);
            with(&directory, of_directory);
            let said = why(&file);
            assert_eq!(said.is_some(), expect.is_some(), "{of_file:o} {of_directory:o}: {said:?}");
            assert!(expect.is_none_or(|part| said.is_some_and(|said| said.contains(part))), "{said:?}");
        }
        with(&file, 0o644);
        with(&directory, 0o755);
        let link = directory.join("link");
        symlink("file", &link).expect("symlink");
        assert!(why(&link).is_some_and(|said| said.contains("symbolic link")));
        assert!(why(&directory).is_some_and(|said| said.contains("regular")));
        // The opened file counts, and not the one that has its name now.
        let opened = File::open(&file).expect("open");
        fs::write(directory.join("new"), "y").expect("room on the disk");
        fs::rename(directory.join("new"), &file).expect("rename");
        assert!(foreign(&opened, &file).expect("fstat").is_some_and(|said| said.contains("replaced")));
        if own_user() == 0 {
            rustix::fs::chown(&file, Some(rustix::fs::Uid::from_raw(65534)), None).expect("chown");
            assert!(why(&file).is_some_and(|said| said.contains("another user")));
        }
        fs::remove_dir_all(&home).expect("it is there");
    }
}
