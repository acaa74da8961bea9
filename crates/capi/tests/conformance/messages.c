/* getmsg, putmsg, getpmsg and putpmsg: parts, priorities, bands, leftovers, limits and errors (POSIX getmsg, putmsg; STREAMS 4.4,
 * 4.5). */
#include "stream.h"

static void prepare(void) {
    open_ends();
    set_nonblocking(far, 1);
}

static void control_and_data_arrive_as_they_were_sent(void) {
    prepare();
    EXPECT(put_message(near, "control", "data", 0), 0, "POSIX putmsg: 0");
    EXPECT(get_message(far)->value, 0, "POSIX getmsg: 0 when the whole message was taken");
    PARTS("control", "data", "POSIX getmsg: both parts");
    EXPECT(got.flags, 0, "POSIX getmsg: flags 0 for an ordinary message");
    EXPECT(put_message(near, NULL, "data", 0), 0, "POSIX putmsg: data alone");
    get_message(far);
    PARTS(NULL, "data", "POSIX getmsg: len -1 for an absent control part");
    EXPECT(put_message(near, "control", NULL, 0), 0, "POSIX putmsg: control alone");
    get_message(far);
    PARTS("control", NULL, "POSIX getmsg: len -1 for an absent data part");
    FAILS(get_message(far)->value == -1 ? (errno = got.error, -1) : 0, EAGAIN, "POSIX getmsg: EAGAIN without a message and with O_NONBLOCK");
}

static void parts_of_no_bytes(void) {
    prepare();
    EXPECT(put_message(near, "", "", 0), 0, "POSIX putmsg: parts of no bytes");
    get_message(far);
    PARTS("", "", "POSIX putmsg: a zero-length part is sent, and is not absent");
    EXPECT(put_message(near, NULL, NULL, 0), 0, "POSIX putmsg: no parts: 0");
    EXPECT(get_message(far)->value, -1, "POSIX putmsg: no message is sent without parts");
    EXPECT(got.error, EAGAIN, "POSIX putmsg: no message is sent without parts");
    struct strbuf absent = {.maxlen = 5, .len = -1, .buf = NULL};
    EXPECT(putmsg(near, &absent, &absent, 0), 0, "POSIX putmsg: len -1 is no part");
    EXPECT(get_message(far)->value, -1, "POSIX putmsg: no message is sent without parts");
    EXPECT(put_message(near, "c", "", 0), 0, "POSIX putmsg: control and empty data");
    get_message(far);
    PARTS("c", "", "POSIX putmsg: an empty data part is there");
}

static void leftovers(void) {
    prepare();
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    get_with(far, 4, 2, 0);
    EXPECT(got.value, MORECTL | MOREDATA, "POSIX getmsg: both parts have more");
    PARTS("cont", "da", "POSIX getmsg: at most maxlen");
    get_with(far, 100, 0, 0);
    EXPECT(got.value, MOREDATA, "POSIX getmsg: the control part is finished");
    PARTS("rol", "", "STREAMS 4.5: maxlen 0 takes nothing of a part that has bytes");
    EXPECT(get_message(far)->value, 0, "POSIX getmsg: the rest");
    PARTS(NULL, "ta", "STREAMS 4.5: a finished part is absent");
}

static void maxlen_minus_1_leaves_a_part(void) {
    prepare();
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    get_with(far, -1, 100, 0);
    EXPECT(got.value, MORECTL, "POSIX getmsg: maxlen -1 leaves the control part");
    PARTS(NULL, "data", "POSIX getmsg: len -1 for a part that was not processed");
    get_with(far, 100, -1, 0);
    EXPECT(got.value, 0, "POSIX getmsg: the control part is the rest");
    PARTS("control", NULL, "POSIX getmsg: the control part was left");
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    int flags = 0;
    EXPECT(getmsg(far, NULL, NULL, &flags), MORECTL | MOREDATA, "POSIX getmsg: NULL for both parts takes nothing");
    EXPECT(flags, 0, "POSIX getmsg: an ordinary message");
    get_message(far);
    PARTS("control", "data", "POSIX getmsg: the message was left in place");
}

