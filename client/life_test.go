package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
)

func TestWhatIsSentOfHoldsAndReversals(t *testing.T) {
	expires := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	two, cost := events.NewAmount(2), events.NewAmount(300)
	name := "Jane"
	for want, ask := range map[string]func(context.Context, *Client) error{
		`POST /v1/transfers {"id":"t-1","from":"a","to":"b","asset":"USD","quantity":"2","hold":{}}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.PostTransfer(ctx, Transfer{ID: "t-1", From: "a", To: "b", Asset: "USD", Quantity: two, Hold: &Hold{}})
			return err
		},
		`POST /v1/trades {"id":"t-1","asset":"AAPL","buyer":"a","seller":"b","quantity":"2","cost":"300","settle":true,"hold":{"expires_at":"2026-11-28T09:00:00Z"}}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.PostTrade(ctx, Trade{ID: "t-1", Asset: "AAPL", Buyer: "a", Seller: "b", Quantity: two, Cost: cost,
				Settle: true, Hold: &Hold{ExpiresAt: expires}})
			return err
		},
		`POST /v1/transactions {"id":"t-1","postings":[{"account":"a","asset":"USD","quantity":"2","cost":"0"}]}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.PostTransaction(ctx, TransactionRequest{ID: "t-1", Postings: []Leg{{Account: "a", Asset: "USD", Quantity: two}}})
			return err
		},
		`POST /v1/transactions/t-1/capture {}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.Capture(ctx, Capture{Transaction: "t-1"})
			return err
		},
		`POST /v1/transactions/t-1/capture {"quantity":"2","cost":"300"}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.Capture(ctx, Capture{Transaction: "t-1", Part: Part{Quantity: &two, Cost: &cost}})
			return err
		},
		`POST /v1/transactions/t-1/release {"description":"d"}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.Release(ctx, Release{Transaction: "t-1", Description: "d"})
			return err
		},
		`POST /v1/transactions/t-0/reversals {"id":"t-1","metadata":{"a":"b"},"postings":[{"quantity":"2","cost":"0"}]}`: func(ctx context.Context, c *Client) error {
			_, _, err := c.Reverse(ctx, Reversal{Transaction: "t-0", ID: "t-1", Metadata: map[string]string{"a": "b"},
				Part: Part{Postings: []Taken{{Quantity: two}}}})
			return err
		},
		`POST /v1/transactions/t-1/release?dry_run=true {}`: func(ctx context.Context, c *Client) error {
			_, err := c.DryRun(ctx, Release{Transaction: "t-1"})
			return err
		},
		`PATCH /v1/accounts/t-1 {"name":"Jane","state":"frozen"}`: func(ctx context.Context, c *Client) error {
			_, err := c.PatchAccount(ctx, "t-1", AccountPatch{Name: &name, State: StateFrozen, IfMatch: 3})
			return err
		},
		"GET /v1/accounts?limit=7&prefix=users%3A ":        page(func(c *Client) Listing[Account] { return c.Accounts("users:") }),
		"GET /v1/accounts/jane/holds?limit=7 ":             page(func(c *Client) Listing[Transaction] { return c.Holds("jane", "") }),
		"GET /v1/accounts/jane/holds?limit=7&status=held ": page(func(c *Client) Listing[Transaction] { return c.Holds("jane", StatusHeld) }),
		"GET /v1/accounts/jane/changes?limit=7 ":           page(func(c *Client) Listing[Change] { return c.Changes("jane") }),
		"GET /v1/holds?limit=7 ":                           page((*Client).OpenHolds),
		"GET /v1/assets?limit=7&prefix=A ":                 page(func(c *Client) Listing[Asset] { return c.Assets("A") }),
		"GET /v1/assets/USD/holders?limit=7 ":              page(func(c *Client) Listing[Balance] { return c.Holders("USD") }),
		"GET /v1/transactions/t-1/reversals?limit=7 ":      page(func(c *Client) Listing[Transaction] { return c.Reversals("t-1") }),
	} {
		s := newScript(t, status(200, `{"id":"t-1","data":[],"dry_run":true}`))
		c, _ := newClient(t, s.URL)
		if err := ask(t.Context(), c); err != nil || len(s.asked) != 1 || s.asked[0] != want {
			t.Errorf("asked %q, want %q: %v", s.asked, want, err)
		}
	}
	c, _ := newClient(t, "http://127.0.0.1:1")
	for _, p := range []Post{Capture{}, Release{Transaction: "a/b"}, Reversal{ID: "t-1"}} {
		if _, err := c.DryRun(t.Context(), p); !errors.Is(err, ErrID) {
			t.Errorf("%#v: %v", p, err)
		}
	}
}

