package books

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/tests/harness/full"
)

// lagging is a ledger whose list lacks what was posted last, until it is read a second time.
type lagging struct {
	stored
	lag   int
	whole int // how often the whole list was read
}

func (l *lagging) Posted(ctx context.Context, from, to time.Time) iter.Seq2[client.Transaction, error] {
	if from.IsZero() {
		l.whole++
	}
	listed := l.stored
	listed.transactions = listed.transactions[:max(len(listed.transactions)-l.lag, 0)]
	l.lag = 0
	return listed.Posted(ctx, from, to)
}

func (l *lagging) open(names ...string) {
	l.assets = map[string]client.Asset{"EUR": {ID: "EUR", Scale: 2}}
	l.accounts = make(map[string]client.Account)
	for _, name := range names {
		l.accounts[name] = client.Account{ID: name, State: client.StateOpen, Overdraft: client.Overdraft{Unlimited: true}}
	}
}

// send posts the lines of transactions as the ledger and an import do.
func (l *lagging) send(t *testing.T, lines *Lines) (posted, known int) {
	t.Helper()
	for text := range bytes.Lines(textOfLines(t, lines)) {
		var line struct{ Transaction client.TransactionRequest }
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		r := line.Transaction
		if r.ID == "" { // it defines an asset or an account
			continue
		}
		if _, err := l.Transaction(t.Context(), r.ID); err == nil {
			found, err := Compare(t.Context(), l, r)
			if err != nil || found == Another {
				t.Errorf("%q fails: %v", r.ID, err)
			}
			known++
			continue
		}
		l.post(r)
		posted++
	}
	return posted, known
}

func (l *lagging) post(r client.TransactionRequest) {
	made := client.Transaction{ID: r.ID, PostedAt: events.FormatTime(r.EffectiveAt), Status: client.StatusPosted,
		ShownAnnotation: client.ShownAnnotation{Description: r.Description, Metadata: r.Metadata}}
	for _, leg := range r.Postings {
		made.Postings = append(made.Postings, client.Posting{PostedLegOf: client.PostedLeg{
			Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}})
	}
	l.transactions = append(l.transactions, made)
}

// reverse reverses a transaction completely.
func (l *lagging) reverse(id string) {
	for i, t := range l.transactions {
		if t.ID == id {
			l.transactions[i].Reversed = client.Legs(t.Postings)
		}
	}
	l.transactions = append(l.transactions, client.Transaction{ID: "r-" + id, Reverses: id, PostedAt: "2026-01-01T00:00:00.000000Z"})
}

// money describes the entries that are not reversed: each with its day and amounts.
func (l *lagging) money(without []Gone) (all []string) {
	for _, t := range l.transactions {
		isGone := slices.ContainsFunc(without, func(g Gone) bool { return g.ID == t.ID })
		if t.Reverses == "" && !isReversed(t) && !isGone {
			all = append(all, dayOf(t)+" "+t.Postings[0].Account+" "+t.Postings[0].Quantity.String())
		}
	}
	slices.Sort(all)
	return all
}

// item is an entry of a random book.
type item struct {
	day, cents int
	text       string
}

func randomEntry(r *rand.Rand) item {
	return item{1 + r.IntN(3), 1 + r.IntN(2), string("abc"[r.IntN(3)])}
}

// edit makes some changes to a book.
func edit(r *rand.Rand, all []item) []item {
	all = slices.Clone(all)
	for range r.IntN(4) {
		i := r.IntN(len(all) + 1)
		switch e := randomEntry(r); {
		case r.IntN(3) == 0 || i == len(all):
			all = slices.Insert(all, i, e)
		case r.IntN(4) == 0 && len(all) > 1:
			all = slices.Delete(all, i, i+1)
		case r.IntN(3) == 0:
			all[i].cents = e.cents
		case r.IntN(3) == 0:
			all[i].day = e.day
		case r.IntN(2) == 0:
			all[i].text = e.text
		default:
			j := r.IntN(len(all))
			all[i], all[j] = all[j], all[i]
		}
	}
	return all
}

