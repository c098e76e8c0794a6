// README's example through openapi-fetch, with the types that openapi-typescript makes of the document. Its argument is
// the ledger's address.
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
