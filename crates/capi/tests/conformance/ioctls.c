/* The ioctls of streamio(7) that look at, change or empty a stream, with good and bad arguments (POSIX ioctl, SVR4 streamio(7)). */
#include "stream.h"

static void prepare(void) {
    open_ends();
    set_nonblocking(far, 1);
}

static void modules_are_pushed_and_popped(void) {
    prepare();
    char name[FMNAMESZ + 1];
    FAILS(ioctl(near, I_POP, 0), EINVAL, "POSIX I_POP: no module is there");
    EXPECT(ioctl(near, I_PUSH, "nullmod"), 0, "POSIX I_PUSH");
    EXPECT(ioctl(near, I_PUSH, "srvmod"), 0, "POSIX I_PUSH");
    EXPECT(ioctl(near, I_LOOK, name), 0, "POSIX I_LOOK");
    BYTES(name, strlen(name), "srvmod", "POSIX I_LOOK: the module below the head");
    EXPECT(ioctl(near, I_FIND, "nullmod"), 1, "POSIX I_FIND: 1");
    EXPECT(ioctl(near, I_FIND, "pipemod"), 0, "POSIX I_FIND: 0");
    FAILS(ioctl(near, I_FIND, "no such"), EINVAL, "POSIX I_FIND: an invalid name");
    FAILS(ioctl(near, I_FIND, ""), EINVAL, "POSIX I_FIND: an empty name");
    EXPECT(ioctl(near, I_LIST, NULL), 2, "POSIX I_LIST: the number of modules, and of the driver (a pipe has none)");
    EXPECT(write(near, "through", 7), 7, "write");
    EXPECT(read(far, got.data_bytes, 10), 7, "read");
    EXPECT(ioctl(near, I_POP, 0), 0, "POSIX I_POP");
    EXPECT(ioctl(near, I_LOOK, name), 0, "POSIX I_LOOK");
    BYTES(name, strlen(name), "nullmod", "POSIX I_POP: removes the module below the head");
    EXPECT(ioctl(near, I_POP, 0), 0, "POSIX I_POP");
    FAILS(ioctl(near, I_POP, 0), EINVAL, "POSIX I_POP: no module is there");
    FAILS(ioctl(far, I_LOOK, name), EINVAL, "POSIX I_LOOK: no module");
    int device = open_device("echo");
    FAILS(ioctl(device, I_POP, 0), EINVAL, "POSIX I_POP: a driver is not popped");
}

/* A name of more than FMNAMESZ bytes is cut where a program has room for FMNAMESZ + 1 bytes. A request finds it by either name. */
static void long_names_of_drivers(void) {
    static const char *const drivers[] = {"ticotsord", "inet-rawip"};
    int each[2], device;
    open_pipe(each);
    for (size_t at = 0; at < COUNT(drivers); at++) {
        in_context("%s", drivers[at]);
        char name[FMNAMESZ + 2];
        struct str_mlist names[1];
        struct str_list list = {1, names};
        memset(name, 'x', sizeof name);
        device = open_device(drivers[at]);
        EXPECT(ioctl(device, I_LOOK, name), 0, "POSIX I_LOOK: a driver");
        HOLDS(strnlen(name, sizeof name) == FMNAMESZ && strncmp(name, drivers[at], FMNAMESZ) == 0, "streamio(7) I_LOOK: a long name is cut");
        EXPECT(name[FMNAMESZ + 1], 'x', "POSIX I_LOOK: FMNAMESZ + 1 bytes are written");
        EXPECT(ioctl(device, I_FIND, name), 1, "POSIX I_FIND: the name that I_LOOK has stored");
        EXPECT(ioctl(device, I_FIND, drivers[at]), 1, "POSIX I_FIND: the whole name");
        EXPECT(ioctl(device, I_LIST, &list), 0, "POSIX I_LIST");
        EXPECT(ioctl(device, I_FIND, names[0].l_name), 1, "POSIX I_FIND: a name of I_LIST");
        name[FMNAMESZ - 1] = 0;
        FAILS(ioctl(device, I_FIND, name), EINVAL, "POSIX I_FIND: a beginning is no name");
        EXPECT(ioctl(each[0], I_FIND, drivers[at]), 0, "POSIX I_FIND: 0 where the driver is not");
        in_context("%s", "");
    }
    FAILS(ioctl(each[0], I_FIND, "seventeen-letters"), EINVAL, "POSIX I_FIND: a name that is too long");
}