func bookOf(t *testing.T, all []item) (b *Book, money []string) {
	b = new(Book)
	for i, e := range all {
		n, err := ParseNumber(fmt.Sprintf("0.0%d", e.cents))
		if err != nil {
			t.Fatal(err)
		}
		day := fmt.Sprintf("2024-01-%02d", e.day)
		b.add(Transaction{Position: Position{"b.journal", 1 + 4*i}, Date: day,
			Description: e.text, Postings: []Posting{{Account: "a", Quantity: Amount{n, "EUR"}}, {Account: "x", Quantity: Amount{n.negated(), "EUR"}}}})
		money = append(money, fmt.Sprintf("%s a %d", day, e.cents))
	}
	slices.Sort(money)
	return b, money
}

// A book is edited again and again, and imported after each edit. No entry ever fails, each import brings the ledger's
// money to that of the book but for the entries that it names as gone, and the same book again changes nothing.
func TestAnEditedBookIsImportedAgain(t *testing.T) {
	for seed := range full.Count(300, 5000) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 12))
			l := new(lagging)
			old := 0 // so many transactions are older than the list's lag
			var imports func(all []item) (posted int, gone []Gone)
			imports = func(all []item) (posted int, gone []Gone) {
				l.lag = r.IntN(len(l.transactions)-old+1) * r.IntN(2)
				b, want := bookOf(t, all)
				lines, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: "dir/b.journal", Now: now})
				if err != nil || len(problems) > 0 {
					t.Fatal(problems, err)
				}
				posted, known := l.send(t, lines)
				if n := posted + known + int(lines.Replayed) + len(lines.OtherText); n != len(all) {
					t.Errorf("%d of %d entries are counted", n, len(all))
				}
				if gone, err = lines.Gone(t.Context(), func(string) bool { return false }); err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(gone, func(g Gone) bool { return g.IsReversed }) {
					return imports(all) // as it says: the list lacked a reversal
				}
				if got := l.money(gone); !slices.Equal(got, want) {
					t.Errorf("the ledger has %q without what is gone, want %q", got, want)
				}
				l.open("a", "x")
				return posted, gone
			}
			all := edit(r, []item{randomEntry(r), randomEntry(r)})
			imports(all)
			for range 6 {
				all = edit(r, all)
				before := len(l.transactions)
				_, gone := imports(all)
				if old = before; r.IntN(2) == 0 {
					continue
				}
				if posted, again := imports(all); posted != 0 || len(again) != len(gone) { // of equal ones, any
					t.Errorf("the same again: %d are posted, and %v are gone, not %v", posted, again, gone)
				}
				old = len(l.transactions)
				for _, g := range gone {
					l.reverse(g.ID)
				}
				if posted, again := imports(all); posted != 0 || len(again) > 0 {
					t.Errorf("after reversing what is gone: %d are posted, and %v are gone", posted, again)
				}
				old += r.IntN(len(l.transactions) - old + 1)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// What is gone is told by the name of the file, by entries that two files share, and by a new entry that differs in its
// amounts. The entries of another book are left alone, and are posted again if this one has equal ones.
func TestGoneEntriesOfSeveralFiles(t *testing.T) {
	l, posted, says := new(lagging), 0, ""
	imports := func(file string, all ...item) (gone []string) {
		t.Helper()
		l.whole = 0
		b, _ := bookOf(t, all)
		lines, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: file, Now: now})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		posted, _ = l.send(t, lines)
		says = strings.Join(lines.Notes, "\n")
		all2, err := lines.Gone(t.Context(), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		l.open("a", "x")
		if l.whole > 2 {
			t.Errorf("the list is read %d times", l.whole)
		}
		for _, g := range all2 {
			gone = append(gone, g.Description)
		}
		return gone
	}
	first, second, late := item{1, 1, "first"}, item{2, 2, "second"}, item{9, 3, "late"}
	for _, c := range []struct {
		what, file string
		book       []item
		posted     int
		gone       string
	}{
		{"the first import", "home.journal", []item{first, second, late}, 3, ""},
		{"another book", "work.journal", []item{{2, 5, "work"}, {10, 5, "trip"}}, 2, ""},
		{"the same file in another folder", "../home.journal", []item{first, second}, 0, "late"},
		{"a copy, up to its last day", "copy.journal", []item{first, {2, 7, "new"}}, 1, "second"},
		{"only a changed amount in common", "third.journal", []item{{10, 8, "trip"}}, 1, "trip"},
		{"all of home", "home.journal", []item{first, second, late}, 0, ""},
		{"of three entries one is equal to one of home", "joe.journal", []item{{1, 9, "x"}, late, {11, 1, "y"}}, 3, ""},
		{"that book again", "joe.journal", []item{{1, 9, "x"}, late, {11, 1, "y"}}, 0, ""},
		{"home again, with another text", "home.journal", []item{first, second, {9, 3, "later"}}, 0, ""},
		{"that book without it", "joe.journal", []item{{1, 9, "x"}, {11, 1, "y"}}, 0, "late"},
		{"that book without entries", "joe.journal", nil, 0, "x late y"},
		{"home under another name", "house.journal", []item{first, second, {9, 3, "later"}}, 0, ""},
		{"of three entries one differs from one of home in its text", "jim.journal", []item{{1, 8, "u"}, {9, 3, "other"}, {11, 2, "v"}}, 3, ""},
	} {
		if got := strings.Join(imports(c.file, c.book...), " "); got != c.gone || posted != c.posted {
			t.Errorf("%s: %d are posted, and %q is gone, want %d, %q", c.what, posted, got, c.posted, c.gone)
		}
		isCopy := c.file == "copy.journal" || c.file == "house.journal"
		isBeside := strings.HasPrefix(c.what, "of three")
		if strings.Contains(says, "entries are in the ledger already, from the file home.journal") != isCopy ||
			strings.Contains(says, "an entry of the same day and amounts from the file home.journal, which is another book") != isBeside {
			t.Errorf("%s: %s", c.what, says)
		}
	}
}

