#!/usr/bin/env python3
# usage: pasted.py SPECS... : pastes tokens into every operand and option of each verb, and prints
# where more than twelve characters of one come back, and how many places it tried. Needs a hub.
import json
import os
import subprocess
import sys

TOKENS = {
    "classic": "ghp_Q7r8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4",
    "fine-grained": "github_pat_11ABCDEFG0aBcDeFgHiJkLm_nOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz",
    "jwt": "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiIxMjM0NTYiLCJleHAiOjE3MDAwMDAwMDB9.Zm9vYmFyYmF6cXV4",
}
# By its form it is none; in the place of an id it is not said again whole all the same.
HEX = "4be0f1d6c2a3957886e1a0b3c4d5e6f708192a3b"
IDS = {"SECRET", "GRANT", "ID", "SESSION", "--secret", "--grant", "--run"}
# Left out: these read a question from standard input, or print lists for the shell.
SKIP = {"take", "renew", "drop", "names", "evidence"}
NEEDS = {"grant": ["--to", "any"], "why": ["--project", "/x"], "grant unguarded": ["--reason", "x"]}


def run(argv):
    p = subprocess.run(argv, input="", capture_output=True, text=True, timeout=120, errors="replace")
    return p.stdout + p.stderr


def shown(text, token):
    """The longest piece of the token that is in the text, above twelve characters."""
    for size in range(len(token), 12, -1):
        for at in range(len(token) - size + 1):
            if token[at : at + size] in text:
                return token[at : at + size]
    return None


def places(verb):
    """Each operand and option with a value: how to put a text there, and whether an id goes there."""
    operands = [o["name"] for o in verb["operands"]]
    sane = ["app" if n == "SECRET" else os.environ["GRANT"] if n in ("GRANT", "ID") else "x" for n in operands]
    needs = NEEDS.get(verb["name"], [])
    for i, name in enumerate(operands):
        yield name, lambda t, i=i: needs + sane[:i] + [t] + sane[i + 1 :], name in IDS or verb["name"] == "key retire"
    for o in verb["options"]:
        if not o.get("arg"):
            continue
        rest = [] if needs and needs[0] == "--" + o["name"] else needs
        yield "--" + o["name"], lambda t, o=o, rest=rest: ["--" + o["name"], t] + rest + sane, "--" + o["name"] in IDS


tried = 0
for spec in sys.argv[1:]:
    for verb in json.loads(run([spec, "--cl-spec"]))["verbs"]:
        if verb["name"] in SKIP:
            continue
        for name, put, is_id in places(verb):
            for what, token in list(TOKENS.items()) + ([("hex", HEX)] if is_id else []):
                for typed in (token, "executor:" + token):
                    out = run([spec] + verb["name"].split() + put(typed))
                    out += run([spec] + verb["name"].split() + put(typed) + ["--json"])
                    tried += 1
                    if shown(out, token):
                        print(f"{spec} {verb['name']} {name} ({what}): {out.strip()}")
audit = run(["cloop-hub", "audit", "list", "-n", "0", "--json"])
for what, token in TOKENS.items():
    if shown(audit, token):
        print(f"audit trail ({what}):", *[row for row in audit.splitlines() if shown(row, token)], sep="\n  ")
print(tried, "tried")
