/* Read and write modes: RNORM, RMSGD, RMSGN with RPROTNORM, RPROTDAT, RPROTDIS; RFILL; SNDZERO, SNDDELIM, SNDHOLD, SNDMREAD and
 * coalescing (POSIX read, write, I_SRDOPT; STREAMS section 3 and 4.6). */
#include "stream.h"

static void prepare(void) {
    open_ends();
    set_nonblocking(far, 1);
}

/* Returns what a read of that many bytes gives: the bytes as a text, or the name of the error. */
static const char *reads(int fd, size_t len) {
    static char text[300];
    errno = 0;
    ssize_t count = read(fd, text, len < sizeof text ? len : sizeof text - 1);
    if (count < 0)
        return strerrorname_np(errno);
    text[count] = 0;
    return text;
}

/* Two messages with control parts and one without are read by four bytes at a time. Each row has the results of the reads. */
static void every_combination_of_modes(void) {
    static const struct {
        int mode;
        const char *name, *seen[10];
    } rows[] = {
        {RNORM | RPROTNORM, "RNORM RPROTNORM", {"EBADMSG", "EBADMSG"}},
        {RNORM | RPROTDAT, "RNORM RPROTDAT", {"ABda", "taCD", "more", "plai", "n", "EAGAIN"}},
        {RNORM | RPROTDIS, "RNORM RPROTDIS", {"data", "more", "plai", "n", "EAGAIN"}},
        {RMSGN | RPROTNORM, "RMSGN RPROTNORM", {"EBADMSG", "EBADMSG"}},
        {RMSGN | RPROTDAT, "RMSGN RPROTDAT", {"ABda", "ta", "CDmo", "re", "plai", "n", "EAGAIN"}},
        {RMSGN | RPROTDIS, "RMSGN RPROTDIS", {"data", "more", "plai", "n", "EAGAIN"}},
        {RMSGD | RPROTNORM, "RMSGD RPROTNORM", {"EBADMSG", "EBADMSG"}},
        {RMSGD | RPROTDAT, "RMSGD RPROTDAT", {"ABda", "CDmo", "plai", "EAGAIN"}},
        {RMSGD | RPROTDIS, "RMSGD RPROTDIS", {"data", "more", "plai", "EAGAIN"}},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        prepare();
        EXPECT(ioctl(far, I_SRDOPT, rows[row].mode), 0, "POSIX I_SRDOPT");
        int mode = -1;
        EXPECT(ioctl(far, I_GRDOPT, &mode), 0, "POSIX I_GRDOPT");
        EXPECT(mode & ~RPROTNORM, rows[row].mode & ~RPROTNORM, "POSIX I_GRDOPT: the options that were set");
        EXPECT(put_message(near, "AB", "data", 0), 0, "putmsg");
        EXPECT(put_message(near, "CD", "more", 0), 0, "putmsg");
        EXPECT(put_message(near, NULL, "plain", 0), 0, "putmsg");
        for (int at = 0; at < 10 && rows[row].seen[at]; at++) {
            const char *seen = reads(far, 4);
            in_context("%s, read %d", rows[row].name, at + 1);
            BYTES(seen, strlen(seen), rows[row].seen[at], "POSIX read: the table of read modes");
        }
        in_context("%s", "");
        close(near);
        close(far);
    }
}

static void rnorm_crosses_messages(void) {
    prepare();
    for (int at = 0; at < 3; at++)
        EXPECT(put_message(near, NULL, "abc", 0), 0, "putmsg");
    const char *seen = reads(far, 7);
    BYTES(seen, strlen(seen), "abcabca", "POSIX read: byte-stream mode crosses boundaries");
    seen = reads(far, 7);
    BYTES(seen, strlen(seen), "bc", "POSIX read: the rest of the message");
}

static void message_modes_keep_or_discard_the_rest(void) {
    prepare();
    EXPECT(ioctl(far, I_SRDOPT, RMSGN), 0, "I_SRDOPT");
    EXPECT(put_message(near, NULL, "abcdef", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "ghi", 0), 0, "putmsg");
    const char *seen = reads(far, 4);
    BYTES(seen, strlen(seen), "abcd", "POSIX read: message-nondiscard");
    seen = reads(far, 9);
    BYTES(seen, strlen(seen), "ef", "POSIX read: the rest alone");
    EXPECT(ioctl(far, I_SRDOPT, RMSGD), 0, "I_SRDOPT");
    seen = reads(far, 2);
    BYTES(seen, strlen(seen), "gh", "POSIX read: message-discard");
    seen = reads(far, 9);
    BYTES(seen, strlen(seen), "EAGAIN", "POSIX read: the rest is gone");
}

