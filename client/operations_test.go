package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A capture is answered with 200, and only a header marks a replay. A reversal is answered with 201 the first time.
func TestNewDistinguishesReplays(t *testing.T) {
	capture := Capture{Transaction: "t-1"}
	for name, c := range map[string]struct {
		request Request
		answer  answer
	}{
		"capture, new":     {capture, status(200, posted)},
		"capture, replay":  {capture, status(200, posted, "Idempotent-Replayed", "true")},
		"reversal, new":    {Reversal{Transaction: "t-0", ID: "t-1"}, status(201, posted)},
		"reversal, replay": {Reversal{Transaction: "t-0", ID: "t-1"}, status(200, posted)},
	} {
		client, _ := newClient(t, newScript(t, c.answer).URL)
		if _, w, err := client.Post(t.Context(), c.request); err != nil || w.New != strings.HasSuffix(name, "new") {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}

// If-Match is sent as an entity tag. After an attempt without an answer, that attempt may be the cause of a mismatch.
func TestVersionMismatchAfterUnansweredChangeIsUnknown(t *testing.T) {
	var tags []string
	answers := func(first int) transport {
		n := 0
		return func(r *http.Request) (*http.Response, error) {
			tags = append(tags, r.Header.Get("If-Match"))
			if n++; n <= first {
				return nil, errCut
			}
			return response(http.StatusPreconditionFailed, `{"code":"version_mismatch","detail":"Another version."}`)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := newFakeClient(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != 412 || e.Code != CodeVersionMismatch {
			t.Errorf("%v", err)
		}
		_, err = newFakeClient(t, answers(1)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.ID != "jane" {
			t.Errorf("%v", err)
		}
		_, _ = newFakeClient(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen})
	})
	if want := []string{`"3"`, `"3"`, `"3"`, ""}; !slices.Equal(tags, want) {
		t.Errorf("If-Match %q, want %q", tags, want)
	}
}

// IfAbsent makes PUTs conditional, and nothing else. A 412 is an answer, unless an attempt without one came before: what
// exists may be what that attempt wrote.
func TestIfAbsent(t *testing.T) {
	var sent []string
	answers := func(first int) *Client {
		n := 0
		c := newFakeClient(t, func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Method+" "+r.Header.Get("If-None-Match"))
			if n++; n <= first {
				return nil, errCut
			}
			return response(http.StatusPreconditionFailed, `{"code":"precondition_failed","detail":"This exists."}`)
		})
		return c.IfAbsent()
	}
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]func(*Client) error{
			"USD": func(c *Client) error { _, _, err := c.RegisterAsset(t.Context(), Asset{ID: "USD"}); return err },
			"ann": func(c *Client) error { _, _, err := c.OpenAccount(t.Context(), Account{ID: "ann"}); return err },
			"g":   func(c *Client) error { _, _, err := c.RegisterGroup(t.Context(), Group{ID: "g"}); return err },
			"a":   func(c *Client) error { _, _, err := c.PutInGroup(t.Context(), "g", "a"); return err },
			"u":   func(c *Client) error { _, _, err := c.Grant(t.Context(), Member{User: "u", Account: "a"}); return err },
			"v":   func(c *Client) error { _, _, err := c.Grant(t.Context(), Member{User: "v", Group: "g"}); return err },
			"3":   func(c *Client) error { _, _, err := c.ClosePeriod(t.Context(), 3, time.Unix(0, 0), "r"); return err },
		}
		for id, call := range calls {
			if err := call(answers(0)); !isCode(err, CodePreconditionFailed) {
				t.Errorf("%s: %v", id, err)
			}
			err := call(answers(1))
			if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.ID != id ||
				!strings.Contains(err.Error(), "read what is there") {
				t.Errorf("%s after an attempt without an answer: %v", id, err)
			}
		}
		for _, request := range sent {
			if request != "PUT *" {
				t.Errorf("sent %q", request)
			}
		}
		sent = nil
		c := answers(0)
		_, _, _ = c.Revoke(t.Context(), Member{User: "u", Account: "a"})
		_, _ = c.PatchAccount(t.Context(), "a", AccountPatch{State: StateFrozen})
		_, _ = c.Send(t.Context(), transfer)
		_, _ = c.Account(t.Context(), "a")
		if want := []string{"DELETE ", "PATCH ", "POST ", "GET "}; !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}

// A dry run writes nothing, so its failure is never an UnknownError. An answer without dry_run is rejected.
func TestDryRunIsNoWrite(t *testing.T) {
	client, k := newClient(t, newScript(t, problem(504, "outcome_unknown")).URL)
	_, err := client.DryRun(t.Context(), transfer)
	var unknown *UnknownError
	if _, ok := errors.AsType[*Error](err); !ok || errors.As(err, &unknown) || len(k.pauses) == 0 {
		t.Errorf("%v", err)
	}
	client, _ = newClient(t, newScript(t, status(201, posted)).URL)
	if r, err := client.DryRun(t.Context(), transfer); err == nil {
		t.Errorf("%s passes for a dry run", r.Raw)
	}
	client, _ = newClient(t, newScript(t, status(502, ""), status(200, `{"dry_run":true,"status":"held"}`)).URL)
	if r, err := client.DryRun(t.Context(), transfer); err != nil || r.Value.Status != StatusHeld || !r.Value.DryRun {
		t.Errorf("%+v, %v", r.Value, err)
	}
}

