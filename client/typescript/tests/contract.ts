// The contract of the client, against a running ledger whose address is the argument. It needs an empty ledger.
import { deepStrictEqual as equal, rejects } from "node:assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Ledger, type LedgerError, RefusedError, type Schemas, StatusError, UnknownError, UnreachableError,
} from "ledger-client";

const url = process.argv[2] ?? "";

// A proxy that passes requests on. It cuts off or replaces the next answers, as the plan says.
let plan: ("pass" | "cut" | "lost" | "busy" | "denied" | "web page" | "another")[] = [];
let ids: unknown[] = []; // of the transactions that were asked for
const proxy = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  ids.push(request.headers["idempotency-key"]);
  const what = plan.shift() ?? "pass";
  let [status, text, headers] = [200, "<html>", { "Content-Type": "text/html" } as Record<string, string>];
  if (what === "pass" || what === "cut" || what === "another") {
    const init = { method: request.method ?? "", headers: { ...request.headers } as Record<string, string> };
    for (const name of ["host", "connection", "content-length", "transfer-encoding"]) delete init.headers[name];
    const answer = await fetch(url + request.url, body ? { ...init, body } : init);
    [status, text, headers] = [answer.status, await answer.text(), Object.fromEntries(answer.headers)];
    for (const name of ["connection", "content-encoding", "content-length", "transfer-encoding"]) delete headers[name];
  }
  if (what === "cut" || what === "lost") return void request.socket.destroy();
  if (what === "another") text = text.replaceAll(String(ids.at(-1)), "another");
  if (what === "busy") {
    headers = { "Content-Type": "application/problem+json", "Retry-After": "1" };
    [status, text] = [503, '{"code":"throttled","detail":"Busy."}'];
  }
  if (what === "denied") [status, text] = [403, "no"];
  response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(text) }).end(text);
});
await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
const through = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const [ledger, short] = [new Ledger({ url: through }), new Ledger({ url: through, timeout: 500 })];

async function fails<E extends LedgerError>(kind: new (...a: never[]) => E, call: Promise<unknown>): Promise<E> {
  const error = await call.then(() => undefined, (e: unknown) => e);
  if (!(error instanceof kind)) throw new Error(`no ${kind.name}`, { cause: error });
  return error;
}

const transfer = (quantity: string, id?: string, to = "ann"): Schemas["PostTransfer"] =>
  ({ from: "bank", to, asset: "USD", quantity, ...(id ? { id } : {}) });
const post = (body: Schemas["PostTransfer"], on = ledger) => on.POST("/v1/transfers", { body });
const many = (what: (typeof plan)[number]) => Array.from({ length: 100 }, () => what);

const dollar = { params: { path: { asset: "USD" } }, body: { name: "US dollar", scale: 2 } };
const usd = await ledger.PUT("/v1/assets/{asset}", dollar);
equal(usd.isNew, true);
for (const account of ["bank", "ann", "bob", "c-1", "c-2"]) {
  const body: Schemas["OpenAccount"] = account === "bank" ? { overdraft: "unlimited" } : {};
  await ledger.PUT("/v1/accounts/{account}", { params: { path: { account } }, body });
}

// A replay has the first answer, and no second effect.
const [first, again] = [await post(transfer("500", "t-1")), await post(transfer("500", "t-1"))];
equal([first.isNew, again.isNew], [true, false]);
equal(first.data, again.data);

// A refusal has a stable code, fields and rules. An amount is never rounded on its way.
const refused = await fails(RefusedError, post({ ...transfer("9007199254740993", "t-2", "bob"), from: "ann" }));
equal([refused.status, refused.code], [422, "insufficient_funds"]);
equal(BigInt(String(refused.problem["requested"])) - BigInt(String(refused.problem["available"])), 9007199254740493n);
const bad = await fails(RefusedError, post(transfer("1.5", "t-3")));
equal([bad.status, bad.code, bad.fields[0]?.field], [400, "invalid_request", "quantity"]);
equal(typeof bad.fields[0]?.rule, "string");
// @ts-expect-error an amount is no number
equal((await fails(RefusedError, post({ ...transfer(""), id: "t-3", quantity: 2.5 }))).code, "invalid_request");
// @ts-expect-error no such path
await fails(RefusedError, ledger.POST("/v1/transfer", { body: transfer("1") }));
// @ts-expect-error no such field
await fails(RefusedError, ledger.POST("/v1/transfers", { body: { ...transfer("1"), amount: "1" } }));
for (const id of ["", "a/b", "..", "é"]) {
  await rejects(ledger.GET("/v1/transactions/{id}", { params: { path: { id } } }), TypeError);
}

