package books

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// Ledger reads the ledger into which a book is imported. Errors are those of *client.Client.
type Ledger interface {
	Asset(ctx context.Context, id string) (client.Reply[client.Asset], error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
	// AllAssets and AllAccounts list them by id. The lists may lag by some seconds.
	AllAssets(ctx context.Context) iter.Seq2[client.Asset, error]
	AllAccounts(ctx context.Context) iter.Seq2[client.Account, error]
	Transaction(ctx context.Context, id string) (client.Reply[client.Transaction], error)
	// Posted lists the transactions from one time to another, without what was reversed of them. Zero times are the
	// beginning and the end. The list may lag by some seconds.
	Posted(ctx context.Context, from, to time.Time) iter.Seq2[client.Transaction, error]
}

// Of returns the ledger of a client.
func Of(api *client.Client) Ledger { return remote{api} }

type remote struct{ *client.Client }

func (r remote) AllAssets(ctx context.Context) iter.Seq2[client.Asset, error] {
	return r.Assets("").All(ctx)
}

func (r remote) AllAccounts(ctx context.Context) iter.Seq2[client.Account, error] {
	return r.Accounts("").All(ctx)
}

func (r remote) Posted(ctx context.Context, from, to time.Time) iter.Seq2[client.Transaction, error] {
	return r.Transactions(client.TransactionsQuery{OldestFirst: true, From: from, To: to}).All(ctx)
}

// Found says what the ledger has under the id of an entry.
type Found int

// What the ledger may have. Another day or other legs are of another transaction.
const (
	Another Found = iota
	SameText
	OtherText // the same day and legs with another description or other metadata
)

// Compare reads the transaction with the id of a request that was refused because the id is used, and compares it with
// the request. A transaction that was reversed is another one.
func Compare(ctx context.Context, l Ledger, r client.TransactionRequest) (Found, error) {
	t, err := l.Transaction(ctx, r.ID)
	if err != nil || isReversed(t.Value) {
		return Another, err
	}
	return foundOf(t.Value, r), nil
}

func foundOf(t client.Transaction, r client.TransactionRequest) Found {
	return found(t, keyOf(day(r), r.Postings), textOf(r.Description, r.Metadata))
}

func found(t client.Transaction, k key, text digest) Found {
	switch {
	case keyOf(dayOf(t), client.Legs(t.AsPosted())) != k:
		return Another
	case textOf(t.Description, t.Metadata) != text:
		return OtherText
	}
	return SameText
}

// isReversed reports whether a transaction was reversed completely.
func isReversed(t client.Transaction) bool {
	legs := t.AsPosted()
	for i, left := range t.Reversed {
		if left.Quantity != legs[i].Quantity || left.Cost != legs[i].Cost {
			return false
		}
	}
	return len(t.Reversed) > 0
}

func dayOf(t client.Transaction) string { return t.PostedAt[:min(len("2006-01-02"), len(t.PostedAt))] }

func day(r client.TransactionRequest) string {
	return dayOf(client.Transaction{PostedAt: events.FormatTime(r.EffectiveAt)})
}

// digest is a hash by which texts are compared.
type digest [16]byte

func digestOf(text string) digest {
	h := sha256.Sum256([]byte(text))
	return digest(h[:])
}

// textOf returns the digest of what of an entry is not money: the same text has the same digest. The name of the book
// is not of the text.
func textOf(description string, metadata map[string]string) digest {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", description)
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key != TagBook {
			fmt.Fprintf(&b, " %q %q", key, metadata[key])
		}
	}
	return digestOf(b.String())
}

// key is what entries have in common whose ids differ in their numbers only: a day, and a hash of the legs.
type key struct {
	day  [len("2006-01-02")]byte
	legs [10]byte
}

