package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
	_ "ledger.example/tests/full" // fixes the seed
)

// One answer of each kind must be equal to its golden text. testdata/answers.txt has their paths and bodies.
func TestAnswers(t *testing.T) {
	f := newFixture(t)
	f.now = instant.Add(time.Second)
	replace := []string{"{at}", events.FormatTime(instant)}
	for i, leg := range f.legs {
		replace = append(replace, fmt.Sprintf("{id %d}", i), string(leg.ID))
	}
	history := listed{"books/v1/accounts/jane/postings", isKSUID}
	replace = append(replace, "{top}", history.cursor(""), "{after id 2}", history.cursor(string(f.legs[2].ID)),
		"{past AAPL}", listed{"books/v1/accounts/jane/balances&at=2026-11-21T09:06:40.000000Z", isID}.cursor("AAPL"))
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

// A cursor returns the position that it was made from, and only for its own list.
func TestCursorRoundTrip(t *testing.T) {
	id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`)
	rapid.Check(t, func(t *rapid.T) {
		here, there := id.Draw(t, "account"), id.Draw(t, "other")
		position := rapid.OneOf(id, rapid.Just("")).Draw(t, "position")
		cursor := listed{"/v1/accounts/" + here, isID}.cursor(position)
		if got, err := (listed{"/v1/accounts/" + here, isID}).position(cursor); got != position || err != nil {
			t.Fatalf("%q came back as %q, %v", position, got, err)
		}
		if len(cursor) >= cursorChars || url.QueryEscape(cursor) != cursor {
			t.Fatalf("cursor %s", cursor)
		}
		if here != there {
			if _, err := (listed{"/v1/accounts/" + there, isID}).position(cursor); err != errCursorForeign {
				t.Fatalf("taken from %s to %s: %v", here, there, err)
			}
		}
	})
}

// forged makes a cursor with a valid checksum and any position.
func forged(l listed, position string) string {
	b := append([]byte{cursorVersion}, l.hash()...)
	b = append(b, position...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// If a filter is invalid, its cursor is not reported as well: it may belong to the list with the correct filter.
func TestCursorWithInvalidFilter(t *testing.T) {
	f := newFixture(t)
	for cursor, want := range map[string]string{listed{"books/v1/accounts&prefix=m", isID}.cursor("m"): "prefix",
		"abc": "prefix cursor"} {
		w := f.do(t, "GET", "/v1/accounts?prefix=m%20&cursor="+cursor, "")
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != want {
			t.Errorf("fields %s, want %s", fields, want)
		}
	}
}
