package caller

// OpenRegister registers ~USD and ~AAPL and opens ~jane, ~market and ~bank, as the README's example does.
func (c *Caller) OpenRegister() {
	c.T.Helper()
	c.Must(201, "PUT", "/v1/assets/~USD", `{"name":"US dollar","scale":2}`)
	c.Must(201, "PUT", "/v1/assets/~AAPL", `{"name":"Apple Inc.","description":"Common stock","scale":0,"currency":"~USD"}`)
	c.Must(201, "PUT", "/v1/accounts/~jane", `{"name":"Jane Doe","profile":{"email":"jane@example.com","addresses":[{"street":"1 Main St"},{"street":"2 Lake Rd"}]}}`)
	c.Must(201, "PUT", "/v1/accounts/~market", `{"name":"Market","overdraft":"unlimited"}`)
	c.Must(201, "PUT", "/v1/accounts/~bank", `{"name":"Bank","overdraft":"unlimited"}`)
}

// OpenBooks is OpenRegister with ~GOLD, which has no currency, a ~shop, 5,000.00 ~USD for ~jane as ~d-1, and the trade
// ~t-1 of 10 ~AAPL for 1,500.00 ~USD, settled.
func (c *Caller) OpenBooks() {
	c.T.Helper()
	c.OpenRegister()
	c.Must(201, "PUT", "/v1/assets/~GOLD", `{"name":"Gold","scale":3}`)
	c.Must(201, "PUT", "/v1/accounts/~shop", `{"name":"Shop"}`)
	c.Must(201, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	c.Must(201, "POST", "/v1/trades", `{"id":"~t-1","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"10","cost":"150000","settle":true}`)
}