static void list(void) {
    prepare();
    int device = open_device("echo");
    EXPECT(ioctl(device, I_PUSH, "nullmod"), 0, "I_PUSH");
    EXPECT(ioctl(device, I_PUSH, "srvmod"), 0, "I_PUSH");
    struct str_mlist names[5];
    memset(names, 'x', sizeof names);
    struct str_list all = {.sl_nmods = 5, .sl_modlist = names};
    EXPECT(ioctl(device, I_LIST, NULL), 3, "POSIX I_LIST: NULL: how many");
    EXPECT(ioctl(device, I_LIST, &all), 0, "POSIX I_LIST: 0 if the list is filled in");
    EXPECT(all.sl_nmods, 3, "POSIX I_LIST: the number of names");
    static const char *const expected[3] = {"srvmod", "nullmod", "echo"};
    for (int at = 0; at < 3; at++)
        BYTES(names[at].l_name, strnlen(names[at].l_name, sizeof names[at].l_name), expected[at], "POSIX I_LIST: from the head down to the driver");
    EXPECT(names[3].l_name[0], 'x', "POSIX I_LIST: no more than there are");
    memset(names, 'x', sizeof names);
    all.sl_nmods = 1;
    EXPECT(ioctl(device, I_LIST, &all), 0, "POSIX I_LIST: room for one");
    EXPECT(all.sl_nmods, 1, "POSIX I_LIST: at most sl_nmods");
    EXPECT(names[1].l_name[0], 'x', "POSIX I_LIST: at most sl_nmods");
    all.sl_nmods = 0;
    FAILS(ioctl(device, I_LIST, &all), EINVAL, "POSIX I_LIST: sl_nmods below 1");
    all.sl_nmods = -1;
    FAILS(ioctl(device, I_LIST, &all), EINVAL, "POSIX I_LIST: sl_nmods below 1");
}

static void peek(void) {
    prepare();
    struct strpeek looked = {.ctlbuf = room(got.control_bytes, 100), .databuf = room(got.data_bytes, 100), .flags = 0};
    EXPECT(ioctl(far, I_PEEK, &looked), 0, "POSIX I_PEEK: 0 without a message");
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    for (int again = 0; again < 2; again++) {
        EXPECT(ioctl(far, I_PEEK, &looked), 1, "POSIX I_PEEK: 1 if a message was retrieved");
        BYTES(looked.ctlbuf.buf, looked.ctlbuf.len, "control", "POSIX I_PEEK: the control part");
        BYTES(looked.databuf.buf, looked.databuf.len, "data", "POSIX I_PEEK: the data part, which stays");
        EXPECT(looked.flags, 0, "POSIX I_PEEK: flags 0 for an ordinary message");
    }
    looked.flags = RS_HIPRI;
    EXPECT(ioctl(far, I_PEEK, &looked), 0, "POSIX I_PEEK: RS_HIPRI looks for high priority alone");
    looked.flags = 2;
    FAILS(ioctl(far, I_PEEK, &looked), EINVAL, "POSIX I_PEEK: bad flags");
    EXPECT(put_message(near, "high", NULL, RS_HIPRI), 0, "putmsg");
    looked.flags = RS_HIPRI;
    EXPECT(ioctl(far, I_PEEK, &looked), 1, "POSIX I_PEEK: RS_HIPRI");
    BYTES(looked.ctlbuf.buf, looked.ctlbuf.len, "high", "POSIX I_PEEK: the message of high priority");
    EXPECT(looked.databuf.len, -1, "POSIX I_PEEK: an absent part");
    looked = (struct strpeek){.ctlbuf = room(got.control_bytes, 2), .databuf = room(NULL, -1), .flags = 0};
    EXPECT(ioctl(far, I_PEEK, &looked), 1, "POSIX I_PEEK: at most maxlen bytes");
    BYTES(looked.ctlbuf.buf, looked.ctlbuf.len, "hi", "POSIX I_PEEK: at most maxlen bytes");
    EXPECT(looked.flags, RS_HIPRI, "POSIX I_PEEK: RS_HIPRI is stored");
    get_message(far);
    PARTS("high", NULL, "POSIX I_PEEK: the message stays");
    get_message(far);
    PARTS("control", "data", "POSIX I_PEEK: the message stays");
}