static void maxlen_0_consumes_an_empty_part(void) {
    prepare();
    EXPECT(ioctl(near, I_SWROPT, SNDZERO), 0, "I_SWROPT");
    EXPECT(put_message(near, NULL, "", 0), 0, "putmsg");
    EXPECT(put_message(near, NULL, "next", 0), 0, "putmsg");
    get_with(far, 0, 0, 0);
    EXPECT(got.value, 0, "POSIX getmsg: a zero-length part with maxlen 0 is removed");
    PARTS(NULL, "", "POSIX getmsg: len 0");
    get_message(far);
    PARTS(NULL, "next", "POSIX getmsg: the zero-length message is gone");
}

static void leftovers_keep_type_and_band(void) {
    prepare();
    EXPECT(put_in_band(near, "control", "data", 3), 0, "POSIX putpmsg: MSG_BAND");
    get_with(far, 3, 0, 0);
    EXPECT(got.value, MORECTL | MOREDATA, "POSIX getmsg: more of both");
    get_from_band(far, 3, MSG_BAND);
    PARTS("trol", "data", "STREAMS 4.5: leftovers keep their band");
    EXPECT(got.band, 3, "STREAMS 4.5: leftovers keep their band");
    EXPECT(put_message(near, "high", "data", RS_HIPRI), 0, "POSIX putmsg: RS_HIPRI");
    get_with(far, 2, 0, RS_HIPRI);
    EXPECT(got.value, MORECTL | MOREDATA, "POSIX getmsg: more of both");
    get_with(far, 100, 100, RS_HIPRI);
    PARTS("gh", "data", "STREAMS 4.5: leftovers keep their type");
    EXPECT(got.flags, RS_HIPRI, "STREAMS 4.5: leftovers keep their type");
}

static void high_priority_comes_first(void) {
    prepare();
    EXPECT(put_message(near, "first", "1", 0), 0, "putmsg");
    EXPECT(put_in_band(near, "band 5", "2", 5), 0, "putpmsg");
    EXPECT(put_in_band(near, "band 9", "3", 9), 0, "putpmsg");
    EXPECT(put_message(near, "high", "4", RS_HIPRI), 0, "putmsg");
    EXPECT(get_message(far)->flags, RS_HIPRI, "POSIX getmsg: RS_HIPRI is stored for a high-priority message");
    PARTS("high", "4", "POSIX: a high-priority message is first");
    get_from_band(far, 0, MSG_ANY);
    PARTS("band 9", "3", "POSIX: the highest band comes next");
    EXPECT(got.flags, MSG_BAND, "POSIX getpmsg: MSG_BAND is stored");
    EXPECT(got.band, 9, "POSIX getpmsg: the band is stored");
    get_from_band(far, 0, MSG_ANY);
    PARTS("band 5", "2", "POSIX: in the order of bands");
    get_from_band(far, 7, MSG_ANY);
    PARTS("first", "1", "POSIX: band 0 comes last");
    EXPECT(got.flags, MSG_BAND, "POSIX getpmsg: MSG_BAND is stored");
    EXPECT(got.band, 0, "POSIX getpmsg: band 0 for an ordinary message");
}

