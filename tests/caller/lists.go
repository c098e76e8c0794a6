package caller

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// maxPages is far more than any list of a test has.
const maxPages = 1000

// All follows a list's cursors to its end, and returns its items. No page may be longer than its limit.
func (c *Caller) All(path string, limit int) []map[string]any {
	c.T.Helper()
	return c.AllFrom(path, limit, "")
}

// AllFrom is All, going on from a cursor.
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
			c.T.Fatalf("%s: a page of %d: %v: %s", path, limit, err, got.Body)
		}
		items = append(items, page.Data...)
		if page.Next == nil {
			return items
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
	c.T.Fatalf("%s has no end", path)
	return nil
}

// Separator is what a path's next parameter follows.
func Separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// Column is one field of each item.
func Column(items []map[string]any, name string) []string {
	values := make([]string, len(items))
	for i, item := range items {
		values[i] = fmt.Sprint(item[name])
	}
	return values
}

// Each returns one member of each object of a list in a reply.
func (r Reply) Each(member string, path ...any) (all []any) {
	list, _ := r.Value(path...).([]any)
	for i := range list {
		object, _ := list[i].(map[string]any)
		all = append(all, object[member])
	}
	return all
}

// OpenRegister registers ~USD and ~AAPL and opens ~jane, ~market and ~bank, as the README's example does.
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

// OpenBooks is OpenRegister with ~GOLD, which has no currency, a ~shop, 5,000.00 ~USD for ~jane as ~d-1, and the trade
// ~t-1 of 10 ~AAPL for 1,500.00 ~USD, settled.
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
