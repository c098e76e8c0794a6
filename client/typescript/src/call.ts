import type { Loose, Reply } from "./index.js";
import { LedgerError, RefusedError, StatusError } from "./errors.js";

/** How long a write without an answer may still be applied, in ms. */
const commandTimeout = 10_000;

/** When writes to a path got no answer, in ms. */
export type Unanswered = Map<string, number>;

type Json = Record<string, unknown>;

/** One request, which may be sent several times. */
export class Call {
  readonly init: Loose & { headers: Json };
  readonly writes: boolean;
  readonly isBatch: boolean;
  readonly endsHold: boolean;
  readonly ids: Record<string, string>; // of the path
  readonly id: string; // of what is written
  readonly #resources: string[]; // what the call writes, or depends on

  constructor(readonly method: string, readonly path: string, init: Loose) {
    this.init = { ...init, headers: { ...init.params?.header } };
    this.writes = method !== "get" && String(init.params?.query?.["dry_run"]) !== "true";
    this.isBatch = path === "/v1/batches";
    this.endsHold = /\/(capture|release)$/.test(path);
    this.ids = Object.fromEntries(Object.entries(init.params?.path ?? {}).map(([name, id]) => [name, String(id)]));
    for (const id of Object.values(this.ids)) {
      if (!/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$/.test(id)) {
        throw new TypeError(`"${id}" is not an id: 1 to 64 of A-Z a-z 0-9 . _ : @ -`);
      }
    }
    const written = this.#written();
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => this.ids[name] ?? "").split("/");
    this.id = written[0] ?? [...path.matchAll(/\{(\w+)\}/g)].map((m) => this.ids[m[1] ?? ""] ?? "").pop() ?? "";
    this.#resources = written.map((id) => `/v1/transactions/${id}`);
    // "", "v1", and then collections and ids in turn
    if (filled.length > 3) this.#resources.push(filled.join("/"));
    for (let i = 2; i + 1 < filled.length; i += 2) this.#resources.push(`/v1/${filled[i]}/${filled[i + 1]}`);
  }

  /** The ids of transactions in the body. That of a new transaction is made here, once, unless the caller chose it. */
  #written(): string[] {
    if (this.method !== "post" || this.endsHold) return [];
    const body = (this.init.body ?? {}) as Json & { requests?: Record<string, Json>[] };
    if (this.isBatch) {
      const all = (body.requests ?? []).flatMap((r) => Object.values(r));
      return all.flatMap((b) => [b["id"], b["transaction"]]).filter((id): id is string => typeof id === "string");
    }
    const { headers } = this.init;
    if (body["id"] === undefined && this.writes) headers["Idempotency-Key"] ??= crypto.randomUUID();
    return [String(body["id"] ?? headers["Idempotency-Key"] ?? "")];
  }

  /** Records that this write got no answer. Forgets writes that can no longer be applied. */
  remember(unanswered: Unanswered): void {
    const now = Date.now();
    for (const [path, at] of unanswered) if (now - at >= commandTimeout) unanswered.delete(path);
    for (const path of this.#resources) unanswered.set(path, now);
  }

  /** How long a write without an answer may still change the answer to this call, in ms. */
  pending(unanswered: Unanswered): number {
    return Math.max(0, ...this.#resources.map((path) => (unanswered.get(path) ?? 0) + commandTimeout - Date.now()));
  }

  /** Why a body is not an answer to this call, undefined if it is. Some other program may have sent it. */
  refutes(answer: Json | null): string | undefined {
    if (answer === null || typeof answer !== "object") return "it is no object";
    if (this.isBatch) {
      const { requests } = this.init.body as { requests: unknown[] };
      const results = answer["results"] as unknown[] | undefined;
      return results?.length === requests.length ? undefined : "it has another number of results";
    }
    if (!this.writes) return undefined;
    const wanted = "id" in answer || !Object.keys(this.ids).length ? { id: this.id } : this.ids;
    const wrong = Object.entries(wanted).find(([name, id]) => String(answer[name]) !== id);
    return wrong && `it does not have the ${wrong[0]} "${wrong[1]}"`;
  }
}

type Verdict = "answered" | "final" | "not sent" | "retryable" | "unknown";

/** What one attempt proves. */
class Attempt {
  constructor(
    readonly verdict: Verdict, readonly error?: unknown, readonly reply?: Reply<Json>, readonly retryAfter = 0,
  ) {}

  /** Whether a write that is applied later may change this answer. */
  get dependsOnStored(): boolean {
    const results = (this.reply?.data["results"] ?? []) as { status: number }[];
    const statuses = this.error instanceof RefusedError ? [this.error.status] : results.map((r) => r.status);
    return statuses.some((status) => status === 404 || status === 422);
  }

  /** Whether a refusal leaves open if an earlier attempt was applied: the user may have had the role then. */
  provesNothing(mayLackRole: boolean): boolean {
    if (!(this.error instanceof RefusedError)) return false;
    const { status, code } = this.error;
    return status === 412 || (mayLackRole && (status === 403 || /^(account|transaction|group)_not_found$/.test(code)));
  }
}

/** Returns what an attempt proves. A 4xx or 503 with a code wrote nothing. */
export function judge(call: Call, failure: unknown, response?: Response, body = ""): Attempt {
  if (failure instanceof LedgerError) return new Attempt("final", failure); // it cannot be signed
  if (!response) return new Attempt(wasSent(failure) ? "unknown" : "not sent", failure);
  const { status } = response;
  const json = parse(body);
  if (response.ok) {
    const wrong = call.refutes(json);
    if (wrong) {
      const isFinal = !call.writes && !isType(response, "application/json");
      const error = new StatusError(status, `the answer is not a ledger's: ${wrong}`);
      return new Attempt(isFinal ? "final" : "unknown", error);
    }
    const isReplay = response.headers.get("Idempotent-Replayed") === "true";
    const isNew = call.writes && (status === 201 || (call.endsHold && !isReplay));
    return judgeBatch(call, { data: json as Json, isNew });
  }
  const seconds = response.headers.get("Retry-After") ?? "";
  const retryAfter = /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : 0;
  if (!isType(response, "application/problem+json") || typeof json?.["code"] !== "string") {
    const isUnknown = status >= 500 || status === 408 || status === 425 || status === 429;
    const error = new StatusError(status, body.slice(0, 200));
    return new Attempt(isUnknown ? "unknown" : "final", error, undefined, retryAfter);
  }
  let verdict: Verdict = "answered";
  if (status === 401) verdict = "final"; // credentials come first, so this proves nothing about earlier attempts
  else if (status === 503 || status === 429) verdict = "retryable";
  else if (status >= 500) verdict = "unknown";
  return new Attempt(verdict, new RefusedError(status, json as Json & { code: string }), undefined, retryAfter);
}

/** A batch is sent again until each of its requests has an answer. */
function judgeBatch(call: Call, reply: Reply<Json>): Attempt {
  const results = call.isBatch && call.writes ? (reply.data["results"] as { status: number }[]) : [];
  const open = results.map((r) => r.status).filter((status) => status === 429 || status >= 500);
  if (!open.length) return new Attempt("answered", undefined, reply);
  const isUnwritten = open.every((status) => status === 429 || status === 503);
  return new Attempt(isUnwritten ? "retryable" : "unknown", undefined, reply);
}

function parse(body: string): Json | null {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return null;
  }
}

const isType = (response: Response, media: string) =>
  response.headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase() === media;

/** Whether a request may have been sent, although fetch failed: always, unless there was no connection. */
function wasSent(failure: unknown): boolean {
  const code = String(((failure as Error).cause as { code?: string } | undefined)?.code);
  return !/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|.*CERT.*)$/.test(code);
}
