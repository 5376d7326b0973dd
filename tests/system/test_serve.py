"""pitot serve: whom it answers, what it answers, and what it never does. How the page looks is for tests/web."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
import urllib.parse

import large_run
import pytest

from harness import LIMIT_S, OK, UNAVAILABLE, USAGE, wait_until


class Served:
    def __init__(self, pitot, *args):
        self.pitot = pitot
        self.process = pitot.start("serve", *args)
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, self.process.stderr.read().decode()
        self.parts = urllib.parse.urlsplit(self.address)

    def ask(self, path, method="GET", headers=None):
        """(status, headers, body) of a path behind the token; an absolute path as it is."""
        with contextlib.closing(http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=LIMIT_S)) as link:
            link.request(method, path if path.startswith("/") else self.parts.path + path, headers=headers or {})
            answer = link.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def json(self, path, status=200):
        got, headers, body = self.ask(path)
        assert got == status, body
        assert headers["Content-Type"] == "application/json"
        return json.loads(body)

    def send(self, raw):
        """The first line of the answer to anything at all; empty where the server hung up."""
        with socket.create_connection((self.parts.hostname, self.parts.port), timeout=LIMIT_S) as link:
            link.sendall(raw)
            link.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                return link.recv(4096).split(b"\r\n")[0].decode()
        return ""

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.pitot.finish(self.process)


@pytest.fixture
def served(pitot):
    pitot("run", "--no-report", "--", "true", status=OK)
    one = Served(pitot, "--port", "0")
    yield one
    if one.process.poll() is None:
        assert one.stop().status == OK


def run_name(served):
    (run,) = served.json("api/runs")["runs"]
    return urllib.parse.quote(run["file"])


def test_it_listens_on_loopback_with_a_token_in_its_address(served):
    assert served.parts.hostname == "127.0.0.1"
    token = served.parts.path.strip("/")
    assert len(token) == 32 and int(token, 16)
    status, headers, body = served.ask("")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert body.lstrip().lower().startswith(b"<!doctype html")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"


def test_a_run_is_what_the_report_says(served):
    shown = served.json("api/run?run=" + run_name(served))
    wanted = served.pitot.report()
    assert [stage["stage"] for stage in shown["report"]["stages"]] == [stage["stage"] for stage in wanted["stages"]]
    assert shown["report"]["total_duration_s"] == wanted["total_duration_s"]


def test_a_run_that_has_not_changed_is_not_sent_again(served):
    _, headers, _ = served.ask("api/run?run=" + run_name(served))
    status, _, body = served.ask("api/run?run=" + run_name(served), headers={"If-None-Match": headers["ETag"]})
    assert status == 304 and not body
    status, _, body = served.ask("api/run?run=" + run_name(served), headers={"If-None-Match": '"other"'})
    assert status == 200 and body


def test_without_the_token_there_is_nothing(served):
    for path in ("/", "/api/runs", "/" + "0" * 32 + "/", served.parts.path[:-2] + "/", "/favicon.ico"):
        status, _, body = served.ask(path)
        assert status == 404, path
        assert served.parts.path.strip("/").encode() not in body


def test_the_address_without_its_last_slash_leads_to_the_page(served):
    status, headers, _ = served.ask(served.parts.path.rstrip("/"))
    assert status == 301 and headers["Location"] == served.parts.path


def test_other_names_and_other_sites_are_refused(served):
    assert served.ask("", headers={"Host": "evil.example"})[0] == 421
    assert served.ask("", headers={"Host": f"evil.example:{served.parts.port}"})[0] == 421
    assert served.ask("api/runs", headers={"Origin": "https://evil.example"})[0] == 403
    assert served.ask("api/runs", headers={"Origin": "null"})[0] == 403
    assert served.ask("api/runs", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert served.ask("api/runs", headers={"Origin": f"http://127.0.0.1:{served.parts.port}"})[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_changed(served, method):
    before = served.json("api/runs")
    assert served.ask("api/runs", method=method)[0] == 405
    assert served.json("api/runs") == before


def test_nothing_outside_of_the_history_can_be_read(served):
    outside = served.pitot.path("outside.pitot")
    os.rename(served.pitot.only_run_file(), outside)
    link = os.path.join(served.pitot.history, "link.pitot")
    os.symlink(outside, link)
    folder = os.path.join(served.pitot.history, "folder.pitot")
    os.mkdir(folder)
    up = os.path.relpath(outside, served.pitot.history)
    for name in (outside, up, "link.pitot", "folder.pitot", "index.sqlite", "../../etc/passwd", "", "x\0.pitot", "."):
        status, _, body = served.ask("api/run?run=" + urllib.parse.quote(name, safe=""))
        assert status in (404, 422), name
        assert "error" in json.loads(body), name
    assert served.ask("api/run")[0] == 422
    os.rmdir(folder)


def test_a_damaged_run_says_so_and_the_others_are_there(served):
    damaged = os.path.join(served.pitot.history, "damaged.pitot")
    with open(damaged, "wb") as file:
        file.write(b"SQLite format 3\0" + b"\xff" * 5000)
    runs = {run["file"]: run for run in served.json("api/runs")["runs"]}
    assert len(runs) == 2 and runs["damaged.pitot"]["damaged"]
    assert served.json("api/run?run=damaged.pitot", status=422)["error"]


def test_a_run_that_goes_on_is_followed(served):
    served.pitot.write("go.sh", "touch begun; while [ ! -e stop ]; do sleep 0.02; done\n")
    going = served.pitot.start("run", "--no-report", "--interval", "20ms", "--", "sh", "go.sh")
    wait_until(lambda: served.pitot.exists("begun"), "the stage to begin")

    def live():
        return [urllib.parse.quote(run["file"]) for run in served.json("api/runs")["runs"] if run["live"]]

    (name,) = wait_until(live, "the run to be listed")
    first = served.json("api/run?run=" + name)
    assert first["report"]["run"]["live"] is True
    # What a page that asks again would get: more of the curves.
    wait_until(lambda: served.json("api/run?run=" + name)["timeline"] != first["timeline"], "the run to grow")
    served.pitot.write("stop", "")
    assert served.pitot.finish(going).status == OK
    done = served.json("api/run?run=" + name)
    assert done["report"]["run"]["live"] is False and done["report"]["stages"][0]["status"] == "ok"


def test_two_runs_are_compared(served):
    served.pitot("run", "--no-report", "--", "true", status=OK)
    a, b = (urllib.parse.quote(run["file"]) for run in served.json("api/runs")["runs"])
    assert served.json(f"api/diff?a={b}&b={a}")["kind"] == "diff"
    assert served.json(f"api/diff?a={b}", status=422)["error"]


def test_a_trend_is_that_of_the_history(served):
    name = json.loads(served.pitot("history", "--json", status=OK).out)[0]["name"]
    shown = served.json(f"api/trend?name={urllib.parse.quote(name)}&metric=wall_s")
    assert shown["metric"] == "wall_s" and shown["machines"]
    assert served.json(f"api/trend?name={name}&metric=nothing", status=422)["error"]


def test_an_empty_history_is_a_list_without_rows(pitot):
    served = Served(pitot, "--port", "0")
    assert served.json("api/runs")["runs"] == []
    assert served.stop(signal.SIGTERM).status == OK


def test_many_ask_at_once(served):
    run, answers = run_name(served), []
    paths = ["api/runs", f"api/run?run={run}", f"api/diff?a={run}&b={run}", "", "api/trend?name=true&metric=wall_s"]
    threads = [threading.Thread(target=lambda path=paths[i % 5]: answers.append(served.ask(path)[0])) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 50


@pytest.fixture
def large(pitot):
    """A server with a run that takes seconds to answer."""
    work = os.path.join(os.path.dirname(__file__), "..", "web", "compute.py")
    pitot("run", "--cpu", "--no-report", "--", "python3", work, status=OK)
    one = Served(pitot, "--port", "0")
    history = one.json("api/runs")["history"]
    (run,) = one.json("api/runs")["runs"]
    large_run.make(os.path.join(history, run["file"]), os.path.join(history, "large.pitot"), 60)
    yield one
    if one.process.poll() is None:
        one.stop()


def ask_for_large(large):
    """Begins to ask; the thread, and the list that will have when the answer came and what it was."""
    done = []

    def ask():
        with contextlib.suppress(OSError, http.client.HTTPException):
            done.append((large.ask("api/run?run=large.pitot")[0], time.monotonic()))

    thread = threading.Thread(target=ask)
    thread.start()
    # The server reads the run once it has the file open.
    wait_until(lambda: any(name.endswith("large.pitot") for name in open_files(large.process.pid)), "the server to open the run")
    return thread, done


def open_files(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/{pid}/fd/{name}")


def test_a_run_that_takes_long_keeps_nobody_waiting(large):
    thread, done = ask_for_large(large)
    assert len(large.json("api/runs")["runs"]) == 2
    listed = time.monotonic()
    thread.join()
    ((status, answered),) = done
    assert status == 200 and listed < answered


def test_it_ends_at_once_although_an_answer_is_being_made(large):
    began = time.monotonic()
    assert large.ask("api/run?run=large.pitot")[0] == 200
    whole = time.monotonic() - began
    thread, done = ask_for_large(large)
    told = time.monotonic()
    assert large.stop(signal.SIGTERM).status == OK
    assert time.monotonic() - told < 0.6 + whole / 2
    thread.join()
    assert not done


def test_runs_that_come_go_and_are_damaged_do_not_end_it(served):
    history = served.json("api/runs")["history"]
    (run,) = served.json("api/runs")["runs"]
    with open(os.path.join(history, run["file"]), "rb") as file:
        whole = file.read()
    other = os.path.join(history, "other.pitot")
    for step in range(60):
        with open(other, "wb") as file:
            at = step * len(whole) // 60
            file.write(whole[:at] + bytes([step]) * 64 + whole[at + 64:] if step % 3 else whole[:at])
        status, _, body = served.ask("api/run?run=other.pitot")
        assert status in (200, 422), body
        assert json.loads(body)
        assert any(one["file"] == run["file"] and not one["damaged"] for one in served.json("api/runs")["runs"])
        os.unlink(other)
        assert served.ask("api/run?run=other.pitot")[0] == 404


@pytest.mark.waits
def test_garbage_does_not_end_it(served):
    # All at once: where the rest of a request is missing the server waits half a minute for it before it hangs up.
    garbage = (b"\0" * 100, b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x", b"\r\n" * 50,
               b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n")
    with concurrent.futures.ThreadPoolExecutor(len(garbage)) as senders:
        assert len(list(senders.map(served.send, garbage))) == len(garbage)
    assert served.ask("")[0] == 200


def test_a_taken_port_is_refused_by_name_and_left_for_another_without(pitot):
    first = Served(pitot)
    second = Served(pitot)
    assert first.parts.port != second.parts.port
    refused = pitot("serve", "--port", str(second.parts.port), status=UNAVAILABLE)
    assert str(second.parts.port) in refused.err
    assert first.stop().status == OK and second.stop().status == OK


def test_wrong_usage_is_told(pitot):
    assert "65535" in pitot("serve", "--port", "70000", status=USAGE).err
    pitot("serve", "somewhere", status=USAGE)


def test_a_missing_library_is_named(pitot):
    refused = pitot("serve", status=UNAVAILABLE, env=dict(pitot.env, PITOT_MICROHTTPD="/nonexistent.so"))
    assert "libmicrohttpd12" in refused.err
