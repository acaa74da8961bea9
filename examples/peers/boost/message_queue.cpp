// Boost.Interprocess message_queue: messages in shared memory behind a mutex and two condition variables of the library.
//
// A queue holds 64 KiB of messages, as a pipe does, but at least 8 of them and at most 1024.
#include "../c/peer.h"

#include <algorithm>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/version.hpp>
#include <memory>
#include <string>
#include <sys/mman.h>

namespace ipc = boost::interprocess;

// Both directions, as seen by their sender and receiver.
static std::unique_ptr<ipc::message_queue> outgoing, incoming;
// Names that have to be removed: plain memory, because a signal handler reads it.
static char names[2][160];

static std::unique_ptr<ipc::message_queue> open_queue(const peer_order &order, const char *name)
{
    if (!order.receiver) {
        auto queue = std::make_unique<ipc::message_queue>(ipc::open_only, name);
        // Both ends have it now; without its name it is freed with the last of them.
        ipc::message_queue::remove(name);
        return queue;
    }
    ipc::message_queue::remove(name);
    const std::size_t depth = std::clamp<std::size_t>(65536 / order.size, 8, 1024);
    return std::make_unique<ipc::message_queue>(ipc::create_only, name, depth, order.size);
}

static int transport_prepare(const peer_order *order)
{
    // A shared memory object has no directory: its name identifies the owner.
    snprintf(names[0], sizeof names[0], "%s-forth", order->token);
    if (order->rtt)
        snprintf(names[1], sizeof names[1], "%s-back", order->token);
    try {
        (order->receiver ? incoming : outgoing) = open_queue(*order, names[0]);
        if (order->rtt)
            (order->receiver ? outgoing : incoming) = open_queue(*order, names[1]);
    } catch (const std::exception &error) {
        transport_remove();
        return peer_fail("message_queue %s: %s", names[0], error.what());
    }
    return PEER_OK;
}

static int transport_connected(void) { return PEER_OK; }

static int transport_send(const unsigned char *message, size_t size)
{
    try {
        outgoing->send(message, size, 0);
        return PEER_OK;
    } catch (const std::exception &error) {
        return peer_fail("send: %s", error.what());
    }
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    try {
        ipc::message_queue::size_type received = 0;
        unsigned priority = 0;
        incoming->receive(buffer, size, received, priority);
        return received == size ? PEER_OK : peer_fail("a message of %zu bytes instead of %zu", received, size);
    } catch (const std::exception &error) {
        return peer_fail("receive: %s", error.what());
    }
}

static void transport_remove(void)
{
    for (auto &name : names) {
        if (name[0] != '\0')
            shm_unlink(name);
    }
}

int main()
{
    const std::string version = std::to_string(BOOST_VERSION / 100000) + "." +
                                std::to_string(BOOST_VERSION / 100 % 1000) + "." + std::to_string(BOOST_VERSION % 100);
    const peer_description description = {
        "boost-mq", version.c_str(), "Boost.Interprocess message_queue in shared memory",
        "sleeps in process-shared condition variables", 0,
    };
    return peer_serve(&description);
}
