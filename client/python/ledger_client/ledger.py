"""How the functions of `ledger_client.api` send their requests: the contract of the ledger's clients.

A write is retried until it has an answer, always with the same id. It returns a `Reply`, or raises a `LedgerError`.
A write without an answer may still be applied for 10 seconds. Until then, a 422 or a 404 does not prove that nothing
was posted, so the client waits for that time and sends the request again.
"""

from __future__ import annotations

import contextlib
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import quote, unquote

import httpx

__all__ = [
    "FieldError", "Ledger", "LedgerError", "RefusedError", "Reply", "StatusError", "UnknownError", "UnreachableError",
]

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Verdict = Literal["answered", "final", "not sent", "retryable", "unknown"]

COMMAND_TIMEOUT = 10.0  # how long a write without an answer may still be applied, in seconds
READ_TIMEOUT = 10.0  # the longest that a read is retried, in seconds
ATTEMPT_TIMEOUT = 35.0  # of one attempt, in seconds; a gateway answers within 30
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # between attempts, in seconds
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}")
LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")


class LedgerError(Exception):
    """The base of all errors of this client."""


class FieldError(NamedTuple):
    """A field of a request, and the rule that it breaks."""

    field: str
    rule: str


class RefusedError(LedgerError):
    """The ledger answered with a problem (RFC 9457). If the status is 4xx or 503, the request wrote nothing."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem  # all members, such as `available` with insufficient_funds
        self.code = str(problem["code"])
        self.fields = [FieldError(str(e["field"]), str(e["rule"])) for e in problem.get("errors") or []]
        lines = [f"{self.code}: {problem.get('detail', '')}", *(f"{f.field}: {f.rule}" for f in self.fields)]
        super().__init__("\n  ".join(lines))


class UnknownError(LedgerError):
    """The outcome of a write is unknown. The same request can be sent again with `id`, or read what is there."""

    def __init__(self, id: str, attempts: int) -> None:
        self.id, self.attempts = id, attempts
        what = f"it is not known whether {id!r} was written after {attempts} attempts"
        super().__init__(f"{what}; look for it, or send the same request again with the same id")


class UnreachableError(LedgerError):
    """No connection to the ledger can be made. Nothing was sent."""


class StatusError(LedgerError):
    """A reply that is none of the ledger: a gateway or another program sent it. It wrote nothing."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(f"status {status} without a code of the ledger: {text}; check the address and the credentials")


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """An answer. `is_new` says that this write had an effect; it is false if the same was written before."""

    data: T_co
    is_new: bool


class _Listed(Protocol[T_co]):
    @property
    def data(self) -> Sequence[T_co]: ...


class _Attempt(NamedTuple):
    verdict: Verdict
    reply: Reply[Any] | None = None
    error: Exception | None = None
    retry_after: float = 0.0


class _Call:
    """One request, which may be sent several times."""

    def __init__(self, request: dict[str, Any], template: str) -> None:
        self.request = request
        self.method = str(request["method"]).upper()
        self.body: dict[str, Any] = request.get("json") or {}
        self.writes = self.method != "GET" and not (request.get("params") or {}).get("dry_run")
        self.is_batch = template == "/v1/batches"
        self.ends_hold = template.endswith(("/capture", "/release"))
        names: list[str] = re.findall(r"\{(\w+)\}", template)
        values = re.fullmatch(re.sub(r"\{\w+\}", "([^/]*)", template), str(request["url"]))
        self.ids: dict[str, str] = dict(zip(names, map(unquote, values.groups() if values else ()), strict=True))
        for name, path_id in self.ids.items():
            if not ID.fullmatch(path_id):
                raise ValueError(f"{name}: {path_id!r} is not an id: 1 to 64 of A-Z a-z 0-9 . _ : @ -")
        written = self._written() if self.method == "POST" and not self.ends_hold else []
        self.id = next(iter([*written, *reversed(self.ids.values())]), "")  # of what is written
        parts = str(request["url"]).split("/")  # "", "v1", then collections and ids in turn
        parents = ["/".join(("/v1", *parts[i : i + 2])) for i in range(2, len(parts) - 1, 2)]
        named = [str(request["url"]), *parents] if self.ids else []  # every client writes to a path without ids
        self.resources = {*named, *(f"/v1/transactions/{quote(each, safe='')}" for each in written)}

    def _written(self) -> list[str]:
        """The ids of transactions in the body. That of a new one is chosen here, once, unless the caller did."""
        if self.is_batch:
            bodies = [b for r in self.body["requests"] for b in r.values()]
            return [str(b[key]) for b in bodies for key in ("id", "transaction") if b.get(key)]
        headers = self.request.setdefault("headers", {})
        if "id" not in self.body and self.writes:
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        return [str(self.body.get("id") or headers.get("Idempotency-Key", ""))]

    def check(self, answer: Any) -> None:
        """Raise a ValueError unless an answer is about this write. Some other program may have sent it."""
        if not isinstance(answer, dict):
            raise ValueError("it is no object")
        if self.is_batch and len(answer["results"]) != len(self.body["requests"]):
            raise ValueError("it has another number of results")
        wanted = {"id": self.id} if "id" in answer or not self.ids else self.ids
        for name, value in wanted.items() if self.writes and not self.is_batch else ():
            if str(answer.get(name)) != value:
                raise ValueError(f"it does not have the {name} {value!r}")