static void zero_length_messages(void) {
    for (int mode = RNORM; mode <= RMSGN; mode++) {
        prepare();
        in_context("mode %d", mode);
        EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT");
        EXPECT(ioctl(far, I_SRDOPT, mode), 0, "I_SRDOPT");
        EXPECT(put_message(near, NULL, "", 0), 0, "putmsg");
        EXPECT(put_message(near, NULL, "x", 0), 0, "putmsg");
        EXPECT(read(far, got.data_bytes, 9), 0, "POSIX read: 0 for a zero-length message");
        EXPECT(read(far, got.data_bytes, 9), 1, "POSIX read: it was removed");
        in_context("%s", "");
    }
}

static void bad_modes_are_einval(void) {
    prepare();
    FAILS(ioctl(far, I_SRDOPT, RMSGD | RMSGN), EINVAL, "POSIX I_SRDOPT: modes that exclude each other");
    FAILS(ioctl(far, I_SRDOPT, RPROTDAT | RPROTDIS), EINVAL, "POSIX I_SRDOPT: modes that exclude each other");
    FAILS(ioctl(far, I_SRDOPT, RPROTDAT | RPROTNORM), EINVAL, "POSIX I_SRDOPT: modes that exclude each other");
    FAILS(ioctl(far, I_SRDOPT, 0x40), EINVAL, "POSIX I_SRDOPT: an unknown bit");
    FAILS(ioctl(near, I_SWROPT, 0x20), EINVAL, "STREAMS 1: any other bit of I_SWROPT");
    for (int options = 0; options < 0x20; options++) {
        int seen = -1;
        in_context("I_SWROPT %#x", options);
        EXPECT(ioctl(near, I_SWROPT, options), 0, "STREAMS 1: the write options");
        EXPECT(ioctl(near, I_GWROPT, &seen), 0, "POSIX I_GWROPT");
        EXPECT(seen, options, "POSIX I_GWROPT: the options that were set");
    }
}

static void defaults(void) {
    prepare();
    int options = -1, device = open_device("echo");
    EXPECT(ioctl(near, I_GWROPT, &options), 0, "I_GWROPT");
    EXPECT(options, SNDPIPE, "STREAMS 1: SNDPIPE on a pipe");
    EXPECT(ioctl(device, I_GWROPT, &options), 0, "I_GWROPT");
    EXPECT(options, SNDZERO, "STREAMS 1: SNDZERO on a device");
    EXPECT(ioctl(near, I_GRDOPT, &options), 0, "I_GRDOPT");
    EXPECT(options & ~RPROTNORM, RNORM, "POSIX read: byte-stream mode is the default");
    EXPECT(ioctl(near, I_GERROPT, &options), 0, "I_GERROPT");
    EXPECT(options, RERRNORM | WERRNORM, "STREAMS 1: errors stay");
}

static void fill_waits_for_the_whole_count(void) {
    prepare();
    set_nonblocking(far, 0);
    EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT");
    EXPECT(ioctl(far, I_SRDOPT, RNORM | RFILL), 0, "STREAMS 1: RFILL");
    pid_t child = fork();
    if (child == 0) {
        for (int at = 0; at < 5; at++) {
            if (write(near, "12", 2) != 2)
                _exit(1);
            sleep_ms(20);
        }
        _exit(0);
    }
    char text[20];
    EXPECT(read(far, text, 10), 10, "STREAMS 3: read fill blocks until the whole count is there");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
    EXPECT(write(near, "abc", 3), 3, "write");
    EXPECT(put_message(near, NULL, "", 0), 0, "putmsg");
    EXPECT(read(far, text, 10), 3, "STREAMS 3: a zero-length message ends it early");
    EXPECT(read(far, text, 10), 0, "STREAMS 4.6: the zero-length message was put back");
    on_signal(SIGALRM, count_signal, 0);
    EXPECT(write(near, "abcd", 4), 4, "write");
    alarms_every(100000);
    EXPECT(read(far, text, 10), 4, "STREAMS 3: a signal ends it early, with what it has");
    ualarm(0, 0);
    EXPECT(write(near, "abcde", 5), 5, "write");
    close(near);
    EXPECT(read(far, text, 10), 5, "STREAMS 3: a hang-up ends it early");
    EXPECT(read(far, text, 10), 0, "STREAMS 4: then 0");
}