// Of entries with equal amounts, those with the same text are the same, wherever they stand. Then other texts pair.
func TestEqualTextIsMatchedFirst(t *testing.T) {
	l := new(lagging)
	for _, c := range []struct{ book, fresh, other string }{
		{"a b a", "a b a", ""}, {"b a a", "", ""}, {"c a a b", "c", ""}, {"a d a b", "", "d"}, {"e", "", "e"},
	} {
		var all []item
		for text := range strings.FieldsSeq(c.book) {
			all = append(all, item{1, 1, text})
		}
		b, _ := bookOf(t, all)
		lines, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: "b.journal", Now: now})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		before := len(l.transactions)
		l.send(t, lines)
		l.open("a", "x")
		fresh, other := "", ""
		for _, made := range l.transactions[before:] {
			fresh += " " + made.Description
		}
		for _, a := range lines.OtherText {
			other += " " + all[(a.Line-1)/4].text
		}
		if strings.TrimSpace(fresh) != c.fresh || strings.TrimSpace(other) != c.other {
			t.Errorf("%s: %q is posted, and %q has another text", c.book, fresh, other)
		}
	}
}

// A tag that is added to an account is not of its entries.
func TestTagsOfAccountsAreNotOfEntries(t *testing.T) {
	text := func(tags string) string {
		b, err := parseHledger(strings.NewReader(fmt.Sprintf(`[{"tdate":"2024-01-01","tpostings":[{"paccount":"a","pcomment":"who: me, a remark\nempty:",
			"ptype":"RegularPosting","ptags":[["who","me"],["empty",""]%s],"pamount":[]},{"paccount":"x","pcomment":"type A","ptype":"RegularPosting","ptags":[["type","A"]],
			"pamount":[{"acommodity":"EUR","aquantity":{"decimalMantissa":1,"decimalPlaces":0}}]}]}]`, tags)))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(listOf(t, b.all()))
	}
	if plain, tagged := text(""), text(`,["type","A"],["who","bank"],["ty",""]`); plain != tagged || strings.Contains(plain, "{type") {
		t.Errorf("%s\n%s", plain, tagged)
	}
	own, rest := written([][2]string{{"who", "me"}, {"empty", ""}, {"colon", "yes"}, {"who", "bank"}}, "note with a colon: yes\nwho:  me , empty:")
	if fmt.Sprint(own, rest) != "[{who me} {empty } {colon yes}] [{comment note with a}]" {
		t.Error(own, rest)
	}
}
