package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// put writes an item without the ledger.
func (f *fixture) put(t *testing.T, k table.Key, kind string, more table.Item) {
	t.Helper()
	item := table.KeyItem(k)
	item[table.AttrType], item[table.AttrForm] = table.String(kind), table.Integer(events.Form)
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
		if _, ok := table.Transaction.Parse(key); !ok {
			continue
		}
		header, err := table.Only[events.TransactionPosted](table.DecodeEvent(item))
		if err != nil {
			t.Fatal(err)
		}
		more := table.Item{}
		if header.IsHold() {
			more[table.AttrHeld] = table.Flag(true)
		}
		listed := table.Listed.Key("0", string(header.Legs[0].ID), header.ID)
		f.put(t, listed, table.Listed.Type, more)
		if value, ok := header.Metadata["order"]; ok {
			f.put(t, table.Key{PK: table.ListedMetadata.PK("0", "order", value), SK: listed.SK}, table.Listed.Type, more)
		}
	}
}

// journalPage writes a page of the journal for a given time, with entries of events.
func (f *fixture) journalPage(t *testing.T, at time.Time, keys ...table.Key) {
	t.Helper()
	page := projections.JournalPage{ID: events.FirstKSUID(at)}
	for _, k := range keys {
		page.Entries = append(page.Entries, projections.JournalEntry{Event: k, At: at})
	}
	f.put(t, table.Journal.Key("0", string(page.ID)), table.Journal.Type, projections.JournalForm.Item(page))
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
	leg := f.legs[0].ID
	f.put(t, table.Listed.Key("0", leg, "absent"), table.Listed.Type, nil)
	f.put(t, table.Listed.Key("0", leg, "t-1"), table.Listed.Type, nil) // of another time
	f.put(t, table.Listed.Key("0", f.legs[2].ID, "t-1"), table.Listed.Type, table.Item{table.AttrHeld: table.Flag(true)})
	f.put(t, table.Key{PK: table.Listed.PK("0"), SK: table.Listed.SK(leg, "d-0")}, "Anything",
		table.Item{table.AttrVoid: table.Flag(true)})
	f.put(t, table.ListedMetadata.Key("0", "order", "1", leg, "d-1"), table.Listed.Type, nil)
	for _, limit := range []int{1, 2, 20} {
		for query, want := range map[string]string{"?": "o-1 d-1", "?metadata.order=1": "o-1"} {
			if got, _ := f.ids(t, fmt.Sprintf("/v1/transactions%s&limit=%d", query, limit)); got != want {
				t.Errorf("%s by %d: %q, want %q", query, limit, got, want)
			}
		}
	}
	f.journalPage(t, instant, table.Transaction.Key("d-1"), table.Outcome.Key("d-1"), table.Transaction.Key("absent"),
		table.Change.Key("jane", 7), table.Transaction.Key("o-1"))
	if got := f.follow(t, "?limit=2"); got != "transaction.posted d-1, transaction.posted o-1" {
		t.Errorf("journal: %s", got)
	}
}

// follow reads the journal to its current end, page by page.
func (f *fixture) follow(t *testing.T, query string) string {
	t.Helper()
	var all []string
	for path := "/v1/journal" + query; ; {
		before := path
		got := answer[client.JournalPage](t, f.must(t, 200, "GET", path, ""))
		for _, e := range got.Data {
			all = append(all, e.Type+" "+transactionOf(t, e).ID)
		}
		if path = "/v1/journal?limit=2&after=" + url.QueryEscape(got.NextCursor); path == before {
			return strings.Join(all, ", ")
		}
	}
}

func transactionOf(t *testing.T, e client.JournalEntry) client.Transaction {
	t.Helper()
	one, ok, err := e.Transaction()
	if !ok || err != nil {
		t.Fatalf("%+v has no transaction: %v", e, err)
	}
	return one
}