static void nread(void) {
    prepare();
    int bytes = -1;
    EXPECT(ioctl(far, I_NREAD, &bytes), 0, "POSIX I_NREAD: 0 messages");
    EXPECT(put_message(near, "ctl", NULL, 0), 0, "putmsg");
    EXPECT(ioctl(far, I_NREAD, &bytes), 1, "POSIX I_NREAD: a message of no data bytes counts");
    EXPECT(bytes, 0, "POSIX I_NREAD: data bytes of the first message");
    EXPECT(put_in_band(near, "ctl", "12345", 2), 0, "putpmsg");
    EXPECT(ioctl(far, I_NREAD, &bytes), 2, "POSIX I_NREAD: messages of all bands");
    EXPECT(bytes, 5, "POSIX I_NREAD: the first message is that of the highest band");
}

static void flushes(void) {
    prepare();
    set_nonblocking(near, 1);
    EXPECT(ioctl(near, I_PUSH, "pipemod"), 0, "STREAMS 4.16: a flush of a pipe needs pipemod");
    static const struct {
        int how, reads_near, reads_far;
    } rows[] = {{FLUSHR, 0, 1}, {FLUSHW, 1, 0}, {FLUSHRW, 0, 0}};
    for (size_t at = 0; at < COUNT(rows); at++) {
        in_context("flags %d", rows[at].how);
        EXPECT(write(near, "x", 1), 1, "write");
        EXPECT(write(far, "y", 1), 1, "write");
        EXPECT(ioctl(near, I_FLUSH, rows[at].how), 0, "POSIX I_FLUSH");
        EXPECT(read(near, got.data_bytes, 9) == 1, rows[at].reads_near, "POSIX I_FLUSH: the own read queue");
        EXPECT(read(far, got.data_bytes, 9) == 1, rows[at].reads_far, "POSIX I_FLUSH: the other end's");
        in_context("%s", "");
    }
    FAILS(ioctl(near, I_FLUSH, 0), EINVAL, "POSIX I_FLUSH: no flag");
    FAILS(ioctl(near, I_FLUSH, 4), EINVAL, "POSIX I_FLUSH: an unknown flag");
    EXPECT(put_message(near, "c", "band 0", 0), 0, "putmsg");
    EXPECT(put_in_band(near, "c", "band 1", 1), 0, "putpmsg");
    EXPECT(put_in_band(near, "c", "band 2", 2), 0, "putpmsg");
    struct bandinfo band = {.bi_pri = 1, .bi_flag = FLUSHR};
    EXPECT(ioctl(far, I_FLUSHBAND, &band), 0, "POSIX I_FLUSHBAND");
    get_from_band(far, 0, MSG_ANY);
    EXPECT(got.band, 2, "POSIX I_FLUSHBAND: other bands stay");
    get_from_band(far, 0, MSG_ANY);
    EXPECT(got.band, 0, "POSIX I_FLUSHBAND: that band is empty");
    band.bi_flag = 0;
    FAILS(ioctl(far, I_FLUSHBAND, &band), EINVAL, "POSIX I_FLUSHBAND: no flag");
}

