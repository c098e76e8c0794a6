package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// put puts an item past the ledger.
func (f *fixture) put(t *testing.T, k table.Key, kind string, more ddb.Item) {
	t.Helper()
	item := ddb.Key(k)
	item[table.AttrType] = ddb.String(kind)
	for name, value := range more {
		item[name] = value
	}
	if _, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String("books"), Item: item,
	}); err != nil {
		t.Fatal(err)
	}
}

// list lists every transaction of the table, by time and by the metadata key order.
func (f *fixture) list(t *testing.T) {
	t.Helper()
	for key, item := range f.items(t) {
		if _, ok := table.ParseTransaction(key); !ok {
			continue
		}
		header, err := ddb.Only[events.TransactionPosted](ddb.DecodeEvent(item))
		if err != nil {
			t.Fatal(err)
		}
		more := ddb.Item{}
		if header.IsHold() {
			more[table.AttrHeld] = ddb.Flag(true)
		}
		listed := table.ListedKey(string(header.Legs[0].ID), header.ID)
		f.put(t, listed, table.KindListed, more)
		if value, ok := header.Metadata["order"]; ok {
			f.put(t, table.Key{PK: table.MetadataPK("order", value), SK: listed.SK}, table.KindListed, more)
		}
	}
}

// journalPage puts a page of the journal, minted at the given time, with entries of event and transaction.
func (f *fixture) journalPage(t *testing.T, at time.Time, entries ...[2]string) {
	t.Helper()
	list := &types.AttributeValueMemberL{}
	for _, e := range entries {
		list.Value = append(list.Value, ddb.Map(ddb.Item{
			table.AttrEvent: ddb.String(e[0]), table.AttrTransaction: ddb.String(e[1]),
			table.AttrAt: ddb.String(events.FormatTime(at)),
		}))
	}
	f.put(t, table.JournalKey(string(events.FirstKSUID(at))), table.KindJournal, ddb.Item{table.AttrEntries: list})
}

// postAt posts a transfer with metadata at a time, which is minted then.
func (f *fixture) postAt(t *testing.T, at time.Time, id, more string) {
	t.Helper()
	f.now = at
	f.must(t, 201, "POST", "/v1/transfers",
		fmt.Sprintf(`{"id":%q,"from":"jane","to":"shop","asset":"USD","quantity":"1"%s}`, id, more))
}

// ids reads all pages of a list, and returns the ids and how many pages there were.
func (f *fixture) ids(t *testing.T, path string) (ids string, pages int) {
	t.Helper()
	for cursor := ""; ; {
		got := answer[page[transaction]](t, f.must(t, 200, "GET", path+cursor, ""))
		pages++
		for _, one := range got.Data {
			ids += one.ID + " "
		}
		if got.Next == nil {
			return strings.TrimSpace(ids), pages
		}
		cursor = "&cursor=" + url.QueryEscape(*got.Next)
	}
}

