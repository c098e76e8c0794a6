package audit

import (
	"context"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ledger.example/internal/table"
)

// Whoever reports at the last look gets one, also if others report manyFindings meanwhile.
func TestEachRepetitionHasALastLook(t *testing.T) {
	a := New(Options{Pause: func(context.Context, time.Duration) error { return nil }})
	isLast := false
	a.repeat(t.Context(), func(round, last int) (done bool) {
		if isLast = round == last; round == manyFindingsRounds+1 {
			a.count(func(r *Report) { r.Counts.Findings = manyFindings })
		}
		return false
	})
	if !isLast {
		t.Error("the last call was not the last look")
	}
}

// Only reads with transient errors are retried.
func TestTransientErrorsAreRetried(t *testing.T) {
	status := func(code int) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}},
			Err: io.EOF}
	}
	for err, want := range map[error]bool{
		&types.ProvisionedThroughputExceededException{}:                                   true,
		&types.TransactionCanceledException{}:                                             true,
		&types.TransactionConflictException{}:                                             true,
		&types.ResourceNotFoundException{}:                                                false,
		&smithy.GenericAPIError{Code: "ThrottlingException", Fault: smithy.FaultClient}:   true,
		&smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}: false,
		status(503): true, status(400): false,
		&url.Error{Op: "Post", Err: os.ErrDeadlineExceeded}: true,
	} {
		if got := transient.IsErrorRetryable(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// The consumed units stay within the rate over the whole audit, however large single pages are.
func TestLimiterKeepsRate(t *testing.T) {
	var mu sync.Mutex
	now, units := time.Unix(1_800_000_000, 0), 0.0
	began := now
	m := limiter{
		rate: 100,
		now:  func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		pause: func(_ context.Context, d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
		},
	}
	for _, used := range []float64{128, 0.5, 300, 1, 1, 64} {
		if !m.wait(t.Context()) {
			t.Fatal("the audit has ended")
		}
		m.use(&types.ConsumedCapacity{CapacityUnits: &used})
		units += used
	}
	if !m.wait(t.Context()) {
		t.Fatal("the audit has ended")
	}
	if took := now.Sub(began).Seconds(); took < units/m.rate-.001 || took > units/m.rate+.001 {
		t.Errorf("%v units took %v s at %v a second", units, took, m.rate)
	}
}

// An account must be empty when it is closed, and no debit may follow. Postings around that time count on either side.
func TestClosing(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	type entry struct {
		after    time.Duration // the close
		quantity int64
		pending  int64
		phase    string
		kind     string
	}
	const before, lately, around, after = -10 * time.Minute, -time.Minute, time.Second, time.Minute
	for name, c := range map[string]struct {
		unlimited bool
		entries   []entry
		want      Code
	}{
		"nothing":               {},
		"empty":                 {false, []entry{{before, 9, 0, "", transfer}, {before, -9, 0, "", transfer}}, ""},
		"with a balance":        {false, []entry{{before, 9, 0, "", transfer}, {around, -8, 0, "", transfer}}, ClosedNotEmpty},
		"below zero":            {false, []entry{{before, -9, 0, "", transfer}}, ClosedNotEmpty},
		"committed late":        {false, []entry{{lately, 9, 0, "", transfer}}, ""},
		"held late":             {false, []entry{{lately, 0, 9, placed, transfer}}, ""},
		"spent lately":          {false, []entry{{lately, -9, 0, "", transfer}}, ClosedNotEmpty},
		"reversed lately":       {false, []entry{{lately, -9, 0, "", reversal}}, ClosedNotEmpty},
		"open hold, lately":     {false, []entry{{lately, 0, -9, placed, transfer}}, ClosedNotEmpty},
		"credit at that time":   {false, []entry{{around, 9, 0, "", transfer}}, ""},
		"credit afterwards":     {false, []entry{{after, 9, 0, "", transfer}}, ""},
		"credit reversed":       {false, []entry{{after, 9, 0, "", transfer}, {after, -9, 0, "", reversal}}, ""},
		"debit at that time":    {false, []entry{{before, 9, 0, "", transfer}, {around, -9, 0, "", transfer}}, ""},
		"debit afterwards":      {false, []entry{{before, 9, 0, "", transfer}, {after, -9, 0, "", transfer}}, DebitAfterClose},
		"held afterwards":       {false, []entry{{after, 0, -9, placed, transfer}}, DebitAfterClose},
		"open hold":             {false, []entry{{before, 0, -9, placed, transfer}}, ClosedNotEmpty},
		"open hold, credit":     {false, []entry{{before, 0, 9, placed, transfer}}, ClosedNotEmpty},
		"ended before":          {false, []entry{{before, 0, -9, placed, transfer}, {before, 0, 9, released, transfer}}, ""},
		"ended at that time":    {false, []entry{{before, 0, 9, placed, transfer}, {around, 9, -9, captured, transfer}}, ""},
		"ended afterwards":      {false, []entry{{before, 0, -9, placed, transfer}, {after, 0, 9, expired, transfer}}, ClosedNotEmpty},
		"held late, credit":     {false, []entry{{after, 0, 9, placed, transfer}, {after, 9, -9, captured, transfer}}, ""},
		"unlimited, a debit":    {true, []entry{{after, -9, 0, "", transfer}}, ""},
		"unlimited, late debit": {true, []entry{{lately, -9, 0, "", transfer}}, ""},
		"unlimited, late hold":  {true, []entry{{lately, 0, -9, placed, transfer}}, ""},
		"unlimited, hold":       {true, []entry{{before, 0, -9, placed, transfer}}, ClosedNotEmpty},
		"unlimited, too late":   {true, []entry{{2 * time.Minute, -9, 0, "", transfer}}, DebitAfterClose},
		"unlimited, not empty":  {true, []entry{{before, 9, 0, "", transfer}}, ClosedNotEmpty},
	} {
		of := closingOf(account{ID: "jane", known: true, unlimited: c.unlimited, closedAt: at}, "USD")
		for _, e := range c.entries {
			of.count(posting{leg: leg{ID: "k", amounts: amounts{Quantity: big.NewInt(e.quantity), Cost: new(big.Int)}},
				marks: marks{Pending: big.NewInt(e.pending), Phase: e.phase}, Kind: e.kind}, at.Add(e.after))
		}
		got := Code("")
		for _, f := range of.judge() {
			got += f.Code
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// A closed account gives no cost alone, except by a reversal. It has no guard, so a command that read the account before
// the close may be a little late.
func TestCostAloneAfterClosing(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after time.Duration // the close
		cost  int64
		phase string
		kind  string
		want  int
	}{
		"before":       {-time.Minute, -5, "", transfer, 0},
		"at that time": {time.Minute, -5, "", transfer, 0},
		"afterwards":   {2 * time.Minute, -5, "", transfer, 1},
		"received":     {2 * time.Minute, 5, "", transfer, 0},
		"reversed":     {2 * time.Minute, -5, "", reversal, 0},
		"captured":     {2 * time.Minute, -5, captured, transfer, 0},
	} {
		of := closingOf(account{ID: "jane", known: true, closedAt: at}, "AAPL")
		of.count(posting{leg: leg{ID: "k", amounts: amounts{Quantity: new(big.Int), Cost: big.NewInt(c.cost)}},
			marks: marks{Pending: new(big.Int), Phase: c.phase}, Kind: c.kind}, at.Add(c.after))
		if found := of.judge(); len(found) != c.want || c.want > 0 && found[0].Code != DebitAfterClose {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A backdated credit may have been committed after the close, whatever its date.
func TestClosingBeforeABackdatedCredit(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, backdated := range []bool{true, false} {
		of := closingOf(account{ID: "jane", known: true, closedAt: at}, "USD")
		of.count(posting{leg: leg{amounts: amounts{Quantity: big.NewInt(9)}}, marks: marks{Pending: new(big.Int), Backdated: backdated}, Kind: transfer}, at.Add(-time.Hour))
		if found := of.judge(); (len(found) == 0) != backdated {
			t.Errorf("backdated %v: %v", backdated, found)
		}
	}
}

// Each kind of item is decoded.
func TestEachItemHasAKind(t *testing.T) {
	for _, p := range table.ItemTypes() {
		for name := range strings.FieldsSeq(p.Type) {
			if !slices.ContainsFunc(kinds[name], func(k kind) bool { return k.pattern == p }) {
				t.Errorf("the audit does not decode %s (%s): add it to numberedKinds in numbered.go if it shows the newest of "+
					"some events, otherwise to kinds in decode.go", name, p.What)
			}
		}
	}
}