static void bands(void) {
    prepare();
    int band = -1;
    EXPECT(ioctl(far, I_CKBAND, 1), 0, "POSIX I_CKBAND: 0");
    FAILS(ioctl(far, I_GETBAND, &band), ENODATA, "POSIX I_GETBAND: ENODATA on an empty queue");
    FAILS(ioctl(far, I_CKBAND, 256), EINVAL, "POSIX I_CKBAND: a band above 255");
    FAILS(ioctl(far, I_CKBAND, -1), EINVAL, "POSIX I_CKBAND: a negative band");
    FAILS(ioctl(near, I_CANPUT, 256), EINVAL, "POSIX I_CANPUT: a band above 255");
    EXPECT(ioctl(near, I_CANPUT, 0), 1, "POSIX I_CANPUT: 1");
    EXPECT(ioctl(near, I_CANPUT, 9), 1, "POSIX I_CANPUT: 1 for a band that was not used yet");
    EXPECT(put_in_band(near, "c", "d", 3), 0, "putpmsg");
    EXPECT(put_message(near, "c", "d", 0), 0, "putmsg");
    EXPECT(ioctl(far, I_CKBAND, 3), 1, "POSIX I_CKBAND: 1");
    EXPECT(ioctl(far, I_CKBAND, 0), 1, "POSIX I_CKBAND: 1");
    EXPECT(ioctl(far, I_CKBAND, 2), 0, "POSIX I_CKBAND: 0");
    EXPECT(ioctl(far, I_GETBAND, &band), 0, "POSIX I_GETBAND");
    EXPECT(band, 3, "POSIX I_GETBAND: of the first message");
    fill(near);
    EXPECT(ioctl(near, I_CANPUT, 0), 0, "POSIX I_CANPUT: 0 when flow control stops the band");
    EXPECT(ioctl(near, I_CANPUT, 3), 1, "STREAMS 2: each band has its own count");
}

static void marks(void) {
    prepare();
    EXPECT(ioctl(far, I_ATMARK, ANYMARK), 0, "POSIX I_ATMARK: 0");
    EXPECT(ioctl(far, I_ATMARK, LASTMARK), 0, "POSIX I_ATMARK: 0");
    FAILS(ioctl(far, I_ATMARK, 0), EINVAL, "POSIX I_ATMARK: an invalid argument");
    FAILS(ioctl(far, I_ATMARK, 4), EINVAL, "POSIX I_ATMARK: an invalid argument");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(ioctl(far, I_ATMARK, ANYMARK), 0, "POSIX I_ATMARK: a message without a mark");
}

static void close_times(void) {
    prepare();
    int ms = -1;
    EXPECT(ioctl(near, I_GETCLTIME, &ms), 0, "POSIX I_GETCLTIME");
    EXPECT(ms, 15000, "POSIX I_SETCLTIME: the default is 15 s");
    ms = 0;
    EXPECT(ioctl(near, I_SETCLTIME, &ms), 0, "POSIX I_SETCLTIME");
    ms = 7;
    EXPECT(ioctl(near, I_GETCLTIME, &ms), 0, "POSIX I_GETCLTIME");
    EXPECT(ms, 0, "POSIX I_GETCLTIME: what was set");
    ms = -1;
    FAILS(ioctl(near, I_SETCLTIME, &ms), EINVAL, "POSIX I_SETCLTIME: an invalid time");
}

static void error_options(void) {
    prepare();
    int options = -1;
    for (int wanted = 0; wanted < 4; wanted++) {
        EXPECT(ioctl(near, I_SERROPT, wanted), 0, "SVR4 I_SERROPT");
        EXPECT(ioctl(near, I_GERROPT, &options), 0, "SVR4 I_GERROPT");
        EXPECT(options, wanted, "SVR4 I_GERROPT: what was set");
    }
    FAILS(ioctl(near, I_SERROPT, 4), EINVAL, "SVR4 I_SERROPT: an unknown bit");
}

