package books

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// past is what the ledger has from earlier imports. It keeps some bytes of each transaction that the book has, too.
type past struct {
	*mapping
	groups  map[key][]int32 // entries of the book without an id of their own
	tagged  map[string]int32
	posted  map[key][]*earlier // with these keys
	highest map[key]int32      // number of an entry with these keys
	books   []string           // names of files, by number
	numbers map[string]int32   // their numbers
	within  map[int32]int      // how many entries of a file are in the days of the book
	shared  map[int32]int      // how many of them are in the book
	first   string             // day of the book
	last    string             // day of the book
	hasAny  bool               // an earlier import posted something
	opened  []string           // ids of entries of this file before the day of opening entries
	known   map[string]bool    // ids of the transactions that were reversed, perhaps in part
}

// earlier is an entry that the ledger has from an earlier import.
type earlier struct {
	text         digest
	book, number int32
	isTaken      bool // an entry of the book is the same
}

func (m *mapping) newPast() *past {
	p := &past{
		mapping: m, groups: make(map[key][]int32), tagged: make(map[string]int32), posted: make(map[key][]*earlier),
		highest: make(map[key]int32), numbers: make(map[string]int32), within: make(map[int32]int),
		shared: make(map[int32]int), first: "9", known: make(map[string]bool),
	}
	p.bookNumber(m.bookName())
	for i, e := range m.out.entries {
		day := string(e.key.day[:])
		p.first, p.last = min(p.first, day), max(p.last, day)
		if e.isTagged {
			p.tagged[e.id] = int32(i)
		} else {
			p.groups[e.key] = append(p.groups[e.key], int32(i))
		}
	}
	return p
}

// bookNumber returns the number of a file. That of the book is 0.
func (p *past) bookNumber(name string) int32 {
	n, ok := p.numbers[name]
	if !ok {
		n = int32(len(p.books))
		p.books, p.numbers[name] = append(p.books, name), n
	}
	return n
}

// isOurs reports whether a file is of this book: it has its name or none, or sharesHalf.
func (p *past) isOurs(book int32) bool {
	return book == 0 || p.books[book] == "" || sharesHalf(p.shared[book], p.within[book])
}

// sharesHalf reports whether a file with another name is of this book: of its entries in the days of the book, at least
// half are in the book. So a file can be renamed or split, and two books can have an entry in common.
func sharesHalf(shared, within int) bool { return shared > 0 && 2*shared >= within }

// read reads the ledger's list.
func (p *past) read(ctx context.Context) error {
	for t, err := range p.Ledger.Posted(ctx, time.Time{}, time.Time{}) {
		if err != nil {
			return err
		}
		p.add(t)
	}
	return p.dropReversed(ctx)
}

func (p *past) add(t client.Transaction) {
	if t.Reverses != "" {
		p.known[t.Reverses] = true
	}
	i, isTagged := p.tagged[t.ID]
	if isTagged {
		e := &p.out.entries[i]
		e.found = found(t, e.key, e.text)
	}
	k, number, ok := keyOfID(t)
	if !ok {
		return
	}
	p.hasAny = true
	day := string(k.day[:])
	e := &earlier{text: textOf(t.Description, t.Metadata), number: number, book: p.bookNumber(t.Metadata[TagBook])}
	isWithin := p.first <= day && day <= p.last
	if isWithin {
		p.within[e.book]++
	}
	group, isInBook := p.groups[k]
	if isInBook {
		p.highest[k] = max(p.highest[k], number)
	}
	if !isTagged && e.book == 0 && day < p.Opening {
		p.opened = append(p.opened, t.ID)
	}
	if isTagged || !isInBook {
		return
	}
	p.posted[k] = append(p.posted[k], e)
	for _, i := range group {
		if p.out.entries[i].text == e.text {
			p.shared[e.book]++
			return
		}
	}
}

// keyOfID returns the key of an entry that an earlier import posted, and its number. ok is false if the transaction has
// not the id that an import gives it.
func keyOfID(t client.Transaction) (k key, number int32, ok bool) {
	day := dayOf(t)
	rest, ok := strings.CutPrefix(t.ID, day+".")
	if !ok || t.Status != client.StatusPosted {
		return k, 0, false
	}
	k = keyOf(day, client.Legs(t.Postings))
	n := 1
	if _, last, isNumbered := strings.Cut(rest, "."); isNumbered {
		n, _ = strconv.Atoi(last)
	}
	return k, int32(n), n > 0 && k.numbered(n) == t.ID
}

// dropReversed removes the entries that were reversed completely.
func (p *past) dropReversed(ctx context.Context) error {
	isDropped := func(id string) (bool, error) {
		if !p.known[id] {
			return false, nil
		}
		r, err := p.Ledger.Transaction(ctx, id)
		return err == nil && isReversed(r.Value), err
	}
	for k, all := range p.posted {
		var kept []*earlier
		for _, e := range all {
			isDropped, err := isDropped(k.numbered(int(e.number)))
			if err != nil {
				return err
			}
			if !isDropped {
				kept = append(kept, e)
			}
		}
		p.posted[k] = kept
	}
	var opened []string
	for _, id := range p.opened {
		isDropped, err := isDropped(id)
		if err != nil {
			return err
		}
		if !isDropped {
			opened = append(opened, id)
		}
	}
	p.opened = opened
	return nil
}

// checkUnopened reports entries before the day of the opening entries that an earlier import posted one by one.
func (m *mapping) checkUnopened(p *past) {
	if n := len(p.opened); n > 0 {
		m.wrong(Position{File: m.File}, "the ledger has %s of this book before %s (such as transaction %q): with "+
			"opening entries, they would count twice. Import the book without --opening, or reverse them first",
			entriesOf(n), m.Opening, p.opened[0])
	}
}

func entriesOf(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// timesOf returns the beginning and the end of a day.
func timesOf(day string) (from, to time.Time) {
	from, _ = time.Parse(time.DateOnly, day) // a date
	if from.Before(events.Epoch()) {
		return time.Time{}, from.AddDate(0, 0, 1)
	}
	return from, from.AddDate(0, 0, 1)
}