// The iterator over the journal begins at the given position, reads on after an empty page, and stops at the newest
// entry.
func TestJournalStopsAtNewestEntry(t *testing.T) {
	page := func(next string, cursors ...string) answer {
		entries := []string{}
		for _, c := range cursors {
			entries = append(entries, `{"type":"transaction.posted","cursor":"`+c+`","data":{"id":"t"}}`)
		}
		return status(200, `{"data":[`+strings.Join(entries, ",")+`],"next_cursor":"`+next+`"}`)
	}
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for first, from := range map[string]JournalQuery{
		"": {}, "after=c0&": {After: "c0", From: day}, "from=2026-11-22T00%3A00%3A00Z&": {From: day},
	} {
		s := newScript(t, page("c2", "c1", "c2"), page("c3"), page("c4", "c4"), page("c4"))
		c, _ := newClient(t, s.URL)
		read := ""
		for e, err := range c.Journal(t.Context(), from) {
			if err != nil {
				t.Error(err)
			}
			read += e.Cursor + " "
		}
		const journal = "GET /v1/journal?"
		wanted := []string{journal + first + "limit=100 ", journal + "after=c2&limit=100 ",
			journal + "after=c3&limit=100 ", journal + "after=c4&limit=100 "}
		if read != "c1 c2 c4 " || !slices.Equal(s.asked, wanted) {
			t.Errorf("%+v: read %q by %q", from, read, s.asked)
		}
	}
}

// The contract test calls each method. These are the paths and queries that need an encoding.
func TestPathsAndQueries(t *testing.T) {
	s := newScript(t, status(200, `{"id":"a","data":[],"next_cursor":null}`))
	c, _ := newClient(t, s.URL+"/stage/")
	ctx := t.Context()
	from := time.Date(2026, 1, 31, 12, 0, 0, 500_000_000, time.FixedZone("", 3600))
	history := HistoryQuery{Asset: "USD", From: from, Strong: true}
	for want, ask := range map[string]func() error{
		"GET /stage/v1/accounts/users%3Aal%40x ":     func() error { _, err := c.Account(ctx, "users:al@x"); return err },
		"GET /stage/v1/accounts/a/summary?newest=0 ": func() error { _, err := c.AccountPage(ctx, "a", 0); return err },
		"POST /stage/v1/trades {}": func() error {
			_, err := c.Send(ctx, Command{Kind: KindTrade, ID: "a", Body: []byte("{}")})
			return err
		},
		"GET /stage/v1/accounts/a/balances?consistency=strong&cursor=c%2B&limit=100 ": func() error {
			_, err := c.Balances("a", true).Page(ctx, "c+", 100)
			return err
		},
		"GET /stage/v1/accounts/a/postings?asset=USD&consistency=strong&from=2026-01-31T12%3A00%3A00.5%2B01%3A00&limit=5 ": func() error {
			_, err := c.History("a", history).Page(ctx, "", 5)
			return err
		},
		"GET /stage/v1/transactions?from=2026-01-31T12%3A00%3A00.5%2B01%3A00&limit=1&metadata.order=10%3D01&order=asc ": func() error {
			_, err := c.Transactions(TransactionsQuery{From: from, Metadata: map[string]string{"order": "10=01"}, OldestFirst: true}).Page(ctx, "", 1)
			return err
		},
	} {
		s.asked = nil
		if err := ask(); err != nil || len(s.asked) != 1 || s.asked[0] != want {
			t.Errorf("asked %q, want %q: %v", s.asked, want, err)
		}
	}
	s.asked = nil
	for _, id := range []string{"", ".", "..", "a/b", "a?b", "é", strings.Repeat("a", 65)} {
		if _, err := c.Account(ctx, id); !errors.Is(err, ErrID) {
			t.Errorf("account %q: %v", id, err)
		}
		if _, err := c.Send(ctx, Command{Kind: KindAsset, ID: id, Body: []byte("{}")}); !errors.Is(err, ErrID) {
			t.Errorf("asset %q: %v", id, err)
		}
		for _, p := range []Request{Capture{Transaction: id}, Release{Transaction: id}, Reversal{Transaction: id, ID: "t-1"}} {
			if _, err := c.DryRun(ctx, p); !errors.Is(err, ErrID) {
				t.Errorf("%#v: %v", p, err)
			}
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("it asked %q", s.asked)
	}
}

// A client with a user sends Ledger-User. A missing role does not prove that an earlier attempt failed.
func TestWithUser(t *testing.T) {
	var users []string
	s := newScript(t, status(200, `{"as":"user","user":"ann","service":"s","actor":"ann via s"}`), status(502, ""),
		problem(403, "forbidden"))
	handler := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		users = append(users, r.Header.Get("Ledger-User"))
		handler.ServeHTTP(w, r)
	})
	plain, _ := newClient(t, s.URL)
	c, err := plain.WithUser("ann")
	if err != nil {
		t.Fatal(err)
	}
	me, err := c.Me(t.Context())
	if err != nil || *me.Value.User != "ann" || me.Value.Actor != "ann via s" {
		t.Errorf("got %+v, %v", me.Value, err)
	}
	var unknown *UnknownError
	if _, err := c.Send(t.Context(), transfer); !errors.As(err, &unknown) {
		t.Errorf("a 403 after a 502 is %v", err)
	}
	if _, err := c.Send(t.Context(), transfer); !isCode(err, CodeForbidden) {
		t.Errorf("a 403 is %v", err)
	}
	if want := []string{"ann", "ann", "ann", "ann"}; !slices.Equal(users, want) {
		t.Errorf("sent for %q", users)
	}
	for _, user := range []string{"", "a b"} {
		if _, err := c.WithUser(user); !errors.Is(err, ErrID) {
			t.Errorf("user %q: %v", user, err)
		}
	}
	if _, err := New(Config{URL: s.URL, User: "a b"}); !errors.Is(err, ErrID) {
		t.Error(err)
	}
}
