#!/usr/bin/env python3
"""usage: githubd.py DIR : GitHub's API for Apps as cloop uses it, on loopback, until it is killed.

DIR/github.json  {"app_id", "installations": [{"id", "account", "type", "selection",
                 "permissions", "suspended", "repositories": [{"id", "full_name", "private"}]}]}
DIR/app.pub      the App's public key (PEM)
DIR/cert.pem, DIR/key.pem   the server's certificate and key
DIR/modes        lines "CALL MODE": how a call fails from now on; CALL is installations, mint,
                 inventory (the mint of a token that may read metadata only), repositories, destroy;
                 the mode "wait" goes on once DIR/go is there
DIR/log          a line of JSON for every request; of a token only a number
DIR/port, DIR/check-port, DIR/proxy-port    where it listens: TLS for the API, plain for nginx's
                 auth_request, and an HTTP proxy for which every host is the API
DIR/proxy-log    what the proxy was asked for, a line each

Signatures are checked with the openssl command. A token is as wide as it was asked for, and git may
do with it, by /check, what that scope says.
"""
import base64
import http.server
import json
import os
import secrets
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

DIR = sys.argv[1]
LEVELS = {"read": 1, "write": 2, "admin": 3}
lock = threading.Lock()
tokens = {}  # token: {"n", "installation", "ids", "permissions", "expires", "destroyed"}


def conf():
    with open(f"{DIR}/github.json", encoding="utf-8") as f:
        return json.load(f)


def mode_of(call):
    try:
        with open(f"{DIR}/modes", encoding="utf-8") as f:
            rows = [line.split() for line in f]
    except FileNotFoundError:
        return ""
    return next((r[1] for r in rows if len(r) > 1 and r[0] == call), "")


def unb64(s):
    return base64.urlsafe_b64decode(s + "=" * (-len(s) % 4))


def signed(text, signature):
    """What `openssl dgst` says of a signature."""
    with tempfile.NamedTemporaryFile() as sig:
        sig.write(signature)
        sig.flush()
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", f"{DIR}/app.pub",
                               "-signature", sig.name], input=text, capture_output=True, check=False)
    return done.returncode == 0


def jwt_error(bearer, app_id):
    """None for a signature that GitHub would take, else its words."""
    try:
        head, claims, sig = bearer.split(".")
        header, claim = json.loads(unb64(head)), json.loads(unb64(claims))
        signature = unb64(sig)
    except (ValueError, UnicodeDecodeError):
        return "A JSON web token could not be decoded"
    if header != {"alg": "RS256", "typ": "JWT"} or not signed(f"{head}.{claims}".encode(), signature):
        return "A JSON web token could not be decoded"
    now = time.time()
    if claim.get("iss") != str(app_id):
        return "'Issuer' claim ('iss') must be an Integer or a String"
    if not isinstance(claim.get("exp"), int) or claim["exp"] <= now:
        return ("'Expiration time' claim ('exp') must be a numeric value representing the future "
                "time at which the assertion expires")
    if claim["exp"] > now + 600:
        return "'Expiration time' claim ('exp') is too far in the future"
    if not isinstance(claim.get("iat"), int) or claim["iat"] > now:
        return ("'Issued at' claim ('iat') must be an Integer representing the time that the "
                "assertion was issued")
    return None


def new_token():
    """Long and with dots, as GitHub's newer ones are."""
    return "ghs_" + ".".join(secrets.token_urlsafe(120) for _ in range(3)).replace("-", "_")


