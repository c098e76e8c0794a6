package caller

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// maxPages is more than any list in a test has. It ends an endless list.
const maxPages = 1000

// All reads all pages of a list and returns the items. It fails the test if a page exceeds the limit.
func (c *Caller) All(path string, limit int) []map[string]any {
	c.T.Helper()
	return c.AllFrom(path, limit, "")
}

// AllFrom is All, starting at a cursor.
func (c *Caller) AllFrom(path string, limit int, from string) []map[string]any {
	c.T.Helper()
	items := []map[string]any{}
	cursor := ""
	if from != "" {
		cursor = "&cursor=" + url.QueryEscape(from)
	}
	for range maxPages {
		got := c.Must(200, "GET", path+Separator(path)+fmt.Sprint("limit=", limit)+cursor, "")
		var page struct {
			Data []map[string]any `json:"data"`
			Next *string          `json:"next_cursor"`
		}
		if err := json.Unmarshal(got.Body, &page); err != nil || page.Data == nil || len(page.Data) > limit {
			c.T.Fatalf("%s: invalid page with limit %d: %v: %s", path, limit, err, got.Body)
		}
		items = append(items, page.Data...)
		if page.Next == nil {
			return items
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
	c.T.Fatalf("%s has too many pages", path)
	return nil
}

// Separator returns the character, ? or &, that separates the path from another query parameter.
func Separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// Column returns one field of each item, as text.
func Column(items []map[string]any, name string) []string {
	values := make([]string, len(items))
	for i, item := range items {
		values[i] = fmt.Sprint(item[name])
	}
	return values
}

// Each returns one member of each object in the list at path.
func (r Reply) Each(member string, path ...any) (all []any) {
	list, _ := r.Value(path...).([]any)
	for i := range list {
		object, _ := list[i].(map[string]any)
		all = append(all, object[member])
	}
	return all
}

// OpenRegister registers ~USD and ~AAPL and opens ~jane, ~market and ~bank, as in the README.
func (c *Caller) OpenRegister() {
	c.T.Helper()
	c.Must(201, "PUT", "/v1/assets/~USD", `{"name":"US dollar","scale":2}`)
	c.Must(201, "PUT", "/v1/assets/~AAPL",
		`{"name":"Apple Inc.","description":"Common stock","scale":0,"currency":"~USD"}`)
	c.Must(201, "PUT", "/v1/accounts/~jane",
		`{"name":"Jane Doe","profile":{"email":"jane@example.com","addresses":[{"street":"1 Main St"},{"street":"2 `+
			`Lake Rd"}]}}`)
	c.Must(201, "PUT", "/v1/accounts/~market", `{"name":"Market","overdraft":"unlimited"}`)
	c.Must(201, "PUT", "/v1/accounts/~bank", `{"name":"Bank","overdraft":"unlimited"}`)
}

// OpenBooks does OpenRegister, registers ~GOLD (without a currency), opens ~shop, deposits 5,000.00 ~USD for ~jane
// (~d-1) and posts the settled trade ~t-1 of 10 ~AAPL for 1,500.00 ~USD.
func (c *Caller) OpenBooks() {
	c.T.Helper()
	c.OpenRegister()
	c.Must(201, "PUT", "/v1/assets/~GOLD", `{"name":"Gold","scale":3}`)
	c.Must(201, "PUT", "/v1/accounts/~shop", `{"name":"Shop"}`)
	c.Must(201, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	c.Must(201, "POST", "/v1/trades",
		`{"id":"~t-1","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"10","cost":"150000",`+
			`"settle":true}`)
}
