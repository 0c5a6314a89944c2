#!/usr/bin/env python3
"""usage: placecases.py SCHEMAS CASES : every case of t/cases/place through the command line, and
every request and answer against its schema. Prints what is wrong; status 1 then."""
import json
import subprocess
import sys

import jsonschema

schemas, cases = sys.argv[1:]
bad = ran = 0


def schema(name):
    with open(f"{schemas}/{name}.json") as f:
        s = json.load(f)
    jsonschema.Draft7Validator.check_schema(s)
    return jsonschema.Draft7Validator(s)


request_is, choice_is, refusal_is = map(schema, ("place-request", "place-choice", "place-refusal"))


def merge(a, b):
    out = dict(a)
    for k, v in b.items():
        out[k] = merge(a[k], v) if isinstance(v, dict) and isinstance(a.get(k), dict) else v
    return out


def request(templates, case):
    def one(c):
        if c is None or isinstance(c, str):
            return c and templates[c]
        return merge(templates[c["base"]], {k: v for k, v in c.items() if k != "base"})

    r = {k: case[k] for k in ("requirements", "policy") if k in case}
    return dict(r, candidates=[one(c) for c in case["candidates"]])


def flaws(case, answer, status):
    want = case["want"]
    if status != (0 if "executor_id" in want else 1):
        yield f"status {status}"
    (refusal_is if status else choice_is).validate(answer)
    body = answer.get("error", answer)
    first = (body.get("rejections") or [{}])[0]
    for k, v in want.items():
        if k in ("detail", "remedy"):
            ok = v in first.get(k, "")
        elif k == "fixes":
            ok = [f["change"] for f in body["fixes"]] == v
        elif k == "also":
            got = {r["executor_id"]: [a["constraint"] for a in r["also"]] for r in body["rejections"]}
            ok = all(got[i] == a for i, a in v.items())
        elif k == "warning":
            ok = (not body["warnings"]) if v is None else v in body["warnings"][0]
        else:
            ok = body.get(k) == v
        if not ok:
            yield f"{k} is not {v!r}: {json.dumps(body)}"


with open(f"{cases}/candidates.json") as f:
    templates = json.load(f)
for name in ("facts", "ours"):
    with open(f"{cases}/{name}.case") as f:
        lines = [line for line in f if not line.startswith("#")]
    for line in lines:
        case = json.loads(line)
        r = request(templates, case)
        request_is.validate(r)
        argv = ["cloop-place", "--json"] + (["--bound", case["bound"]] if "bound" in case else [])
        p = subprocess.run(argv, input=json.dumps(r), capture_output=True, text=True)
        ran += 1
        for flaw in flaws(case, json.loads(p.stdout or "{}"), p.returncode):
            print(f"{name} {case['n']}: {flaw}")
            bad = 1
print(f"{ran} cases")
sys.exit(bad or ran < 90)