// The journal shows each transaction as of its event. It hides pages that are too new. The cursor of an entry continues
// right after this entry.
func TestJournal(t *testing.T) {
	f := newFixture(t)
	at := instant.Add(time.Hour)
	f.postAt(t, at, "o-1", "")
	f.must(t, 201, "POST", "/v1/transfers", placed)
	f.must(t, 200, "POST", "/v1/transactions/h-1/capture", `{"quantity":"4200"}`)
	f.journalPage(t, at, table.Transaction.Key("o-1"), table.Transaction.Key("h-1"), table.Outcome.Key("h-1"))
	f.journalPage(t, at.Add(time.Second), table.Transaction.Key("d-1"))
	f.journalPage(t, at.Add(2*time.Second), table.Transaction.Key("t-1"))
	const first, second, third = "transaction.posted o-1, hold.placed h-1, hold.captured h-1", "transaction.posted d-1",
		"transaction.posted t-1"
	for after, want := range map[time.Duration]string{
		14 * time.Second: "", 15 * time.Second: "", // by the store's clock, which has whole seconds
		16 * time.Second: first, 17 * time.Second: first + ", " + second,
		time.Hour: first + ", " + second + ", " + third,
	} {
		f.now = at.Add(after)
		if got := f.follow(t, "?limit=2"); got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
	f.now = at.Add(time.Hour)
	if got := f.follow(t, "?from="+events.FormatTime(at.Add(time.Second))); got != second+", "+third {
		t.Errorf("from the second page: %s", got)
	}
	if got := f.follow(t, "?limit=1&type=transaction.posted"); !strings.HasPrefix(got, "transaction.posted o-1") {
		t.Errorf("of one type: %s", got)
	}
	all := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).Data
	held, ended := transactionOf(t, all[1]), transactionOf(t, all[2])
	if held.Status != client.StatusHeld || held.EndedAt != "" || ended.Status != client.StatusCaptured ||
		all[2].At != ended.EndedAt {
		t.Errorf("the hold is shown as %+v, its end as %+v", all[1], all[2])
	}
	for i, e := range all {
		rest := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal?after="+e.Cursor, "")).Data
		if fmt.Sprint(rest) != fmt.Sprint(all[i+1:]) {
			t.Errorf("after %s: %v", e.ID, rest)
		}
	}
}

