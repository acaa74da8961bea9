/* Pseudo-terminals: ptm and pts with ptem and ldterm, by the calls of POSIX's General Terminal Interface and grantpt(3),
 * unlockpt(3), ptsname(3). */
#include "stream.h"
#include <sys/ioctl.h>
#include <termios.h>

char *ptsname(int);
int grantpt(int), unlockpt(int), ptsname_r(int, char *, size_t), __ptsname_r_chk(int, char *, size_t, size_t);

static int master, slave;

static void open_terminal(void) {
    master = open("/dev/streams/ptm", O_RDWR | O_NOCTTY);
    NEEDS(master >= 0, "STREAMS 5: open of ptm");
    char *path = ptsname(master);
    NEEDS(path != NULL, "POSIX ptsname");
    FAILS(open(path, O_RDWR | O_NOCTTY), EACCES, "STREAMS 5: a locked slave");
    EXPECT(grantpt(master), 0, "POSIX grantpt");
    EXPECT(unlockpt(master), 0, "POSIX unlockpt");
    slave = open(path, O_RDWR | O_NOCTTY);
    NEEDS(slave >= 0, "POSIX open of the slave");
}

static void push_terminal(void) {
    EXPECT(ioctl(slave, I_PUSH, "ptem"), 0, "I_PUSH ptem");
    EXPECT(ioctl(slave, I_PUSH, "ldterm"), 0, "I_PUSH ldterm");
}

static void a_slave_is_a_terminal_with_its_modules(void) {
    open_terminal();
    EXPECT(isatty(slave), 0, "POSIX isatty: without ptem it is none");
    push_terminal();
    EXPECT(isatty(slave), 1, "POSIX isatty");
    struct termios settings;
    EXPECT(tcgetattr(slave, &settings), 0, "POSIX tcgetattr");
    HOLDS(settings.c_lflag & ICANON, "ldterm(7): canonical at first");
    settings.c_lflag &= ~(tcflag_t)ECHO;
    EXPECT(tcsetattr(slave, TCSANOW, &settings), 0, "POSIX tcsetattr");
    struct termios again;
    EXPECT(tcgetattr(slave, &again), 0, "POSIX tcgetattr");
    EXPECT(again.c_lflag, settings.c_lflag, "POSIX tcsetattr: what was set");
    EXPECT(again.c_cc[VERASE], settings.c_cc[VERASE], "POSIX tcsetattr: characters too");
    FAILS(tcsetattr(slave, 99, &settings), EINVAL, "POSIX tcsetattr: an unknown action");
    FAILS(tcgetattr(slave, (struct termios *)8), EFAULT, "STREAMS 4.1");
    int ends[2];
    open_pipe(ends);
    FAILS(tcgetattr(ends[0], &settings), ENOTTY, "POSIX tcgetattr: a pipe");
    FAILS(isatty(ends[0]) == 0 ? -1 : 0, ENOTTY, "POSIX isatty: a pipe");
}

/* Unread data at the other end do not delay the answer whether a stream is a terminal. */
static void a_full_pipe_is_no_terminal_at_once(void) {
    int ends[2];
    open_pipe(ends);
    EXPECT(ioctl(ends[0], I_PUSH, "srvmod"), 0, "I_PUSH srvmod");
    EXPECT(ioctl(ends[1], I_PUSH, "srvmod"), 0, "I_PUSH srvmod");
    fill(ends[0]);
    on_signal(SIGALRM, count_signal, 0);
    signals_seen = 0;
    alarm(5);
    struct termios settings = {0};
    struct winsize size;
    FAILS(isatty(ends[0]) == 0 ? -1 : 0, ENOTTY, "POSIX isatty: a pipe");
    FAILS(tcgetattr(ends[0], &settings), ENOTTY, "POSIX tcgetattr: a pipe");
    FAILS(tcsetattr(ends[0], TCSADRAIN, &settings), ENOTTY, "POSIX tcsetattr: a pipe");
    FAILS(tcdrain(ends[0]), ENOTTY, "POSIX tcdrain: a pipe");
    FAILS(ioctl(ends[0], TIOCGWINSZ, &size), EINVAL, "STREAMS 4: ioctl that nothing knows");
    EXPECT(signals_seen, 0, "POSIX isatty: it does not wait");
    alarm(0);
}

