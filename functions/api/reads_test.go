package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// One answer of each kind must be equal to its golden text. testdata/answers.txt has their paths and bodies.
func TestAnswers(t *testing.T) {
	f := newFixture(t)
	f.now = instant.Add(time.Second)
	replace := []string{"{at}", events.FormatTime(instant)}
	for i, leg := range f.legs {
		replace = append(replace, fmt.Sprintf("{id %d}", i), leg.ID)
	}
	history := listed{"/v1/accounts/jane/postings", byKSUID}
	replace = append(replace, "{top}", history.cursor(""), "{after id 2}", history.cursor(f.legs[2].ID),
		"{past AAPL}", listed{"/v1/accounts/jane/balances&at=2026-11-21T09:06:40.000000Z", byAsset}.cursor("AAPL"))
	for _, c := range blocks(t, "answers.txt", 2) {
		w := f.do(t, "GET", c[0], "")
		if got, want := strings.TrimSpace(w.Body.String()), strings.NewReplacer(replace...).Replace(c[1]); w.Code != 200 ||
			got != want {
			t.Errorf("%s answered %d\n%s, want\n%s", c[0], w.Code, got, want)
		}
	}
}

// An account that exists but is not projected yet is not reported as absent.
func TestUnprojectedIsNotAbsent(t *testing.T) {
	f := unprojected(t)
	for target, want := range map[string]string{
		"/v1/accounts/jane/summary?newest=0": `"summary":{"holdings":0,"assets":0,"first_posting_at":null,` +
			`"last_posting_at":null},"balances":{"data":[],"next_cursor":null},"postings":{"data":[],"next_cursor":"`,
		"/v1/accounts/jane/balances":     `{"data":[],"next_cursor":null}`,
		"/v1/accounts/jane/balances/USD": `"quantity":"0"`,
	} {
		if w := f.do(t, "GET", target, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s answered %s", target, w.Body)
		}
	}
}

// floored is a Strong that records the floors of reads. Without a floor it returns balances below any limit.
type floored struct {
	Strong
	floor *events.Amount
}

func owing(account string) projections.Balance {
	return projections.Balance{Pair: events.Pair{Account: account, Asset: "USD"},
		Head: projections.Fold{Debits: events.NewAmount(500001)}}
}

func (s *floored) Balance(ctx context.Context, k events.Pair, floor *events.Amount) (projections.Balance, error) {
	if s.floor = floor; floor == nil {
		b := owing(k.Account)
		b.Asset = k.Asset
		return b, nil
	}
	return s.Strong.Balance(ctx, k, floor)
}

func (s *floored) Balances(ctx context.Context, account string, floor func(string) *events.Amount,
	p projections.Slice) (projections.Page[projections.Balance], error) {
	if floor("USD") == nil {
		return projections.Page[projections.Balance]{Items: []projections.Balance{owing(account)}}, nil
	}
	s.floor = floor("USD")
	return s.Strong.Balances(ctx, account, floor, p)
}

// A balance that appears to be below the account's limit is read again with the limit as its floor.
func TestFloors(t *testing.T) {
	f := newFixture(t)
	s := &floored{Strong: f.config.Strong}
	f.config.Strong = s
	f.Handler = New(f.config)
	for target, want := range map[string]string{
		"jane/balances": "0", "jane/balances/USD": "0", "margin/balances": "-500000", "margin/balances/USD": "-500000",
		"margin/balances/AAPL": "0", "market/balances": "<nil>", "market/balances/USD": "<nil>",
	} {
		s.floor = nil
		f.do(t, "GET", "/v1/accounts/"+target+"?consistency=strong", "")
		if got := fmt.Sprint(s.floor); got != want {
			t.Errorf("%s is read with the floor %s", target, got)
		}
	}
}

// If a filter is invalid, its cursor is not reported as well: it may belong to the list with the correct filter.
func TestCursorWithInvalidFilter(t *testing.T) {
	f := newFixture(t)
	for cursor, want := range map[string]string{listed{"/v1/accounts&prefix=m", byAccount}.cursor("m"): "prefix",
		"abc": "prefix cursor"} {
		w := f.do(t, "GET", "/v1/accounts?prefix=m%20&cursor="+cursor, "")
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != want {
			t.Errorf("fields %s, want %s", fields, want)
		}
	}
}

