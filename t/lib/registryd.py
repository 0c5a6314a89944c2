#!/usr/bin/env python3
"""usage: registryd.py DIR : registries that misbehave, on loopback with TLS, until it is killed.

DIR/cert.pem, DIR/key.pem   the certificate and key of both servers
DIR/port, DIR/other-port    where they listen; DIR/plain-port: one without TLS
DIR/log                     a line of JSON for every request: server, path, what authorised it

The first part of a repository's name says what goes wrong with it; see `Registry`. `alice:pass` may
log in. Images are one index and one manifest, the same for every tag.
"""
import base64
import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import urllib.parse

DIR = sys.argv[1]
INDEX = "application/vnd.oci.image.index.v1+json"
IMAGE = "application/vnd.oci.image.manifest.v1+json"
lock = threading.Lock()
ports = {}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def blob(size=1):
    return {"mediaType": "application/octet-stream", "digest": "sha256:" + "a" * 64, "size": size}


MANIFEST = json.dumps({"schemaVersion": 2, "mediaType": IMAGE, "config": blob(), "layers": [blob()]}).encode()


def index():
    rows = [("linux", "amd64", ""), ("linux", "arm64", "v8"), ("linux", "arm", "v6"),
            ("linux", "arm", "v7"), ("unknown", "unknown", "")]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": IMAGE, "digest": "sha256:" + f"{n + 1:x}" * 64, "size": 7,
         "platform": {"os": o, "architecture": a, **({"variant": v} if v else {})}}
        for n, (o, a, v) in enumerate(rows)]}).encode()


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, data=b"", headers=(), kind="application/json"):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def url(self, which="port", scheme="https"):
        return f"{scheme}://localhost:{ports[which]}"

    def ask(self, realm=None, kind="Bearer"):
        realm = realm or self.url() + "/token"
        self.say(401, b'{"errors": []}', [("WWW-Authenticate",
                 f'{kind} realm="{realm}",service="test, one",scope="registry:catalog:*"')])

    def do_GET(self):  # noqa: N802
        auth = self.headers.get("Authorization", "")
        with lock, open(f"{DIR}/log", "a", encoding="utf-8") as f:
            f.write(json.dumps({"server": self.server.label, "path": self.path, "auth": auth}) + "\n")
        path = urllib.parse.urlsplit(self.path)
        if path.path.startswith("/token"):
            self.give_token(path, auth)
            return
        name, _, which = path.path.removeprefix("/v2/").partition("/manifests/")
        getattr(self, name.split("/")[0].replace("-", "_"), self.unknown)(which, auth)

    def do_POST(self):  # noqa: N802
        form = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        with lock, open(f"{DIR}/log", "a", encoding="utf-8") as f:
            f.write(json.dumps({"server": self.server.label, "path": self.path, "form": form,
                                "kind": self.headers.get("Content-Type"),
                                "auth": self.headers.get("Authorization", "")}) + "\n")
        asked = urllib.parse.parse_qs(form, strict_parsing=True)
        if self.path == "/refresh/moved":
            self.say(307, headers=[("Location", f"{self.url('other-port')}/refresh")])
        elif self.path == "/refresh/none":
            self.say(200, b'{"refresh_token": "only"}')
        elif asked.get("refresh_token") != ["r3fresh+/="]:
            self.say(400, b'{"error": "invalid_grant", "error_description": "r3fresh is over"}')
        elif asked.get("grant_type") != ["refresh_token"] or asked.get("service") != ["test, one"] or \
                not asked.get("client_id"):
            self.say(422)
        else:
            self.say(200, json.dumps({"access_token": "t0ken." + asked["scope"][0].split(":")[1].split("/")[0],
                                      "refresh_token": "newer", "expires_in": 300}).encode())

    def give_token(self, path, auth):
        asked = urllib.parse.parse_qs(path.query)
        mode = path.path.removeprefix("/token")
        good = "Basic " + base64.b64encode(b"alice:pass").decode()
        if mode == "/none":
            self.say(200, b'{"token": "a\\nb"}')
        elif mode == "/html":
            self.say(200, b"<html>login</html>", kind="text/html")
        elif asked.get("scope") not in (["repository:token/tools:pull"], ["repository:loop:pull"]) or \
                asked.get("service") != ["test, one"]:
            self.say(400)
        elif auth != good:
            self.say(401)
        else:
            self.say(200, b'{"access_token": "t0ken.abc", "expires_in": 300}')

    # what a repository does

    def unknown(self, which, auth):
        self.say(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    def fine(self, which, auth):
        self.say(200, MANIFEST, kind=IMAGE)

    def many(self, which, auth):
        self.say(200, index(), kind=INDEX)

    def basic(self, which, auth):
        if auth == "Basic " + base64.b64encode(b"alice:pass").decode():
            self.fine(which, auth)
        else:
            self.ask(kind="Basic")

    def stray(self, which, auth):  # another login goes along with every answer
        self.say(200 if not auth else 400, MANIFEST, kind=IMAGE)

    def token(self, which, auth):
        if auth == "Bearer t0ken.abc":
            self.fine(which, auth)
        else:
            self.ask()

    def refresh(self, which, auth):
        if auth == "Bearer t0ken.refresh":
            self.fine(which, auth)
        else:
            self.ask(self.url() + "/refresh")

    def refresh_moved(self, which, auth):
        self.ask(self.url() + "/refresh/moved")

    def refresh_none(self, which, auth):
        self.ask(self.url() + "/refresh/none")

    def loop(self, which, auth):
        self.ask(self.url() + "/token")

    def realm_http(self, which, auth):
        self.ask("http://localhost:1/token")

    def realm_user(self, which, auth):
        self.ask("https://a:b@localhost/token")

    def token_none(self, which, auth):
        self.ask(self.url() + "/token/none")

    def token_html(self, which, auth):
        self.ask(self.url() + "/token/html")

    def broken_challenge(self, which, auth):
        self.say(401, headers=[("WWW-Authenticate", 'Bearer realm="https://x')])

    def lie_header(self, which, auth):
        self.say(200, MANIFEST, [("Docker-Content-Digest", "sha256:" + "0" * 64)], kind=IMAGE)

    def lie_body(self, which, auth):
        self.say(200, MANIFEST, [("Docker-Content-Digest", which)], kind=IMAGE)

    def redirect_http(self, which, auth):
        self.say(302, headers=[("Location", f"{self.url('plain-port', 'http')}/v2/fine/manifests/1")])

    def redirect_file(self, which, auth):
        self.say(302, headers=[("Location", "file:///etc/passwd")])

    def redirect_nowhere(self, which, auth):
        self.say(302)

    def redirect_loop(self, which, auth):
        self.say(307, headers=[("Location", self.path)])

    def redirect_same(self, which, auth):
        if auth:
            self.say(307, headers=[("Location", "/v2/basic/manifests/1")])
        else:
            self.ask(kind="Basic")

    def redirect_other(self, which, auth):
        if auth:
            self.say(307, headers=[("Location", f"{self.url('other-port')}/v2/stray/manifests/1")])
        else:
            self.ask(kind="Basic")

    def redirect_ask(self, which, auth):
        if auth:
            self.say(307, headers=[("Location", f"{self.url('other-port')}/v2/basic/manifests/1")])
        else:
            self.ask(kind="Basic")

    def huge(self, which, auth):
        self.send_response(200)
        self.send_header("Content-Type", IMAGE)
        self.send_header("Content-Length", str(200 << 20))
        self.end_headers()
        self.pour()

    def endless(self, which, auth):
        self.send_response(200)
        self.send_header("Content-Type", IMAGE)
        self.send_header("Connection", "close")
        self.end_headers()
        self.pour()
        self.close_connection = True

    def pour(self):
        try:
            for _ in range(200):
                self.wfile.write(b" " * (1 << 20))
        except OSError:
            self.close_connection = True

    def hang(self, which, auth):
        threading.Event().wait(120)

    def drip(self, which, auth):
        self.send_response(200)
        self.send_header("Content-Type", IMAGE)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" ")
                threading.Event().wait(0.05)
        except OSError:
            self.close_connection = True

    def cut(self, which, auth):
        self.send_response(200)
        self.send_header("Content-Type", IMAGE)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"{")
        self.close_connection = True

    def page(self, which, auth):
        self.say(200, b"<html>sign in</html>", kind="text/html")

    def schema1(self, which, auth):
        self.say(200, b'{"schemaVersion": 1, "name": "x"}',
                 kind="application/vnd.docker.distribution.manifest.v1+json")

    def both(self, which, auth):
        self.say(200, json.dumps({"schemaVersion": 2, "config": blob(), "layers": [blob()],
                                  "manifests": []}).encode(), kind=IMAGE)

    def two_types(self, which, auth):
        self.say(200, MANIFEST, kind=INDEX)

    def busy(self, which, auth):
        self.say(429)

    def down(self, which, auth):
        self.say(503)

    def forbidden(self, which, auth):
        self.say(403)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    label = ""

    def handle_error(self, request, client_address):
        pass


def serve(name, tls):
    s = Server(("127.0.0.1", 0), Registry)
    s.label = name
    if tls:
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(f"{DIR}/cert.pem", f"{DIR}/key.pem")
        # The handshake is the connection's own thread's: one that hangs holds nobody else up.
        s.socket = ctx.wrap_socket(s.socket, server_side=True, do_handshake_on_connect=False)
    ports[name] = s.server_address[1]
    threading.Thread(target=s.serve_forever, daemon=True).start()


for label, with_tls in (("port", True), ("plain-port", False), ("other-port", True)):
    serve(label, with_tls)
for label, number in ports.items():
    with open(f"{DIR}/{label}.new", "w", encoding="utf-8") as out:
        out.write(str(number))
for label in ("other-port", "plain-port", "port"):
    os.rename(f"{DIR}/{label}.new", f"{DIR}/{label}")
threading.Event().wait()