static void a_high_priority_message_by_getpmsg(void) {
    prepare();
    struct strbuf control = part("high");
    EXPECT(putpmsg(near, &control, NULL, 0, MSG_HIPRI), 0, "POSIX putpmsg: MSG_HIPRI");
    get_from_band(far, 77, MSG_ANY);
    PARTS("high", NULL, "POSIX getpmsg: any message");
    EXPECT(got.flags, MSG_HIPRI, "POSIX getpmsg: MSG_HIPRI is stored");
    EXPECT(got.band, 0, "POSIX getpmsg: the band is 0 for a high-priority message");
    EXPECT(putpmsg(near, &control, NULL, 0, MSG_HIPRI), 0, "POSIX putpmsg: MSG_HIPRI");
    get_from_band(far, 0, MSG_HIPRI);
    PARTS("high", NULL, "POSIX getpmsg: MSG_HIPRI takes it");
    EXPECT(putpmsg(near, &control, NULL, 0, MSG_HIPRI), 0, "POSIX putpmsg: MSG_HIPRI");
    get_from_band(far, 200, MSG_BAND);
    PARTS("high", NULL, "POSIX getpmsg: MSG_BAND also takes a high-priority message");
    EXPECT(got.flags, MSG_HIPRI, "POSIX getpmsg: MSG_HIPRI is stored");
}

#define GET_FAILS(get, expected, rule) \
    do { \
        get; \
        EXPECT(got.value, -1, rule); \
        EXPECT(got.error, expected, rule); \
    } while (0)

static void other_kind_of_message_gives_eagain(void) {
    prepare();
    GET_FAILS(get_with(far, 100, 100, RS_HIPRI), EAGAIN, "POSIX getmsg: EAGAIN on an empty queue");
    EXPECT(put_message(near, "c", "d", 0), 0, "putmsg");
    GET_FAILS(get_with(far, 100, 100, RS_HIPRI), EAGAIN, "POSIX getmsg, STREAMS 4.5: RS_HIPRI wanted, an ordinary message is first");
    GET_FAILS(get_from_band(far, 0, MSG_HIPRI), EAGAIN, "POSIX getmsg, STREAMS 4.5: MSG_HIPRI wanted, an ordinary message is first");
    GET_FAILS(get_from_band(far, 1, MSG_BAND), EAGAIN, "POSIX getmsg, STREAMS 4.5: MSG_BAND 1 wanted, a lower band is first");
    EXPECT(put_in_band(near, "b", NULL, 4), 0, "putpmsg");
    GET_FAILS(get_from_band(far, 5, MSG_BAND), EAGAIN, "POSIX getmsg, STREAMS 4.5: MSG_BAND 5 wanted, band 4 is first");
    get_from_band(far, 2, MSG_BAND);
    PARTS("b", NULL, "POSIX getpmsg: MSG_BAND takes a band at least as high");
    EXPECT(got.band, 4, "POSIX getpmsg: the band of the message is stored");
    get_from_band(far, 0, MSG_BAND);
    PARTS("c", "d", "POSIX getpmsg: MSG_BAND 0 takes an ordinary message; refusals took nothing");
}

static void getmsg_waits_for_the_wanted_message(void) {
    prepare();
    set_nonblocking(far, 0);
    static const struct {
        int is_high, band, flags;
    } rows[] = {{1, 0, RS_HIPRI}, {1, 0, MSG_HIPRI}, {0, 3, MSG_BAND}, {1, 3, MSG_BAND}, {0, 7, MSG_BAND}};
    for (size_t at = 0; at < COUNT(rows); at++) {
        in_context("row %zu", at);
        EXPECT(put_message(near, "c", "ordinary", 0), 0, "putmsg");
        EXPECT(put_in_band(near, NULL, "band 1", 1), 0, "putpmsg");
        pid_t child = fork();
        if (child == 0) {
            sleep_ms(50);
            _exit(rows[at].is_high ? put_message(near, "wanted", NULL, RS_HIPRI) : put_in_band(near, "wanted", NULL, rows[at].band));
        }
        if (at == 0)
            get_with(far, 100, 100, RS_HIPRI);
        else
            get_from_band(far, rows[at].flags == MSG_BAND ? 3 : 0, rows[at].flags);
        PARTS("wanted", NULL, "POSIX getmsg: waits until a message of the type is at the front");
        EXPECT(ended_within(child, 3000), 0, "the child ends");
        get_message(far);
        PARTS(NULL, "band 1", "POSIX getmsg: the others stay");
        get_message(far);
        PARTS("c", "ordinary", "POSIX getmsg: the others stay");
        in_context("%s", "");
    }
    EXPECT(put_message(near, NULL, "ordinary", 0), 0, "putmsg");
    on_signal(SIGALRM, count_signal, 0);
    alarms_every(50000);
    GET_FAILS(get_with(far, 100, 100, RS_HIPRI), EINTR, "POSIX getmsg: EINTR while it waits for a message of high priority");
    ualarm(0, 0);
    close(near);
    get_with(far, 100, 100, RS_HIPRI);
    PARTS("", "", "STREAMS 4: after the end, 0 with both lengths 0");
    get_message(far);
    PARTS(NULL, "ordinary", "what is there stays");
}