def live(token):
    t = tokens.get(token)
    return t if t and not t["destroyed"] and t["expires"] > time.time() else None


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def note(self, call, status, **more):
        with lock, open(f"{DIR}/log", "a", encoding="utf-8") as f:
            row = {"call": call, "method": self.command, "path": self.path, "status": status}
            f.write(json.dumps({**row, **more}) + "\n")

    def bearer(self):
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        return value if kind == "Bearer" else ""

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, status, obj, headers=(), kind="application/json; charset=utf-8"):
        data = b"" if obj is None else obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        if status != 204:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, call, status, message, headers=()):
        self.note(call, status)
        self.say(status, {"message": message, "documentation_url": "https://docs.github.com/rest"},
                 headers)

    def fail(self, call, mode):
        """Fails as `mode` says; False when that is not for here."""
        far = ("'Expiration time' claim ('exp') is too far in the future")
        table = {
            "401": (401, "Bad credentials", ()),
            "clock": (401, far, [("Date", "Thu, 01 Jan 2026 00:00:00 GMT")]),
            "suspended": (403, "This installation has been suspended", ()),
            "forbidden": (403, "the organization has an IP allow list enabled", ()),
            "secondary": (403, "You have exceeded a secondary rate limit", [("Retry-After", "60")]),
            "limited": (403, "API rate limit exceeded for installation", [
                ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1893456000")]),
            "429": (429, "Too many requests", [("Retry-After", "30")]),
            "404": (404, "Not Found", ()),
            "422": (422, "The permissions requested are not granted to this installation.", ()),
            "422-repository": (422, "There is at least one repository that does not exist or is not "
                               "accessible to the parent installation.", ()),
            "500": (500, "Server Error", ()),
            "503": (503, "Unavailable", ()),
            "418": (418, "I'm a teapot", ()),
        }
        if mode in table:
            status, message, headers = table[mode]
            self.refuse(call, status, message, headers)
        elif mode == "redirect":
            self.note(call, 307)
            self.say(307, {}, [("Location", f"https://evil.localhost:{ports[0]}{self.path}")])
        elif mode == "hang":
            self.note(call, 0)
            time.sleep(60)
        elif mode == "wait":
            self.note(call, 0)
            deadline = time.time() + 60
            while not os.path.exists(f"{DIR}/go") and time.time() < deadline:
                time.sleep(0.02)
            return False
        elif mode == "hangup":
            self.note(call, 0)
            self.close_connection = True
        elif mode == "html":
            self.note(call, 200)
            self.say(200, b"<html>sign in to the network</html>", kind="text/html")
        elif mode == "notjson":
            self.note(call, 200)
            self.say(200, b'{"token": "ghs_')
        elif mode == "cut":
            self.note(call, 200)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "4000")
            self.end_headers()
            self.wfile.write(b'{"token": "ghs_cut')
            self.close_connection = True
        elif mode in ("drip", "early", "headers"):
            self.note(call, 200)
            self.endless(mode)
        elif mode == "huge":
            self.note(call, 200)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                for _ in range(64):
                    self.wfile.write(b" " * (1 << 20))
            except OSError:
                pass
            self.close_connection = True
        else:
            return False
        return True

    def endless(self, mode):
        """An answer that has no end: a byte now and then, hints before it, header fields."""
        start, piece, rest = {
            "drip": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n",
                     b" ", 0.2),
            "early": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01),
            "headers": (b"HTTP/1.1 200 OK\r\n", b"X-Word: " + b"x" * 1000 + b"\r\n", 0)}[mode]
        deadline = time.time() + 60
        try:
            self.wfile.write(start)
            while time.time() < deadline:
                self.wfile.write(piece)
                time.sleep(rest)
        except OSError:
            pass
        self.close_connection = True

    def paged(self, rows):
        query = dict(p.split("=") for p in self.path.partition("?")[2].split("&") if "=" in p)
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        return rows[(page - 1) * size: page * size]

    def as_app(self, call):
        """The bearer is the App's signature; answers and says False when it is not."""
        why = jwt_error(self.bearer(), conf()["app_id"])
        if why:
            self.refuse(call, 401, why, [("Date", self.date_time_string())])
        return not why

    def installations(self):
        if not self.as_app("installations"):
            return
        app = conf()
        rows = [{"id": i["id"], "app_id": app["app_id"],
                 "account": {"login": i["account"], "type": i["type"]},
                 "repository_selection": i["selection"], "permissions": i["permissions"],
                 "suspended_at": "2026-01-02T03:04:05Z" if i.get("suspended") else None}
                for i in app["installations"]]
        self.note("installations", 200)
        self.say(200, self.paged(rows))

    def mint(self, which):
        body = self.body()
        asked = json.loads(body or b"{}")
        inventory = asked.get("permissions") == {"metadata": "read"}
        call = "inventory" if inventory else "mint"
        mode = mode_of(call)
        if self.fail(call, mode) or not self.as_app(call):
            return
        inst = next((i for i in conf()["installations"] if str(i["id"]) == which), None)
        if not inst:
            self.refuse(call, 404, "Not Found")
        elif inst.get("suspended"):
            self.refuse(call, 403, "This installation has been suspended")
        else:
            self.issue(call, mode, inst, asked)

    def issue(self, call, mode, inst, asked):
        ids, permissions = asked.get("repository_ids"), asked.get("permissions")
        known = {r["id"]: r for r in inst["repositories"]}
        may = {**inst["permissions"], "metadata": "read"}
        if permissions is None:
            permissions = dict(may)
        if any(LEVELS.get(v, 9) > LEVELS.get(may.get(k, ""), 0) for k, v in permissions.items()):
            self.refuse(call, 422, "The permissions requested are not granted to this installation.")
            return
        if ids is not None and (not ids or len(ids) > 500 or any(i not in known for i in ids)):
            self.refuse(call, 422, "There is at least one repository that does not exist or is not "
                        "accessible to the parent installation.")
            return
        granted, given = {**permissions, "metadata": "read"}, ids
        if mode == "wider-permission":
            granted["actions"] = "write"
        if mode == "wider-level":
            granted["contents"] = "admin"
        if mode == "wider-repository":
            given = sorted(known)
        if mode == "narrower":
            granted.pop("contents", None)
        life = {"stale": 200, "short": 700}.get(mode, 3600)
        token = "" if mode == "empty" else new_token()
        with lock:
            tokens[token] = {"n": len(tokens) + 1, "installation": inst["id"], "ids": given,
                             "permissions": granted, "expires": time.time() + life,
                             "destroyed": False}
        out = {"token": token, "permissions": granted,
               "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + life)),
               "repository_selection": "all" if given is None or mode == "all" else "selected"}
        if given is not None and mode != "unlisted":
            out["repositories"] = [{**known[i], "node_id": "R_x"} for i in given]
        if mode in ("past", "far"):
            out["expires_at"] = {"past": "2001-01-01T00:00:00Z", "far": "9999-12-31T23:59:59Z"}[mode]
        if mode == "no-expiry":
            del out["expires_at"]
        self.note(call, 201, asked=asked, token=tokens[token]["n"])
        if mode == "newline":
            out["token"] = token[:20] + "\nhost: evil" + token[20:]
        if mode == "twice":
            self.say(201, json.dumps(out).encode()[:-1] + b', "token": "x"}')
        else:
            self.say(201, out, kind="text/plain" if mode == "type" else "application/json")

    def repositories(self):
        with lock:
            t = live(self.bearer())
        if not t:
            self.refuse("repositories", 401, "Bad credentials")
            return
        inst = next(i for i in conf()["installations"] if i["id"] == t["installation"])
        rows = [r for r in inst["repositories"] if t["ids"] is None or r["id"] in t["ids"]]
        self.note("repositories", 200, token=t["n"])
        self.say(200, {"total_count": len(rows), "repository_selection": inst["selection"],
                       "repositories": self.paged(rows)})

    def route(self):
        path = self.path.partition("?")[0]
        path = path.removeprefix("/api/v3")
        parts = path.strip("/").split("/")
        if self.command == "GET" and path == "/app/installations":
            if not self.fail("installations", mode_of("installations")):
                self.installations()
        elif self.command == "POST" and parts[:2] == ["app", "installations"] and len(parts) == 4:
            self.mint(parts[2])
        elif self.command == "GET" and path == "/installation/repositories":
            if not self.fail("repositories", mode_of("repositories")):
                self.repositories()
        elif self.command == "DELETE" and path == "/installation/token":
            if not self.fail("destroy", mode_of("destroy")):
                self.destroy()
        else:
            self.refuse("other", 404, "Not Found")

    def destroy(self):
        with lock:
            t = live(self.bearer())
            if t:
                t["destroyed"] = True
        if not t:
            self.refuse("destroy", 401, "Bad credentials")
            return
        self.note("destroy", 204, token=t["n"])
        self.say(204, None)

    do_GET = do_POST = do_DELETE = route


