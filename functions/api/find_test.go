package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// put writes an item without the ledger.
func (f *fixture) put(t *testing.T, k store.Key, kind string, more store.Item) {
	t.Helper()
	item := store.KeyItem(k)
	item[store.AttrType], item[store.AttrForm] = store.String(kind), store.Integer(events.Form)
	for name, value := range more {
		item[name] = value
	}
	if _, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("books"), Item: item,
	}); err != nil {
		t.Fatal(err)
	}
}

// list runs the lister for every transaction of the table. The indexed metadata key is order.
func (f *fixture) list(t *testing.T) {
	t.Helper()
	for key, item := range f.items(t) {
		if _, ok := store.Transaction.Parse(key); !ok {
			continue
		}
		header, err := store.Only[events.TransactionPosted](store.DecodeEvent(item))
		if err != nil {
			t.Fatal(err)
		}
		more := store.Item{}
		if header.IsHold() {
			more[store.AttrHeld] = store.Flag(true)
		}
		listed := store.Listed.Key(string(header.Legs[0].ID), header.ID)
		f.put(t, listed, store.Listed.Type, more)
		if value, ok := header.Metadata["order"]; ok {
			f.put(t, store.Key{PK: store.ListedMetadata.PK("order", value), SK: listed.SK}, store.Listed.Type, more)
		}
	}
}

// journalPage writes a page of the journal for a given time, with entries of event and transaction.
func (f *fixture) journalPage(t *testing.T, at time.Time, entries ...[2]string) {
	t.Helper()
	list, page := &types.AttributeValueMemberL{}, projections.JournalPage{ID: events.FirstKSUID(at)}
	for _, e := range entries {
		page.Entries = append(page.Entries, projections.JournalEntry{Event: e[0], At: at, Transaction: e[1]})
		list.Value = append(list.Value, store.Map(store.Item{
			store.AttrEvent: store.String(e[0]), store.AttrTransaction: store.String(e[1]),
			store.AttrAt: store.String(events.FormatTime(at)),
		}))
	}
	f.put(t, store.Journal.Key(string(page.ID)), store.Journal.Type,
		store.Item{store.AttrEntries: list, store.AttrChecksum: store.String(page.Checksum())})
}

// postAt posts a transfer with metadata. Its KSUIDs have the given time.
func (f *fixture) postAt(t *testing.T, at time.Time, id, more string) {
	t.Helper()
	f.now = at
	f.must(t, 201, "POST", "/v1/transfers",
		fmt.Sprintf(`{"id":%q,"from":"jane","to":"shop","asset":"USD","quantity":"1"%s}`, id, more))
}

// ids reads all pages of a list, and returns the ids and the number of pages.
func (f *fixture) ids(t *testing.T, path string) (ids string, pages int) {
	t.Helper()
	for cursor := ""; ; {
		got := answer[client.List[transaction]](t, f.must(t, 200, "GET", path+cursor, ""))
		pages++
		for _, one := range got.Data {
			ids += one.ID + " "
		}
		if got.NextCursor == nil {
			return strings.TrimSpace(ids), pages
		}
		cursor = "&cursor=" + url.QueryEscape(*got.NextCursor)
	}
}

// Index entries that are empty, or that do not match a header, are skipped.
func TestInvalidIndexEntriesAreSkipped(t *testing.T) {
	f := newFixture(t)
	f.postAt(t, instant.Add(time.Hour), "o-1", `,"metadata":{"order":"1"}`)
	f.list(t)
	leg := string(f.legs[0].ID)
	f.put(t, store.Listed.Key(leg, "absent"), store.Listed.Type, nil)
	f.put(t, store.Listed.Key(leg, "t-1"), store.Listed.Type, nil) // of another time
	f.put(t, store.Listed.Key(string(f.legs[2].ID), "t-1"), store.Listed.Type, store.Item{store.AttrHeld: store.Flag(true)})
	shard := (store.Shard("d-1") + 1) % store.Shards
	f.put(t, store.Key{PK: store.TransactionsPK(shard), SK: store.Listed.SK(leg, "d-1")}, "Anything",
		store.Item{store.AttrVoid: store.Flag(true)})
	f.put(t, store.ListedMetadata.Key("order", "1", leg, "d-1"), store.Listed.Type, nil)
	for _, limit := range []int{1, 2, 20} {
		for query, want := range map[string]string{"?": "o-1 d-1", "?metadata.order=1": "o-1"} {
			if got, _ := f.ids(t, fmt.Sprintf("/v1/transactions%s&limit=%d", query, limit)); got != want {
				t.Errorf("%s by %d: %q, want %q", query, limit, got, want)
			}
		}
	}
	f.journalPage(t, instant, [2]string{"posted", "d-1"}, [2]string{"held", "d-1"}, [2]string{"captured", "d-1"},
		[2]string{"posted", "absent"}, [2]string{"posted", "o-1"})
	if got := f.follow(t, "?limit=2"); got != "posted d-1, posted o-1" {
		t.Errorf("journal: %s", got)
	}
}