static void flags_are_checked(void) {
    prepare();
    struct strbuf control = part("c"), data = part("d");
    int flags, band = 0;
    EXPECT(put_message(near, "c", "d", 0), 0, "putmsg");
    GET_FAILS(get_from_band(far, 0, 0), EINVAL, "STREAMS 4.5: getpmsg with flags 0");
    GET_FAILS(get_from_band(far, 0, MSG_ANY | MSG_BAND), EINVAL, "POSIX getpmsg: flags that exclude each other");
    GET_FAILS(get_from_band(far, 0, 8), EINVAL, "POSIX getpmsg: an unknown flag");
    GET_FAILS(get_from_band(far, 3, MSG_HIPRI), EINVAL, "POSIX getpmsg: MSG_HIPRI with a band");
    GET_FAILS(get_with(far, 100, 100, 2), EINVAL, "POSIX getmsg: flags other than 0 and RS_HIPRI");
    (void)flags, (void)band;
    FAILS(putmsg(near, &control, &data, 2), EINVAL, "POSIX putmsg: flags other than 0 and RS_HIPRI");
    FAILS(putmsg(near, NULL, &data, RS_HIPRI), EINVAL, "STREAMS 4.4: RS_HIPRI without a control part");
    FAILS(putpmsg(near, NULL, &data, 0, MSG_HIPRI), EINVAL, "POSIX putpmsg: MSG_HIPRI without a control part");
    FAILS(putpmsg(near, &control, &data, 1, MSG_HIPRI), EINVAL, "STREAMS 4.4: a band with MSG_HIPRI");
    FAILS(putpmsg(near, &control, &data, 0, MSG_ANY), EINVAL, "STREAMS 4.4: putpmsg with MSG_ANY");
    FAILS(putpmsg(near, &control, &data, 0, 0), EINVAL, "POSIX putpmsg: flags 0");
    FAILS(putpmsg(near, &control, &data, 0, MSG_HIPRI | MSG_BAND), EINVAL, "POSIX putpmsg: both flags");
    FAILS(putpmsg(near, &control, &data, 256, MSG_BAND), EINVAL, "POSIX putpmsg: a band above 255");
    FAILS(putpmsg(near, &control, &data, -1, MSG_BAND), EINVAL, "POSIX putpmsg: a negative band");
    EXPECT(putpmsg(near, &control, &data, 255, MSG_BAND), 0, "POSIX putpmsg: band 255");
    get_from_band(far, 255, MSG_BAND);
    PARTS("c", "d", "POSIX putpmsg: band 255");
    get_message(far);
    PARTS("c", "d", "refused calls sent nothing and took nothing");
    GET_FAILS(get_message(far), EAGAIN, "refused calls sent nothing");
}

static void one_message_of_high_priority_waits(void) {
    prepare();
    EXPECT(put_message(near, "one", NULL, RS_HIPRI), 0, "putmsg");
    EXPECT(put_message(near, "two", NULL, RS_HIPRI), 0, "STREAMS 4.5: the second succeeds and is discarded");
    get_message(far);
    PARTS("one", NULL, "STREAMS 4.5: only one M_PCPROTO waits at a head");
    GET_FAILS(get_message(far), EAGAIN, "STREAMS 4.5: a second M_PCPROTO is discarded");
    EXPECT(put_message(near, "three", NULL, RS_HIPRI), 0, "putmsg");
    get_message(far);
    PARTS("three", NULL, "STREAMS 4.5: once it was taken another may wait");
}