class Ledger:
    """A connection to a ledger, for any number of threads. `timeout` is how long a write is retried, in seconds.

    `token` is a bearer token, or a function that returns one for each attempt. `auth` signs requests in other ways: see
    httpx. `user` is the user for whom a service acts.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, timeout: float = 30.0, user: str | None = None,
        token: str | Callable[[], str] | None = None, auth: httpx.Auth | None = None,
    ) -> None:
        at = httpx.URL(url)
        if at.scheme not in ("http", "https") or not at.host or at.userinfo or at.query or at.fragment:
            raise ValueError("the URL is http or https, without a user, a query and a fragment")
        if (token or auth) and at.scheme != "https" and not LOOPBACK.fullmatch(at.host):
            raise ValueError("requests with a token or a signature go over plain http to this machine only")
        self._token, self._user, self._timeout = token, user, timeout
        self._http = httpx.Client(base_url=str(at).rstrip("/"), timeout=ATTEMPT_TIMEOUT, auth=auth)
        self._replied = False
        self._unanswered: dict[str, float] = {}  # when writes to these paths got no answer
        self._lock = threading.Lock()
        self.raise_on_unexpected_status = True  # for the functions that parse answers

    def pages(self, read: Callable[Concatenate[Ledger, P], Reply[T]], *args: P.args, **query: P.kwargs) -> Iterator[T]:
        """Iterate over the pages of a list, such as `ledger.pages(get_statement, "shop", asset="USD", ...)`."""
        options: dict[str, Any] = {"limit": 100, **query}
        position = "after" if read.__name__ == "list_journal" else "cursor"
        while True:
            page: Any = read(self, *args, **options).data
            yield page
            if not page.next_cursor or page.next_cursor == options.get(position):
                return
            options[position] = page.next_cursor
            if position == "after":
                options.pop("from_", None)

    def all(
        self, read: Callable[Concatenate[Ledger, P], Reply[_Listed[T]]], *args: P.args, **query: P.kwargs
    ) -> Iterator[T]:
        """Iterate over the items of a list, such as `ledger.all(list_accounts, prefix="a")`."""
        for page in self.pages(read, *args, **query):
            yield from page.data

    def send(self, request: dict[str, Any], template: str, parse: Callable[[httpx.Response], T]) -> Reply[T]:
        """Send a request until it has an answer. The functions of `ledger_client.api` call this."""
        call = _Call(request, template)
        deadline = time.monotonic() + (self._timeout if call.writes else min(self._timeout, READ_TIMEOUT))
        attempts, may_be_applied = 0, False
        while True:
            attempts += 1
            a = self._attempt(call, parse)
            if a.verdict == "answered" and a.error and may_be_applied and self._proves_nothing(a.error):
                raise UnknownError(call.id, attempts) from a.error
            if a.verdict == "answered" and _depends_on_stored(a) and (wait := self._pending(call)) > 0:
                time.sleep(wait)
                continue
            if a.verdict == "unknown" and call.writes:
                may_be_applied = True
                self._add_unanswered(call, time.monotonic())
            is_last = a.verdict in ("answered", "final")
            is_last |= a.verdict == "not sent" and not may_be_applied and not self._replied
            backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 10)) * random.uniform(0.5, 1)
            pause = max(backoff, a.retry_after)
            if not is_last and time.monotonic() + pause <= deadline:
                time.sleep(pause)
                continue
            if a.verdict != "answered" and may_be_applied:
                raise UnknownError(call.id, attempts) from a.error
            if a.reply:  # not answered: a batch of which some requests were throttled until now
                return a.reply
            if a.verdict == "not sent":
                raise UnreachableError(f"no ledger answers at {self._http.base_url}: {a.error}") from a.error
            raise a.error if isinstance(a.error, LedgerError) else LedgerError(f"no answer: {a.error}") from a.error

    def _attempt(self, call: _Call, parse: Callable[[httpx.Response], T]) -> _Attempt:
        headers = {"Accept": "application/json"} | ({"Ledger-User": self._user} if self._user else {})
        try:
            if self._token:
                headers["Authorization"] = "Bearer " + (self._token() if callable(self._token) else self._token)
            response = self._http.request(**{**call.request, "headers": headers | (call.request.get("headers") or {})})
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as e:
            return _Attempt("not sent", error=e)
        except httpx.HTTPError as e:
            return _Attempt("unknown", error=e)
        except Exception as e:  # of the token or the signature, so nothing was sent
            return _Attempt("final", error=e)
        self._replied = True
        if response.is_success:
            try:
                call.check(response.json())
                is_new = response.status_code == 201
                is_new |= call.ends_hold and response.headers.get("Idempotent-Replayed") != "true"
                return _judge_batch(call, Reply(parse(response), is_new and call.writes), response)
            except (ValueError, KeyError, TypeError, AttributeError) as e:
                error = StatusError(response.status_code, f"the answer is not a ledger's: {e}")
                return _Attempt("unknown" if call.writes or _is(response, "application/json") else "final", error=error)
        return _judge_error(response)

    def _proves_nothing(self, error: Exception) -> bool:
        """Whether a refusal leaves open if an earlier attempt was applied: the user may have had the role then."""
        if not isinstance(error, RefusedError):
            return False
        lacks_role = error.status == 403 or re.fullmatch("(account|transaction|group)_not_found", error.code)
        return error.status == 412 or bool(lacks_role and (self._user or self._token))

    def _add_unanswered(self, call: _Call, now: float) -> None:
        with self._lock:
            recent = {path: at for path, at in self._unanswered.items() if now - at < COMMAND_TIMEOUT}
            self._unanswered = {**recent, **dict.fromkeys(call.resources, now)}

    def _pending(self, call: _Call) -> float:
        """How long a write without an answer may still change the answer to a call, in seconds."""
        now = time.monotonic()
        with self._lock:
            return max(COMMAND_TIMEOUT - now + self._unanswered.get(path, -COMMAND_TIMEOUT) for path in call.resources)


def _judge_error(response: httpx.Response) -> _Attempt:
    """What a reply proves that is no success. A 4xx or 503 with a code wrote nothing."""
    status = response.status_code
    error: LedgerError = StatusError(status, response.text[:200])
    if _is(response, "application/problem+json"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            error = RefusedError(status, response.json())
    verdict: Verdict = "unknown" if status >= 500 else "answered"
    if isinstance(error, StatusError):
        verdict = "unknown" if status >= 500 or status in (408, 425, 429) else "final"
    elif status == 401:  # the API looks at the credentials first, so this proves nothing about earlier attempts
        verdict = "final"
    elif status in (429, 503):
        verdict = "retryable"
    seconds = response.headers.get("Retry-After", "")
    return _Attempt(verdict, None, error, float(seconds) if re.fullmatch("[0-9]{1,9}", seconds) else 0.0)


def _judge_batch(call: _Call, reply: Reply[Any], response: httpx.Response) -> _Attempt:
    """What an answer proves. A batch is sent again until each of its requests has an answer."""
    statuses = [r["status"] for r in response.json()["results"]] if call.is_batch else []
    open = {s for s in statuses if call.writes and (s == 429 or s >= 500)}
    return _Attempt("answered" if not open else "retryable" if open <= {429, 503} else "unknown", reply)


def _depends_on_stored(a: _Attempt) -> bool:
    """Whether a write that is applied later may change this answer."""
    results = [a.error] if a.error else getattr(a.reply.data, "results", []) if a.reply else []
    return any(getattr(r, "status", 0) in (404, 422) for r in results)


def _is(response: httpx.Response, media: str) -> bool:
    return str(response.headers.get("Content-Type", "")).split(";")[0].strip().lower() == media
