/*
 * A server and its clients. The server attaches a pipe to a path, with connld on the attached end: each client that opens the path
 * has a stream of its own to the server. A request's control part is a command, its data part the argument.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "example.h"

enum { CLIENTS = 3 };

/* Answers the requests of one client until it closes its stream. */
static void serve(int client)
{
    char command[16], argument[64];

    for (;;) {
        struct strbuf ctl = room_of(command, sizeof command), data = room_of(argument, sizeof argument);
        struct strbuf refused = part_of("unknown");
        int flags = 0;

        CHECK(getmsg(client, &ctl, &data, &flags) == 0);
        /* After the client's close both parts are empty. */
        if (ctl.len <= 0 && data.len <= 0)
            return;
        if (!is_text(&ctl, "reverse")) {
            CHECK(putmsg(client, &refused, NULL, 0) == 0);
            continue;
        }
        for (int at = 0; at < data.len / 2; at++) {
            char byte = argument[at];
            argument[at] = argument[data.len - 1 - at];
            argument[data.len - 1 - at] = byte;
        }
        ctl = part_of("done");
        CHECK(putmsg(client, &ctl, &data, 0) == 0);
    }
}

static void ask(int server, const char *command, const char *argument, const char *status, const char *answer)
{
    char control[16], text[64];
    struct strbuf ctl = part_of(command), data = part_of(argument);
    int flags = 0;

    CHECK(putmsg(server, &ctl, &data, 0) == 0);
    ctl = room_of(control, sizeof control);
    data = room_of(text, sizeof text);
    CHECK(getmsg(server, &ctl, &data, &flags) == 0);
    CHECK(is_text(&ctl, status));
    CHECK(answer == NULL ? data.len == -1 : is_text(&data, answer));
}

static int client(const char *path)
{
    int server = open(path, O_RDWR);

    CHECK(server >= 0 && isastream(server) == 1);
    ask(server, "reverse", "desserts", "done", "stressed");
    ask(server, "sing", "a song", "unknown", NULL);
    ask(server, "reverse", "12345", "done", "54321");
    CHECK(close(server) == 0);
    return 0;
}

int main(void)
{
    char path[] = "/tmp/headwater-server-XXXXXX";
    int file = mkstemp(path), ends[2], status;

    CHECK(file >= 0 && close(file) == 0);
    stream_pipe(ends);
    CHECK(ioctl(ends[1], I_PUSH, "connld") == 0);
    CHECK(fattach(ends[1], path) == 0);
    for (int number = 0; number < CLIENTS; number++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(client(path));
    }
    for (int number = 0; number < CLIENTS; number++) {
        struct strrecvfd connection;
        CHECK(ioctl(ends[0], I_RECVFD, &connection) == 0);
        CHECK(connection.uid == geteuid());
        serve(connection.fd);
        CHECK(close(connection.fd) == 0);
    }
    for (int number = 0; number < CLIENTS; number++)
        CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(fdetach(path) == 0 && unlink(path) == 0);
    puts("server: ok");
    return 0;
}