static void limits_of_size(void) {
    static char bytes[300000];
    prepare();
    struct strbuf control = {.len = 4097, .buf = bytes}, data = {.len = 1, .buf = bytes};
    FAILS(putmsg(near, &control, NULL, 0), ERANGE, "STREAMS 4.4: control beyond strctlsz (4096)");
    FAILS(putmsg(near, &control, &data, 0), ERANGE, "STREAMS 4.4: control beyond strctlsz (4096)");
    control.len = 4096;
    EXPECT(putmsg(near, &control, NULL, 0), 0, "STREAMS 4.4: control of strctlsz");
    EXPECT(get_message(far)->control.len, 4096, "STREAMS 4.4: control of strctlsz");
    control.len = 1;
    data.len = 262145;
    FAILS(putmsg(near, &control, &data, 0), ERANGE, "STREAMS 4.4: control and data beyond maxpsz");
    FAILS(putpmsg(near, &control, &data, 1, MSG_BAND), ERANGE, "STREAMS 4.4: control and data beyond maxpsz");
    data.len = 100000;
    NEEDS(fcntl(near, F_SETFL, O_RDWR | O_NONBLOCK) == 0, "F_SETFL");
    int sent = putmsg(near, NULL, &data, 0);
    HOLDS(sent == 0, "STREAMS 4.4: data alone beyond maxpsz is cut as write does");
    long sum = 0;
    while (get_message(far)->value == 0)
        sum += got.data.len;
    EXPECT(sum, 100000, "STREAMS 4.4: every byte of cut data arrives");
}

static void descriptors_are_checked(void) {
    struct strbuf control = part("c");
    int flags = 0, band = 0, ends[2];
    FAILS(getmsg(-1, &control, NULL, &flags), EBADF, "POSIX getmsg: EBADF");
    FAILS(putmsg(-1, &control, NULL, 0), EBADF, "POSIX putmsg: EBADF");
    flags = MSG_ANY;
    FAILS(getpmsg(900, &control, NULL, &band, &flags), EBADF, "POSIX getpmsg: EBADF");
    FAILS(putpmsg(900, &control, NULL, 0, MSG_BAND), EBADF, "POSIX putpmsg: EBADF");
    int null = open("/dev/null", O_RDWR);
    flags = 0;
    FAILS(getmsg(null, &control, NULL, &flags), ENOSTR, "POSIX getmsg: ENOSTR");
    FAILS(putmsg(null, &control, NULL, 0), ENOSTR, "POSIX putmsg: ENOSTR");
    flags = MSG_ANY;
    FAILS(getpmsg(null, &control, NULL, &band, &flags), ENOSTR, "POSIX getpmsg: ENOSTR");
    FAILS(putpmsg(null, &control, NULL, 0, MSG_BAND), ENOSTR, "POSIX putpmsg: ENOSTR");
    EXPECT(isastream(null), 0, "POSIX isastream: 0");
    FAILS(isastream(-1), EBADF, "POSIX isastream: EBADF");
    FAILS(isastream(900), EBADF, "POSIX isastream: EBADF");
    open_pipe(ends);
    close(ends[0]);
    flags = 0;
    FAILS(getmsg(ends[0], &control, NULL, &flags), EBADF, "POSIX getmsg: EBADF after close");
    FAILS(isastream(ends[0]), EBADF, "POSIX isastream: EBADF after close");
}

static void boundaries_of_putmsg_are_kept(void) {
    prepare();
    for (int at = 0; at < 3; at++)
        EXPECT(put_message(near, NULL, "12", 0), 0, "putmsg");
    int bytes;
    EXPECT(ioctl(far, I_NREAD, &bytes), 3, "STREAMS 3: boundaries of putmsg are never merged");
    EXPECT(bytes, 2, "STREAMS 4.7: bytes of the first message");
    get_message(far);
    PARTS(NULL, "12", "STREAMS 3: boundaries of putmsg are never merged");
}

