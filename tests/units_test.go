package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
)

// writeUnits adds up what requests that were sent consumed, by the cost model: of puts the very item that was sent, of
// updates what the table holds after them. No item is written by two of the requests.
func writeUnits(t testing.TB, requests []request, before, after map[table.Key]wire.Item) (units, items int) {
	t.Helper()
	written := make(map[table.Key]bool)
	write := func(key, put wire.Item, transactional bool) {
		k, err := wire.KeyOf(key)
		if err != nil || written[k] {
			t.Fatalf("%v is written twice, or no key: %v", k, err)
		}
		written[k] = true
		if put == nil {
			put = after[k]
		}
		w := table.Write{Before: wiretest.Sized(t, before[k]), After: wiretest.Sized(t, put), Transactional: transactional}
		units += table.WriteUnits(w, table.Indexes()...)
		items++
	}
	for _, r := range requests {
		switch in := r.input.(type) {
		case *dynamodb.PutItemInput:
			write(in.Item, in.Item, false)
		case *dynamodb.TransactWriteItemsInput:
			for _, a := range in.TransactItems {
				switch {
				case a.Put != nil:
					write(a.Put.Item, a.Put.Item, true)
				case a.Update != nil:
					write(a.Update.Key, nil, true)
				case a.ConditionCheck != nil:
					k, _ := wire.KeyOf(a.ConditionCheck.Key)
					units += table.ConditionCheckUnits(wiretest.Sized(t, before[k]))
				default:
					t.Fatalf("a delete: %s", r.line())
				}
			}
		default:
			if r.writes() {
				t.Fatalf("%s is not in the cost model", r.operation)
			}
		}
	}
	return units, items
}

// The figures of DESIGN's section 5, of what is really sent, with short ids and with the longest, small amounts and the
// largest. The seller of a limited trade has a guard, that of an unlimited one has none.
func TestWriteUnitsOfATwoLeggedTrade(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	long := func(name string) string { return name + strings.Repeat("x", 64-len(name)) }
	share, buyer, seller := long("share"), long("buyer"), long("seller")
	s.Must(201, "PUT", "/v1/assets/"+share, `{"name":"Share","scale":0,"currency":"USD"}`)
	for _, account := range []string{buyer, seller, "joe"} {
		s.Must(201, "PUT", "/v1/accounts/"+account, `{"name":"Limited"}`)
	}
	most := strings.Repeat("9", 28)
	s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"d-1","from":"market","to":"%s","asset":"%s","quantity":"%s"}`, seller, share, most))
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"market","to":"joe","asset":"AAPL","quantity":"100"}`)
	s.deliverAll()
	for name, c := range map[string]struct {
		body string // its id apart
		most int
	}{
		"limited":            {`"asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"150000"`, 10},
		"limited, longest":   {fmt.Sprintf(`"asset":"%s","buyer":"%s","seller":"%s","quantity":"%s","cost":"%s"`, share, buyer, seller, most, most), 10},
		"unlimited":          {`"asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000"`, 8},
		"unlimited, longest": {fmt.Sprintf(`"asset":"%s","buyer":"%s","seller":"market","quantity":"%s","cost":"%s"`, share, buyer, most, most), 8},
	} {
		var before map[table.Key]wire.Item
		requests := promptly(t, func(try int) []request {
			before = s.contents()
			s.requests.take()
			s.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":"%s-%d",%s}`, strings.ReplaceAll(name, ", ", "-"), try, c.body))
			return s.requests.take()
		})
		units, items := writeUnits(t, requests, before, s.contents())
		t.Logf("%s: %d write units for %d items", name, units, items)
		if units > c.most || items < 3 {
			t.Errorf("%s: %d write units for %d items, more than %d", name, units, items, c.most)
		}
	}
}

// However many postings of one balance a batch has, it is written once; the summary along with it when the balance is
// new, a segment when a stretch is closed.
func TestProjectionWritesOfABatch(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	all := old("jane", "USD", 400)
	before := s.contents()
	for i, c := range []struct{ writes, units int }{
		{2, 5}, // balance and summary, and the balance's entry in an index
		{1, 1},
		{2, 4}, // balance and segment
		{1, 1},
	} {
		batch := all[i*100 : (i+1)*100]
		putEvents(t, s, batch)
		s.requests.take()
		deliver(t, s.service, keysOf(batch)...)
		after := s.contents()
		units, writes := writeUnits(t, s.requests.take(), before, after)
		before = after
		t.Logf("batch %d of 100 postings on one balance: %d writes, %d write units", i+1, writes, units)
		if writes > 2 || writes != c.writes || units != c.units {
			t.Errorf("batch %d: %d writes for %d units, wanted %d for %d", i+1, writes, units, c.writes, c.units)
		}
	}
}