/* A module that may answer is asked, for no longer than I_STR with an ic_timout of 0 waits. */
static void silent_terminal_is_asked_for_15_seconds(void) {
    int ends[2];
    open_pipe(ends);
    EXPECT(ioctl(ends[0], I_PUSH, "ptem"), 0, "I_PUSH ptem");
    EXPECT(isatty(ends[0]), 1, "POSIX isatty: ptem answers");
    EXPECT(ioctl(ends[0], I_PUSH, "srvmod"), 0, "I_PUSH srvmod");
    fill(ends[0]);
    on_signal(SIGALRM, count_signal, 0);
    signals_seen = 0;
    alarm(40);
    FAILS(isatty(ends[0]) == 0 ? -1 : 0, ETIME, "STREAMS 4: I_STR, ic_timout");
    EXPECT(signals_seen, 0, "STREAMS 4: I_STR, ic_timout");
    alarm(0);
}

static void lines_are_read_and_echoed(void) {
    open_terminal();
    push_terminal();
    EXPECT(write(master, "ab\177c\n", 5), 5, "write to the master");
    char bytes[40];
    EXPECT(read(slave, bytes, sizeof bytes), 3, "POSIX canonical mode: a line, after an erase");
    HOLDS(memcmp(bytes, "ac\n", 3) == 0, "POSIX canonical mode: a line, after an erase");
    ssize_t count = read(master, bytes, sizeof bytes);
    HOLDS(count > 0 && memcmp(bytes, "ab", 2) == 0, "POSIX ECHO");
    EXPECT(write(slave, "x\n", 2), 2, "write to the slave");
    count = read(master, bytes, sizeof bytes);
    HOLDS(count >= 3 && memcmp(bytes + count - 3, "x\r\n", 3) == 0, "POSIX ONLCR");
}

static void the_window_has_a_size(void) {
    open_terminal();
    push_terminal();
    struct winsize set = {.ws_row = 24, .ws_col = 80}, got;
    EXPECT(ioctl(slave, TIOCSWINSZ, &set), 0, "ptem(7): TIOCSWINSZ");
    EXPECT(ioctl(slave, TIOCGWINSZ, &got), 0, "ptem(7): TIOCGWINSZ");
    EXPECT(got.ws_row, 24, "ptem(7): rows");
    EXPECT(got.ws_col, 80, "ptem(7): columns");
}

static void names_of_slaves(void) {
    open_terminal();
    char name[64];
    EXPECT(ptsname_r(master, name, sizeof name), 0, "ptsname_r");
    EXPECT(__ptsname_r_chk(master, name, sizeof name, sizeof name), 0, "ptsname_r of a fortified program");
    EXPECT(ptsname_r(master, name, 3), ERANGE, "ptsname_r: too little room");
    FAILS(ptsname_r(slave, name, sizeof name) == 0 ? 0 : -1, ENOTTY, "ptsname_r: no master");
}

/* A program may ask late, a terminal emulator that writes its log for example. It gets the name all the same. */
static void ptsname_works_after_the_slave_has_closed(void) {
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        open_terminal();
        char before[64], byte;
        EXPECT(ptsname_r(master, before, sizeof before), 0, "ptsname_r");
        pid_t child = fork();
        if (child == 0) {
            push_terminal();
            if (is_killed)
                raise(SIGKILL);
            _exit(0);
        }
        close(slave);
        waitpid(child, NULL, 0);
        ssize_t count;
        for (int at = 0; (count = read(master, &byte, 1)) == 1 && at < 100; at++)
            ;
        EXPECT(count, 0, "ptm(7): the end of the file");
        char *name = ptsname(master);
        HOLDS(name != NULL && strcmp(name, before) == 0, "POSIX ptsname: the slave has closed");
        EXPECT(ptsname_r(master, before, sizeof before), 0, "ptsname_r: the slave has closed");
        EXPECT(grantpt(master), 0, "POSIX grantpt: the slave has closed");
        close(master);
    }
}

static void a_closed_master_hangs_the_slave_up(void) {
    open_terminal();
    EXPECT(close(master), 0, "close");
    char byte;
    EXPECT(read(slave, &byte, 1), 0, "STREAMS 4: read after a hang-up");
    FAILS(write(slave, "x", 1), EIO, "pts(7): write after the master's close");
}

static const struct test tests[] = {
    TEST(a_slave_is_a_terminal_with_its_modules),
    TEST(a_full_pipe_is_no_terminal_at_once),
    TEST_OF(silent_terminal_is_asked_for_15_seconds, 60),
    TEST(lines_are_read_and_echoed),
    TEST(the_window_has_a_size),
    TEST(names_of_slaves),
    TEST(ptsname_works_after_the_slave_has_closed),
    TEST(a_closed_master_hangs_the_slave_up),
};
MAIN(tests)