// Transactions are found by time, in both orders, and by metadata, in pages of any size, over all partitions.
func TestTransactionsByTimeAndMetadata(t *testing.T) {
	f := newFixture(t)
	day := instant.AddDate(0, 0, 1)
	for i := range 9 {
		f.postAt(t, day.Add(time.Duration(i)*time.Hour), fmt.Sprintf("o-%d", i),
			fmt.Sprintf(`,"metadata":{"order":"%d","other":"1"}`, i%3))
	}
	f.must(t, 201, "POST", "/v1/transfers", placed)
	f.must(t, 200, "POST", "/v1/transactions/h-1/capture", `{"quantity":"4200"}`)
	f.list(t)
	for _, c := range []struct{ query, want string }{
		{"?", "h-1 o-8 o-7 o-6 o-5 o-4 o-3 o-2 o-1 o-0 t-1 d-1"},
		{"?order=asc", "d-1 t-1 o-0 o-1 o-2 o-3 o-4 o-5 o-6 o-7 o-8 h-1"},
		{"?order=desc&to=" + events.FormatTime(day), "t-1 d-1"},
		{"?from=" + events.FormatTime(day.Add(3*time.Hour)) + "&to=" + events.FormatTime(day.Add(6*time.Hour)), "o-5 o-4 o-3"},
		{"?order=asc&from=" + events.FormatTime(day.Add(3*time.Hour)) + "&to=" + events.FormatTime(day.Add(6*time.Hour)), "o-3 o-4 o-5"},
		{"?from=" + events.FormatTime(day) + "&to=" + events.FormatTime(day), ""},
		{"?metadata.order=1", "o-7 o-4 o-1"},
		{"?metadata.order=1&order=asc", "o-1 o-4 o-7"},
		{"?metadata.order=1&from=" + events.FormatTime(day.Add(2*time.Hour)) + "&to=2999-01-01T00:00:00Z", "o-7 o-4"},
		{"?metadata.order=%F0%9F%8D%8E", ""},
		{"?metadata.customer=1", ""},
	} {
		for _, limit := range []int{1, 2, 5, 100} {
			got, pages := f.ids(t, fmt.Sprintf("/v1/transactions%s&limit=%d", c.query, limit))
			if n := len(strings.Fields(got)); got != c.want || pages > n/limit+1 {
				t.Errorf("%s by %d: %q in %d pages, want %q", c.query, limit, got, pages, c.want)
			}
		}
	}
	first := answer[page[transaction]](t, f.must(t, 200, "GET", "/v1/transactions?limit=1", "")).Data[0]
	shown := answer[transaction](t, f.must(t, 200, "GET", "/v1/transactions/h-1", ""))
	if fmt.Sprint(first) != fmt.Sprint(shown) || first.Status != ledger.StatusCaptured {
		t.Errorf("listed as %v, shown as %v", first, shown)
	}
}

