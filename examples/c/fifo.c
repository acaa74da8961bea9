/*
 * A FIFO that is a stream: a reader and a writer that know its path alone. The message's control part and band come with the data,
 * as on a pipe. Needs HEADWATER_FIFO=1; without it the path is the kernel's FIFO.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "example.h"

static int writer(const char *path)
{
    struct strbuf ctl = part_of("label"), data = part_of("contents");
    /* Waits for the reader. */
    int fd = open(path, O_WRONLY);

    CHECK(fd >= 0);
    CHECK(putpmsg(fd, &ctl, &data, 2, MSG_BAND) == 0);
    CHECK(write(fd, "plain", 5) == 5);
    CHECK(close(fd) == 0);
    return 0;
}

int main(void)
{
    char path[] = "/tmp/headwater-fifo-XXXXXX", control[16], text[32];
    struct strbuf ctl = room_of(control, sizeof control), data = room_of(text, sizeof text);
    int band = 0, flags = MSG_ANY, status, fd;

    alarm(10);
    CHECK(mkdtemp(path) != NULL);
    CHECK(chdir(path) == 0 && mkfifo("fifo", 0600) == 0);
    /* Without a reader an open that must not wait fails. */
    CHECK(open("fifo", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);

    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(writer("fifo"));
    fd = open("fifo", O_RDONLY);
    CHECK(fd >= 0);
    if (isastream(fd) != 1) {
        fprintf(stderr, "the FIFO is the kernel's: set HEADWATER_FIFO=1\n");
        return 1;
    }
    CHECK(getpmsg(fd, &ctl, &data, &band, &flags) == 0);
    CHECK(is_text(&ctl, "label") && is_text(&data, "contents") && band == 2 && flags == MSG_BAND);
    CHECK(read(fd, text, sizeof text) == 5 && memcmp(text, "plain", 5) == 0);
    CHECK(read(fd, text, sizeof text) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(close(fd) == 0 && unlink("fifo") == 0 && chdir("/") == 0 && rmdir(path) == 0);
    puts("fifo: ok");
    return 0;
}
