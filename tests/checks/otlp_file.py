# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of OpenTelemetry as data, by report/export/proto/otlp.proto. What the description of the
format says that must be so is looked at; ValueError: it is not."""

import collections
import os

from proto_file import Proto

PROTO = os.path.join(os.path.dirname(__file__), "../../report/export/proto/otlp.proto")
TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")


def require(condition, what):
    if not condition:
        raise ValueError(what)


class Otlp:
    def __init__(self, data):
        self.data = Proto(PROTO).decode("ProfilesData", data)
        self.tables = {name: self.data["dictionary"][f"{name}_table"] for name in TABLES}
        self.check_tables()
        self.profiles = []  # attributes of the resource, type, unit, profile
        for resource in self.data["resource_profiles"]:
            attributes = {entry["key"]: self.value(entry["value"]) for entry in resource["resource"]["attributes"]}
            require(len(attributes) == len(resource["resource"]["attributes"]), "an attribute comes twice")
            for scope in resource["scope_profiles"]:
                for profile in scope["profiles"]:
                    self.check_profile(profile)
                    self.profiles.append((attributes, self.text(profile["sample_type"]["type_strindex"]),
                                          self.text(profile["sample_type"]["unit_strindex"]), profile))
        self.check_used()

    def entry(self, name, index):
        require(0 <= index < len(self.tables[name]), f"{name} {index} is not there")
        return self.tables[name][index]

    def text(self, index):
        return self.entry("string", index)

    @staticmethod
    def value(any_value):
        return any_value["string_value"] or any_value["int_value"]

    def attributes(self, indices):
        entries = [self.entry("attribute", index) for index in indices]
        found = {self.text(entry["key_strindex"]): self.value(entry["value"]) for entry in entries}
        require(len(found) == len(entries) and "" not in found, "attributes come twice, or have no key")
        return found

    def check_tables(self):
        for name, table in self.tables.items():
            first = dict(table[0]) if isinstance(table[0], dict) else table[0]
            if name == "link":
                require(first == {"trace_id": bytes(16), "span_id": bytes(8)}, "the link that is none")
            else:
                require(first == "" or not any(first.values()), f"the first {name} is something")
        for name in "string", "stack", "attribute", "mapping":
            require(len({repr(entry) for entry in self.tables[name]}) == len(self.tables[name]), f"a {name} comes twice")
        for stack in self.tables["stack"]:
            require(all(index > 0 and self.entry("location", index) for index in stack["location_indices"]), "a stack")
        for location in self.tables["location"][1:]:
            mapping = self.entry("mapping", location["mapping_index"])
            require(location["lines"], "a location without a function")
            require(not location["mapping_index"] or
                    mapping["memory_start"] <= location["address"] <= mapping["memory_limit"], "an address")
            require(all(line["function_index"] > 0 and self.entry("function", line["function_index"])
                        for line in location["lines"]), "a line")
            self.attributes(location["attribute_indices"])
        for function in self.tables["function"][1:]:
            require(self.text(function["name_strindex"]), "a function without a name")
            self.text(function["filename_strindex"])
        for mapping in self.tables["mapping"][1:]:
            require(self.text(mapping["filename_strindex"]), "a mapping without a name")
            self.attributes(mapping["attribute_indices"])

    def check_profile(self, profile):
        seen = set()
        for sample in profile["samples"]:
            self.entry("stack", sample["stack_index"])
            self.attributes(sample["attribute_indices"])
            require(sample["values"], "a sample without a value")
            require(len(sample["values"]) == len(sample["timestamps_unix_nano"]), "a value without a time")
            require(min(sample["values"]) >= 0, "a value below zero")
            identity = sample["stack_index"], tuple(sample["attribute_indices"])
            require(identity not in seen, "a sample comes twice")
            seen.add(identity)

    def check_used(self):
        samples = [sample for profile in self.profiles for sample in profile[3]["samples"]]
        used = {"stack": {sample["stack_index"] for sample in samples},
                "location": {i for stack in self.tables["stack"] for i in stack["location_indices"]},
                "function": {line["function_index"] for entry in self.tables["location"] for line in entry["lines"]},
                "mapping": {entry["mapping_index"] for entry in self.tables["location"]},
                "attribute": {i for entry in [*samples, *self.tables["mapping"], *self.tables["location"]]
                              for i in entry["attribute_indices"]}}
        for name, indices in used.items():
            require(indices | {0} == set(range(len(self.tables[name]))), f"there is a {name} that nothing has")

    def frames(self, stack):
        """Names, the outermost first."""
        locations = [self.entry("location", index) for index in self.entry("stack", stack)["location_indices"]]
        names = [self.text(self.entry("function", line["function_index"])["name_strindex"])
                 for location in locations for line in location["lines"]]
        return names[::-1]

    def folded(self, kind, escaped):
        """Weights by stack, the thread first, as `folded --by thread` has them. escaped() does what that does
        to names."""
        weights = collections.Counter()
        for resource, name, _, profile in self.profiles:
            for sample in profile["samples"] if name == kind else ():
                of = self.attributes(sample["attribute_indices"])
                root = of["thread.name"]
                if "process.pid" in resource:
                    root += f" ({resource['process.pid']}/{of['thread.id']})"
                weights[";".join(map(escaped, [root, *self.frames(sample["stack_index"])]))] += sum(sample["values"])
        return weights
