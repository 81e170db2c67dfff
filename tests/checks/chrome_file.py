# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of `ebreport export --to chrome`, taken apart; ValueError says what is wrong with it."""

import collections
import decimal
import json
import re

OWN_NUMBERS = 1 << 30  # processes and threads with these are none, or have an id that was used before
PHASES = {"M", "X", "B", "E", "b", "e", "i", "C"}
Span = collections.namedtuple("Span", "phase category name pid tid time duration args")  # ns


def require(condition, what):
    if not condition:
        raise ValueError(what)


def nanoseconds(value):
    ns = decimal.Decimal(value) * 1000
    require(ns == int(ns), f"{value} us is no number of nanoseconds")
    return int(ns)


def strict(data):
    """As it is in the file, numbers to the last digit."""
    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    def once(pairs):
        require(len(dict(pairs)) == len(pairs), "an object has a key twice")
        return dict(pairs)

    decimal.getcontext().prec = 60
    return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=once,
                      parse_float=decimal.Decimal)


def span(event, duration):
    return Span(event["ph"], event["cat"], event["name"], event["pid"], event["tid"], nanoseconds(event["ts"]),
                duration, event.get("args", {}))


def check_pairs(spans, ends):
    """As a reader pairs them, by their order on a thread: each thread has as much time as in our order."""
    events = collections.defaultdict(list)
    for number, (begin, end) in enumerate(zip(spans, ends)):
        events[begin.pid, begin.tid].append((begin.time, 2 * number, "B"))
        events[begin.pid, begin.tid].append((end, 2 * number + 1, "E"))
    for at, list_ in events.items():
        begun, sum_ = [], 0
        for time, _, phase in sorted(list_):
            require(phase == "B" or begun, f"{at}: something ends that never began")
            if phase == "B":
                begun.append(time)
            else:
                sum_ += time - begun.pop()
        require(not begun, f"{at}: something never ends")
        wanted = sum(span_.duration for span_ in spans if (span_.pid, span_.tid) == at)
        require(sum_ == wanted, f"{at}: pairs are {sum_} ns, not {wanted}")


class ChromeFile:
    """spans: of all phases but M, an E with its B. processes, threads: names."""

    def __init__(self, data):
        self.file = strict(data)
        self.spans, self.processes, self.threads = [], {}, {}
        pairs, ends, ids = [], [], set()
        events = iter(self.file["traceEvents"])
        for event in events:
            phase, at = event["ph"], (event["pid"], event["tid"])
            require(phase in PHASES, f"phase {phase}")
            require(all(isinstance(n, int) and 0 <= n < 1 << 32 for n in at), f"{at}: no process and thread")
            if phase == "M":
                self.take_name(event, at)
                continue
            require(event["name"] is not None and event["cat"], f"{event} has no name or category")
            duration = nanoseconds(event["dur"]) if phase == "X" else 0
            require(duration >= 0, f"{event} has no duration")
            if phase in "Bb":
                end = next(events)
                require(end["ph"] == {"B": "E", "b": "e"}[phase], f"{event} has no end")
                require(all(end.get(key) == event.get(key) for key in ("pid", "tid", "cat", "name", "id")),
                        f"{event} has another's end")
                duration = nanoseconds(end["ts"]) - nanoseconds(event["ts"])
                require(duration >= 0, f"{event} ends before it begins")
            if phase == "b":
                require(event["id"] not in ids, f"{event}: the id is another's")
                ids.add(event["id"])
            self.spans.append(span(event, duration))
            if phase == "B":
                pairs.append(self.spans[-1])
                ends.append(pairs[-1].time + duration)
        check_pairs(pairs, ends)
        for span_ in self.spans:
            require((span_.pid, span_.tid) in self.threads or span_.phase in "C", f"{span_}: of whom?")
            require(span_.pid in self.processes, f"{span_}: of which process?")

    def take_name(self, event, at):
        names = {"process_name": self.processes, "thread_name": self.threads}.get(event["name"])
        if names is None:
            require(isinstance(event["args"]["sort_index"], int), f"{event} has no place")
            return
        key = at[0] if event["name"] == "process_name" else at
        require(key not in names, f"{event}: it has a name already")
        names[key] = event["args"]["name"]

    def thread(self, span_):
        """The ids of the thread whose track it is on: what its track is called says those that were used again."""
        pid, tid = span_.pid, span_.tid
        if pid >= OWN_NUMBERS:
            pid = number_in(self.processes[pid])
        if tid >= OWN_NUMBERS:
            tid = number_in(self.threads[span_.pid, span_.tid])
        return pid, tid


def number_in(name):
    found = re.search(r"\((\d+)\)$", name)
    return int(found[1]) if found else None
