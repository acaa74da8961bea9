/*
 * Messages, priority bands and high priority on a pipe: a message of a higher band is received first, and one of high priority
 * before all others.
 */
#include "example.h"

static void send_in_band(int fd, const char *text, int band)
{
    struct strbuf data = part_of(text);

    CHECK(putpmsg(fd, NULL, &data, band, MSG_BAND) == 0);
}

/* Receives the next message. Returns its band, or -1 if it is of high priority. */
static int receive(int fd, struct strbuf *data)
{
    char control[16];
    struct strbuf ctl = room_of(control, sizeof control);
    int band = 0, flags = MSG_ANY;

    CHECK(getpmsg(fd, &ctl, data, &band, &flags) == 0);
    return flags == MSG_HIPRI ? -1 : band;
}

int main(void)
{
    int ends[2], bytes;
    char text[32];
    struct strbuf alarm_bell = part_of("alarm"), data = room_of(text, sizeof text);

    stream_pipe(ends);
    send_in_band(ends[0], "ordinary", 0);
    send_in_band(ends[0], "express", 3);
    send_in_band(ends[0], "soon", 1);
    /* A message of high priority has a control part, and may have data. */
    CHECK(putmsg(ends[0], &alarm_bell, NULL, RS_HIPRI) == 0);

    CHECK(ioctl(ends[1], I_NREAD, &bytes) == 4);
    CHECK(receive(ends[1], &data) == -1 && data.len == -1);
    CHECK(ioctl(ends[1], I_CKBAND, 1) == 1 && ioctl(ends[1], I_CKBAND, 2) == 0);
    CHECK(receive(ends[1], &data) == 3 && is_text(&data, "express"));
    CHECK(receive(ends[1], &data) == 1 && is_text(&data, "soon"));
    CHECK(receive(ends[1], &data) == 0 && is_text(&data, "ordinary"));

    /* A buffer that is too small: the rest of the message stays. */
    send_in_band(ends[0], "in two pieces", 2);
    data.maxlen = 6;
    int band = 0, flags = MSG_ANY;
    CHECK(getpmsg(ends[1], NULL, &data, &band, &flags) == MOREDATA && is_text(&data, "in two"));
    data.maxlen = sizeof text;
    CHECK(receive(ends[1], &data) == 2 && is_text(&data, " pieces"));
    puts("bands: ok");
    return 0;
}
