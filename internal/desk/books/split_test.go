package books

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
)

// The parts of an entry are transactions that balance, have its postings in their order, and leave nothing on the
// clearing account.
func TestPartsOfAnEntry(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 11))
		r := request{TransactionRequest: client.TransactionRequest{}}
		r.Metadata = map[string]string{TagBook: "b", "k": "v"}
		for i := range 40 + random.IntN(120) {
			r.Postings = append(r.Postings, client.Leg{Account: fmt.Sprint("a", i), Asset: fmt.Sprint("X", random.IntN(1+int(seed%9))),
				Quantity: events.NewAmount(random.Int64N(9) + 1), Cost: events.NewAmount(random.Int64N(3))})
		}
		rest, err := rests(r.Postings, "last")
		if err != nil {
			t.Fatal(err)
		}
		r.Postings = append(r.Postings, rest...)
		m := &mapping{reserved: make(map[string]bool), out: new(Lines)}
		parts := m.split(&r)
		var legs, clearing []client.Leg
		items := len(parts)
		for i, p := range parts {
			items += len(p.Postings)
			if rest, err := rests(p.Postings, "x"); err != nil || len(rest) > 0 || len(p.Postings) > events.PostingsMax || len(p.Postings) < 2 {
				t.Errorf("part %d of %d postings leaves %v, %v", i, len(p.Postings), rest, err)
			}
			if p.Metadata[TagBook] != "b" || (p.Metadata["k"] == "v") != (i == 0) {
				t.Errorf("part %d: %v", i, p.Metadata)
			}
			for _, leg := range p.Postings {
				if leg.Account == Clearing {
					clearing = append(clearing, leg)
				} else {
					legs = append(legs, leg)
				}
			}
		}
		if rest, err := rests(clearing, "x"); err != nil || len(rest) > 0 || fmt.Sprint(legs) != fmt.Sprint(r.Postings) {
			t.Errorf("clearing has %v, the legs are %v, not %v", rest, legs, r.Postings)
		}
		if isAtomic(parts) != (items <= 100) || m.reserved[Clearing] != (len(parts) > 1) {
			t.Errorf("%d parts of %d items: atomic is %t", len(parts), items, isAtomic(parts))
		}
	}
}

// An entry with an id of its own is not split, and its account "clearing" is not that of the parts.
func TestEntriesThatCannotBeSplit(t *testing.T) {
	for say, meta := range map[string][]Pair{"49 postings and the tag ledger-id": {{TagID, "x"}}, `"clearing" is reserved for entries`: nil} {
		entry := Transaction{Position: Position{"b.journal", 7}, Date: "2024-01-01", Metadata: meta}
		for i := range 49 {
			number := "1"
			if i == 48 {
				number = "-48"
			}
			n, err := ParseNumber(number)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.Replace(fmt.Sprint("a", i), "a9", Clearing, 1)
			entry.Postings = append(entry.Postings, Posting{Account: name, Quantity: Amount{n, "EUR"}})
		}
		if got := converted(t, bookWith(entry), Options{}); !strings.Contains(got, "b.journal:7") || !strings.Contains(got, say) {
			t.Errorf("%q is missing: %s", say, got)
		}
	}
}