class Check(http.server.BaseHTTPRequestHandler):
    """nginx's auth_request: may this token do that with this repository?"""

    def log_message(self, *args):
        pass

    def do_GET(self):
        uri = self.headers.get("X-Original-URI", "")
        path, _, query = uri.partition("?")
        parts = path.strip("/").split("/")
        push = "git-receive-pack" in query or parts[-1] == "git-receive-pack"
        name = "/".join(parts[:2]).removesuffix(".git").lower()
        status = self.judge(name, "write" if push else "read")
        with lock, open(f"{DIR}/check-log", "a", encoding="utf-8") as f:
            f.write(json.dumps({"host": self.headers.get("X-Original-Host"), "name": name,
                                "push": push, "status": status, "token": self.number(),
                                "auth": "Authorization" in self.headers}) + "\n")
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="GitHub"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def shown(self):
        """The user and the token that came."""
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        user, _, token = base64.b64decode(value).decode().partition(":")
        return (user, token) if kind == "Basic" else ("", "")

    def number(self):
        """Of an App's token; of a personal one "pat"."""
        token = self.shown()[1]
        return "pat" if token.startswith("ghp_") else tokens.get(token, {}).get("n")

    def judge(self, name, level):
        user, token = self.shown()
        with lock:
            t = live(token)
        if user == "x-access-token" and token.startswith("ghp_"):
            return 200
        if user != "x-access-token" or not t:
            return 401
        inst = next(i for i in conf()["installations"] if i["id"] == t["installation"])
        mine = {r["full_name"].lower() for r in inst["repositories"]
                if t["ids"] is None or r["id"] in t["ids"]}
        if name not in mine:
            return 403
        return 200 if LEVELS.get(t["permissions"].get("contents"), 0) >= LEVELS[level] else 403


