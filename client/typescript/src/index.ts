// A client of the ledger: the calls of openapi-fetch with types from the OpenAPI document, and the contract of the
// ledger's clients. A write is retried until it has an answer, always with the same id.
//
// A write without an answer may still be applied for 10 seconds. Until then, a 422 or a 404 does not prove that nothing
// was posted, so the client waits for that time and sends the request again.
import createClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, PathsWithMethod, RequiredKeysOf } from "openapi-typescript-helpers";
import { type FieldError, LedgerError, RefusedError, StatusError, UnknownError, UnreachableError } from "./errors.js";
import { Call, type Unanswered, judge } from "./call.js";
import type { components, paths } from "./schema.js";

export { type FieldError, LedgerError, RefusedError, StatusError, UnknownError, UnreachableError };
export type { paths };

/** The types of bodies and answers, such as `Schemas["PostTransfer"]`. Amounts are strings: `BigInt(x.quantity)`. */
export type Schemas = components["schemas"];

/** An answer. `isNew` says that this write had an effect; it is false if the same was written before. */
export interface Reply<T> {
  data: T;
  isNew: boolean;
}

export interface Options {
  /** The address of the API, without /v1. */
  url?: string;
  /** How long a write is retried, in milliseconds. */
  timeout?: number;
  /** A bearer token, or what makes one for each attempt. */
  token?: string | (() => string | Promise<string>);
  /** Signs each attempt in another way. */
  sign?: (request: Request) => Request | Promise<Request>;
  /** The user for whom a service acts. */
  user?: string;
}

type Init<P extends keyof paths, M extends HttpMethod> = MaybeOptionalInit<paths[P], M & keyof paths[P]>;
type Args<I> = RequiredKeysOf<I> extends never ? [Sent<NonNullable<I>>?] : [Sent<I>];
type Sent<I> = Pick<I, keyof I & ("params" | "body")>;
type Answer<P extends keyof paths, M extends HttpMethod> = NonNullable<
  FetchResponse<paths[P][M & keyof paths[P]] & {}, {}, "application/json">["data"]
>;
type Method<M extends HttpMethod> = <P extends PathsWithMethod<paths, M>>(
  path: P, ...init: Args<Init<P, M>>
) => Promise<Reply<Answer<P, M>>>;
type Item<Page> = Page extends { data: (infer T)[] } ? T : never;

const readTimeout = 10_000; // the longest that a read is retried, in ms
const attemptTimeout = 35_000; // of one attempt, in ms; a gateway answers within 30 s
const [firstPause, longestPause] = [100, 5_000]; // between attempts, in ms
const pageLimit = 100; // the most items of a page

/** A connection to a ledger. */
export class Ledger {
  readonly #api;
  readonly #options: Options;
  readonly #unanswered: Unanswered = new Map();
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
  async *pages<P extends PathsWithMethod<paths, "get">>(
    path: P, ...init: Args<Init<P, "get">>
  ): AsyncGenerator<Answer<P, "get">, void, void> {
    const of = init[0] as Loose | undefined;
    const query: Record<string, unknown> = { limit: pageLimit, ...of?.params?.query };
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
  async *all<P extends PathsWithMethod<paths, "get">>(
    path: P, ...init: Args<Init<P, "get">>
  ): AsyncGenerator<Item<Answer<P, "get">>, void, void> {
    for await (const page of this.pages(path, ...init)) {
      yield* (page as unknown as { data: Item<Answer<P, "get">>[] }).data;
    }
  }

  async #authenticate(request: Request): Promise<Request> {
    const { token, sign, user } = this.#options;
    if (user && !request.headers.has("Ledger-User")) request.headers.set("Ledger-User", user);
    try {
      if (token) request.headers.set("Authorization", `Bearer ${typeof token === "function" ? await token() : token}`);
      return sign ? await sign(request) : request;
    } catch (cause) {
      throw new LedgerError(`the request cannot be signed: ${text(cause)}`, { cause });
    }
  }

  /** Sends a request until it has an answer. */
  async #send<T>(method: HttpMethod, path: string, init: unknown): Promise<Reply<T>> {
    const call = new Call(method, path, (init ?? {}) as Loose);
    const mayLackRole = Boolean(this.#options.user || this.#options.token);
    const timeout = this.#options.timeout ?? 30_000;
    const deadline = Date.now() + (call.writes ? timeout : Math.min(timeout, readTimeout));
    for (let attempts = 1, mayBeApplied = false; ; attempts++) {
      const a = await this.#attempt(call);
      const unknown = () => new UnknownError(call.id, attempts, { cause: a.error });
      if (a.verdict === "answered" && mayBeApplied && a.provesNothing(mayLackRole)) throw unknown();
      const pending = call.pending(this.#unanswered);
      if (a.verdict === "answered" && a.dependsOnStored && pending > 0) {
        await sleep(pending);
        continue;
      }
      if (a.verdict === "unknown" && call.writes) {
        mayBeApplied = true;
        call.remember(this.#unanswered);
      }
      const isLast = a.verdict === "answered" || a.verdict === "final" ||
        (a.verdict === "not sent" && !mayBeApplied && !this.#replied);
      const backoff = Math.min(longestPause, firstPause * 2 ** (attempts - 1)) * (0.5 + Math.random() / 2);
      const pause = Math.max(backoff, a.retryAfter);
      if (!isLast && Date.now() + pause <= deadline) {
        await sleep(pause);
        continue;
      }
      if (a.verdict !== "answered" && mayBeApplied) throw unknown();
      if (a.reply) return a.reply as Reply<T>; // if not answered: a batch that was throttled in part until now
      const why = `no ledger answers: ${text(a.error)}`;
      if (a.verdict === "not sent") throw new UnreachableError(why, { cause: a.error });
      throw a.error instanceof LedgerError ? a.error : new LedgerError(why, { cause: a.error });
    }
  }

  async #attempt(call: Call) {
    type Got = { data?: string; error?: unknown; response: Response };
    const request = this.#api.request as (...all: unknown[]) => Promise<Got>;
    try {
      const signal = AbortSignal.timeout(attemptTimeout);
      const got = await request(call.method, call.path, { ...call.init, parseAs: "text", signal });
      this.#replied = true;
      const body = got.data ?? (typeof got.error === "string" ? got.error : JSON.stringify(got.error));
      return judge(call, undefined, got.response, body);
    } catch (error) {
      return judge(call, error);
    }
  }
}

/** What this layer reads of the options of a call, whichever its path is. */
export interface Loose {
  params?: { path?: Record<string, unknown>; query?: Record<string, unknown>; header?: Record<string, unknown> };
  body?: unknown;
}

const text = (error: unknown) => String((error as Error).cause ?? error);

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms));
