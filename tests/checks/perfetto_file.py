# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of Perfetto, taken apart as its trace processor does, by perfetto_test.proto; ValueError says what is
wrong with it. Times are those in the file: CLOCK_BOOTTIME."""

import collections
import os

from proto_file import Proto

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_test.proto")
CLEARED, NEEDED = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1
MOST_CPUS = 1024  # that the trace processor takes
NAMES = "event_categories", "event_names", "debug_annotation_names"
TABLES = "function_names", "frames", "callstacks", "build_ids", "mapping_paths", "source_paths", "mappings", *NAMES
# R, S, D, T, t, X, Z, P, I, R+ of `struct trace_event_raw_sched_switch`, as Linux has them since 4.14.
STATES = {0, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100}

Event = collections.namedtuple("Event", "time duration kind category name track notes callstack weight")
Track = collections.namedtuple("Track", "name parent process thread counter")
Sample = collections.namedtuple("Sample", "time cpu pid tid user ns stack")
Switch = collections.namedtuple("Switch", "time cpu prev prev_comm state next next_comm prio")
Waking = collections.namedtuple("Waking", "time cpu waker wakee comm flags")
FileFrame = collections.namedtuple("FileFrame", "name path build_id pc source line kind")


def require(condition, what):
    if not condition:
        raise ValueError(what)


def is_(message):
    return message is not None


class PerfettoFile:
    def __init__(self, data):
        self.tables = {name: {} for name in TABLES}
        self.defaults, self.system, self.clocks = None, None, []
        self.processes, self.threads, self.tracks = {}, {}, {}
        self.events, self.points, self.samples, self.switches, self.wakings = [], [], [], [], []
        self.bundles = []  # CPU, events, rows are missing before
        self.stacks = {}
        self.begun = None  # the event whose end is the next packet
        self.counts, self.last = collections.Counter(), collections.Counter()
        for number, packet in enumerate(Proto(PROTO).decode("Trace", data)["packet"]):
            self.take(number, packet)
        require(self.begun is None, "the last span has no end")
        self.check_spans()

    # --- packets ---

    def take(self, number, packet):
        require(packet["trusted_packet_sequence_id"] == 1, f"packet {number} is of no sequence")
        require(packet["sequence_flags"] == (NEEDED if number else CLEARED), f"packet {number} has other flags")
        require(packet["first_packet_on_sequence"] == (number == 0), f"packet {number} is the first")
        require(packet["timestamp"] < 1 << 63, f"packet {number} has no time")
        require(not packet["timestamp_clock_id"], f"packet {number} has a clock of its own")
        if packet["trace_packet_defaults"]:
            require(number == 0, "defaults change")
            self.defaults = packet["trace_packet_defaults"]
            require(self.defaults["timestamp_clock_id"] == BOOTTIME, "times are of another clock")
        if packet["interned_data"]:
            self.take_interned(packet["interned_data"])
        kinds = [kind for kind in ("track_event", "track_descriptor", "process_tree", "clock_snapshot", "system_info",
                                   "perf_sample", "ftrace_events") if packet[kind] is not None]
        require(len(kinds) <= 1, f"packet {number} is of several kinds")
        require(kinds or packet["interned_data"] or number == 0, f"packet {number} is empty")
        for kind in kinds:
            require(self.begun is None or kind == "track_event", "a span has no end")
            getattr(self, f"take_{kind}")(packet["timestamp"], packet[kind])

    def take_interned(self, data):
        for name in TABLES:
            for entry in data[name]:
                require(entry["iid"], f"{name}: no number")
                require(entry["iid"] not in self.tables[name], f"{name}: {entry['iid']} is there twice")
                if name not in NAMES:
                    getattr(self, f"check_{name}", self.check_string)(entry)
                self.tables[name][entry["iid"]] = entry

    def take_clock_snapshot(self, time, snapshot):
        clocks = {clock["clock_id"]: clock["timestamp"] for clock in snapshot["clocks"]}
        require(set(clocks) == {MONOTONIC, BOOTTIME, REALTIME} and snapshot["primary_trace_clock"] == BOOTTIME, "clocks")
        require(time == clocks[BOOTTIME], "clocks were read at another time")
        if self.clocks:
            require(all(clocks[clock] >= self.clocks[-1][clock] for clock in (MONOTONIC, BOOTTIME)), "clocks go back")
        self.clocks.append(clocks)

    def take_system_info(self, _, info):
        require(self.system is None and info["utsname"]["sysname"] == "Linux", "the system")
        self.system = info

    def take_process_tree(self, _, tree):
        for process in tree["processes"]:
            require(0 < process["pid"] < 1 << 31 and process["pid"] not in self.processes, f"{process}: once")
            require(process["cmdline"], f"{process} has no name")
            self.processes[process["pid"]] = process
        for thread in tree["threads"]:
            require(0 < thread["tid"] < 1 << 31 and thread["tid"] not in self.threads, f"{thread}: once")
            require(thread["tgid"] in self.processes, f"{thread}: of which process?")
            require(thread["tid"] == thread["tgid"] or thread["tid"] not in self.processes, f"{thread} is a process")
            require(thread["name"], f"{thread} has no name")
            self.threads[thread["tid"]] = thread

    def take_track_descriptor(self, _, track):
        uuid, parent = track["uuid"], track["parent_uuid"]
        require(uuid and uuid not in self.tracks, f"{track} is there twice")
        require(not parent or parent in self.tracks, f"{track}: its parent comes later")
        if is_(track["thread"]):
            tid, pid = track["thread"]["tid"], track["thread"]["pid"]
            require(tid in self.threads and self.threads[tid]["tgid"] == pid, f"{track}: of which thread?")
        elif is_(track["process"]):
            require(track["process"]["pid"] in self.processes, f"{track}: of which process?")
        else:
            require(track["name"], f"{track} has no name")
        for kind in "thread", "process":
            require(not is_(track[kind]) or not any(getattr(other, kind) == track[kind] for other in
                                                    self.tracks.values()), f"{track} has two tracks")
        self.tracks[uuid] = Track(track["name"], parent, track["process"], track["thread"], track["counter"])

    # --- what is interned ---

    def check_string(self, entry):
        entry["str"] = entry["str"].decode("utf-8")
        require("\0" not in entry["str"], f"{entry} has a NUL")

    def check_build_ids(self, entry):
        require(entry["str"], "a build-id of nothing")

    def known(self, name, iid, may_be_none=False):
        require((may_be_none and not iid) or iid in self.tables[name], f"{name}: {iid} is not there yet")
        return self.tables[name].get(iid)

    def check_mappings(self, entry):
        self.known("build_ids", entry["build_id"], True)
        require(entry["path_string_ids"], f"{entry} has no path")
        for path in entry["path_string_ids"]:
            self.known("mapping_paths", path)

    def check_frames(self, entry):
        self.known("function_names", entry["function_name_id"])
        self.known("mappings", entry["mapping_id"])  # old readers want one
        self.known("source_paths", entry["source_path_iid"], True)

    def check_callstacks(self, entry):
        require(entry["frame_ids"], "a stack of nothing")
        for frame in entry["frame_ids"]:
            self.known("frames", frame)

    def stack(self, iid):
        """Of frames, the root first."""
        if iid not in self.stacks:
            self.stacks[iid] = [self.frame(frame) for frame in self.known("callstacks", iid)["frame_ids"]]
        return self.stacks[iid]

    def frame(self, iid):
        frame = self.tables["frames"][iid]
        mapping = self.tables["mappings"][frame["mapping_id"]]
        build_id = self.tables["build_ids"][mapping["build_id"]]["str"].hex() if mapping["build_id"] else ""
        path = "/".join(self.tables["mapping_paths"][path]["str"] for path in mapping["path_string_ids"])
        source = self.tables["source_paths"].get(frame["source_path_iid"], {"str": ""})["str"]
        return FileFrame(self.tables["function_names"][frame["function_name_id"]]["str"], path, build_id,
                         frame["rel_pc"], source, frame["line_number"], frame["kind"])

    # --- events ---

    def take_perf_sample(self, time, sample):
        require(sample["cpu"] < MOST_CPUS, f"{sample}: the CPU")
        self.check_task(sample["tid"], sample["pid"])
        ns = sample["timebase_count"] - self.counts[sample["cpu"]]
        require(ns >= 0, f"{sample} counts back")
        self.counts[sample["cpu"]] = sample["timebase_count"]
        require(sample["cpu_mode"] in (1, 2), f"{sample}: the mode")
        stack = self.stack(sample["callstack_iid"]) if sample["callstack_iid"] else []
        self.samples.append(Sample(time, sample["cpu"], sample["pid"], sample["tid"], sample["cpu_mode"] == 2, ns, stack))

    def check_task(self, tid, pid=None):
        require(not tid or tid in self.threads, f"thread {tid} is not described")
        require(not tid or pid is None or self.threads[tid]["tgid"] == pid, f"thread {tid} is of another process")

    def take_ftrace_events(self, _, bundle):
        cpu = bundle["cpu"]
        require(cpu < MOST_CPUS and bundle["event"], "a packet of no CPU or no events")
        self.bundles.append((cpu, len(bundle["event"]), bundle["lost_events"]))
        for event in bundle["event"]:
            time = event["timestamp"]
            require(self.last[cpu] <= time < 1 << 63, f"{event} is before another one")
            self.last[cpu] = time
            switch, waking = event["sched_switch"], event["sched_waking"]
            require((switch is None) != (waking is None), f"{event} is of no kind")
            self.check_task(event["pid"])
            if is_(switch):
                require(switch["prev_state"] in STATES and event["pid"] == switch["prev_pid"], f"{event}: the state")
                require(switch["prev_comm"] and switch["next_comm"], f"{event} has no names")
                self.check_task(switch["prev_pid"])
                self.check_task(switch["next_pid"])
                self.switches.append(Switch(time, cpu, switch["prev_pid"], switch["prev_comm"], switch["prev_state"],
                                            switch["next_pid"], switch["next_comm"], switch["next_prio"]))
            else:
                require(waking["pid"] and waking["comm"] and event["common_flags"] in (0, 8, 16), f"{event}")
                self.check_task(waking["pid"])
                self.wakings.append(Waking(time, cpu, event["pid"], waking["pid"], waking["comm"],
                                           event["common_flags"]))

    def take_track_event(self, time, event):
        kind, uuid = event["type"], event["track_uuid"]
        require(uuid in self.tracks, f"{event}: the track is not there yet")
        require((kind == COUNTER) == is_(self.tracks[uuid].counter), f"{event}: a counter?")
        require((kind == END) == (self.begun is not None), f"{event}: what ends?")
        if kind == END:
            require(self.begun.track == uuid and time >= self.begun.time, f"{event} is another's end")
            self.events.append(self.begun._replace(duration=time - self.begun.time))
            self.begun = None
            return
        if kind == COUNTER:
            self.points.append((uuid, time, event["double_counter_value"]))
            return
        require(kind in (BEGIN, INSTANT) and len(event["category_iids"]) == 1, f"{event}: of what kind?")
        require(not event["name_iid"] or not event["name"], f"{event} has two names")
        notes = {}
        for note in event["debug_annotations"]:
            key = self.known("debug_annotation_names", note["name_iid"])["name"]
            require(key and key not in notes, f"{event}: a note comes twice")
            notes[key] = (note["string_value"] or note["int_value"] or note["pointer_value"]
                                   or note["bool_value"] or 0)
        iid, category = event["callstack_iid"], self.known("event_categories", event["category_iids"][0])["name"]
        name = self.known("event_names", event["name_iid"])["name"] if event["name_iid"] else event["name"]
        taken = Event(time, 0, kind, category, name, uuid, notes,
                      self.stack(iid) if iid else [], event["callstack_weight"])
        if kind == INSTANT:
            self.events.append(taken)
        else:
            self.begun = taken

    def check_spans(self):
        """The trace processor sorts by time, and leaves what is of one time in order; an end is that of the
        last that began. Each span is what it was meant to be then."""
        by_track = collections.defaultdict(list)
        for number, event in enumerate(self.events):
            if event.kind == BEGIN:
                by_track[event.track].append((event.time, 2 * number, number))
                by_track[event.track].append((event.time + event.duration, 2 * number + 1, number))
        for track, points in by_track.items():
            open_ = []
            for time, order, number in sorted(points):
                if order % 2 == 0:
                    open_.append(number)
                    continue
                ended = self.events[open_.pop()]
                require(ended.time + ended.duration == time, f"{self.tracks[track]}: {ended} ends at {time}")

    # --- for checks ---

    def thread_of(self, track):
        """The thread that a track is of, or below."""
        while track and not is_(self.tracks[track].thread):
            track = self.tracks[track].parent
        return self.tracks[track].thread["tid"] if track else 0

    def monotonic(self, time):
        """CLOCK_MONOTONIC: of a time from before the first reading, as that says."""
        reading = self.clocks[0]
        for later in self.clocks:
            if later[BOOTTIME] <= time:
                reading = later
        return time - reading[BOOTTIME] + reading[MONOTONIC]