class Proxy(http.server.BaseHTTPRequestHandler):
    """CONNECT to anywhere ends at the API."""

    def log_message(self, *args):
        pass

    def do_CONNECT(self):
        with lock, open(f"{DIR}/proxy-log", "a", encoding="utf-8") as f:
            f.write(f"{self.path} {'Authorization' in self.headers}\n")
        if mode_of("proxy") == "403":
            self.send_error(403)
            return
        with socket.create_connection(("127.0.0.1", ports[0])) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self.pour, args=(there, self.connection), daemon=True)
            back.start()
            self.pour(self.connection, there)
            back.join()
        self.close_connection = True

    @staticmethod
    def pour(come, go):
        try:
            while data := come.recv(65536):
                go.sendall(data)
            go.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def listen(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    return server


api, check, proxy = listen(Api), listen(Check), listen(Proxy)
ports = [s.server_address[1] for s in (api, check, proxy)]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{DIR}/cert.pem", f"{DIR}/key.pem")
# The handshake is each connection's own business: one that stalls must not hold up the others.
api.socket = context.wrap_socket(api.socket, server_side=True, do_handshake_on_connect=False)
for file, port in zip(("port", "check-port", "proxy-port"), ports):
    with open(f"{DIR}/{file}.new", "w", encoding="utf-8") as out:
        out.write(str(port))
    os.rename(f"{DIR}/{file}.new", f"{DIR}/{file}")
for server in (check, proxy):
    threading.Thread(target=server.serve_forever, daemon=True).start()
api.serve_forever()
