package books

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/big"
	"reflect"
	"runtime"
	"testing"
	"time"

	"ledger.example/client"
)

// An import keeps some hundred bytes of each entry in memory, whatever the entry's size, also if the ledger has it.
func TestMemoryOfAnImport(t *testing.T) {
	const entries, most = 4_000, 700 // bytes of an entry
	b := new(Book)
	for i := range entries {
		b.add(largeEntry(i))
	}
	l := &endless{lagging: new(lagging), entries: entries}
	l.open("a", "x")
	for _, c := range []struct {
		what  string
		known int // entries that the ledger has
	}{{"the first import", 0}, {"the second one", entries}} {
		l.known = c.known
		before := live()
		lines, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: "b.journal", Now: now})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if int(lines.Replayed) != c.known {
			t.Errorf("%s: %d are replayed", c.what, lines.Replayed)
		}
		in := lines.Reader()
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Fatal(err)
		}
		if each := (live() - before) / entries; each > most {
			t.Errorf("%s keeps %d bytes of an entry", c.what, each)
		}
		in.Close()
		runtime.KeepAlive(lines)
		lines.Close()
	}
	b.Close()
}

func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func largeEntry(i int) Transaction {
	n := numberOf(big.NewInt(int64(i)+1), 2)
	return Transaction{Position: Position{fmt.Sprintf("a/long/path/%d.journal", i%10), i}, Date: "2024-01-01",
		Description: fmt.Sprintf("%0200d", i), Metadata: []Pair{{"k", fmt.Sprintf("%0200d", i)}, {"l", fmt.Sprintf("%0200d", i)}},
		Postings: []Posting{{Account: "a", Quantity: Amount{n, "EUR"}}, {Account: "x", Quantity: Amount{n.negated(), "EUR"}}}}
}

// endless is a ledger that makes the transactions of large entries when it lists them.
type endless struct {
	*lagging
	entries, known int
}

func (l *endless) Posted(context.Context, time.Time, time.Time) iter.Seq2[client.Transaction, error] {
	return func(yield func(client.Transaction, error) bool) {
		for i := range l.known {
			e := largeEntry(i)
			quantity, _, _ := e.Postings[0].Quantity.Number.minor(2)
			posting := func(account string, sign bool) client.Posting {
				leg := client.PostedLeg{Account: account, Asset: "EUR", Quantity: quantity}
				if sign {
					leg.Quantity, _ = leg.Cost.Sub(quantity)
				}
				return client.Posting{PostedLegOf: leg}
			}
			made := client.Transaction{PostedAt: "2024-01-01T00:00:00.000000Z", Status: client.StatusPosted,
				Postings: []client.Posting{posting("a", false), posting("x", true)}}
			made.Description, made.Metadata = e.Description, map[string]string{TagBook: "b.journal", "k": e.Metadata[0].Value, "l": e.Metadata[1].Value}
			made.ID = keyOf("2024-01-01", client.Legs(made.Postings)).numbered(1)
			if !yield(made, nil) {
				return
			}
		}
	}
}

// A temporary file gives back what was put in, also numbers with zeros at the end, and texts that are not UTF-8.
func TestSpool(t *testing.T) {
	e := largeEntry(7)
	e.Postings[0].Account, e.Postings[0].Quantity.Number = "caf\xe9", number(t, "-1.2500")
	e.Postings[1].Weight = &Amount{number(t, "0.00"), "\xff"}
	b := bookWith(e, Transaction{}, e)
	for range 2 {
		if got := listOf(t, b.all()); len(got) != 3 || !reflect.DeepEqual(got[0], e) || !reflect.DeepEqual(got[2], e) {
			t.Errorf("%+v", got)
		}
	}
	b.Close()
	for _, err := range b.all() {
		if err == nil {
			t.Error("a closed file is read")
		}
	}
}

func number(t *testing.T, text string) Number {
	t.Helper()
	n, err := ParseNumber(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
