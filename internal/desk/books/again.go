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
	"strconv"
	"strings"

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
	// Posted lists all transactions, without what was reversed of them. The list may lag by some seconds.
	Posted(ctx context.Context) iter.Seq2[client.Transaction, error]
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

func (r remote) Posted(ctx context.Context) iter.Seq2[client.Transaction, error] {
	return r.Transactions(client.TransactionsQuery{OldestFirst: true}).All(ctx)
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
	return found(t.Value, request{TransactionRequest: r}), nil
}

func found(t client.Transaction, r request) Found {
	switch {
	case base(dayOf(t), client.Legs(t.AsPosted())) != base(r.day(), r.Postings):
		return Another
	case textOf(t.Description, t.Metadata) != r.text():
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

func (r request) day() string {
	return dayOf(client.Transaction{PostedAt: events.FormatTime(r.EffectiveAt)})
}

func (r request) text() digest { return textOf(r.Description, r.Metadata) }

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

// base returns the id of the first entry with the given legs of a day. The order of the legs does not count.
func base(day string, legs []client.Leg) string {
	lines := make([]string, len(legs))
	for i, leg := range legs {
		lines[i] = fmt.Sprintf("%q %q %s %s\n", leg.Account, leg.Asset, leg.Quantity, leg.Cost)
	}
	slices.Sort(lines)
	h := sha256.Sum256([]byte(strings.Join(lines, "")))
	return day + "." + hex.EncodeToString(h[:10])
}

// numbered returns the id of the nth entry of a day with the same legs.
func numbered(base string, n int) string {
	if n == 1 {
		return base
	}
	return fmt.Sprintf("%s.%d", base, n)
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

// earlier is an entry that the ledger has from an earlier import.
type earlier struct {
	id, at, description, book string
	number                    int
	text, similar             digest
	isTaken                   bool // an entry of the book is this one
}

// Again is an entry of the book that the ledger has with another text.
type Again struct {
	Position
	ID string
}

// past is what the ledger has of a book.
type past struct {
	entries map[string][]*earlier // by the id of the first one with the same day and legs
	tagged  map[string]client.Transaction
	// reversed has the entries that were reversed completely. They are not in entries: the book's are posted anew.
	reversed map[string]*earlier
}

// readPast reads what the ledger has. highest has the highest numbers, those of reversed entries included.
func (m *mapping) readPast(ctx context.Context, tagged map[string]bool) (p past, highest map[string]int, err error) {
	p = past{make(map[string][]*earlier), make(map[string]client.Transaction), make(map[string]*earlier)}
	highest = make(map[string]int)
	if !m.hasAccounts { // then it has no entries
		return p, highest, nil
	}
	var reversed []string
	for t, err := range m.Ledger.Posted(ctx) {
		if err != nil {
			return p, nil, err
		}
		if t.Reverses != "" {
			reversed = append(reversed, t.Reverses)
		}
		if tagged[t.ID] {
			p.tagged[t.ID] = t
		}
		first, e, ok := earlierOf(t)
		if !ok {
			continue
		}
		highest[first] = max(highest[first], e.number)
		if !tagged[t.ID] {
			p.entries[first] = append(p.entries[first], e)
		}
	}
	return p, highest, m.dropReversed(ctx, p, reversed)
}

// earlierOf returns what an earlier import posted. ok is false if t has not the id that an import gives it.
func earlierOf(t client.Transaction) (first string, e *earlier, ok bool) {
	legs := client.Legs(t.Postings)
	day := dayOf(t)
	if !strings.HasPrefix(t.ID, day+".") || t.Status != client.StatusPosted {
		return "", nil, false
	}
	first = base(day, legs)
	rest, ok := strings.CutPrefix(t.ID, first)
	n := 1
	if ok && rest != "" {
		n, _ = strconv.Atoi(rest[1:])
	}
	return first, &earlier{
		id: t.ID, at: t.PostedAt, description: t.Description, book: t.Metadata[TagBook], number: n,
		text: textOf(t.Description, t.Metadata), similar: similar(day, t.Description, legs),
	}, ok && n > 0 && numbered(first, n) == t.ID
}

// dropReversed removes the entries that were reversed completely.
func (m *mapping) dropReversed(ctx context.Context, p past, reversed []string) error {
	isListed := make(map[string]bool)
	for _, id := range reversed {
		isListed[id] = true
	}
	for first, all := range p.entries {
		for _, e := range slices.Clone(all) {
			if !isListed[e.id] {
				continue
			}
			r, err := m.Ledger.Transaction(ctx, e.id)
			if err != nil {
				return err
			}
			if isReversed(r.Value) {
				p.reversed[e.id] = e
				p.entries[first] = slices.DeleteFunc(p.entries[first], func(o *earlier) bool { return o == e })
			}
		}
	}
	return nil
}

// compare gives the entries of a book their ids, and returns those that must be sent. Entries of equal day and legs are
// compared with those that the ledger has: first, entries with the same text are the same. Then the others are the
// same with another text, in their order. What is left is new.
func (m *mapping) compare(ctx context.Context, all []*request) (send []*request, err error) {
	tagged, groups := make(map[string]bool), make(map[string][]*request)
	var order []string
	for _, r := range all {
		if r.ID != "" {
			tagged[r.ID] = true
			continue
		}
		first := base(r.day(), r.Postings)
		if groups[first] == nil {
			order = append(order, first)
		}
		groups[first] = append(groups[first], r)
	}
	p, highest, err := m.readPast(ctx, tagged)
	if err != nil {
		return nil, err
	}
	m.checkUnopened(p)
	for _, r := range all {
		if t, ok := p.tagged[r.ID]; ok {
			r.found = found(t, *r)
		}
	}
	for _, first := range order {
		number(first, groups[first], p.entries[first], highest[first], tagged)
	}
	m.out.again = newAgain(m, all)
	for _, r := range all {
		switch r.found {
		case SameText:
			m.out.Replayed++
		case OtherText:
			m.out.OtherText = append(m.out.OtherText, Again{r.at, r.ID})
		default:
			send = append(send, r)
		}
	}
	m.out.again.remember(send)
	return send, nil
}

// number gives ids to the entries of one day with the same legs. The ledger's list may lack what was posted a moment
// ago. An id that is used is then refused, and Compare tells what has it.
func number(first string, entries []*request, posted []*earlier, highest int, tagged map[string]bool) {
	take := func(r *request, e *earlier, f Found) {
		r.ID, r.found, e.isTaken = e.id, f, true
	}
	next := func() string { // ids of tags are taken
		for highest++; tagged[numbered(first, highest)]; {
			highest++
		}
		return numbered(first, highest)
	}
	slices.SortFunc(posted, func(a, b *earlier) int { return cmp.Compare(a.number, b.number) })
	for _, f := range []Found{SameText, OtherText} {
		for _, r := range entries {
			i := slices.IndexFunc(posted, func(e *earlier) bool {
				return !e.isTaken && (f == OtherText || e.text == r.text())
			})
			if r.ID == "" && i >= 0 {
				take(r, posted[i], f)
			}
		}
	}
	for _, r := range entries {
		if r.ID == "" {
			r.ID = next()
		}
	}
}

// book is the name of the book in the metadata of its transactions: that of its file, which may be moved.
func (m *mapping) book() string {
	return cut(strings.ToValidUTF8(filepath.Base(m.File), "?"), events.MetadataValueChars)
}
