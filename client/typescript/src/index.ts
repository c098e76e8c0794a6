// A client of the ledger: the calls of openapi-fetch with types from the OpenAPI document, and the contract of the
// ledger's clients. A write is retried until it has an answer, always with the same id. A write without an answer may
// still be applied for 10 seconds: until then a 422 or a 404 proves nothing, so the client waits and sends it again.
import createClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, PathsWithMethod, RequiredKeysOf } from "openapi-typescript-helpers";
import { LedgerError, RefusedError, UnknownError, UnreachableError } from "./errors.js";
import { type Attempt, Call, type Loose, judgeFailure } from "./call.js";
import type { components, paths } from "./schema.js";
export * from "./errors.js";

/** The types of bodies and answers, such as `Schemas["PostTransfer"]`. Amounts are strings: `BigInt(x.quantity)`. */
export type Schemas = components["schemas"];

/** An answer. `isNew` says that this write had an effect; it is false if the same was written before. */
export type Reply<T> = { data: T; isNew: boolean };

export type Options = {
  url?: string; // of the API, without /v1
  timeout?: number; // how long a write is retried, in ms
  token?: string | (() => string | Promise<string>); // a bearer token, or what makes one for each attempt
  sign?: (request: Request) => Request | Promise<Request>; // signs each attempt in another way
  user?: string; // for whom a service acts
};

type Init<P extends keyof paths, M extends HttpMethod> = MaybeOptionalInit<paths[P], M & keyof paths[P]>;
type Args<I> = RequiredKeysOf<I> extends never ? [Sent<NonNullable<I>>?] : [Sent<I>];
type Sent<I> = Pick<I, keyof I & ("params" | "body")>;
type Answer<P extends keyof paths, M extends HttpMethod> = NonNullable<
  FetchResponse<paths[P][M & keyof paths[P]] & {}, {}, "application/json">["data"]
>;
type Method<M extends HttpMethod> = <P extends PathsWithMethod<paths, M>>(
  path: P, ...init: Args<Init<P, M>>
) => Promise<Reply<Answer<P, M>>>;
type Items<Page> = { data: (Page extends { data: (infer T)[] } ? T : never)[] };

const commandTimeout = 10_000; // how long a write without an answer may still be applied, in ms
const readTimeout = 10_000; // the longest that a read is retried, in ms
const attemptTimeout = 35_000; // of one attempt, in ms; a gateway answers within 30 s
const [firstPause, longestPause] = [100, 5_000]; // between attempts, in ms

/** A connection to a ledger. */
export class Ledger {
  readonly #api;
  readonly #options: Options;
  readonly #unanswered = new Map<string, number>(); // when writes to these paths got no answer
  #replied = false;

