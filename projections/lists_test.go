package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// Holders makes one query of the index and one batch read of the balances. It requests unprocessed keys again. It
// leaves out a balance that the index has but the eventually consistent read does not; Next still counts it.
func TestHolders(t *testing.T) {
	balance := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account +
			`"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"V":{"N":"1"},"Version":{"N":"1"}}`
	}
	key := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account + `"},"SK":{"S":"BALANCE#USD"}}`
	}
	batches := 0
	fake, client := tabletest.New(t, func(r tabletest.Request) tabletest.Reply {
		if r.Operation == "Query" {
			return tabletest.OK(`{"Items":[` + strings.Join([]string{key("a"), key("b"), key("c"), key("d")}, ",") +
				`]}`)
		}
		if batches++; batches == 1 {
			return tabletest.OK(`{"Responses":{"books":[` + balance("c") + `]},"UnprocessedKeys":{"books":{"Keys":[` +
				key("a") + `]}}}`)
		}
		return tabletest.OK(`{"Responses":{"books":[` + balance("a") + `]}}`)
	})
	page, err := projections.NewLists(table.NewTable(client, "books")).Holders(t.Context(), "USD", projections.Slice{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	var accounts []string
	for _, b := range page.Items {
		accounts = append(accounts, b.Account)
	}
	if strings.Join(accounts, " ") != "a c" || page.Next != "c" {
		t.Errorf("holders %v, next %q", accounts, page.Next)
	}
	r := fake.Requests()
	if len(r) != 3 || r[0].Body["IndexName"] != table.IndexInverse || r[0].Body["Limit"] != 4.0 {
		t.Errorf("sent %v", r)
	}
}

// Lists show an item whose version is not usable. Views, which may write it, report it as malformed.
func TestListsShowItemsWithMalformedVersions(t *testing.T) {
	head := `"Head":{"M":{"Through":{"S":"3MQ930VcDUzkmMa0YDc4uP3ev4t"},"Credits":{"N":"7"},"Debits":{"N":"0"},` +
		`"Expenditure":{"N":"0"},"Count":{"N":"1"}}}`
	for version, readable := range map[string]bool{
		``: false, `"Version":{"S":"x"},`: false, `"Version":{"N":"9223372036854775807"},`: false,
		`"Version":{"N":"1000000000000001"},`:                 false,
		`"Version":{"N":"1` + strings.Repeat("0", 37) + `"},`: false, `"Version":{"N":"-1"},`: false,
		`"Version":{"N":"1000000000000000"},`: true,
	} {
		item := `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"V":{"N":"1"},` + version + head + `}`
		_, client := tabletest.New(t, tabletest.Always(tabletest.OK(`{"Item":`+item+
			`,"Responses":{"books":[`+item+`]}}`)))
		b, err := projections.NewLists(table.NewTable(client, "books")).Balance(t.Context(), jane)
		if err != nil || b.Head.Credits != events.NewAmount(7) {
			t.Errorf("%s is shown as %+v, %v", version, b, err)
		}
		_, _, err = projections.NewViews(table.NewTable(client, "books")).Balance(t.Context(), jane)
		if readable && err != nil || !readable && !errors.Is(err, table.ErrMalformedItem) {
			t.Errorf("%s is read: %v", version, err)
		}
	}
}

// Whatever the limit, the positions of answers and of entries lead through all entries of all pages, each once and in
// order: an answer that ends within a page of the journal is continued within that page.
func TestJournalCursorContinuesWithinAPage(t *testing.T) {
	b := newBook(t)
	var wanted []string
	for page, size := range []int{3, 1, 0, 5, 2} { // the third is void
		p := projections.JournalPage{ID: ksuid(10 * (page + 1)), Void: size == 0}
		for i := range size {
			id := fmt.Sprintf("t-%d-%d", page, i)
			h := events.TransactionPosted{
				ID: id, Kind: events.KindTransfer, Annotation: events.Annotation{Metadata: map[string]string{}},
				Fingerprint: "2:x", Actor: "test",
				Legs: viewstest.Held(id, 1+page*5+i).Legs,
			}
			b.Must(b.Put(t.Context(), h))
			p.Entries = append(p.Entries, projections.EntryOf(h))
			wanted = append(wanted, id)
		}
		_, err := b.Table.Write(t.Context(), table.Write{Item: projections.JournalForm.Item(p)})
		b.Must(err)
	}
	reader := projections.NewJournalReader(b.Table, b.Clock)
	// follow reads the rest of the journal, and returns the ids and the position of each.
	follow := func(after string, limit int) (ids, positions []string) {
		for range len(wanted) + 1 {
			page, err := reader.After(t.Context(), projections.Slice{After: after, Limit: limit}, "")
			b.Must(err)
			for _, e := range page.Items {
				ids, positions = append(ids, table.FirstID(e.Event.SK)), append(positions, e.Position)
			}
			after = page.Next
		}
		return ids, positions
	}
	b.Time = b.Time.Add(time.Minute)
	for limit := range len(wanted) + 2 {
		ids, positions := follow("", limit+1)
		viewstest.Same(t, fmt.Sprintf("in steps of %d", limit+1), ids, wanted)
		for i, position := range positions {
			rest, _ := follow(position, limit+1)
			viewstest.Same(t, "after "+ids[i], fmt.Sprint(rest), fmt.Sprint(wanted[i+1:]))
		}
	}
}

// A position names its page, which must exist: one of another journal is refused, in the request that continues. Whether
// the page was made void or altered since does not matter to who has read it.
func TestPositionNamesItsPage(t *testing.T) {
	b := newBook(t)
	asked := 0
	reader := projections.NewJournalReader(counted{b.Table, &asked}, b.Clock)
	after := func(position string) (ids []string, next string, err error) {
		asked = 0
		page, err := reader.After(t.Context(), projections.Slice{After: position, Limit: 100}, "")
		for _, e := range page.Items {
			ids = append(ids, table.FirstID(e.Event.SK))
		}
		return ids, page.Next, err
	}
	_, empty, err := after("")
	b.Must(err)
	_, early, err := after(projections.JournalFrom(b.Time.Add(-time.Hour)).String())
	b.Must(err)
	pages := make([]projections.JournalPage, 3)
	for i := range pages {
		h := viewstest.Held(fmt.Sprint("h-", i), i)
		other := viewstest.Held(fmt.Sprint("i-", i), i)
		b.Must(b.Put(t.Context(), h, other))
		pages[i] = projections.JournalPage{ID: ksuid(10 * (i + 1)),
			Entries: []projections.JournalEntry{projections.EntryOf(h), projections.EntryOf(other)}}
	}
	write := func(item table.Item) {
		t.Helper()
		_, err := b.Table.Write(t.Context(), table.Write{Item: item})
		b.Must(err)
	}
	write(projections.JournalForm.Item(pages[1]))
	write(projections.JournalForm.Item(pages[2]))
	b.Time = b.Time.Add(time.Minute)
	_, _, err = after("") // reads the log of lanes, once a minute
	b.Must(err)
	for position, want := range map[string]string{ // ids, and queries: two pages may have others behind them
		empty: "[h-1 i-1 h-2 i-2] 2", early: "[h-1 i-1 h-2 i-2] 2", string(pages[1].ID): "[h-2 i-2] 1",
		string(pages[2].ID): "[] 1", string(pages[1].ID) + "#1": "[i-1 h-2 i-2] 2", string(pages[2].ID) + "#1": "[i-2] 1",
	} {
		got, _, err := after(position)
		if is := fmt.Sprint(got, asked); err != nil || is != want {
			t.Errorf("after %s: %s, want %s, %v", position, is, want, err)
		}
	}
	foreign := string(pages[0].ID)
	for _, position := range []string{foreign, foreign + "#1", string(ksuid(100)), string(ksuid(100)) + "#1"} {
		if got, next, err := after(position); !errors.Is(err, projections.ErrNotInJournal) || len(got) > 0 || next != position {
			t.Errorf("after %s of another journal: %q, %q, %v", position, got, next, err)
		}
	}
	pages[1].Void = true
	write(projections.JournalForm.Item(pages[1]))
	for _, position := range []string{string(pages[1].ID), string(pages[1].ID) + "#1"} {
		if got, _, err := after(position); err != nil || fmt.Sprint(got) != "[h-2 i-2]" {
			t.Errorf("after %s, which is void: %q, %v", position, got, err)
		}
	}
	altered := projections.JournalForm.Item(pages[1])
	altered[table.AttrChecksum] = table.String("x")
	write(altered)
	if got, _, err := after(string(pages[1].ID)); err != nil || fmt.Sprint(got) != "[h-2 i-2]" {
		t.Errorf("after a page that was altered since: %q, %v", got, err)
	}
	if _, _, err := after(string(pages[1].ID) + "#1"); !errors.Is(err, table.ErrMalformedItem) {
		t.Errorf("within a page that was altered: %v", err)
	}
}

// counted counts the queries of a table.
type counted struct {
	table.Table
	queries *int
}

func (c counted) Query(ctx context.Context, q table.Query) (table.Page, error) {
	*c.queries++
	return c.Table.Query(ctx, q)
}