static void sndzero(void) {
    prepare();
    EXPECT(write(near, "", 0), 0, "POSIX write: nbyte 0");
    const char *seen = reads(far, 9);
    BYTES(seen, strlen(seen), "EAGAIN", "POSIX write: a pipe sends no zero-length message without SNDZERO");
    EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT");
    EXPECT(write(near, "", 0), 0, "POSIX write: nbyte 0");
    int bytes;
    EXPECT(ioctl(far, I_NREAD, &bytes), 1, "POSIX I_SWROPT: SNDZERO sends a zero-length message");
    EXPECT(read(far, got.data_bytes, 9), 0, "POSIX read: 0");
    int device = open_device("echo");
    EXPECT(write(device, "", 0), 0, "POSIX write: nbyte 0");
    EXPECT(ioctl(device, I_NREAD, &bytes), 1, "STREAMS 1: SNDZERO is the default of a device");
}

static void small_writes_coalesce_in_order(void) {
    prepare();
    for (int at = 0; at < 100; at++) {
        char byte = (char)at;
        EXPECT(write(near, &byte, 1), 1, "write");
    }
    EXPECT(read(far, got.data_bytes, 200), 100, "STREAMS 3: RNORM reads what many writes have sent");
    int wrong = 0;
    for (int at = 0; at < 100; at++)
        wrong += got.data_bytes[at] != at;
    EXPECT(wrong, 0, "STREAMS 3: byte order is always kept");
    EXPECT(write(near, "a", 1), 1, "write");
    EXPECT(put_message(near, NULL, "b", 0), 0, "putmsg");
    EXPECT(write(near, "c", 1), 1, "write");
    EXPECT(put_message(near, "ctl", "d", 0), 0, "putmsg");
    get_message(far);
    PARTS(NULL, "a", "STREAMS 3: a putmsg releases what was gathered, and is not merged");
    get_message(far);
    PARTS(NULL, "b", "STREAMS 3: putmsg boundaries are never merged");
    get_message(far);
    PARTS(NULL, "c", "STREAMS 3: nothing is appended to what putmsg has sent");
    get_message(far);
    PARTS("ctl", "d", "STREAMS 3: order");
}

static void snddelim_keeps_writes_apart(void) {
    prepare();
    EXPECT(ioctl(near, I_SWROPT, SNDDELIM), 0, "I_SWROPT");
    EXPECT(ioctl(far, I_SRDOPT, RMSGN), 0, "I_SRDOPT");
    EXPECT(write(near, "ab", 2), 2, "write");
    EXPECT(write(near, "cd", 2), 2, "write");
    const char *seen = reads(far, 9);
    BYTES(seen, strlen(seen), "ab", "STREAMS 3: an undelimited message alone is appended to");
    seen = reads(far, 9);
    BYTES(seen, strlen(seen), "cd", "STREAMS 3: an undelimited message alone is appended to");
}

static void sndhold_delays_and_loses_nothing(void) {
    prepare();
    set_nonblocking(far, 0);
    EXPECT(ioctl(near, I_SWROPT, SNDHOLD), 0, "I_SWROPT");
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(near);
        for (int at = 0; at < 50; at++)
            if (read(far, &byte, 1) != 1 || byte != at)
                _exit(1);
        _exit(read(far, &byte, 1) == 0 ? 0 : 2);
    }
    close(far);
    for (int at = 0; at < 50; at++) {
        char byte = (char)at;
        EXPECT(write(near, &byte, 1), 1, "write");
        if (at % 10 == 9)
            sleep_ms(5);
    }
    long long start = now_ms();
    close(near);
    EXPECT(ended_within(child, 3000), 0, "STREAMS 3: every held byte arrives, in its order");
    HOLDS(now_ms() - start < 1000, "STREAMS 2: the hold time is 10 ms");
}