static void water_marks(void) {
    prepare();
    int hiwat = -1, lowat = -1;
    EXPECT(ioctl(far, I_GET_HIWAT, &hiwat), 0, "STREAMS 1: I_GET_HIWAT");
    EXPECT(ioctl(far, I_GET_LOWAT, &lowat), 0, "STREAMS 1: I_GET_LOWAT");
    in_context("hiwat %d, lowat %d", hiwat, lowat);
    HOLDS(0 <= lowat && lowat <= hiwat && hiwat > 0, "STREAMS 2: the marks");
    in_context("%s", "");
    EXPECT(ioctl(far, I_SET_LOWAT, 100), 0, "STREAMS 1: I_SET_LOWAT");
    EXPECT(ioctl(far, I_SET_HIWAT, 1000), 0, "STREAMS 1: I_SET_HIWAT");
    EXPECT(ioctl(far, I_GET_HIWAT, &hiwat), 0, "I_GET_HIWAT");
    EXPECT(ioctl(far, I_GET_LOWAT, &lowat), 0, "I_GET_LOWAT");
    EXPECT(hiwat, 1000, "I_GET_HIWAT: what was set");
    EXPECT(lowat, 100, "I_GET_LOWAT: what was set");
    char bytes[600] = {0};
    set_nonblocking(near, 1);
    struct strbuf data = {.len = 500, .buf = bytes};
    EXPECT(putmsg(near, NULL, &data, 0), 0, "500 of 1000");
    EXPECT(putmsg(near, NULL, &data, 0), 0, "1000 of 1000");
    data.len = 1;
    EXPECT(putmsg(near, NULL, &data, 0), 0, "STREAMS 2: full strictly above hiwat");
    FAILS(putmsg(near, NULL, &data, 0), EAGAIN, "STREAMS 2: full strictly above hiwat");
    EXPECT(read(far, bytes, 600), 600, "read");
    FAILS(putmsg(near, NULL, &data, 0), EAGAIN, "STREAMS 2: hysteresis: full until below lowat");
    EXPECT(read(far, bytes, 350), 350, "read");
    EXPECT(putmsg(near, NULL, &data, 0), 0, "STREAMS 2: not full below lowat");
}

static void pipes_by_ioctl(void) {
    prepare();
    EXPECT(ioctl(near, I_ISASTREAM, 0), 1, "STREAMS 1: I_ISASTREAM");
}

static void unknown_commands(void) {
    prepare();
    int device = open_device("echo"), value;
    FAILS(ioctl(near, 'S' << 8 | 200, &value), EINVAL, "POSIX ioctl: an unknown command");
    FAILS(ioctl(device, 'S' << 8 | 200, &value), EINVAL, "POSIX ioctl: an unknown command");
    FAILS(ioctl(device, 'X' << 8 | 1, &value), EINVAL, "STREAMS 4.12: a driver refuses what it does not know");
    FAILS(ioctl(-1, I_NREAD, &value), EBADF, "POSIX ioctl: EBADF");
    int null = open("/dev/null", O_RDWR);
    errno = 0;
    HOLDS(ioctl(null, I_NREAD, &value) == -1 && (errno == ENOTTY || errno == ENOSTR), "POSIX ioctl: ENOTTY for what is no stream");
    HOLDS(ioctl(null, I_PUSH, "nullmod") == -1 && (errno == ENOTTY || errno == ENOSTR), "POSIX ioctl: ENOTTY for what is no stream");
}