// A position in a statement survives the round trip through a cursor, with any sums, and the cursor is short enough.
func TestStatementMarkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := projections.StatementMark{To: instant, Settled: rapid.Bool().Draw(t, "settled")}
		amounts, counts := markParts(&m)
		for _, a := range amounts {
			text := rapid.OneOf(rapid.Just("0"), rapid.Just("-"+strings.Repeat("9", events.FoldedDigits)),
				rapid.StringMatching(`-?[1-9][0-9]{0,37}`)).Draw(t, "amount")
			var err error
			if *a, err = events.ParseAmount(text, events.FoldedDigits); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range counts {
			*n = rapid.Int64Range(0, math.MaxInt64).Draw(t, "count")
		}
		m.Balance.Through = events.FirstKSUID(instant)
		text := formatMark(m)
		if again, ok := parseMark(text); !ok || again != m {
			t.Fatalf("%+v came back as %+v", m, again)
		}
		if cursor := (listed{"/v1", inStatement}).cursor(text); len(cursor) >= cursorChars {
			t.Fatalf("a cursor of %d characters", len(cursor))
		}
		cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		if other := text[:cut] + " " + text[cut+1:]; other != text && isMark(other) {
			t.Fatalf("%q is taken for a place", other)
		}
	})
}

func TestWantsCSV(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/csv": true, "TEXT/CSV; header=present": true,
		"text/csv, */*": true, "text/csv;q=0": false, "text/csv;q=0.5,application/json": false, "text/html, text/csv": true,
		"application/json;q=0.5, text/csv;q=0.9": true, "text/csv;q=x": false, ";;": false,
	} {
		if got := wantsCSV(http.Header{"Accept": {accept}}); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}

// A time in the future means now, and the answer says so. It is never settled. from is not in the future, but a caller's
// clock may be ahead by clockTolerance.
func TestFutureTimes(t *testing.T) {
	f := newFixture(t)
	now := instant.Add(time.Minute)
	f.now = now
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct{ sent, shown time.Time }{{now, now}, {now.Add(1), now}, {far, now}} {
		at := url.QueryEscape(c.sent.Format(time.RFC3339Nano))
		for target, field := range map[string]string{
			"/v1/accounts/jane/balances/USD?at=" + at:                                  `"at"`,
			"/v1/accounts/jane/balances?at=" + at:                                      `"at"`,
			"/v1/accounts/jane/statement?asset=USD&from=2020-01-01T00:00:00Z&to=" + at: `"to"`,
		} {
			body := f.must(t, 200, "GET", target, "").Body.String()
			if want := field + ":\"" + events.FormatTime(c.shown) + `"`; !strings.Contains(body, want) ||
				c.sent.After(now) && strings.Contains(body, `"settled":true`) {
				t.Errorf("%s answered %s, want %s", target, body, want)
			}
		}
	}
	for ahead, status := range map[time.Duration]int{clockTolerance: 200, clockTolerance + time.Microsecond: 400} {
		from := url.QueryEscape(now.Add(ahead).Format(time.RFC3339Nano))
		w := f.do(t, "GET", "/v1/accounts/jane/statement?asset=USD&to="+url.QueryEscape(far.Format(time.RFC3339))+"&from="+from, "")
		if w.Code != status || status == 400 && refused(t, w, 400, ledger.CodeInvalidRequest) != "from" {
			t.Errorf("from %v: %d %s", ahead, w.Code, w.Body)
		}
	}
}

// A forged cursor whose sums overflow with the next posting is refused with invalid_cursor.
func TestForgedSumsAreRefused(t *testing.T) {
	f := newFixture(t)
	const from = "2020-01-01T00:00:00.000000Z"
	to := events.FormatTime(instant.Add(time.Second))
	l := listed{"/v1/accounts/jane/statement&asset=USD&from=" + from + "&to=" + to, inStatement}
	target := "/v1/accounts/jane/statement?asset=USD&from=" + from + "&to=" + to + "&cursor="
	most, err := events.ParseAmount(strings.Repeat("9", events.FoldedDigits), events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	first := answer[client.Statement](t, f.must(t, 200, "GET", strings.TrimSuffix(target, "cursor=")+"limit=1", "")).Data[0].ID
	for _, forged := range []projections.Fold{{Debits: most}, {Count: math.MaxInt64}} {
		forged.Through = events.KSUID(first)
		cursor := l.cursor(formatMark(projections.StatementMark{Balance: forged, To: instant.Add(time.Second)}))
		if got := refused(t, f.do(t, "GET", target+cursor, ""), 400, codeInvalidCursor); got != paramCursor {
			t.Errorf("at fault: %s", got)
		}
	}
}
