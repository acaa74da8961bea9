/* I_LINK, I_UNLINK, I_PLINK, I_PUNLINK below the driver mux (POSIX I_LINK; STREAMS 4.10). */
#include "stream.h"

static void messages_go_through_a_link(void) {
    int ends[2], mux = open_device("mux");
    open_pipe(ends);
    int id = ioctl(mux, I_LINK, ends[0]);
    HOLDS(id > 0, "POSIX I_LINK: the id of the link");
    char control[20];
    memcpy(control, &id, 4);
    memcpy(control + 4, "ctl", 3);
    struct strbuf parts[2] = {{.len = 7, .buf = control}, part("down")};
    EXPECT(putmsg(mux, &parts[0], &parts[1], 0), 0, "putmsg to the multiplexer");
    get_message(ends[1]);
    PARTS("ctl", "down", "mux: down without the id");
    EXPECT(put_message(ends[1], "ctl", "up", 0), 0, "putmsg of the other end");
    get_message(mux);
    EXPECT(got.control.len, 7, "mux: the id and the control part");
    HOLDS(memcmp(got.control_bytes, &id, 4) == 0, "mux: up with the id");
    EXPECT(got.data.len, 2, "mux: the data");
    EXPECT(ioctl(mux, I_UNLINK, id), 0, "POSIX I_UNLINK");
    EXPECT(write(ends[0], "own", 3), 3, "POSIX I_UNLINK: the lower end is usable again");
    EXPECT(read(ends[1], got.data_bytes, 9), 3, "POSIX I_UNLINK: the lower end is usable again");
}

static void arguments(void) {
    int ends[2], mux = open_device("mux"), echo = open_device("echo"), null = open("/dev/null", O_RDWR);
    open_pipe(ends);
    FAILS(ioctl(mux, I_LINK, -1), EBADF, "POSIX I_LINK: EBADF");
    FAILS(ioctl(mux, I_LINK, 999), EBADF, "POSIX I_LINK: EBADF");
    FAILS(ioctl(mux, I_LINK, null), EINVAL, "POSIX I_LINK: what is no stream");
    FAILS(ioctl(mux, I_LINK, mux), EINVAL, "POSIX I_LINK: a stream below itself");
    FAILS(ioctl(echo, I_LINK, ends[0]), EINVAL, "STREAMS 4.10: no multiplexing driver");
    FAILS(ioctl(echo, I_LINK, -1), EINVAL, "STREAMS 4.10: asks first whether it is a multiplexing driver");
    FAILS(ioctl(echo, I_PLINK, ends[0]), EINVAL, "STREAMS 4.10: no multiplexing driver");
    FAILS(ioctl(mux, I_UNLINK, 12345), EINVAL, "POSIX I_UNLINK: an id of no link");
    FAILS(ioctl(mux, I_PUNLINK, 12345), EINVAL, "POSIX I_PUNLINK: an id of no link");
    int id = ioctl(mux, I_LINK, ends[0]);
    HOLDS(id > 0, "I_LINK");
    FAILS(ioctl(mux, I_LINK, ends[0]), EINVAL, "POSIX I_LINK: linked already");
    FAILS(ioctl(mux, I_PUNLINK, id), EINVAL, "POSIX I_PUNLINK: a link of I_LINK");
    FAILS(ioctl(mux, I_PUNLINK, 0), EINVAL, "POSIX I_PUNLINK: 0 is no id");
    FAILS(ioctl(mux, I_UNLINK, 0), EINVAL, "POSIX I_UNLINK: 0 is no id");
    EXPECT(ioctl(mux, I_UNLINK, id), 0, "I_UNLINK");
    FAILS(ioctl(mux, I_UNLINK, id), EINVAL, "POSIX I_UNLINK: undone already");
}

static void all_links_at_once(void) {
    int pipes[3][2], mux = open_device("mux");
    for (int at = 0; at < 3; at++) {
        open_pipe(pipes[at]);
        HOLDS(ioctl(mux, I_LINK, pipes[at][0]) > 0, "I_LINK");
    }
    EXPECT(ioctl(mux, I_UNLINK, MUXID_ALL), 0, "POSIX I_UNLINK: MUXID_ALL");
    for (int at = 0; at < 3; at++)
        EXPECT(write(pipes[at][0], "x", 1), 1, "POSIX I_UNLINK: every lower stream is usable again");
}

static void ids_differ(void) {
    int pipes[8][2], mux = open_device("mux"), ids[8];
    for (int at = 0; at < 8; at++) {
        open_pipe(pipes[at]);
        ids[at] = ioctl(mux, I_LINK, pipes[at][0]);
        for (int other = 0; other < at; other++)
            HOLDS(ids[other] != ids[at], "POSIX I_LINK: each link has its own id");
    }
    EXPECT(ioctl(mux, I_UNLINK, ids[3]), 0, "I_UNLINK");
    EXPECT(write(pipes[3][0], "x", 1), 1, "POSIX I_UNLINK: that one");
    FAILS(write(pipes[4][0], "x", 1), EINVAL, "POSIX I_UNLINK: and no other");
}

static void a_persistent_link(void) {
    int ends[2], mux = open_device("mux");
    open_pipe(ends);
    int id = ioctl(mux, I_PLINK, ends[0]);
    HOLDS(id > 0, "POSIX I_PLINK: the id");
    FAILS(ioctl(mux, I_UNLINK, id), EINVAL, "POSIX I_UNLINK: a persistent link");
    EXPECT(ioctl(mux, I_PUNLINK, id), 0, "POSIX I_PUNLINK");
    EXPECT(write(ends[0], "x", 1), 1, "POSIX I_PUNLINK: usable again");
    HOLDS(ioctl(mux, I_PLINK, ends[0]) > 0, "POSIX I_PLINK");
    EXPECT(ioctl(mux, I_PUNLINK, MUXID_ALL), 0, "POSIX I_PUNLINK: MUXID_ALL");
    EXPECT(write(ends[0], "x", 1), 1, "POSIX I_PUNLINK: usable again");
}

static void the_lower_descriptor_may_be_closed(void) {
    int ends[2], mux = open_device("mux");
    open_pipe(ends);
    int id = ioctl(mux, I_LINK, ends[0]);
    HOLDS(id > 0, "I_LINK");
    EXPECT(close(ends[0]), 0, "close of a linked end");
    EXPECT(put_message(ends[1], NULL, "up", 0), 0, "SVR4 I_LINK: the link keeps the lower stream open");
    get_message(mux);
    EXPECT(got.data.len, 2, "SVR4 I_LINK: the link keeps the lower stream open");
}

static void a_child_that_ends_leaves_the_link(void) {
    int ends[2], mux = open_device("mux");
    open_pipe(ends);
    HOLDS(ioctl(mux, I_LINK, ends[0]) > 0, "I_LINK");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    EXPECT(ended_within(child, 2000), 0, "the child ends");
    FAILS(write(ends[0], "x", 1), EINVAL, "STREAMS 4.2: a child's end does not undo the link");
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    kill(child, SIGKILL);
    ended_within(child, 2000);
    FAILS(write(ends[0], "x", 1), EINVAL, "STREAMS 4.2: a child's death does not undo the link");
}

static const struct test tests[] = {
    TEST(messages_go_through_a_link),
    TEST(arguments),
    TEST(all_links_at_once),
    TEST(ids_differ),
    TEST(a_persistent_link),
    TEST(the_lower_descriptor_may_be_closed),
    TEST(a_child_that_ends_leaves_the_link),
};
MAIN(tests)
