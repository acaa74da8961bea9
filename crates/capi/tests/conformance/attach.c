/* fattach and fdetach (POSIX fattach, fdetach), strlog (SVR4 strlog(9F), log(7)). */
#include "stream.h"
#include <sys/log.h>
#include <sys/strlog.h>

static char path[60];

static void prepare(void) {
    open_ends();
    strcpy(path, "/tmp/conformance-XXXXXX");
    int file = mkstemp(path);
    NEEDS(file >= 0 && write(file, "file", 4) == 4, "a file to attach to");
    close(file);
}

static void an_attached_stream_is_opened_by_its_path(void) {
    prepare();
    NEEDS(fattach(far, path) == 0, "POSIX fattach");
    int opened = open(path, O_RDWR);
    HOLDS(opened >= 0, "POSIX fattach: an open of the path");
    EXPECT(isastream(opened), 1, "POSIX fattach: opens the stream");
    EXPECT(write(opened, "by path", 7), 7, "write");
    EXPECT(read(near, got.data_bytes, 20), 7, "POSIX fattach: the stream that was attached");
    close(far);
    EXPECT(write(near, "x", 1), 1, "POSIX fattach: the attachment keeps the stream open");
    EXPECT(fdetach(path), 0, "POSIX fdetach");
    EXPECT(read(opened, got.data_bytes, 20), 1, "POSIX fdetach: a stream that is open stays open");
    close(opened);
    int file = open(path, O_RDONLY);
    EXPECT(isastream(file), 0, "POSIX fdetach: the path is the file again");
    EXPECT(read(file, got.data_bytes, 20), 4, "POSIX fdetach: the path is the file again");
    EXPECT(read(near, got.data_bytes, 20), 0, "POSIX fdetach: the last reference hangs up");
    unlink(path);
}

static void another_process_opens_it(void) {
    prepare();
    NEEDS(fattach(far, path) == 0, "POSIX fattach");
    pid_t child = fork();
    if (child == 0) {
        close(near), close(far);
        int opened = open(path, O_RDWR);
        _exit(opened >= 0 && isastream(opened) == 1 && write(opened, "child", 5) == 5 ? 0 : 1);
    }
    EXPECT(read(near, got.data_bytes, 20), 5, "POSIX fattach: another process opens the path");
    EXPECT(ended_within(child, 3000), 0, "POSIX fattach: another process opens the path");
    EXPECT(fdetach(path), 0, "POSIX fdetach");
    unlink(path);
}

static void errors(void) {
    prepare();
    int null = open("/dev/null", O_RDWR);
    FAILS(fattach(-1, path), EBADF, "POSIX fattach: EBADF");
    FAILS(fattach(null, path), EINVAL, "POSIX fattach: EINVAL for what is no stream");
    FAILS(fattach(far, "/tmp/conformance-no-such-file"), ENOENT, "POSIX fattach: ENOENT");
    FAILS(fattach(far, ""), ENOENT, "POSIX fattach: ENOENT");
    FAILS(fattach(far, "/dev/null/x"), ENOTDIR, "POSIX fattach: ENOTDIR");
    FAILS(fdetach(path), EINVAL, "POSIX fdetach: EINVAL without a stream");
    FAILS(fdetach("/tmp/conformance-no-such-file"), ENOENT, "POSIX fdetach: ENOENT");
    FAILS(fattach(far, bad_pointer), EFAULT, "POSIX fattach: EFAULT (Linux)");
    FAILS(fdetach(bad_pointer), EFAULT, "POSIX fdetach: EFAULT (Linux)");
    EXPECT(fattach(far, path), 0, "POSIX fattach");
    FAILS(fattach(near, path), EBUSY, "POSIX fattach: EBUSY");
    EXPECT(fdetach(path), 0, "POSIX fdetach");
    unlink(path);
}

static void log_messages(void) {
    int logger = open_device("log");
    struct trace_ids ids = {.ti_mid = 77, .ti_sid = -1, .ti_level = 3};
    struct strioctl call = {.ic_cmd = I_TRCLOG, .ic_timout = 5, .ic_len = sizeof ids, .ic_dp = (char *)&ids};
    SUCCEEDS(ioctl(logger, I_STR, &call), "SVR4 log(7): I_TRCLOG");
    EXPECT(strlog(77, 1, 3, SL_TRACE, "number %d of %s", 42, "many"), 1, "SVR4 strlog: 1");
    EXPECT(strlog(77, 1, 4, SL_TRACE, "too high"), 1, "SVR4 strlog: 1");
    EXPECT(strlog(78, 1, 1, SL_TRACE, "another module"), 1, "SVR4 strlog: 1");
    EXPECT(strlog(77, 2, 1, SL_TRACE, "last"), 1, "SVR4 strlog: 1");
    get_message(logger);
    EXPECT(got.control.len, sizeof(struct log_ctl), "SVR4 log(7): a log_ctl");
    struct log_ctl control;
    memcpy(&control, got.control_bytes, sizeof control);
    EXPECT(control.mid, 77, "SVR4 log(7): the module");
    EXPECT(control.sid, 1, "SVR4 log(7): the number within it");
    EXPECT(control.level, 3, "SVR4 log(7): the level");
    HOLDS(strncmp(got.data_bytes, "number 42 of many", 17) == 0, "SVR4 strlog: the text, formatted");
    int number = control.seq_no;
    get_message(logger);
    memcpy(&control, got.control_bytes, sizeof control);
    HOLDS(strncmp(got.data_bytes, "last", 4) == 0, "SVR4 log(7): what was not asked for does not come");
    HOLDS(control.seq_no > number, "SVR4 log(7): sequence numbers");
}

static const struct test tests[] = {
    TEST(an_attached_stream_is_opened_by_its_path),
    TEST(another_process_opens_it),
    TEST(errors),
    TEST(log_messages),
};
MAIN(tests)
