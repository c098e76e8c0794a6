// README's example, and more of the API, through openapi-fetch, with types that openapi-typescript generates from the
// document. Its argument is the ledger's address.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

type Schemas = components["schemas"];
const c = createClient<paths>({ baseUrl: process.argv[2] });

function expect(got: unknown, want: unknown) {
  const [is, should] = [JSON.stringify(got), JSON.stringify(want)];
  if (is !== should) throw new Error(`got ${is}, want ${should}`);
}

const register = (asset: string, body: Schemas["RegisterAsset"]) =>
  c.PUT("/v1/assets/{asset}", { params: { path: { asset } }, body });
const usd = await register("USD", { name: "US dollar", scale: 2 });
expect(usd.response.status, 201);
expect(usd.data?.currency, undefined);
const aapl = await register("AAPL", { name: "Apple Inc.", description: "Common stock", scale: 0, currency: "USD" });
expect(aapl.data?.currency, "USD");

const accounts: Record<string, Schemas["OpenAccount"]> = {
  jane: {
    name: "Jane Doe",
    profile: {
      email: "jane@example.com",
      addresses: [
        { street: "1 Main St", city: "Springfield", country: "US" },
        { street: "2 Lake Rd", city: "Shelbyville", country: "US" },
      ],
    },
  },
  bank: { name: "Bank", overdraft: "unlimited" },
  market: { name: "Market", overdraft: "unlimited" },
  margin: { name: "Margin", overdraft: { USD: "500000" } },
};
for (const [account, body] of Object.entries(accounts)) {
  const opened = await c.PUT("/v1/accounts/{account}", { params: { path: { account } }, body });
  expect(opened.response.status, 201);
}

const deposit = await c.POST("/v1/transfers", {
  body: { id: "deposit:1@bank", from: "bank", to: "jane", asset: "USD", quantity: "500000" },
});
expect(deposit.response.status, 201);
const trade: Schemas["PostTrade"] = {
  id: "t-1", asset: "AAPL", buyer: "jane", seller: "market", quantity: "10", cost: "150000", settle: true,
};
const posted = await c.POST("/v1/trades", { body: trade });
expect(posted.response.status, 201);
const replayed = await c.POST("/v1/trades", { body: trade });
expect(replayed.response.status, 200);
expect(replayed.data, posted.data);
const refused = await c.POST("/v1/trades", { body: { ...trade, id: "t-2", cost: "1500000" } });
expect(refused.error?.code, "insufficient_funds");
expect(refused.error?.available, "350000");

const read = async (account: string) => (await c.GET("/v1/accounts/{account}", { params: { path: { account } } })).data;
const jane = await read("jane");
expect(jane?.profile.email, "jane@example.com");
expect(jane?.profile.addresses?.map((address) => address.city), ["Springfield", "Shelbyville"]);
expect(jane?.overdraft, undefined);
expect((await read("margin"))?.overdraft, { USD: "500000" });

const transaction = async (id: string) => (await c.GET("/v1/transactions/{id}", { params: { path: { id } } })).data;
expect((await transaction("t-1"))?.postings.map((posting) => posting.cost), ["150000", "-150000", "0", "0"]);
expect((await transaction("deposit:1@bank"))?.id, "deposit:1@bank");
const balances = await c.GET("/v1/accounts/{account}/balances", {
  params: { path: { account: "jane" }, query: { consistency: "strong" } },
});
expect(balances.data?.data.map((balance) => balance.quantity), ["10", "350000"]);
expect(balances.data?.next_cursor, null);
const history = await c.GET("/v1/accounts/{account}/postings", { params: { path: { account: "jane" } } });
expect(history.response.status, 200);

// Place a hold for ten minutes, capture a part of it, and reverse a part of that.
const hold = await c.POST("/v1/transfers", {
  body: {
    id: "stay-7", from: "jane", to: "market", asset: "USD", quantity: "5000", metadata: { room: "7" },
    hold: { expires_at: new Date(Date.now() + 600_000).toISOString() },
  },
});
expect([hold.data?.status, typeof hold.data?.expires_at], ["held", "string"]);
const held = { params: { path: { id: "stay-7" } } };
const wouldCapture = await c.POST("/v1/transactions/{id}/capture", {
  params: { ...held.params, query: { dry_run: true } }, body: { quantity: "4210" },
});
expect(wouldCapture.data && "dry_run" in wouldCapture.data && wouldCapture.data.dry_run, true);
const captured = await c.POST("/v1/transactions/{id}/capture", { ...held, body: { quantity: "4210" } });
expect(captured.data?.captured?.map((leg) => leg.quantity), ["-4210", "4210"]);
const late = await c.POST("/v1/transactions/{id}/release", { ...held, body: {} });
expect([late.error?.code, late.error?.hold_status], ["hold_ended", "captured"]);
const back = await c.POST("/v1/transactions/{id}/reversals", { ...held, body: { id: "refund-7", quantity: "210" } });
expect(back.data?.reverses, "stay-7");
const reversals = await c.GET("/v1/transactions/{id}/reversals", held);
expect(reversals.data?.data.map((reversal) => reversal.id), ["refund-7"]);

