//! Streams as JSON, with every fact that the inspection has.

use headwater_streams::inspect::{
    Content, Descriptor, Direction, End, Module, Process, Queue, Role, Side, Snapshot, State, StreamKind,
};
use serde_json::{Value, json};

/// A stream.
pub(super) fn stream(stream: &Snapshot) -> Value {
    let mut value = json!({
        "stream": stream.id,
        "kind": kind(&stream.kind),
        "owner": stream.owner,
        "memory_bytes": stream.memory,
        "resident_bytes": stream.resident,
        "processes": stream.processes.iter().map(process).collect::<Vec<_>>(),
    });
    let content = match &stream.content {
        Content::State(found) => state(found),
        Content::OtherVersion(version) => json!({ "version": version }),
        Content::Unreadable(why) => json!({ "unreadable": why }),
        _ => json!({}),
    };
    if let (Some(value), Value::Object(content)) = (value.as_object_mut(), content) {
        value.extend(content);
    }
    value
}

fn kind(kind: &StreamKind) -> Value {
    match kind {
        StreamKind::Pipe => json!({ "type": "pipe" }),
        StreamKind::Fifo { node: [device, inode], path } => json!({
            "type": "fifo",
            "device": device,
            "inode": inode,
            "path": path.as_ref().map(|path| path.to_string_lossy()),
        }),
        StreamKind::Device { driver, minor } => json!({ "type": "device", "driver": driver, "minor": minor }),
        _ => json!({ "type": "other" }),
    }
}

fn process(process: &Process) -> Value {
    json!({
        "pid": process.pid,
        "user": process.user,
        "command": process.command,
        "arguments": process.arguments,
        "state": process.state.to_string(),
        "descriptors": process.descriptors.iter().map(descriptor).collect::<Vec<_>>(),
    })
}

fn descriptor(descriptor: &Descriptor) -> Value {
    let (role, end) = match descriptor.role {
        Role::Memory => ("memory", None),
        Role::End(end) => ("end", Some(end)),
        Role::Node => ("node", None),
        Role::MinorNumber => ("minor", None),
        Role::Witness => ("witness", None),
        Role::SharedFiles => ("files", None),
        _ => ("other", None),
    };
    json!({ "number": descriptor.number, "role": role, "end": end })
}

fn state(state: &State) -> Value {
    let policy = &state.policy;
    json!({
        "policy": {
            "coalescing": policy.coalescing,
            "hysteresis": policy.hysteresis,
            "wake_once": policy.wake_once,
            "lane": policy.lane,
            "stages": policy.stages,
        },
        "strmsgsz": state.strmsgsz,
        "strctlsz": state.strctlsz,
        "nstrpush": state.nstrpush,
        "window_bytes": state.window,
        "ends": state.ends.iter().map(end).collect::<Vec<_>>(),
        "directions": state.directions.iter().map(direction).collect::<Vec<_>>(),
        "driver": state.driver.as_ref().map(|driver| json!({
            "name": driver.name,
            "minor": driver.minor,
            "opens": driver.opens,
            "closed": driver.is_closed,
            "named": driver.lock_file.is_some(),
            "partner": driver.has_partner,
            "links": driver.links.iter().map(|(id, lower)| json!({ "id": id, "stream": lower })).collect::<Vec<_>>(),
            "write": queue(&driver.write),
            "read": queue(&driver.read),
        })),
        "handles": state.members.iter().map(|member| json!({
            "pid": member.pid,
            "same_pid_namespace": member.is_visible,
            "ended": member.has_ended,
            "end": member.end,
        })).collect::<Vec<_>>(),
        "contradictions": state.contradictions,
    })
}

fn end(end: &End) -> Value {
    let read_options = end.read_options.map(|options| {
        json!({
            "mode": format!("{:?}", options.mode),
            "control": format!("{:?}", options.control),
            "fill": options.fill,
        })
    });
    let write_options = end.write_options.map(|options| {
        json!({
            "zero": options.zero,
            "pipe": options.pipe,
            "hold": options.hold,
            "delimit": options.delimit,
            "notify": options.notify,
        })
    });
    json!({
        "modules": end.modules.iter().map(module).collect::<Vec<_>>(),
        "hung_up": end.is_hung_up,
        "read_error": end.read_error,
        "write_error": end.write_error,
        "linked": end.is_linked,
        "shut_to_write": end.is_shut_to_write,
        "shut_to_read": end.is_shut_to_read,
        "read_options": read_options,
        "write_options": write_options,
        "read_error_once": end.error_options.read_once,
        "write_error_once": end.error_options.write_once,
        "handles": end.handles,
        "opens": end.opens,
        "closes": end.closes,
        "asked": end.asked,
        "packets_sent": end.packets_sent,
        "packets_taken": end.packets_taken,
        "ioctls": end.ioctls,
        "ioctl": end.ioctl,
        "files_sent": end.files_sent,
        "files_received": end.files_received,
        "signals": end.signals,
        "close_ms": end.close_ms,
    })
}

fn module(module: &Module) -> Value {
    json!({ "name": module.name, "write": queue(&module.write), "read": queue(&module.read) })
}

/// A direction's figures: what has come, what waits, which sides sleep.
pub(super) fn direction(direction: &Direction) -> Value {
    let names = ["writer", "reader", "store"];
    let locks = names.iter().zip(&direction.locks).map(|(name, lock)| {
        json!({
            "lock": name,
            "pid": lock.pid,
            "held": lock.is_held,
            "biased": lock.is_biased,
            "awaited": lock.is_awaited,
            "seizures": lock.seizures,
        })
    });
    json!({
        "written_bytes": direction.written(),
        "written_messages": direction.messages_written(),
        "queued_bytes": direction.queued(),
        "queued_messages": direction.queued_messages(),
        "lane": {
            "written_bytes": direction.lane_written,
            "read_bytes": direction.lane_read,
            "written_messages": direction.lane_messages_written,
            "read_messages": direction.lane_messages_read,
        },
        "stored": queue(&direction.stored),
        "hiwat": direction.hiwat,
        "lowat": direction.lowat,
        "maxpsz": direction.maxpsz,
        "minpsz": direction.minpsz,
        "full": direction.is_full,
        "blocks": direction.blocks,
        "pages": direction.pages,
        "pages_max": direction.pages_max,
        "writer": side(&direction.writer),
        "reader": side(&direction.reader),
        "locks": locks.collect::<Vec<_>>(),
    })
}

fn side(side: &Side) -> Value {
    json!({
        "asleep": side.is_asleep,
        "awaits_descriptor": side.awaits_descriptor,
        "wanted_bytes": side.wanted,
        "unmet": side.is_unmet,
        "awaits_service": side.awaits_service,
    })
}

fn queue(queue: &Queue) -> Value {
    json!({
        "messages": queue.messages,
        "bytes": queue.bytes,
        "put_messages": queue.messages_put,
        "put_bytes": queue.bytes_put,
        "hiwat": queue.hiwat,
        "lowat": queue.lowat,
        "enabled": queue.is_enabled,
        "put_back": queue.has_put_back,
        "disabled": queue.is_disabled,
        "wants_memory": queue.wants_memory,
        "bands": queue.bands.iter().map(|band| json!({
            "band": band.band,
            "bytes": band.bytes,
            "full": band.is_full,
            "wanted": band.is_wanted,
        })).collect::<Vec<_>>(),
    })
}