// The data of an entry is what the request that recorded the event was answered with. The canonical form of the event
// has the stored checksum.
func TestJournalShowsEachEvent(t *testing.T) {
	f := newFixture(t)
	at := instant.Add(time.Hour)
	f.now = at
	var keys []table.Key
	var want []client.JournalEntry
	for _, one := range []struct {
		kind, method, path, body string
		key                      table.Key
	}{
		{events.TypeAssetRegistered, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`, table.Asset.Key("EUR")},
		{events.TypeAccountOpened, "PUT", "/v1/accounts/joe", `{"name":"Joe","profile":{"a":1}}`, table.Account.Key("joe")},
		{events.TypeAccountChanged, "PATCH", "/v1/accounts/joe", `{"name":"Joseph"}`, table.Change.Key("joe", 2)},
		{events.TypeMemberGranted, "PUT", "/v1/accounts/joe/members/ann", `{"role":"owner"}`, table.Grant.Key("joe", "ann", 1)},
		{events.TypeMemberRevoked, "DELETE", "/v1/accounts/joe/members/ann", "", table.Grant.Key("joe", "ann", 2)},
		{events.TypeGroupRegistered, "PUT", "/v1/groups/table", `{"name":"Desk"}`, table.Group.Key("table")},
		{events.TypeGrouped, "PUT", "/v1/groups/table/accounts/joe", "", table.Grouping.Key("joe", 1)},
		{events.TypeUngrouped, "DELETE", "/v1/groups/table/accounts/joe", "", table.Grouping.Key("joe", 2)},
		{events.TypeGroupMemberGranted, "PUT", "/v1/groups/table/members/ann", `{"role":"viewer"}`,
			table.GroupGrant.Key("table", "ann", 1)},
		{events.TypeGroupMemberRevoked, "DELETE", "/v1/groups/table/members/ann", "", table.GroupGrant.Key("table", "ann", 2)},
	} {
		w := f.do(t, one.method, one.path, one.body)
		if w.Code >= 300 {
			t.Fatalf("%s %s: %s", one.method, one.path, w.Body)
		}
		keys = append(keys, one.key)
		want = append(want, client.JournalEntry{ID: one.key.ID(), Type: one.kind, Data: bytes.TrimSpace(w.Body.Bytes())})
	}
	f.journalPage(t, at, keys...)
	f.now = at.Add(time.Hour)
	all := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).Data
	for i, e := range all {
		if e.ID != want[i].ID || e.Type != want[i].Type || string(e.Data) != string(want[i].Data) {
			t.Errorf("%s %s %s,\nwant %s %s %s", e.ID, e.Type, e.Data, want[i].ID, want[i].Type, want[i].Data)
		}
		item, _, err := table.NewTable(f.client, "books").Get(t.Context(), keys[i], table.Strong)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256([]byte(e.Canonical))
		sum := table.Read(item).Text(table.AttrChecksum)
		if base64.RawURLEncoding.EncodeToString(hash[:16]) != sum || e.At != table.Read(item).Text("At") {
			t.Errorf("%s at %s: %s, stored with %s", e.ID, e.At, e.Canonical, sum)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d entries", len(all))
	}
	only := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal?type=group.member_revoked", ""))
	if len(only.Data) != 1 || only.Data[0].ID != keys[9].ID() {
		t.Errorf("of one type: %+v", only)
	}
	refused(t, f.do(t, "GET", "/v1/journal?type=posted", ""), 400, ledger.CodeInvalidRequest)
}

// A cursor of the journal is refused by another ledger, although its table has the same name. One that was taken before
// the first page names none. So is one of a statement: it carries sums. Cursors of other lists are taken.
func TestCursorsOfAnotherLedger(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	f.list(t)
	empty := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal", "")).NextCursor
	for i, ledger := range []*fixture{f, other} {
		page := instant.Add(time.Duration(i-60) * time.Second)
		ledger.journalPage(t, page, table.Account.Key("jane"), table.Account.Key("market"))
	}
	listed := *answer[client.List[transaction]](t, f.must(t, 200, "GET", "/v1/transactions?limit=1", "")).NextCursor
	f.must(t, 200, "GET", "/v1/transactions?cursor="+listed, "")
	other.must(t, 200, "GET", "/v1/transactions?cursor="+listed, "")
	const statement = "/v1/accounts/jane/statement?asset=USD&from=2020-01-01T00:00:00Z&to=2027-01-01T00:00:00Z&limit=1"
	page := answer[client.Statement](t, f.must(t, 200, "GET", statement, ""))
	rest := answer[client.Statement](t, f.must(t, 200, "GET", statement+"&cursor="+*page.NextCursor, ""))
	if len(rest.Data) != 1 || rest.NextCursor != nil || rest.Data[0].BalanceAfter != page.Closing.Quantity {
		t.Errorf("the statement goes on with %+v", rest)
	}
	w := other.do(t, "GET", statement+"&cursor="+*page.NextCursor, "")
	if field := refused(t, w, 400, codeInvalidCursor); field != "cursor" || !strings.Contains(w.Body.String(), "of another ledger") {
		t.Errorf("%s: %s", field, w.Body)
	}
	first := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal?limit=1", ""))
	whole := answer[client.JournalPage](t, f.must(t, 200, "GET", "/v1/journal", ""))
	for _, after := range []string{first.NextCursor, first.Data[0].Cursor, whole.NextCursor, whole.Data[1].Cursor} {
		f.must(t, 200, "GET", "/v1/journal?after="+after, "")
		w := other.do(t, "GET", "/v1/journal?after="+after, "")
		if field := refused(t, w, 400, codeInvalidCursor); field != "after" ||
			!strings.Contains(w.Body.String(), "is of another ledger, or of a ledger restored to before this position") {
			t.Errorf("%s: %s", field, w.Body)
		}
	}
	for _, ledger := range []*fixture{f, other} {
		if all := answer[client.JournalPage](t, ledger.must(t, 200, "GET", "/v1/journal?after="+empty, "")); len(all.Data) != 2 {
			t.Errorf("after the empty journal: %+v", all)
		}
	}
}

// The API refuses an impossible position in the journal, and metadata that is not indexed. The acceptance suite has
// other refusals.
func TestInvalidSearches(t *testing.T) {
	f := newFixture(t)
	for _, text := range []string{"x", "#1", leg1 + "#0", leg1 + "#01", leg1 + "#-1", leg1 + "#", leg1 + "#1#2", leg1 + "#x",
		">", ">" + leg1 + "#1", ">>" + leg1} {
		if journalPlaces.valid(text) {
			t.Errorf("%q is a position in the journal", text)
		}
	}
	other := f.config
	other.IndexedMetadata = nil
	elsewhere := &fixture{Handler: New(other), config: other, client: f.client, log: f.log}
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
