package api

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

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
		if cursor := (listed{"/v1", isMark}).cursor(text); len(cursor) >= cursorChars {
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
	for _, c := range []struct{ sent, shown time.Time }{
		{instant, instant}, {now, now}, {now.Add(1), now}, {now.Add(time.Second), now}, {far, now},
	} {
		at := url.QueryEscape(c.sent.Format(time.RFC3339Nano))
		for target, field := range map[string]string{
			"/v1/accounts/jane/balances/USD?at=" + at:                                          `"at"`,
			"/v1/accounts/jane/balances/USD?consistency=strong&at=" + at:                       `"at"`,
			"/v1/accounts/jane/balances?at=" + at:                                              `"at"`,
			"/v1/accounts/jane/statement?asset=USD&from=2020-01-01T00:00:00Z&to=" + at:         `"to"`,
			"/v1/accounts/jane/statement?asset=USD&limit=1&from=2020-01-01T00:00:00Z&to=" + at: `"to"`,
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
	l := listed{"books/v1/accounts/jane/statement&asset=USD&from=" + from + "&to=" + to, isMark}
	target := "/v1/accounts/jane/statement?asset=USD&from=" + from + "&to=" + to + "&cursor="
	most, err := events.ParseAmount(strings.Repeat("9", events.FoldedDigits), events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []projections.Fold{{Credits: most}, {Count: math.MaxInt64}} {
		forged.Through = events.FirstKSUID(instant.AddDate(-1, 0, 0))
		cursor := l.cursor(formatMark(projections.StatementMark{Balance: forged, To: instant.Add(time.Second)}))
		if got := refused(t, f.do(t, "GET", target+cursor, ""), 400, codeInvalidCursor); got != paramCursor {
			t.Errorf("at fault: %s", got)
		}
	}
}
