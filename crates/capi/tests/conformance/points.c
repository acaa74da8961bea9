/* What implementations often do wrong: points 3 to 16 of STREAMS section 4, each once on its own. The other programs have more
 * checks of each point; fault.c has point 1, processes.c point 2. */
#include "stream.h"

static void p1_a_bad_pointer_consumes_nothing(void) {
    open_ends();
    EXPECT(put_message(near, "c", "d", 0), 0, "putmsg");
    struct strbuf bad = {.maxlen = 10, .len = 0, .buf = (char *)16}, good = {.maxlen = 10, .len = 0, .buf = got.data_bytes};
    int flags = 0;
    FAILS(getmsg(far, &bad, &good, &flags), EFAULT, "STREAMS 4.1: a bad buffer");
    FAILS(getmsg(far, &good, &bad, &flags), EFAULT, "STREAMS 4.1: a bad buffer");
    get_message(far);
    PARTS("c", "d", "STREAMS 4.1: nothing was consumed");
}

static void p2_the_last_reference_hangs_up(void) {
    open_ends();
    pid_t child = fork();
    if (child == 0) {
        close(near);
        sleep_ms(200);
        _exit(write(far, "child", 5) == 5 ? 0 : 1);
    }
    close(far);
    char text[20];
    EXPECT(read(near, text, sizeof text), 5, "STREAMS 4.2: the parent's close does not hang up the child's end");
    EXPECT(ended_within(child, 2000), 0, "the child writes");
    EXPECT(read(near, text, sizeof text), 0, "STREAMS 4.2: the last reference anywhere hangs up");
}

static void p3_blocking_calls_are_interruptible(void) {
    open_ends();
    char text[9];
    on_signal(SIGALRM, count_signal, 0);
    struct got *message;
    alarms_every(50000);
    FAILS(read(near, text, 9), EINTR, "STREAMS 4.3: read");
    message = get_message(near);
    EXPECT(message->error, EINTR, "STREAMS 4.3: getmsg");
    fill(near);
    FAILS(put_message(near, "c", "d", 0), EINTR, "STREAMS 4.3: putmsg");
    FAILS(write(near, "x", 1), EINTR, "STREAMS 4.3: write");
    ualarm(0, 0);
    HOLDS(signals_seen >= 4, "each signal was delivered");
}

static void p4_putmsg(void) {
    open_ends();
    set_nonblocking(far, 1);
    FAILS(put_message(near, NULL, "d", RS_HIPRI), EINVAL, "STREAMS 4.4: RS_HIPRI without control");
    EXPECT(put_message(near, NULL, NULL, 0), 0, "STREAMS 4.4: no parts");
    EXPECT(get_message(far)->error, EAGAIN, "STREAMS 4.4: nothing sent");
    EXPECT(ioctl(near, I_SWROPT, 0), 0, "I_SWROPT without SNDZERO");
    EXPECT(write(near, "", 0), 0, "STREAMS 4.4: zero-length data without SNDZERO");
    EXPECT(get_message(far)->error, EAGAIN, "STREAMS 4.4: is dropped");
    EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT SNDZERO");
    EXPECT(write(near, "", 0), 0, "STREAMS 4.4: zero-length data with SNDZERO");
    get_message(far);
    PARTS(NULL, "", "STREAMS 4.4: is sent");
}

static void p5_getmsg(void) {
    open_ends();
    set_nonblocking(far, 1);
    EXPECT(put_message(near, "ctl", "data", 0), 0, "putmsg");
    EXPECT(get_with(far, -1, -1, 0)->value, MORECTL | MOREDATA, "STREAMS 4.5: maxlen -1 leaves both parts");
    PARTS(NULL, NULL, "STREAMS 4.5: len -1");
    get_with(far, 10, 10, RS_HIPRI);
    EXPECT(got.error, EAGAIN, "POSIX getmsg: RS_HIPRI wanted, O_NONBLOCK");
    get_from_band(far, 0, 0);
    EXPECT(got.error, EINVAL, "STREAMS 4.5: getpmsg with flags 0");
    get_from_band(far, 2, MSG_BAND);
    EXPECT(got.error, EAGAIN, "POSIX getpmsg: a lower band first, O_NONBLOCK");
}