static void blocked_getmsg_gets_the_wanted_message(void) {
    prepare();
    set_nonblocking(far, 0);
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        put_message(near, "ctl", "data", 0);
        sleep_ms(50);
        put_message(near, "high", NULL, RS_HIPRI);
        _exit(0);
    }
    get_message(far);
    PARTS("ctl", "data", "POSIX getmsg: waits for a message");
    get_with(far, 100, 100, RS_HIPRI);
    PARTS("high", NULL, "POSIX getmsg: waits for a message of high priority");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void full_band_stops_only_its_own_writers(void) {
    prepare();
    set_nonblocking(near, 1);
    HOLDS(fill(near) > 0, "a stream takes bytes");
    FAILS(put_message(near, "c", "d", 0), EAGAIN, "POSIX putmsg: EAGAIN when the band is full");
    FAILS(put_in_band(near, "c", "d", 0), EAGAIN, "POSIX putpmsg: band 0 is full");
    EXPECT(put_in_band(near, "c", "band 1", 1), 0, "STREAMS 2: each band has its own count");
    EXPECT(put_message(near, "c", "high", RS_HIPRI), 0, "POSIX putmsg: high priority is not subject to flow control");
    get_message(far);
    PARTS("c", "high", "high priority first");
    get_message(far);
    PARTS("c", "band 1", "then the band");
}

static void a_closed_end(void) {
    prepare();
    on_signal(SIGPIPE, count_signal, 0);
    EXPECT(put_message(far, "c", "last", 0), 0, "putmsg");
    close(far);
    get_message(near);
    PARTS("c", "last", "POSIX getmsg: data before the hang-up");
    EXPECT(get_message(near)->value, 0, "POSIX getmsg: 0 after the hang-up");
    PARTS("", "", "POSIX getmsg: both lengths 0");
    FAILS(put_message(near, "c", "d", 0), EPIPE, "STREAMS 4: EPIPE after the other end was closed");
    EXPECT(signals_seen, 1, "STREAMS 4: SIGPIPE with SNDPIPE");
}

static void ioctls_of_the_same_name(void) {
    prepare();
    EXPECT(put_in_band(near, "c", "d", 2), 0, "putpmsg");
    get_from_band(far, 0, MSG_ANY);
    EXPECT(got.band, 2, "getpmsg");
    EXPECT(write(near, "bytes", 5), 5, "write");
    get_message(far);
    PARTS(NULL, "bytes", "POSIX getmsg: what write sent is a message without control part");
    EXPECT(put_message(near, NULL, "data", 0), 0, "putmsg");
    char text[9];
    EXPECT(read(far, text, 9), 4, "POSIX read: what putmsg sent as data is read");
}

static const struct test tests[] = {
    TEST(control_and_data_arrive_as_they_were_sent),
    TEST(parts_of_no_bytes),
    TEST(leftovers),
    TEST(maxlen_minus_1_leaves_a_part),
    TEST(maxlen_0_consumes_an_empty_part),
    TEST(leftovers_keep_type_and_band),
    TEST(high_priority_comes_first),
    TEST(a_high_priority_message_by_getpmsg),
    TEST(other_kind_of_message_gives_eagain),
    TEST(getmsg_waits_for_the_wanted_message),
    TEST(flags_are_checked),
    TEST(one_message_of_high_priority_waits),
    TEST(limits_of_size),
    TEST(descriptors_are_checked),
    TEST(boundaries_of_putmsg_are_kept),
    TEST(blocked_getmsg_gets_the_wanted_message),
    TEST(full_band_stops_only_its_own_writers),
    TEST(a_closed_end),
    TEST(ioctls_of_the_same_name),
};
MAIN(tests)
