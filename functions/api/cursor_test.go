package api

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A cursor comes back as what was put into it, to its own list only.
func TestCursorRoundTrip(t *testing.T) {
	id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`)
	rapid.Check(t, func(t *rapid.T) {
		here, there := id.Draw(t, "account"), id.Draw(t, "other")
		position := rapid.OneOf(id, rapid.Just("")).Draw(t, "position")
		cursor := balancesOf(here).cursor(position)
		if got, err := balancesOf(here).position(cursor); got != position || err != nil {
			t.Fatalf("%q came back as %q, %v", position, got, err)
		}
		if len(cursor) >= cursorChars || url.QueryEscape(cursor) != cursor {
			t.Fatalf("cursor %s", cursor)
		}
		if here != there {
			if _, err := balancesOf(there).position(cursor); err != errCursorForeign {
				t.Fatalf("taken from %s to %s: %v", here, there, err)
			}
		}
	})
}

// Whatever is changed in a cursor, it is refused.
func TestAlteredCursors(t *testing.T) {
	l := balancesOf("jane")
	cursor := l.cursor("USD")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range cursor {
		for _, c := range alphabet {
			if altered := cursor[:i] + string(c) + cursor[i+1:]; altered != cursor {
				if p, err := l.position(altered); err != errCursorAltered {
					t.Fatalf("%s, for %s: position %q, %v", altered, cursor, p, err)
				}
			}
		}
	}
	for _, altered := range []string{"", "x", cursor[1:], cursor[:len(cursor)-1], cursor + "A", cursor + "=", cursor + "\n", "\r" + cursor, cursor + cursor, strings.Repeat("A", 5000), " " + cursor, cursor + "%"} {
		if _, err := l.position(altered); err != errCursorAltered {
			t.Errorf("%q: %v", altered, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(balancesOf("jane").cursor("USD"))
	f.Add(balancesOf("bob").cursor(""))
	f.Add("AA")
	f.Fuzz(func(t *testing.T, cursor string) {
		l := balancesOf("jane")
		if p, err := l.position(cursor); err == nil && l.cursor(p) != cursor {
			t.Fatalf("%q was accepted for %q", cursor, l.cursor(p))
		}
	})
}

// forged makes a cursor as only this API should, around any position.
func forged(l list, position string) string {
	b := append([]byte{cursorVersion}, l.hash()...)
	b = append(b, position...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func TestCursorsOverHTTP(t *testing.T) {
	f := newFixture(t)
	next := func(target string) string {
		p := answer[page[any]](t, f.do(t, "GET", target, ""))
		if p.Next == nil {
			t.Fatalf("%s has one page", target)
		}
		return *p.Next
	}
	accounts := next("/v1/accounts?limit=1")
	prefixed := next("/v1/accounts?prefix=ma&limit=1")
	balances := next("/v1/accounts/jane/balances?limit=1")
	history := next("/v1/accounts/jane/postings?limit=1")
	ofAsset := next("/v1/accounts/jane/postings?limit=1&asset=USD")
	since := next("/v1/accounts/jane/postings?limit=1&from=2020-01-01T00:00:00Z")
	for _, c := range []struct {
		target string
		fields string
		code   ledger.Code // "": accepted
	}{
		// Bound to path and filters, not to limit, consistency or the spelling of a filter.
		{"/v1/accounts?limit=5&cursor=" + accounts, "", ""},
		{"/v1/accounts?prefix=&cursor=" + accounts, "", ""},
		{"/v1/accounts?prefix=ma&cursor=" + prefixed, "", ""},
		{"/v1/accounts/jane/balances?consistency=strong&cursor=" + balances, "", ""},
		{"/v1/accounts/jane/balances?consistency=eventual&cursor=" + balances, "", ""},
		{"/v1/accounts/jane/postings?cursor=" + history, "", ""},
		{"/v1/accounts/jane/postings?asset=USD&consistency=strong&cursor=" + ofAsset, "", ""},
		{"/v1/accounts/jane/postings?from=2020-01-01T01:00:00.000%2B01:00&cursor=" + since, "", ""},
		{"/v1/accounts?cursor=" + prefixed, "cursor", codeInvalidCursor},
		{"/v1/accounts?prefix=ma&cursor=" + accounts, "cursor", codeInvalidCursor},
		{"/v1/accounts?prefix=mar&cursor=" + prefixed, "cursor", codeInvalidCursor},
		{"/v1/assets?cursor=" + accounts, "cursor", codeInvalidCursor},
		{"/v1/accounts/shop/balances?cursor=" + balances, "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/members?cursor=" + balances, "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/postings?asset=USD&cursor=" + history, "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/postings?asset=AAPL&cursor=" + ofAsset, "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/postings?from=2020-01-01T00:00:01Z&cursor=" + since, "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/postings?to=2020-01-01T00:00:00Z&cursor=" + since, "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=", "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=abc", "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=" + accounts + "%0A", "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=" + strings.Repeat("A", 4000), "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=" + forged(listOf("/v1/accounts"), "a#b"), "cursor", codeInvalidCursor},
		{"/v1/accounts?cursor=" + forged(listOf("/v1/accounts"), strings.Repeat("a", 65)), "cursor", codeInvalidCursor},
		{"/v1/accounts/jane/postings?cursor=" + forged(listOf("/v1/accounts/jane/postings"), "no-ksuid"), "cursor", codeInvalidCursor},
		// With other faults it is one of the fields.
		{"/v1/accounts?cursor=abc&limit=0", "limit cursor", ledger.CodeInvalidRequest},
		{"/v1/accounts?cursor=" + accounts + "&cursor=" + accounts, "cursor", ledger.CodeInvalidRequest},
		{"/v1/accounts?cursor=%zz", "cursor", ledger.CodeInvalidRequest},
		{"/v1/accounts/jane?cursor=" + accounts, "cursor", ledger.CodeInvalidRequest},
		// One that may belong to the list that was meant is not blamed for a wrong filter.
		{"/v1/accounts?prefix=m%20&cursor=" + prefixed, "prefix", ledger.CodeInvalidRequest},
		{"/v1/accounts?prefix=m%20&cursor=abc", "prefix cursor", ledger.CodeInvalidRequest},
	} {
		path, query, _ := strings.Cut(c.target, "?")
		r := f.doQuery(t, path, query)
		if c.code == "" {
			if r.Code != 200 {
				t.Errorf("%s answered %s", c.target, r.Body)
			}
			continue
		}
		if fields := refused(t, r, 400, c.code); fields != c.fields {
			t.Errorf("%s: fields %s, want %s", c.target, fields, c.fields)
		}
	}
}

// Going from page to page shows everything once.
func TestPaging(t *testing.T) {
	f := newFixture(t)
	for _, limit := range []string{"1", "2", "3", "100"} {
		for target, want := range map[string]string{
			"/v1/accounts?":                         "jane margin market shop",
			"/v1/accounts?prefix=mar&":              "margin market",
			"/v1/assets?":                           "AAPL USD",
			"/v1/accounts/jane/balances?":           "AAPL USD",
			"/v1/accounts/jane/postings?":           "USD AAPL USD",
			"/v1/accounts/jane/postings?asset=USD&": "USD USD",
			"/v1/accounts/shop/postings?":           "",
		} {
			var seen []string
			for cursor := ""; ; {
				w := f.do(t, "GET", target+"limit="+limit+cursor, "")
				p := answer[page[map[string]any]](t, w)
				if p.Data == nil || !strings.Contains(w.Body.String(), `"next_cursor":`) {
					t.Fatalf("%s answered %s", target, w.Body)
				}
				for _, item := range p.Data {
					name, _ := item["id"].(string)
					if asset, ok := item["asset"].(string); ok {
						name = asset
					}
					seen = append(seen, name)
				}
				if p.Next == nil {
					break
				}
				cursor = "&cursor=" + *p.Next
			}
			if got := strings.Join(seen, " "); got != want {
				t.Errorf("%s by %s shows %q", target, limit, got)
			}
		}
	}
	f.do(t, "GET", "/v1/accounts/jane/balances", "")
	if f.lists.slice.Limit != limitDefault {
		t.Errorf("%d items unless told", f.lists.slice.Limit)
	}
}

func TestQueryParameters(t *testing.T) {
	f := newFixture(t)
	const jane = "/v1/accounts/jane"
	for target, fields := range map[string]string{
		"/v1/assets/USD?verbose=1":                       "verbose",
		"/v1/assets/USD?consistency=strong":              "consistency",
		"/v1/assets/USD?consistency=eventual":            "consistency",
		"/v1/transactions/t-1?consistency=strong":        "consistency",
		"/v1/assets?consistency=":                        "consistency",
		"/v1/accounts?Limit=5":                           "Limit",
		"/v1/accounts?limit=5&limit=5":                   "limit",
		"/v1/accounts?limit=0":                           "limit",
		"/v1/accounts?limit=101":                         "limit",
		"/v1/accounts?limit=-1":                          "limit",
		"/v1/accounts?limit=":                            "limit",
		"/v1/accounts?limit":                             "limit",
		"/v1/accounts?limit=1e1":                         "limit",
		"/v1/accounts?limit=%2B5":                        "limit",
		"/v1/accounts?limit=05":                          "limit",
		"/v1/accounts?limit=99999999999999999999":        "limit",
		"/v1/accounts?prefix=%23":                        "prefix",
		"/v1/accounts?prefix=-a":                         "prefix",
		"/v1/accounts?prefix=" + strings.Repeat("a", 65): "prefix",
		"/v1/accounts?a;b=1":                             "a;b",
		jane + "/summary?newest=-1":                      "newest",
		jane + "/summary?newest=101":                     "newest",
		jane + "/summary?limit=5":                        "limit",
		jane + "/summary?consistency=strong":             "consistency",
		jane + "/balances?consistency=STRONG":            "consistency",
		jane + "/balances/USD?consistency=":              "consistency",
		jane + "/balances/USD?limit=1":                   "limit",
		jane + "/balances/U%20D":                         "asset",
		jane + "/postings?consistency=strong":            "consistency",
		jane + "/postings?asset=":                        "asset",
		jane + "/postings?asset=%00&consistency=strong":  "asset",
		jane + "/postings?from=yesterday":                "from",
		jane + "/postings?from=2026-11-21":               "from",
		jane + "/postings?from=2026-11-21T09:00:00":      "from",
		jane + "/postings?from=2026-11-21T9:00:00Z":      "from",
		jane + "/postings?from=2026-11-21T09:00:00,5Z":   "from",
		jane + "/postings?from=2026-11-21T25:00:00Z":     "from",
		jane + "/postings?from=2026-02-30T09:00:00Z":     "from",
		jane + "/postings?to=2026-11-21T09:00:00+01:00":  "to", // a plus sign is a space
		jane + "/postings?to=&from=&limit=x":             "from to limit",
		"/v1/accounts/j%2Fk/holders":                     "-",
		"/v1/accounts/j%2Fk":                             "account",
		"/v1/accounts/" + strings.Repeat("a", 65):        "account",
		"/v1/accounts/a%F0%9F%98%80":                     "account",
		"/v1/accounts/%2e%2e":                            "account",
		"/v1/users/_u/accounts":                          "user",
		"/v1/transactions/a%20b?x=1&x=2&y":               "id x y",
	} {
		w := f.do(t, "GET", target, "")
		if fields == "-" {
			refused(t, w, 404, codeNotFound)
			continue
		}
		if w.Code != 400 {
			t.Errorf("%s answered %d", target, w.Code)
			continue
		}
		if got := refused(t, w, 400, ledger.CodeInvalidRequest); got != fields {
			t.Errorf("%s: fields %q, want %q", target, got, fields)
		}
	}
	for _, target := range []string{"/healthz?x=1&x=2", "/?x", "/openapi.json?%zz", "/v1/accounts?", "/v1/accounts?&&limit=5&", "/v1/accounts?prefix=users:", "/v1/accounts/users%3Aa%40b", jane + "/summary?newest=0", jane + "/postings?from=2026-11-21T09:00:00.5%2B02:00"} {
		if w := f.do(t, "GET", strings.Replace(target, "users%3Aa%40b", "%6Aane", 1), ""); w.Code != 200 {
			t.Errorf("%s answered %s", target, w.Body)
		}
	}
	if w := f.do(t, "POST", "/v1/transfers?debug=1", goodTransfer); refused(t, w, 400, ledger.CodeInvalidRequest) != "debug" {
		t.Error("a write takes a parameter that it doesn't know")
	}
}

// The times of a history divide postings as the texts say, to the microsecond.
func TestSpan(t *testing.T) {
	f := newFixture(t)
	for text, want := range map[string]string{
		"2026-11-21T09:06:39.123456Z":        "2026-11-21T09:06:39.123456Z",
		"2026-11-21T11:06:39.123456%2B02:00": "2026-11-21T09:06:39.123456Z",
		"2026-11-21T09:06:39.1234561Z":       "2026-11-21T09:06:39.123457Z", // what has .123456 is before it
		"2026-11-21T09:06:39.123455999Z":     "2026-11-21T09:06:39.123456Z",
		"0001-01-01T00:00:00Z":               "1970-01-01T00:00:00.000000Z", // not the zero time, which is no bound
		"9999-12-31T23:59:59Z":               "9999-12-31T23:59:59.000000Z",
	} {
		f.do(t, "GET", "/v1/accounts/jane/postings?from="+text, "")
		if got := events.FormatTime(f.lists.span.From); got != want || !f.lists.span.To.IsZero() {
			t.Errorf("from %s was read as %s", text, got)
		}
		f.lists.span.To = instant
		f.do(t, "GET", "/v1/accounts/jane/postings?asset=USD&to="+text, "")
		if got := events.FormatTime(f.lists.span.To); got != want || !f.lists.span.From.IsZero() {
			t.Errorf("to %s was read as %s", text, got)
		}
	}
	f.calls.taken()
	w := f.do(t, "GET", "/v1/accounts/jane/postings?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", "")
	if got := strings.TrimSpace(w.Body.String()); got != `{"data":[],"next_cursor":null}` || f.calls.taken() != "Account" {
		t.Errorf("an empty span answered %s", got)
	}
	refused(t, f.do(t, "GET", "/v1/accounts/none/postings?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", ""), 404, ledger.CodeAccountNotFound)
}
