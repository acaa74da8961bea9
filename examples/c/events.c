/*
 * A loop that waits for several streams with poll(2): ordinary data, a band, high priority, room to write, and the end of a
 * stream each have an event of their own.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "example.h"

enum { WRITERS = 3, MESSAGES = 100 };

/* Sends numbers by turns as plain data, in band 1 and with high priority. */
static int writer(int fd)
{
    for (int number = 0; number < MESSAGES; number++) {
        struct strbuf ctl = part_of("number"), data = {0, sizeof number, (char *)&number};

        if (number % 3 == 0)
            CHECK(putmsg(fd, NULL, &data, 0) == 0);
        else if (number % 3 == 1)
            CHECK(putpmsg(fd, &ctl, &data, 1, MSG_BAND) == 0);
        else {
            /* A second message of high priority is discarded while one waits at the reader's head. */
            int waiting = 1;
            CHECK(putmsg(fd, &ctl, &data, RS_HIPRI) == 0);
            CHECK(read(fd, &waiting, sizeof waiting) == sizeof waiting && waiting == number);
        }
    }
    return 0;
}

/* Receives what poll has shown. Returns the number in the message. */
static int receive(int fd, short events)
{
    char control[16];
    int number = -1, flags = 0;
    struct strbuf ctl = room_of(control, sizeof control), data = room_of((char *)&number, sizeof number);

    CHECK(getmsg(fd, &ctl, &data, &flags) == 0 && data.len == sizeof number);
    /* One of high priority may have come to the front since. */
    CHECK(!(events & POLLPRI) || flags == RS_HIPRI);
    if (flags == RS_HIPRI)
        CHECK(write(fd, &number, sizeof number) == sizeof number);
    return number;
}

int main(void)
{
    struct pollfd polled[WRITERS];
    int open_streams = WRITERS, received = 0, sum = 0;

    for (int at = 0; at < WRITERS; at++) {
        int ends[2];
        stream_pipe(ends);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(close(ends[0]) == 0);
            _exit(writer(ends[1]));
        }
        CHECK(close(ends[1]) == 0);
        polled[at].fd = ends[0];
        polled[at].events = POLLRDNORM | POLLRDBAND | POLLPRI;
    }
    while (open_streams > 0) {
        CHECK(poll(polled, WRITERS, -1) > 0);
        for (int at = 0; at < WRITERS; at++) {
            short ready = polled[at].revents;
            CHECK((ready & (POLLERR | POLLNVAL)) == 0);
            if (ready & (POLLRDNORM | POLLRDBAND | POLLPRI)) {
                sum += receive(polled[at].fd, ready);
                received++;
            } else if (ready & POLLHUP) {
                /* All was received, and the writer has gone. poll(2) passes over a negative descriptor. */
                CHECK(close(polled[at].fd) == 0);
                polled[at].fd = -1;
                open_streams--;
            }
        }
    }
    CHECK(received == WRITERS * MESSAGES && sum == WRITERS * MESSAGES * (MESSAGES - 1) / 2);
    for (int at = 0, status; at < WRITERS; at++)
        CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);

    /* A stream that is full is not writable, and is again when its reader has made room. */
    int ends[2];
    struct pollfd full = {0, POLLOUT, 0};
    char page[4096] = {0};
    stream_pipe(ends);
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    full.fd = ends[0];
    while (write(ends[0], page, sizeof page) > 0)
        ;
    CHECK(errno == EAGAIN && poll(&full, 1, 0) == 0);
    while (read(ends[1], page, sizeof page) > 0)
        ;
    CHECK(errno == EAGAIN && poll(&full, 1, 1000) == 1 && full.revents == POLLOUT);
    puts("events: ok");
    return 0;
}
