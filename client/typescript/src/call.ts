import { LedgerError, type Problem, RefusedError, StatusError } from "./errors.js";

type Json = Record<string, unknown>;

/** What this layer reads of the options of a call, whichever its path is. */
export type Loose = { params?: { path?: Json; query?: Json; header?: Json }; body?: unknown };

/** What one attempt proves. An answer depends on what is stored if a write that is applied later may change it. */
export type Attempt = {
  verdict: "answered" | "final" | "not sent" | "retryable" | "unknown";
  error?: unknown;
  reply?: { data: unknown; isNew: boolean };
  retryAfter?: number; // in ms
  dependsOnStored?: boolean;
};

const isStored = (status: number) => status === 404 || status === 422;

/** One request, which may be sent several times. */
export class Call {
  readonly init: Loose & { headers: Json };
  readonly writes: boolean;
  readonly id: string; // of what is written
  readonly paths: string[]; // the paths of what the call writes, or depends on
  readonly #isBatch: boolean;
  readonly #endsHold: boolean;
  readonly #ids: Record<string, string>; // of the path

  constructor(readonly method: string, readonly path: string, init: Loose) {
    this.init = { ...init, headers: { ...init.params?.header } };
    this.writes = method !== "get" && String(init.params?.query?.["dry_run"]) !== "true";
    this.#isBatch = path === "/v1/batches";
    this.#endsHold = /\/(capture|release)$/.test(path);
    this.#ids = Object.fromEntries(Object.entries(init.params?.path ?? {}).map(([name, id]) => [name, String(id)]));
    const wrong = Object.values(this.#ids).find((id) => !/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$/.test(id));
    if (wrong !== undefined) throw new TypeError(`"${wrong}" is not an id: 1 to 64 of A-Z a-z 0-9 . _ : @ -`);
    const written = this.#written();
    this.id = written[0] ?? this.#ids[/.*\{(\w+)\}/.exec(path)?.[1] ?? ""] ?? "";
    // "", "v1", and then collections and ids in turn
    const parts = path.replace(/\{(\w+)\}/g, (_, name: string) => this.#ids[name] ?? "").split("/");
    const parents = parts.flatMap((part, i) => (i % 2 && i > 2 ? [`/v1/${parts[i - 1]}/${part}`] : []));
    const own = parts.length > 3 ? [parts.join("/")] : [];
    this.paths = [...written.map((id) => `/v1/transactions/${id}`), ...parents, ...own];
  }

  /** The ids of transactions in the body. That of a new transaction is made here, once, unless the caller chose it. */
  #written(): string[] {
    if (this.method !== "post" || this.#endsHold) return [];
    const body = (this.init.body ?? {}) as Json & { requests?: Record<string, Json>[] };
    if (this.#isBatch) {
      const all = (body.requests ?? []).flatMap((r) => Object.values(r)).flatMap((b) => [b["id"], b["transaction"]]);
      return all.filter((id): id is string => typeof id === "string");
    }
    if (body["id"] === undefined && this.writes) this.init.headers["Idempotency-Key"] ??= crypto.randomUUID();
    return [String(body["id"] ?? this.init.headers["Idempotency-Key"] ?? "")];
  }

  /** Judges a response. A 4xx or 503 with a code wrote nothing. A batch is sent until each request is answered. */
  judge(response: Response, body: string): Attempt {
    const { status, headers } = response;
    const type = headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
    let json: Json | null = null;
    try {
      json = JSON.parse(body) as Json;
    } catch {} // a web page
    if (!response.ok) return judgeError(status, headers, type === "application/problem+json" ? json : null, body);
    const wrong = this.#refutes(json);
    if (wrong) {
      const error = new StatusError(status, `the answer is not a ledger's: ${wrong}`);
      return { verdict: this.writes || type === "application/json" ? "unknown" : "final", error };
    }
    const isEnd = this.#endsHold && headers.get("Idempotent-Replayed") !== "true";
    const reply = { data: json, isNew: this.writes && (status === 201 || isEnd) };
    const statuses = this.#isBatch ? (json?.["results"] as { status: number }[]).map((r) => r.status) : [];
    const open = statuses.filter((s) => this.writes && (s === 429 || s >= 500));
    if (!open.length) return { verdict: "answered", reply, dependsOnStored: statuses.some(isStored) };
    return { verdict: open.every((s) => s === 429 || s === 503) ? "retryable" : "unknown", reply };
  }

  /** Why a body is not an answer to this call, undefined if it is. Some other program may have sent it. */
  #refutes(answer: Json | null): string | undefined {
    if (answer === null || typeof answer !== "object") return "it is no object";
    if (this.#isBatch) {
      const sent = (this.init.body as { requests: unknown[] }).requests.length;
      return (answer["results"] as unknown[] | undefined)?.length === sent ? undefined : "it has other results";
    }
    const wanted = "id" in answer || !Object.keys(this.#ids).length ? { id: this.id } : this.#ids;
    const wrong = Object.entries(wanted).find(([name, id]) => this.writes && String(answer[name]) !== id);
    return wrong && `it does not have the ${wrong[0]} "${wrong[1]}"`;
  }
}

function judgeError(status: number, headers: Headers, problem: Json | null, body: string): Attempt {
  const seconds = headers.get("Retry-After") ?? "";
  const retryAfter = /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : 0;
  if (typeof problem?.["code"] !== "string") {
    const isUnknown = status >= 500 || [408, 425, 429].includes(status);
    return { verdict: isUnknown ? "unknown" : "final", error: new StatusError(status, body.slice(0, 200)), retryAfter };
  }
  const error = new RefusedError(status, problem as Problem);
  if (status === 401) return { verdict: "final", error }; // credentials come first: it proves nothing about before
  if (status === 503 || status === 429) return { verdict: "retryable", error, retryAfter };
  return { verdict: status >= 500 ? "unknown" : "answered", error, retryAfter, dependsOnStored: isStored(status) };
}

/** Judges an attempt without a response. It may have been sent, unless there was no connection. */
export function judgeFailure(error: unknown): Attempt {
  if (error instanceof LedgerError) return { verdict: "final", error }; // it cannot be signed
  const code = String(((error as Error).cause as { code?: string } | undefined)?.code);
  const none = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|.*CERT.*)$/;
  return { verdict: none.test(code) ? "not sent" : "unknown", error };
}
