/*
 * I_SETSIG: a process is sent SIGPOLL when a message arrives, and SIGURG when one of a band does. The handlers note what came; the
 * program waits with sigsuspend(2), so that no signal is missed between a look and the wait.
 */
#include <signal.h>
#include <sys/wait.h>

#include "example.h"

static volatile sig_atomic_t polls, urgents;

static void on_poll(int number)
{
    (void)number;
    polls++;
}

static void on_urgent(int number)
{
    (void)number;
    urgents++;
}

static int writer(int fd)
{
    struct strbuf ctl = part_of("urgent");
    char go;

    CHECK(write(fd, "ordinary", 8) == 8);
    CHECK(read(fd, &go, 1) == 1);
    CHECK(putpmsg(fd, &ctl, NULL, 1, MSG_BAND) == 0);
    CHECK(read(fd, &go, 1) == 1);
    return 0;
}

int main(void)
{
    int ends[2], status, events, band = 0, flags = MSG_ANY;
    char text[16];
    struct strbuf ctl = room_of(text, sizeof text);
    struct sigaction action;
    sigset_t blocked, before;

    stream_pipe(ends);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_poll;
    CHECK(sigaction(SIGPOLL, &action, NULL) == 0);
    action.sa_handler = on_urgent;
    CHECK(sigaction(SIGURG, &action, NULL) == 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPOLL);
    sigaddset(&blocked, SIGURG);
    CHECK(sigprocmask(SIG_BLOCK, &blocked, &before) == 0);

    CHECK(ioctl(ends[0], I_SETSIG, 0) == -1 && errno == EINVAL);
    CHECK(ioctl(ends[0], I_SETSIG, S_RDNORM | S_RDBAND | S_BANDURG) == 0);
    CHECK(ioctl(ends[0], I_GETSIG, &events) == 0 && events == (S_RDNORM | S_RDBAND | S_BANDURG));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        /* The copy would keep the end open. A child is not registered for signals. */
        CHECK(close(ends[0]) == 0);
        _exit(writer(ends[1]));
    }

    while (polls == 0)
        sigsuspend(&before);
    CHECK(read(ends[0], text, sizeof text) == 8 && urgents == 0);
    CHECK(write(ends[0], "1", 1) == 1);
    while (urgents == 0)
        sigsuspend(&before);
    CHECK(getpmsg(ends[0], &ctl, NULL, &band, &flags) == 0 && band == 1 && is_text(&ctl, "urgent"));
    CHECK(write(ends[0], "2", 1) == 1);
    /* SIGCHLD is not blocked, and does nothing. */
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    puts("signals: ok");
    return 0;
}