// An answer that is cut off is asked for again, with the same id, which was made before the first attempt.
[plan, ids] = [["cut", "cut"], []];
const posted = await post(transfer("7"));
equal([posted.isNew, ids.length, new Set(ids).size, ids[0]], [false, 3, 1, posted.data.id]);

// The ledger says when to ask again. A busy ledger wrote nothing.
let began = Date.now();
plan = ["busy"];
equal((await post(transfer("1"))).isNew, true);
equal(Date.now() - began >= 1000, true);
plan = ["busy", "busy"];
equal((await fails(RefusedError, post(transfer("1"), short))).code, "throttled");

// Without an answer until the end the outcome is unknown. The error has the id: look, or send it again.
plan = many("cut");
const unknown = await fails(UnknownError, post(transfer("3"), short));
equal(unknown.attempts > 1, true);
plan = [];
equal((await short.GET("/v1/transactions/{id}", { params: { path: { id: unknown.id } } })).data.id, unknown.id);
equal((await post(transfer("3", unknown.id), short)).isNew, false);

// A gateway's refusal after an attempt without an answer leaves the outcome unknown; before any, nothing was written.
plan = ["cut", "denied"];
await fails(UnknownError, post(transfer("1")));
plan = ["denied"];
equal((await fails(StatusError, post(transfer("1")))).status, 403);
for (const answer of ["web page", "another"] as const) { // no answer of the ledger, or not to this request
  plan = many(answer);
  await fails(UnknownError, post(transfer("1"), short));
}
plan = [];
const nobody = createServer().listen(0, "127.0.0.1");
await new Promise((ready) => nobody.on("listening", ready));
const absent = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
await new Promise((ready) => nobody.close(ready));
await fails(UnreachableError, post(transfer("1"), new Ledger({ url: absent })));

// While a write without an answer may still be applied, a refusal is not final.
plan = ["lost"];
began = Date.now();
const money = new Promise((wake) => setTimeout(wake, 3000))
  .then(() => post(transfer("10", "m-1", "c-1"), new Ledger({ url })));
equal((await post({ ...transfer("10", "late", "c-2"), from: "c-1" })).isNew, true);
equal(Date.now() - began > 9000 && Date.now() - began < 20000, true);
await money;

// Holds, reversals and batches.
const path = { id: "h-1" };
equal((await post({ ...transfer("100", "h-1"), hold: {} })).data.status, "held");
plan = ["cut"];
const captured = await ledger.POST("/v1/transactions/{id}/capture", { params: { path }, body: { quantity: "60" } });
equal([captured.data.status, captured.isNew], ["captured", false]);
const ended = await fails(RefusedError, ledger.POST("/v1/transactions/{id}/release", { params: { path }, body: {} }));
equal([ended.code, ended.problem["hold_status"]], ["hold_ended", "captured"]);
const back = await ledger.POST("/v1/transactions/{id}/reversals", {
  params: { path }, body: { id: "r-1", quantity: "10" },
});
equal([back.data.reverses, back.isNew], ["h-1", true]);
const dry = await ledger.POST("/v1/transfers", { body: transfer("1"), params: { query: { dry_run: true } } });
equal(dry.isNew, false);
plan = ["cut"];
const batch = await ledger.POST("/v1/batches", {
  body: { requests: [{ transfer: transfer("1", "b-1") }, { transfer: transfer("1", "b-2", "nobody") }] },
});
equal(batch.data.results.map((r) => r.status), [200, 422]);

// Lists are read page by page.
const listed: string[] = [];
for await (const a of ledger.all("/v1/accounts", { params: { query: { prefix: "c-", limit: 1 } } })) listed.push(a.id);
equal(listed, ["c-1", "c-2"]);
const sizes: number[] = [];
for await (const page of ledger.pages("/v1/accounts", { params: { query: { limit: 2 } } })) {
  sizes.push(page.data.length);
}
equal(sizes, [2, 2, 1]);
plan = ["pass", "denied"];
let got = 0;
await fails(StatusError, (async () => {
  const of = { path: { account: "ann" }, query: { limit: 1, asset: "USD", consistency: "strong" as const } };
  for await (const _ of ledger.all("/v1/accounts/{account}/postings", { params: of })) got++;
})());
equal(got, 1);
for await (const _ of ledger.all("/v1/journal")) got++; // it ends at the newest entry
proxy.close();
console.log("the contract holds");
