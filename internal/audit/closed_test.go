package audit

import (
	"math/big"
	"testing"
	"time"
)

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
		of := closingOf(account{id: "jane", known: true, unlimited: c.unlimited, closedAt: at}, "USD")
		for _, e := range c.entries {
			of.count(leg{ksuid: "k", quantity: big.NewInt(e.quantity), pending: big.NewInt(e.pending), phase: e.phase,
				kind: e.kind}, at.Add(e.after))
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

// A backdated credit may have been committed after the close, whatever its date.
func TestClosingBeforeABackdatedCredit(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, backdated := range []bool{true, false} {
		of := closingOf(account{id: "jane", known: true, closedAt: at}, "USD")
		of.count(leg{quantity: big.NewInt(9), pending: new(big.Int), kind: transfer, backdated: backdated}, at.Add(-time.Hour))
		if found := of.judge(); (len(found) == 0) != backdated {
			t.Errorf("backdated %v: %v", backdated, found)
		}
	}
}
