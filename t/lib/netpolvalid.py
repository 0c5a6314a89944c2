#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: netpolvalid.py SCHEMA FILE... : is each file (JSON) a NetworkPolicy that an API server takes?

By the schema, and by what the server asks beyond it (the documentation of the API's fields):
exceptions are strict subsets, endPort is not below a numeric port, names and labels are well formed.
A block is read as Go reads it: an IPv4-mapped address is IPv4.
"""
import ipaddress
import json
import re
import sys

import jsonschema

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


def need(ok, what):
    if not ok:
        raise ValueError(what)


def network(text):
    net = ipaddress.ip_network(text, strict=True)
    mapped = net.version == 6 and net.network_address.ipv4_mapped
    return net, 4 if mapped else net.version


def block(b):
    outer, version = network(b["cidr"])
    for text in b.get("except", []):
        inner, inner_version = network(text)
        need(version == inner_version, f"{text} is of another family than {outer}")
        need(inner.subnet_of(outer) and inner.prefixlen > outer.prefixlen,
             f"{text} is no strict subset of {outer}")


def labels(m, preview):
    for key, value in m.items():
        prefix, slash, name = key.rpartition("/")
        need(LABEL.match(name) and (not slash or (DNS.match(prefix) and len(prefix) <= 253)), f"key {key}")
        need(value == "" or LABEL.match(value) or (preview and value == "<handle>"), f"value {value}")


def rule(r, end):
    for peer in r.get(end, []):
        need(peer, "an empty peer")
        need("ipBlock" not in peer or len(peer) == 1, "ipBlock beside a selector")
        if "ipBlock" in peer:
            block(peer["ipBlock"])
        for s in ("podSelector", "namespaceSelector"):
            labels(peer.get(s, {}).get("matchLabels", {}), False)
    for port in r.get("ports", []):
        number, end_port = port.get("port"), port.get("endPort")
        need(not isinstance(number, int) or 1 <= number <= 65535, f"port {number}")
        need(end_port is None or (isinstance(number, int) and number <= end_port <= 65535), f"endPort {end_port}")


def check(schema, policy):
    jsonschema.validate(policy, schema)
    name, spec = policy["metadata"]["name"], policy["spec"]
    need(DNS.match(name) and len(name) <= 253, f"name {name}")
    space = policy["metadata"].get("namespace", "default")
    need(DNS.match(space) and "." not in space and len(space) <= 63, f"namespace {space}")
    labels(policy["metadata"].get("labels", {}), False)
    labels(spec["podSelector"].get("matchLabels", {}), True)
    for r in spec.get("egress", []):
        rule(r, "to")
    for r in spec.get("ingress", []):
        rule(r, "from")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            policy = json.load(f)
        try:
            check(schema, policy)
        except (ValueError, jsonschema.ValidationError) as e:
            print(f"{path}: {str(e).splitlines()[0]}")
            bad = 1
    return bad


sys.exit(main())