static void p6_read(void) {
    open_ends();
    char text[20];
    EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT");
    EXPECT(put_message(near, NULL, "ab", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "cd", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "ef", 0), 0, "putmsg");
    BYTES(text, read(far, text, 20), "abcd", "STREAMS 4.6: crosses messages, stops at a zero-length message");
    EXPECT(read(far, text, 20), 0, "STREAMS 4.6: the zero-length message was put back, and now is the end");
    BYTES(text, read(far, text, 20), "ef", "STREAMS 4.6: it was consumed");
    EXPECT(put_message(near, "ctl", "data", 0), 0, "putmsg");
    FAILS(read(far, text, 20), EBADMSG, "STREAMS 4.6: RPROTNORM on a control part");
    EXPECT(ioctl(far, I_SRDOPT, RNORM | RPROTDAT), 0, "I_SRDOPT");
    BYTES(text, read(far, text, 20), "ctldata", "STREAMS 4.6: RPROTDAT: control first, then data");
    EXPECT(ioctl(far, I_SRDOPT, RNORM | RPROTDIS), 0, "I_SRDOPT");
    EXPECT(put_message(near, "ctl", "data", 0), 0, "putmsg");
    BYTES(text, read(far, text, 20), "data", "STREAMS 4.6: RPROTDIS: data only");
}

static void p7_nread_look_find_list_push(void) {
    open_ends();
    int bytes = -1, device = open_device("echo");
    char name[FMNAMESZ + 1];
    EXPECT(ioctl(far, I_NREAD, &bytes), 0, "STREAMS 4.7: no message");
    EXPECT(bytes, 0, "POSIX I_NREAD: 0 bytes");
    EXPECT(put_message(near, "ctl", "data", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "next", 0), 0, "putmsg");
    EXPECT(ioctl(far, I_NREAD, &bytes), 2, "STREAMS 4.7: the value is the number of messages");
    EXPECT(bytes, 4, "STREAMS 4.7: data bytes of the first message");
    FAILS(ioctl(near, I_LOOK, name), EINVAL, "STREAMS 4.7: I_LOOK on a bare pipe");
    EXPECT(ioctl(device, I_LOOK, name), 0, "STREAMS 4.7: I_LOOK on a device");
    BYTES(name, strlen(name), "echo", "STREAMS 4.7: the driver's name");
    EXPECT(ioctl(device, I_FIND, "echo"), 1, "STREAMS 4.7: I_FIND matches drivers too");
    EXPECT(ioctl(device, I_FIND, "nullmod"), 0, "POSIX I_FIND: 0 for a module that is not on the stream");
    EXPECT(ioctl(device, I_LIST, NULL), 1, "STREAMS 4.7: I_LIST(NULL): modules and the driver");
    FAILS(ioctl(near, I_PUSH, "echo"), EINVAL, "STREAMS 4.7: I_PUSH of a driver");
    FAILS(ioctl(near, I_PUSH, ""), EINVAL, "STREAMS 4.7: I_PUSH of an empty name");
    FAILS(ioctl(near, I_PUSH, "ninechars"), EINVAL, "STREAMS 4.7: I_PUSH of a name that is too long");
    FAILS(ioctl(near, I_PUSH, "unknown"), EINVAL, "STREAMS 4.7: I_PUSH of an unknown name");
    int pushed = 0;
    while (pushed < 100 && ioctl(near, I_PUSH, "nullmod") == 0)
        pushed++;
    int error = errno;
    EXPECT(pushed, 64, "STREAMS 2: nstrpush is 64");
    EXPECT(error, EINVAL, "STREAMS 4.7: past nstrpush");
}

static void p8_setsig(void) {
    open_ends();
    FAILS(ioctl(far, I_SETSIG, 0), EINVAL, "STREAMS 4.8: I_SETSIG(0) when not registered");
    on_signal(SIGURG, count_signal, 0);
    EXPECT(ioctl(far, I_SETSIG, S_RDBAND | S_BANDURG), 0, "I_SETSIG");
    EXPECT(put_in_band(near, "c", "d", 1), 0, "putpmsg");
    EXPECT(signals_seen, 1, "STREAMS 4.8: S_RDBAND | S_BANDURG gives SIGURG");
}

static void p9_close_of_a_full_stream(void) {
    int stream = open("/dev/streams/loop", O_RDWR);
    HOLDS(stream >= 0, "open of /dev/streams/loop");
    /* The partner is not open, so what is written waits in the driver's write queue. */
    EXPECT(write(stream, "x", 1), 1, "write");
    int ms = 300, seen = 0;
    EXPECT(ioctl(stream, I_SETCLTIME, &ms), 0, "I_SETCLTIME");
    EXPECT(ioctl(stream, I_GETCLTIME, &seen), 0, "I_GETCLTIME");
    EXPECT(seen, 300, "POSIX I_GETCLTIME: the time in ms");
    long long start = now_ms();
    EXPECT(close(stream), 0, "STREAMS 4.9: close succeeds");
    long long took = now_ms() - start;
    in_context("%lld ms", took);
    HOLDS(took >= 250 && took < 2000, "STREAMS 4.9: close waits the close time for a full write queue");
}