static void terminal_and_file_ioctls(void) {
    prepare();
    int value = -1, kernel[2];
    HOLDS(ioctl(near, TCGETS, got.data_bytes) == -1 && (errno == ENOTTY || errno == EINVAL), "STREAMS 1: a terminal's ioctl is refused");
    EXPECT(isatty(near), 0, "POSIX isatty: a stream is no terminal");
    EXPECT(write(far, "12345", 5), 5, "write");
    EXPECT(ioctl(near, FIONREAD, &value), 0, "Linux FIONREAD");
    EXPECT(value, 5, "SVR4 FIONREAD: bytes that can be read");
    int on = 1;
    EXPECT(ioctl(near, FIONBIO, &on), 0, "Linux FIONBIO");
    EXPECT(fcntl(near, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "Linux FIONBIO: sets O_NONBLOCK");
    EXPECT(read(near, got.data_bytes, 9), 5, "read");
    FAILS(read(near, got.data_bytes, 9), EAGAIN, "Linux FIONBIO: sets O_NONBLOCK");
    EXPECT(ioctl(near, FIOCLEX, 0), 0, "Linux FIOCLEX");
    EXPECT(fcntl(near, F_GETFD), FD_CLOEXEC, "Linux FIOCLEX");
    (void)kernel;
}

static void fdinsert(void) {
    int other[2];
    prepare();
    open_pipe(other);
    char control[32] = "0123456789012345";
    struct strfdinsert insert = {
        .ctlbuf = {.len = 16, .buf = control}, .databuf = part("data"), .flags = 0, .fildes = other[0], .offset = 8};
    EXPECT(ioctl(near, I_FDINSERT, &insert), 0, "POSIX I_FDINSERT");
    get_message(far);
    EXPECT(got.control.len, 16, "POSIX I_FDINSERT: the control part keeps its length");
    HOLDS(memcmp(got.control_bytes, "01234567", 8) == 0, "POSIX I_FDINSERT: bytes before the offset stay");
    HOLDS(memcmp(got.control_bytes + 8, "8901", 4) != 0, "POSIX I_FDINSERT: a t_uscalar_t is stored at the offset");
    HOLDS(memcmp(got.control_bytes + 12, "2345", 4) == 0, "POSIX I_FDINSERT: bytes behind it stay");
    EXPECT(got.data.len, 4, "POSIX I_FDINSERT: the data part");
    char first[8];
    memcpy(first, got.control_bytes + 8, 8);
    EXPECT(ioctl(near, I_FDINSERT, &insert), 0, "POSIX I_FDINSERT");
    get_message(far);
    HOLDS(memcmp(got.control_bytes + 8, first, 8) == 0, "POSIX I_FDINSERT: the same stream has the same name");
    insert.offset = 12;
    EXPECT(ioctl(near, I_FDINSERT, &insert), 0, "POSIX I_FDINSERT: at the last word");
    HOLDS(memcmp(get_message(far)->control_bytes + 12, first, 4) == 0, "POSIX I_FDINSERT: at the last word");
    insert.fildes = near;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "streamio(7): fildes is the stream itself");
    insert.fildes = other[0];
    insert.offset = 9;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: an offset that is not aligned");
    insert.offset = -8;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: an offset below 0");
    insert.offset = 16;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: no room for the pointer");
    insert.offset = 8;
    insert.flags = 5;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: bad flags");
    insert.flags = 0;
    insert.fildes = open("/dev/null", O_RDWR);
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: fildes is no stream");
    insert.fildes = -1;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: fildes is no open descriptor");
    insert.fildes = 1000000;
    FAILS(ioctl(near, I_FDINSERT, &insert), EINVAL, "POSIX I_FDINSERT: fildes is no open descriptor");
    insert.fildes = other[0];
    insert.flags = RS_HIPRI;
    EXPECT(ioctl(near, I_FDINSERT, &insert), 0, "POSIX I_FDINSERT: RS_HIPRI");
    EXPECT(get_message(far)->flags, RS_HIPRI, "POSIX I_FDINSERT: a message of high priority");
    EXPECT(get_message(far)->error, EAGAIN, "POSIX I_FDINSERT: refused calls sent nothing");
}

static const struct test tests[] = {
    TEST(modules_are_pushed_and_popped),
    TEST(long_names_of_drivers),
    TEST(list),
    TEST(peek),
    TEST(nread),
    TEST(flushes),
    TEST(bands),
    TEST(marks),
    TEST(close_times),
    TEST(error_options),
    TEST(water_marks),
    TEST(pipes_by_ioctl),
    TEST(unknown_commands),
    TEST(terminal_and_file_ioctls),
    TEST(fdinsert),
};
MAIN(tests)