func page[T any](of func(*Client) Listing[T]) func(context.Context, *Client) error {
	return func(ctx context.Context, c *Client) error {
		_, err := of(c).Page(ctx, "", 7)
		return err
	}
}

func TestWhatIsAnsweredOfHoldsAndReversals(t *testing.T) {
	s := newScript(t, status(200, `{"id":"t-1","kind":"transfer","status":"captured","expires_at":"2026-11-28T09:00:00.000000Z",
		"ended_at":"2026-11-22T09:00:00.000000Z","captured":[{"id":"k","account":"a","asset":"USD","quantity":"-2","cost":"0"}],
		"reverses":"t-0","reversed":[{"account":"a","asset":"USD","quantity":"-1","cost":"0"}]}`))
	c, _ := newClient(t, s.URL)
	r, err := c.Transaction(t.Context(), "t-1")
	x := r.Value
	if err != nil || x.Status != StatusCaptured || x.ExpiresAt[:10] != "2026-11-28" || x.EndedAt[:10] != "2026-11-22" ||
		len(x.Captured) != 1 || x.Captured[0].Quantity != events.NewAmount(-2) || x.Reverses != "t-0" ||
		!slices.Equal(x.Reversed, []Leg{{Account: "a", Asset: "USD", Quantity: events.NewAmount(-1)}}) {
		t.Errorf("%+v, %v", x, err)
	}
	s = newScript(t, status(200, `{"data":[{"version":2,"at":"2026-11-22T09:00:00.000000Z","actor":"ann","changed":{"name":"Jane","state":"frozen"}}]}`))
	c, _ = newClient(t, s.URL)
	list, err := c.Changes("jane").Page(t.Context(), "", 1)
	if d := list.Value.Data; err != nil || len(d) != 1 || d[0].Version != 2 || d[0].Actor != "ann" || *d[0].Changed.Name != "Jane" ||
		d[0].Changed.State != StateFrozen {
		t.Errorf("%+v, %v", d, err)
	}
	for available, want := range map[string]*events.Amount{`null`: nil, `"7"`: new(events.NewAmount(7))} {
		s = newScript(t, status(200, `{"pending_debits":"3","pending_credits":"4","available":`+available+`}`))
		c, _ = newClient(t, s.URL)
		r, err := c.Balance(t.Context(), "a", "USD", false)
		b := r.Value
		if err != nil || b.PendingDebits != events.NewAmount(3) || b.PendingCredits != events.NewAmount(4) ||
			(b.Available == nil) != (want == nil) || want != nil && *b.Available != *want {
			t.Errorf("%+v, %v", b, err)
		}
	}
}

// A first capture is answered as a replay is but for a header; what is posted anew, by 201.
func TestWhatWasDoneBeforeIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		isNew  bool
	}{
		"first":  {status(200, posted), true},
		"replay": {status(200, posted, "Idempotent-Replayed", "true"), false},
	} {
		client, _ := newClient(t, newScript(t, c.answer).URL)
		_, w, err := client.Capture(t.Context(), Capture{Transaction: "t-1"})
		if err != nil || w.New != c.isNew {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	client, _ := newClient(t, newScript(t, status(201, posted)).URL)
	if _, w, err := client.Reverse(t.Context(), Reversal{Transaction: "t-0", ID: "t-1"}); err != nil || !w.New {
		t.Errorf("%+v, %v", w, err)
	}
}

// If-Match is sent as an entity tag. A mismatch after an attempt without an answer may be of the client's own making.
func TestAVersionMismatchAfterAnUnansweredChange(t *testing.T) {
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
		_, err := madeUp(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != 412 || e.Code != CodeVersionMismatch {
			t.Errorf("%v", err)
		}
		_, err = madeUp(t, answers(1)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.ID != "jane" {
			t.Errorf("%v", err)
		}
		_, _ = madeUp(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen})
	})
	if want := []string{`"3"`, `"3"`, `"3"`, ""}; !slices.Equal(tags, want) {
		t.Errorf("If-Match %q, want %q", tags, want)
	}
}