static void p9_a_nonblocking_close_does_not_wait(void) {
    int stream = open("/dev/streams/loop", O_RDWR | O_NONBLOCK);
    HOLDS(stream >= 0, "open of /dev/streams/loop");
    EXPECT(write(stream, "x", 1), 1, "write");
    long long start = now_ms();
    EXPECT(close(stream), 0, "STREAMS 4.9: close succeeds");
    HOLDS(now_ms() - start < 1000, "STREAMS 4.9: O_NONBLOCK ends the wait");
    stream = open("/dev/streams/loop", O_RDWR);
    EXPECT(write(stream, "x", 1), 1, "write");
    on_signal(SIGALRM, count_signal, 0);
    alarms_every(100000);
    start = now_ms();
    EXPECT(close(stream), 0, "STREAMS 4.9: close succeeds");
    in_context("%lld ms", now_ms() - start);
    HOLDS(now_ms() - start < 5000, "STREAMS 4.9: a signal ends the wait");
}

static void p10_links(void) {
    int mux = open_device("mux"), echo = open_device("echo");
    open_ends();
    FAILS(ioctl(echo, I_LINK, near), EINVAL, "STREAMS 4.10: the upper stream's driver is no multiplexer");
    FAILS(ioctl(near, I_LINK, echo), EINVAL, "STREAMS 4.10: a pipe is no multiplexer");
    SUCCEEDS(ioctl(mux, I_LINK, near), "I_LINK");
    FAILS(write(near, "x", 1), EINVAL, "STREAMS 4: a linked stream");
    EXPECT(close(mux), 0, "close");
    EXPECT(write(near, "x", 1), 1, "STREAMS 4.10: closing the mux undoes I_LINK");
    mux = open_device("mux");
    int persistent = ioctl(mux, I_PLINK, near);
    HOLDS(persistent > 0, "I_PLINK");
    EXPECT(close(mux), 0, "close");
    FAILS(write(near, "x", 1), EINVAL, "STREAMS 4.10: closing the mux does not undo I_PLINK");
}

static void p11_sendfd(void) {
    open_ends();
    char path[] = "/tmp/conformance-XXXXXX", text[9];
    int file = mkstemp(path);
    unlink(path);
    EXPECT(write(file, "in file", 7), 7, "a file");
    EXPECT(ioctl(near, I_SENDFD, file), 0, "STREAMS 4.11: I_SENDFD passes any open file");
    close(file);
    EXPECT(get_message(far)->value, -1, "STREAMS 4.11: an M_PASSFP in the way of getmsg");
    EXPECT(got.error, EBADMSG, "STREAMS 4.11: is EBADMSG");
    FAILS(read(far, text, 9), EBADMSG, "POSIX read: EBADMSG for a passed file");
    struct strrecvfd received;
    EXPECT(ioctl(far, I_RECVFD, &received), 0, "I_RECVFD");
    HOLDS(received.uid == getuid() && received.gid == getgid(), "POSIX I_RECVFD: user and group of the sender");
    EXPECT(pread(received.fd, text, 9, 0), 7, "the same open file");
}

static void p12_str(void) {
    open_ends();
    int device = open_device("echo");
    char data[16] = "abc";
    struct strioctl call = {.ic_cmd = 'X' << 8 | 1, .ic_timout = 5, .ic_len = 3, .ic_dp = data};
    FAILS(ioctl(device, I_STR, &call), EINVAL, "STREAMS 4.12: an unknown command is refused with EINVAL");
    long long start = now_ms();
    FAILS(ioctl(near, I_STR, &call), EINVAL, "STREAMS 4.12: a pipe's far head refuses");
    HOLDS(now_ms() - start < 1000, "STREAMS 4.12: at once");
    call.ic_timout = -2;
    FAILS(ioctl(device, I_STR, &call), EINVAL, "STREAMS 4.12: a timeout below -1");
    call.ic_timout = 5;
    call.ic_len = 262145;
    FAILS(ioctl(device, I_STR, &call), EINVAL, "STREAMS 4.12: ic_len beyond strmsgsz");
    call.ic_len = -1;
    FAILS(ioctl(device, I_STR, &call), EINVAL, "POSIX I_STR: ic_len below 0");
    EXPECT(ioctl(device, I_PUSH, "testmod"), 0, "I_PUSH");
    call = (struct strioctl){.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 3, .ic_dp = data};
    EXPECT(ioctl(device, I_STR, &call), 3, "POSIX I_STR: the value of the acknowledgement");
    EXPECT(call.ic_len, 3, "POSIX I_STR: ic_len is the length of the answer");
    BYTES(data, call.ic_len, "cba", "POSIX I_STR: the answer's data are at ic_dp");
}