// Entries that are void, or that do not agree with a header, are skipped.
func TestWrongEntriesAreSkipped(t *testing.T) {
	f := newFixture(t)
	f.postAt(t, instant.Add(time.Hour), "o-1", `,"metadata":{"order":"1"}`)
	f.list(t)
	leg := string(f.legs[0].ID)
	f.put(t, table.ListedKey(leg, "absent"), table.KindListed, nil)
	f.put(t, table.ListedKey(leg, "t-1"), table.KindListed, nil) // of another time
	f.put(t, table.ListedKey(string(f.legs[2].ID), "t-1"), table.KindListed, ddb.Item{table.AttrHeld: ddb.Flag(true)})
	shard := (table.ListShard("d-1") + 1) % table.ListShards
	f.put(t, table.Key{PK: table.TransactionsPK(shard), SK: table.ListedSK(leg, "d-1")}, "Anything",
		ddb.Item{table.AttrVoid: ddb.Flag(true)})
	f.put(t, table.Key{PK: table.MetadataPK("order", "1"), SK: table.ListedSK(leg, "d-1")}, table.KindListed, nil)
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

// follow reads the journal to its end for now, page by page.
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

// The journal shows what happened as it was then, and no page before it is old enough. Each entry's cursor goes on
// right behind it.
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
		14 * time.Second: "", 15 * time.Second: "", // by the store's clock, which is cut to seconds
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

// What is refused of finding and of the journal, with the fields at fault.
func TestBadSearches(t *testing.T) {
	f := newFixture(t)
	f.list(t)
	cursor := *answer[page[transaction]](t, f.must(t, 200, "GET", "/v1/transactions?limit=1", "")).Next
	after := answer[journalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).Next
	other := f.config
	other.Ledger = "other"
	elsewhere := &fixture{Handler: New(other), config: other, client: f.client, log: f.log}
	for _, c := range []struct{ path, fields, rule string }{
		{"transactions?metadata.colour=red", "metadata.colour", "is not indexed; what is: order, customer"},
		{"transactions?metadata.=red", "metadata.", "is not indexed"},
		{"transactions?metadata.order=1&metadata.customer=2", "metadata.order", "one too many"},
		{"transactions?metadata.order=1&metadata.order=2", "metadata.order", "once"},
		{"transactions?metadata.order=", "metadata.order", "1 to 256"},
		{"transactions?metadata.order=" + strings.Repeat("x", 257), "metadata.order", "1 to 256"},
		{"transactions?metadata.order=%FF", "metadata.order", "1 to 256"},
		{"transactions?order=up", "order", "asc or desc"},
		{"transactions?order=", "order", "asc or desc"},
		{"transactions?from=2026-01-01", "from", "RFC 3339"},
		{"transactions?from=2026-01-01T00:00:00", "from", "RFC 3339"},
		{"transactions?from=2014-05-13T16:53:19Z", "from", "2014"},
		{"transactions?to=2014-05-13T16:53:19Z", "to", "2014"},
		{"transactions?from=2026-11-21T09:06:45Z", "from", "future"},
		{"journal?from=2026-11-21T09:06:45Z", "from", "future"},
		{"journal?from=9999-12-31T23:59:59Z", "from", "future"},
		{"journal?from=x", "from", "RFC 3339"},
		{"journal?from=2014-05-13T16:53:19Z", "from", "2014"},
		{"transactions?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "from", "after to"},
		{"transactions?prefix=o", "prefix", "not a parameter"},
		{"transactions?consistency=strong", "consistency", "not a parameter"},
		{"transactions?from=x&order=x&limit=0&metadata.x=1", "from order metadata.x limit", ""},
		{"journal?cursor=" + after, "cursor", "not a parameter"},
		{"journal?after=" + after + "&from=2026-01-01T00:00:00Z", "from", "after"},
		{"journal?from=yesterday", "from", "RFC 3339"},
		{"journal?metadata.order=1", "metadata.order", "not a parameter"},
	} {
		w := f.do(t, "GET", "/v1/"+c.path, "")
		if got := refused(t, w, 400, ledger.CodeInvalidRequest); got != c.fields || !strings.Contains(w.Body.String(), c.rule) {
			t.Errorf("%s: %s, want %s and %q", c.path, w.Body, c.fields, c.rule)
		}
	}
	for _, path := range []string{
		"transactions?order=asc&cursor=" + cursor, "transactions?metadata.order=1&cursor=" + cursor,
		"transactions?to=2026-11-21T09:06:39.123456Z&cursor=" + cursor, "transactions?cursor=" + after,
		"transactions?cursor=x", "transactions?cursor=",
	} {
		refused(t, f.do(t, "GET", "/v1/"+path, ""), 400, codeInvalidCursor)
	}
	for _, path := range []string{"journal?after=" + cursor, "journal?after=x", "journal?after="} {
		if got := refused(t, f.do(t, "GET", "/v1/"+path, ""), 400, codeInvalidCursor); got != "after" {
			t.Errorf("%s names %s", path, got)
		}
	}
	for _, path := range []string{"transactions?order=desc&cursor=" + cursor, "journal?after=" + after} {
		f.must(t, 200, "GET", "/v1/"+path, "")
		refused(t, elsewhere.do(t, "GET", "/v1/"+path, ""), 400, codeInvalidCursor)
	}
	for _, text := range []string{"x", "#1", leg1 + "#0", leg1 + "#01", leg1 + "#-1", leg1 + "#", leg1 + "#1#2"} {
		if isJournalPosition(text) {
			t.Errorf("%q is a position in the journal", text)
		}
	}
	none := f.config
	none.IndexedMetadata = nil
	f.Handler = New(none)
	if w := f.do(t, "GET", "/v1/transactions?metadata.order=1", ""); !strings.Contains(w.Body.String(), "indexes no metadata") {
		t.Error(w.Body)
	}
}

const leg1 = "3MPV4ayv13ashRkJEbgEzgLbawj"