// A batch: each request has an answer of its own.
const batch = await c.POST("/v1/batches", {
  body: {
    requests: [
      { transfer: { id: "b-1", from: "bank", to: "jane", asset: "USD", quantity: "1" } },
      { trade: { id: "b-2", asset: "AAPL", buyer: "jane", seller: "market", quantity: "1", cost: "0" } },
      { transaction: { id: "b-3", postings: [
        { account: "jane", asset: "USD", quantity: "-99999999" }, { account: "bank", asset: "USD", quantity: "99999999" },
      ] } },
    ],
  },
});
expect(batch.data?.results.map((result) => result.status), [201, 201, 422]);

// A group of accounts, and a user who may read them.
const group = await c.PUT("/v1/groups/{group}", { params: { path: { group: "desk" } }, body: { name: "The desk" } });
expect(group.response.status, 201);
const joined = await c.PUT("/v1/groups/{group}/accounts/{account}", {
  params: { path: { group: "desk", account: "jane" } },
});
expect(joined.data?.groups, ["desk"]);
const granted = await c.PUT("/v1/groups/{group}/members/{user}", {
  params: { path: { group: "desk", user: "u-17" } }, body: { role: "viewer" },
});
expect(granted.data?.role, "viewer");
const seen = await c.GET("/v1/accounts/{account}", {
  params: { path: { account: "jane" }, header: { "Ledger-User": "u-17" } },
});
expect(seen.data?.name, "Jane Doe");

const frozen = await c.PATCH("/v1/accounts/{account}", {
  params: { path: { account: "margin" }, header: { "If-Match": '"1"' } }, body: { state: "frozen" },
});
expect([frozen.data?.state, frozen.data?.version], ["frozen", 2]);
const changes = await c.GET("/v1/accounts/{account}/changes", { params: { path: { account: "margin" } } });
expect(changes.data?.data.map((change) => change.changed.state), ["frozen", "open"]);

// The projector's lists lag a little.
async function until<T>(read: () => Promise<T>, is: (got: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 60_000; ; await new Promise((wake) => setTimeout(wake, 50))) {
    const got = await read();
    if (is(got)) return got;
    if (Date.now() > deadline) throw new Error(`timeout: still ${JSON.stringify(got)}`);
  }
}
const holds = await until(
  async () => (await c.GET("/v1/accounts/{account}/holds", {
    params: { path: { account: "jane" }, query: { status: "captured" } },
  })).data,
  (list) => list?.data.length === 1,
);
expect(holds?.data[0].ended_at !== undefined, true);
const totals = await until(
  async () => (await c.GET("/v1/groups/{group}/balances", { params: { path: { group: "desk" } } })).data,
  (page) => page?.data.length === 2,
);
expect([totals?.data[0].accounts, totals?.data[0].asset], [1, "AAPL"]);
const users = await until(
  async () => (await c.GET("/v1/users/{user}/accounts", { params: { path: { user: "u-17" } } })).data,
  (list) => list?.data.length === 1,
);
expect([users?.data[0].account, users?.data[0].through], ["jane", "desk"]);
await until(
  async () => (await c.GET("/v1/transactions", { params: { query: { order: "asc", limit: 100 } } })).data,
  (list) => list?.data.some((listed) => listed.id === "refund-7") ?? false,
);
const statement = await c.GET("/v1/accounts/{account}/statement", {
  params: {
    path: { account: "jane" },
    query: { asset: "USD", from: "2026-01-01T00:00:00Z", to: new Date(Date.now() - 1).toISOString(), limit: 100 },
  },
});
if (typeof statement.data !== "object") throw new Error("the statement is CSV"); // the other content type of this route
expect(statement.data.opening.quantity, "0");
expect(statement.data.data[0].balance_after, "500000");
const journal = await c.GET("/v1/journal", { params: { query: { limit: 1 } } });
expect(typeof journal.data?.next_cursor, "string");