static void p13_errors_that_are_told_once(void) {
    open_ends();
    char text[9];
    set_nonblocking(near, 1);
    on_signal(SIGPIPE, SIG_IGN, 0);
    EXPECT(ioctl(near, I_PUSH, "testmod"), 0, "I_PUSH");
    EXPECT(ioctl(near, I_SERROPT, RERRNONPERSIST | WERRNONPERSIST), 0, "SVR4 I_SERROPT");
    request(near, "error 71 71");
    FAILS(read(near, text, 9), EPROTO, "STREAMS 4.13: told once");
    FAILS(read(near, text, 9), EAGAIN, "STREAMS 4.13: and not twice");
    FAILS(write(near, "x", 1), EPROTO, "STREAMS 4.13: told once");
    EXPECT(write(near, "x", 1), 1, "STREAMS 4.13: and not twice");
}

static void p14_poll(void) {
    open_ends();
    EXPECT(ioctl(far, I_PUSH, "pipemod"), 0, "STREAMS 4.16: a flush of a pipe needs pipemod");
    int all = POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI;
    EXPECT(polled_for(far, all), 0, "STREAMS 4.14: nothing to read");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(polled_for(far, all), POLLIN | POLLRDNORM, "STREAMS 4.14: POLLIN and POLLRDNORM for band 0");
    EXPECT(put_in_band(near, "c", "d", 1), 0, "putpmsg");
    EXPECT(polled_for(far, all) & (POLLIN | POLLRDBAND | POLLPRI), POLLIN | POLLRDBAND, "STREAMS 4.14: POLLIN and POLLRDBAND for others");
    EXPECT(put_message(near, "c", NULL, RS_HIPRI), 0, "putmsg");
    EXPECT(polled_for(far, POLLPRI | POLLIN), POLLPRI, "STREAMS 4.14: POLLPRI for M_PCPROTO alone");
    EXPECT(ioctl(far, I_FLUSH, FLUSHR), 0, "I_FLUSH");
    EXPECT(polled_for(far, all), 0, "STREAMS 4.14: right at once after a flush");
    EXPECT(polled_for(near, POLLOUT | POLLWRNORM), POLLOUT | POLLWRNORM, "STREAMS 4.14: POLLOUT is POLLWRNORM");
    fill(near);
    EXPECT(polled_for(near, POLLOUT), 0, "STREAMS 4.14: POLLOUT by the next service queue");
    EXPECT(ioctl(far, I_FLUSH, FLUSHR), 0, "I_FLUSH");
    EXPECT(polled_for(near, POLLOUT), POLLOUT, "STREAMS 4.14: right at once after a flush");
    int ends[2];
    open_pipe(ends);
    EXPECT(polled_for(ends[0], POLLWRBAND), 0, "STREAMS 4.14: POLLWRBAND only if bands exist");
    EXPECT(put_in_band(ends[0], "c", "d", 1), 0, "putpmsg");
    EXPECT(polled_for(ends[0], POLLWRBAND), POLLWRBAND, "STREAMS 4.14: POLLWRBAND");
}

static void p16_pipemod(void) {
    open_ends();
    char text[9];
    set_nonblocking(near, 1);
    set_nonblocking(far, 1);
    EXPECT(write(near, "to far", 6), 6, "write");
    EXPECT(write(far, "to near", 7), 7, "write");
    EXPECT(ioctl(near, I_PUSH, "pipemod"), 0, "I_PUSH");
    EXPECT(ioctl(near, I_FLUSH, FLUSHW), 0, "I_FLUSH");
    FAILS(read(far, text, 9), EAGAIN, "STREAMS 4.16: pipemod turns FLUSHW of one end into FLUSHR of the other");
    EXPECT(read(near, text, 9), 7, "STREAMS 4.16: the other direction was not flushed");
}

static const struct test tests[] = {
    TEST(p1_a_bad_pointer_consumes_nothing),
    TEST(p2_the_last_reference_hangs_up),
    TEST(p3_blocking_calls_are_interruptible),
    TEST(p4_putmsg),
    TEST(p5_getmsg),
    TEST(p6_read),
    TEST(p7_nread_look_find_list_push),
    TEST(p8_setsig),
    TEST(p9_close_of_a_full_stream),
    TEST_OF(p9_a_nonblocking_close_does_not_wait, 40),
    TEST(p10_links),
    TEST(p11_sendfd),
    TEST(p12_str),
    TEST(p13_errors_that_are_told_once),
    TEST(p14_poll),
    TEST(p16_pipemod),
};
MAIN(tests)