// Whether a hold exists is not known while its placing may still be carried out: neither is what a capture is refused
// for.
func TestAHoldWithoutAnAnswerIsWaitedFor(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Client) error{
		"capture": func(ctx context.Context, c *Client) error {
			_, _, err := c.Capture(ctx, Capture{Transaction: "t-1"})
			return err
		},
		"reversal": func(ctx context.Context, c *Client) error {
			_, _, err := c.Reverse(ctx, Reversal{Transaction: "t-1", ID: "t-2"})
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, sends := time.Now(), 0
			c := madeUp(t, func(r *http.Request) (*http.Response, error) {
				switch sends++; {
				case sends == 1:
					return nil, errCut
				case time.Since(began) < 9*time.Second:
					return response(http.StatusNotFound, absent)
				case strings.HasSuffix(r.URL.Path, "/reversals"):
					return response(http.StatusCreated, `{"id":"t-2"}`)
				}
				return response(http.StatusOK, posted)
			})
			c.timeout = time.Nanosecond
			_, _, _ = c.PostTransfer(t.Context(), Transfer{ID: "t-1", Hold: &Hold{}})
			if err := ask(t.Context(), c); err != nil || time.Since(began) != commandTimeout {
				t.Errorf("%s: after %s: %v", name, time.Since(began), err)
			}
		})
	}
}

// A dry run writes nothing, so that its failure leaves nothing unknown, and only an answer to a dry run is one.
func TestADryRunIsNoWrite(t *testing.T) {
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

func TestAListIsReadAsFarAsItIsWanted(t *testing.T) {
	pages := []answer{
		status(200, `{"data":[{"id":"a"},{"id":"b"}],"next_cursor":"c1"}`), status(200, `{"data":[],"next_cursor":"c2"}`),
		status(200, `{"data":[{"id":"c"}],"next_cursor":null}`),
	}
	for _, c := range []struct {
		stop, ids string
		asked     int
		answers   []answer
		fails     bool
	}{
		{"", "abc", 3, pages, false},
		{"b", "ab", 1, pages, false},
		{"", "ab", 2, []answer{pages[0], problem(404, "account_not_found")}, true},
	} {
		s := newScript(t, c.answers...)
		client, _ := newClient(t, s.URL)
		ids := ""
		var failed error
		for hold, err := range client.Holds("jane", StatusHeld).All(t.Context()) {
			ids += hold.ID
			if failed = err; hold.ID == c.stop && err == nil {
				break
			}
		}
		if ids != c.ids || len(s.asked) != c.asked || (failed != nil) != c.fails {
			t.Errorf("%q after %q: %v", ids, s.asked, failed)
		}
		if len(s.asked) > 1 && s.asked[1] != "GET /v1/accounts/jane/holds?cursor=c1&limit=100&status=held " {
			t.Errorf("asked %q", s.asked)
		}
	}
}

func TestRefusalsOfHoldsAndReversalsInWords(t *testing.T) {
	var e Error
	text := `{"code":"exceeds_reversible","detail":"Too much.","left":[{"account":"jane","asset":"AAPL","quantity":"-1","cost":"-150"}],"hold_status":"released"}`
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.HoldStatus != StatusReleased {
		t.Fatalf("%+v, %v", e, err)
	}
	if got, want := e.Error(), "exceeds_reversible: Too much.\n  left: -1 of AAPL at jane, cost -150 (minor units)"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	shown := func(suffix string) func(string, events.Amount) string {
		return func(asset string, a events.Amount) string { return a.String() + suffix + asset }
	}
	if got, want := e.Text(shown("q"), shown("c")), "exceeds_reversible: Too much.\n  left: -1qAAPL of AAPL at jane, cost -150cAAPL"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