  constructor(options: Options = {}) {
    const url = new URL(options.url ?? "http://127.0.0.1:8080");
    if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      throw new TypeError("the URL is http or https, without a user, a query and a fragment");
    }
    const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
    if ((options.token || options.sign) && url.protocol !== "https:" && !isHere) {
      throw new TypeError("requests with a token or a signature go over plain http to this machine only");
    }
    this.#options = options;
    this.#api = createClient<paths, "application/json">({ baseUrl: url.href.replace(/\/+$/, ""), redirect: "manual" });
    this.#api.use({ onRequest: ({ request }) => this.#authenticate(request) });
  }

  GET: Method<"get"> = (path, ...init) => this.#send("get", path, init[0]);
  PUT: Method<"put"> = (path, ...init) => this.#send("put", path, init[0]);
  POST: Method<"post"> = (path, ...init) => this.#send("post", path, init[0]);
  PATCH: Method<"patch"> = (path, ...init) => this.#send("patch", path, init[0]);
  DELETE: Method<"delete"> = (path, ...init) => this.#send("delete", path, init[0]);

  /** Iterates over the pages of a list. */
  async *pages<P extends PathsWithMethod<paths, "get">>(path: P, ...init: Args<Init<P, "get">>) {
    const of = init[0] as Loose | undefined;
    const query: Record<string, unknown> = { limit: 100, ...of?.params?.query };
    const position = path === "/v1/journal" ? "after" : "cursor";
    for (;;) {
      const { data } = await this.#send<Answer<P, "get">>("get", path, { ...of, params: { ...of?.params, query } });
      yield data;
      const next = (data as { next_cursor?: string | null }).next_cursor;
      if (!next || next === query[position]) return;
      query[position] = next;
      if (position === "after") delete query["from"];
    }
  }

  /** Iterates over the items of a list. */
  async *all<P extends PathsWithMethod<paths, "get">>(path: P, ...init: Args<Init<P, "get">>) {
    for await (const page of this.pages(path, ...init)) yield* (page as unknown as Items<Answer<P, "get">>).data;
  }

  async #authenticate(request: Request): Promise<Request> {
    const { token, sign, user } = this.#options;
    if (user && !request.headers.has("Ledger-User")) request.headers.set("Ledger-User", user);
    try {
      if (token) request.headers.set("Authorization", `Bearer ${typeof token === "function" ? await token() : token}`);
      return sign ? await sign(request) : request;
    } catch (cause) {
      throw new LedgerError(`the request cannot be signed: ${(cause as Error).cause ?? cause}`, { cause });
    }
  }

  /** Sends a request until it has an answer. */
  async #send<T>(method: HttpMethod, path: string, init: unknown): Promise<Reply<T>> {
    const call = new Call(method, path, (init ?? {}) as Loose);
    const deadline = Date.now() + Math.min(this.#options.timeout ?? 30_000, call.writes ? Infinity : readTimeout);
    for (let attempts = 1, mayBeApplied = false; ; attempts++) {
      const a = await this.#attempt(call);
      const unknown = () => new UnknownError(call.id, attempts, { cause: a.error });
      if (a.verdict === "answered" && mayBeApplied && this.#provesNothing(a.error)) throw unknown();
      const wait = Math.max(0, ...call.paths.map((p) => this.#unanswered.get(p) ?? 0)) + commandTimeout - Date.now();
      if (a.verdict === "unknown" && call.writes) {
        mayBeApplied = true;
        const now = Date.now();
        for (const [path, at] of this.#unanswered) if (now - at >= commandTimeout) this.#unanswered.delete(path);
        for (const path of call.paths) this.#unanswered.set(path, now);
      }
      const isNotFinal = a.dependsOnStored && wait > 0;
      const isLast = a.verdict === "answered" || a.verdict === "final" ||
        (a.verdict === "not sent" && !mayBeApplied && !this.#replied);
      const backoff = Math.min(longestPause, firstPause * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);
      const pause = Math.max(backoff, a.retryAfter ?? 0);
      if (isNotFinal || (!isLast && Date.now() + pause <= deadline)) {
        await new Promise((wake) => setTimeout(wake, isNotFinal ? wait : pause));
        continue;
      }
      if (a.verdict !== "answered" && mayBeApplied) throw unknown();
      if (a.reply) return a.reply as Reply<T>; // if not answered: a batch that was throttled in part until now
      const why = `no ledger answers: ${(a.error as Error).cause ?? a.error}`;
      if (a.verdict === "not sent") throw new UnreachableError(why, { cause: a.error });
      throw a.error instanceof LedgerError ? a.error : new LedgerError(why, { cause: a.error });
    }
  }

  async #attempt(call: Call): Promise<Attempt> {
    type Got = { data?: string; error?: unknown; response: Response };
    const request = this.#api.request as (...all: unknown[]) => Promise<Got>;
    try {
      const init = { ...call.init, parseAs: "text", signal: AbortSignal.timeout(attemptTimeout) };
      const { data, error, response } = await request(call.method, call.path, init);
      this.#replied = true;
      return call.judge(response, data ?? (typeof error === "string" ? error : JSON.stringify(error)));
    } catch (error) {
      return judgeFailure(error);
    }
  }

  /** Whether a refusal leaves open if an earlier attempt was applied: the user may have had the role then. */
  #provesNothing(error: unknown): boolean {
    if (!(error instanceof RefusedError)) return false;
    const lacksRole = error.status === 403 || /^(account|transaction|group)_not_found$/.test(error.code);
    return error.status === 412 || (lacksRole && Boolean(this.#options.user || this.#options.token));
  }
}