// A search until a time in the future finds everything until now. Its cursor continues.
func TestSearchUntilTheFuture(t *testing.T) {
	f := newFixture(t)
	f.list(t)
	all, _ := f.ids(t, "/v1/transactions?limit=100")
	for _, order := range []string{"", "&order=asc", "&from=2020-01-01T00:00:00Z"} {
		path := "/v1/transactions?limit=1&to=2100-01-01T00:00:00Z" + order
		var found []string
		for cursor := ""; ; {
			got := answer[client.List[transaction]](t, f.must(t, 200, "GET", path+cursor, ""))
			for _, one := range got.Data {
				found = append(found, one.ID)
			}
			if got.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(*got.NextCursor)
		}
		if order == "&order=asc" {
			slices.Reverse(found)
		}
		if got := strings.Join(found, " "); got != all || got == "" {
			t.Errorf("%s: %q, want %q", path, got, all)
		}
	}
}

// follow reads the journal to its current end, page by page.
func (f *fixture) follow(t *testing.T, query string) string {
	t.Helper()
	var all []string
	for path := "/v1/journal" + query; ; {
		before := path
		got := answer[journalPage](t, f.must(t, 200, "GET", path, ""))
		for _, e := range got.Data {
			all = append(all, e.Event+" "+e.Transaction.ID)
		}
		if path = "/v1/journal?limit=2&after=" + url.QueryEscape(got.Next); path == before {
			return strings.Join(all, ", ")
		}
	}
}

// The journal shows each transaction as of its event. It hides pages that are too new. The cursor of an entry continues
// right after this entry.
func TestJournal(t *testing.T) {
	f := newFixture(t)
	at := instant.Add(time.Hour)
	f.postAt(t, at, "o-1", "")
	f.must(t, 201, "POST", "/v1/transfers", placed)
	f.must(t, 200, "POST", "/v1/transactions/h-1/capture", `{"quantity":"4200"}`)
	f.journalPage(t, at, [2]string{"posted", "o-1"}, [2]string{"held", "h-1"}, [2]string{"captured", "h-1"})
	f.journalPage(t, at.Add(time.Second), [2]string{"posted", "d-1"})
	f.journalPage(t, at.Add(2*time.Second), [2]string{"posted", "t-1"})
	const first = "posted o-1, held h-1, captured h-1"
	for after, want := range map[time.Duration]string{
		14 * time.Second: "", 15 * time.Second: "", // by the store's clock, which has whole seconds
		16 * time.Second: first, 17 * time.Second: first + ", posted d-1", time.Hour: first + ", posted d-1, posted t-1",
	} {
		f.now = at.Add(after)
		if got := f.follow(t, "?limit=2"); got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
	f.now = at.Add(time.Hour)
	if got := f.follow(t, "?from="+events.FormatTime(at.Add(time.Second))); got != "posted d-1, posted t-1" {
		t.Errorf("from the second page: %s", got)
	}
	all := answer[journalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).Data
	if all[1].Transaction.Status != ledger.StatusHeld || all[1].Transaction.EndedAt != "" ||
		all[2].Transaction.Status != ledger.StatusCaptured || all[2].At != all[2].Transaction.EndedAt {
		t.Errorf("the hold is shown as %+v, its end as %+v", all[1], all[2])
	}
	for i, e := range all {
		rest := answer[journalPage](t, f.must(t, 200, "GET", "/v1/journal?after="+e.Cursor, "")).Data
		if fmt.Sprint(rest) != fmt.Sprint(all[i+1:]) {
			t.Errorf("after %s %s: %v", e.Event, e.Transaction.ID, rest)
		}
	}
}

// The API refuses a cursor of another ledger, an impossible position in the journal, and metadata that is not indexed.
// The acceptance suite has other refusals.
func TestInvalidSearches(t *testing.T) {
	f := newFixture(t)
	f.list(t)
	cursor := *answer[client.List[transaction]](t, f.must(t, 200, "GET", "/v1/transactions?limit=1", "")).NextCursor
	after := answer[journalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).Next
	other := f.config
	other.Ledger, other.IndexedMetadata = "other", nil
	elsewhere := &fixture{Handler: New(other), config: other, client: f.client, log: f.log}
	for _, path := range []string{"/v1/transactions?cursor=" + cursor, "/v1/journal?after=" + after} {
		f.must(t, 200, "GET", path, "")
		refused(t, elsewhere.do(t, "GET", path, ""), 400, codeInvalidCursor)
	}
	for _, text := range []string{"x", "#1", leg1 + "#0", leg1 + "#01", leg1 + "#-1", leg1 + "#", leg1 + "#1#2"} {
		if isJournalPosition(text) {
			t.Errorf("%q is a position in the journal", text)
		}
	}
	for path, rule := range map[string]string{
		"metadata.order=1&metadata.customer=2": "the only metadata parameter", "metadata.colour=red": "the indexed keys are order, customer",
		"metadata.order=%FF": "1 to 256",
	} {
		if w := f.do(t, "GET", "/v1/transactions?"+path, ""); !strings.Contains(w.Body.String(), rule) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	w := elsewhere.do(t, "GET", "/v1/transactions?metadata.order=1", "")
	if !strings.Contains(w.Body.String(), "indexes no metadata") {
		t.Error(w.Body)
	}
}

const leg1 = "3MPV4ayv13ashRkJEbgEzgLbawj"