// keyOf returns the key of the legs of a day. The order of the legs does not count.
func keyOf(day string, legs []client.Leg) (k key) {
	lines := make([]string, len(legs))
	for i, leg := range legs {
		lines[i] = fmt.Sprintf("%q %q %s %s\n", leg.Account, leg.Asset, leg.Quantity, leg.Cost)
	}
	slices.Sort(lines)
	h := sha256.Sum256([]byte(strings.Join(lines, "")))
	copy(k.day[:], day)
	copy(k.legs[:], h[:])
	return k
}

// numbered returns the id of the nth entry with a key.
func (k key) numbered(n int) string {
	first := string(k.day[:]) + "." + hex.EncodeToString(k.legs[:])
	if n == 1 {
		return first
	}
	return fmt.Sprintf("%s.%d", first, n)
}

// similar returns the digest of the day, the accounts and the description of an entry. Entries that agree in them and
// not in their legs may be the same entry with another amount.
func similar(day, description string, legs []client.Leg) digest {
	accounts := make(map[string]bool)
	for _, leg := range legs {
		accounts[leg.Account] = true
	}
	return digestOf(fmt.Sprintf("%s %q %q", day, description, slices.Sorted(maps.Keys(accounts))))
}

// Again is an entry that the ledger has already.
type Again struct {
	Position
	ID string
}

// compare gives the entries of a book their ids, and finds those that must be sent. Entries of equal day and legs are
// compared with those that the ledger has: first, entries with the same text are the same. Then the others are the
// same with another text, in their order. What is left is new.
func (m *mapping) compare(ctx context.Context) error {
	p := m.newPast()
	if err := p.read(ctx); err != nil {
		return err
	}
	if m.checkUnopened(p); len(m.problems) > 0 {
		return nil
	}
	all := m.out.entries
	numbered := make(map[key]bool, len(p.groups))
	for i := range all {
		if k := all[i].key; !all[i].isTagged && !numbered[k] {
			numbered[k] = true
			m.number(p, k)
		}
	}
	m.out.again = newAgain(m, p)
	for i := range all {
		switch e := &all[i]; e.found {
		case SameText:
			m.out.Replayed++
		case OtherText:
			m.out.OtherText = append(m.out.OtherText, Again{e.at, m.out.id(e)})
		}
	}
	m.out.arrange()
	return nil
}

// number gives ids to the entries with a key. The ledger's list may lack what was posted a moment ago. An id that is
// used is then refused, and Compare tells what has it.
func (m *mapping) number(p *past, k key) {
	all, entries, posted := m.out.entries, p.groups[k], p.posted[k]
	slices.SortFunc(posted, func(a, b *earlier) int { return cmp.Compare(a.number, b.number) })
	for _, f := range []Found{SameText, OtherText} {
		for _, i := range entries {
			n := slices.IndexFunc(posted, func(e *earlier) bool {
				return !e.isTaken && p.isOurs(e.book) && (f == OtherText || e.text == all[i].text)
			})
			if all[i].number == 0 && n >= 0 {
				posted[n].isTaken = true
				all[i].number, all[i].found = posted[n].number, f
				if file := p.books[posted[n].book]; posted[n].book != 0 && file != "" {
					m.at = all[i].at
					m.note(fmt.Sprintf("entries are in the ledger already, from the file %s", file))
				}
			}
		}
	}
	highest := p.highest[k]
	for _, i := range entries {
		if all[i].number > 0 {
			continue
		}
		for highest++; m.ids[k.numbered(int(highest))]; { // ids of tags are taken
			highest++
		}
		all[i].number = highest
		for _, e := range posted {
			if !e.isTaken {
				m.at = all[i].at
				m.note(fmt.Sprintf("the ledger has an entry of the same day and amounts from the file %s, which is "+
					"another book: this one is posted beside it", p.books[e.book]))
				break
			}
		}
	}
}

// bookName is the name of the book in the metadata of its transactions: that of its file, which may be moved.
func (m *mapping) bookName() string {
	return cut(strings.ToValidUTF8(filepath.Base(m.File), "?"), events.MetadataValueChars)
}