static void a_held_write_reaches_a_sleeping_reader(void) {
    prepare();
    set_nonblocking(far, 0);
    EXPECT(ioctl(near, I_SWROPT, SNDHOLD), 0, "I_SWROPT");
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(100);
        _exit(write(near, "x", 1) == 1 ? 0 : 1);
    }
    char byte;
    long long start = now_ms();
    EXPECT(read(far, &byte, 1), 1, "STREAMS 3: release waits for the hold time at most");
    HOLDS(now_ms() - start < 600, "STREAMS 2: the hold time is 10 ms");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void sndmread_gathers_for_the_reader(void) {
    prepare();
    set_nonblocking(far, 0);
    EXPECT(ioctl(near, I_SWROPT, SNDMREAD), 0, "I_SWROPT");
    EXPECT(ioctl(far, I_SWROPT, SNDMREAD), 0, "I_SWROPT");
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        for (int at = 0; at < 4; at++)
            if (write(near, "abcd", 4) != 4)
                _exit(1);
        _exit(0);
    }
    char text[16];
    EXPECT(read_all(far, text, 16), 16, "STREAMS 3: with SNDMREAD every byte arrives");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void vectors(void) {
    prepare();
    struct iovec out[3] = {{(char *)"ab", 2}, {NULL, 0}, {(char *)"cde", 3}};
    char first[3], second[10];
    EXPECT(writev(near, out, 3), 5, "POSIX writev: the sum");
    struct iovec in[2] = {{first, 3}, {second, 10}};
    EXPECT(readv(far, in, 2), 5, "POSIX readv: the sum");
    BYTES(first, 3, "abc", "POSIX readv: fills each area before the next");
    BYTES(second, 2, "de", "POSIX readv: fills each area before the next");
    FAILS(readv(far, in, bad_count), EINVAL, "POSIX readv: iovcnt below 0");
    FAILS(writev(near, out, large_count), EINVAL, "POSIX writev: iovcnt above IOV_MAX");
    EXPECT(writev(near, out, 0) <= 0, 1, "Linux writev: iovcnt 0 sends nothing");
    EXPECT(ioctl(far, I_SRDOPT, RMSGN), 0, "I_SRDOPT");
    EXPECT(writev(near, out, 3), 5, "POSIX writev");
    EXPECT(readv(far, in, 2), 5, "POSIX writev: one message of all areas");
}

static void large_writes_are_cut_and_complete(void) {
    enum { BYTES_SENT = 3000000 };
    prepare();
    set_nonblocking(far, 0);
    pid_t child = fork();
    if (child == 0) {
        close(far);
        unsigned char *bytes = malloc(BYTES_SENT);
        for (int at = 0; at < BYTES_SENT; at++)
            bytes[at] = (unsigned char)(at * 7 + at / 251);
        _exit(write(near, bytes, BYTES_SENT) == BYTES_SENT ? 0 : 1);
    }
    close(near);
    unsigned char *bytes = malloc(BYTES_SENT + 1);
    EXPECT(read_all(far, bytes, BYTES_SENT + 1), BYTES_SENT, "POSIX write: a blocking write sends all");
    long wrong = 0;
    for (int at = 0; at < BYTES_SENT; at++)
        wrong += bytes[at] != (unsigned char)(at * 7 + at / 251);
    EXPECT(wrong, 0, "POSIX write: the bytes in their order");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void lseek_is_espipe(void) {
    prepare();
    FAILS(lseek(near, 0, SEEK_CUR), ESPIPE, "POSIX lseek: a stream has no position");
    FAILS(pread(far, got.data_bytes, 1, 0), ESPIPE, "POSIX pread: a stream has no position");
    FAILS(pwrite(near, "x", 1, 0), ESPIPE, "POSIX pwrite: a stream has no position");
}

static const struct test tests[] = {
    TEST(every_combination_of_modes),
    TEST(rnorm_crosses_messages),
    TEST(message_modes_keep_or_discard_the_rest),
    TEST(zero_length_messages),
    TEST(bad_modes_are_einval),
    TEST(defaults),
    TEST(fill_waits_for_the_whole_count),
    TEST(sndzero),
    TEST(small_writes_coalesce_in_order),
    TEST(snddelim_keeps_writes_apart),
    TEST(sndhold_delays_and_loses_nothing),
    TEST(a_held_write_reaches_a_sleeping_reader),
    TEST(sndmread_gathers_for_the_reader),
    TEST(vectors),
    TEST(large_writes_are_cut_and_complete),
    TEST(lseek_is_espipe),
};
MAIN(tests)
