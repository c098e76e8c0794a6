package cost

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/tests/system"
)

// newListed starts a ledger with 30 listed transfers, every third of which is for order 7.
func newListed(t *testing.T) (s *system.System, headers []table.Key) {
	t.Helper()
	s = system.New(t, system.Indexed("order", "customer"))
	s.OpenRegister()
	for i := range 30 {
		id := fmt.Sprintf("o-%d", i)
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"%s","from":"bank","to":"jane","asset":"USD","quantity":"1",`+
			`"metadata":{"order":"%d","note":"x"}}`, id, 7+i%3))
		headers = append(headers, table.TransactionKey(id))
	}
	streamtest.Deliver(t, s.Service.List(), streamtest.Keys(headers...))
	return s, headers
}

// wantsAsked fails t unless the requests began with these texts, in any order.
func wantsAsked(t *testing.T, s *system.System, wanted ...string) {
	t.Helper()
	lines := system.Lines(s.Requests.Take())
	slices.Sort(lines)
	if slices.Sort(wanted); !slices.EqualFunc(lines, wanted, strings.HasPrefix) {
		t.Errorf("asked for %q, want %q", lines, wanted)
	}
}

// A page of a day's list is one query for each partition, and one read of what it shows. So is the next one.
func TestDayIsAQueryForEachPartition(t *testing.T) {
	t.Parallel()
	s, _ := newListed(t)
	day := time.Now().UTC().Add(-12 * time.Hour)
	list := "/v1/transactions?limit=10&from=" + day.Format(time.RFC3339) + "&to=" +
		day.AddDate(0, 0, 1).Format(time.RFC3339)
	for order, suffix := range map[string]string{"asc": "", "desc": "newest first, "} {
		wanted := []string{"BatchGetItem strong TXN#o-"}
		for shard := range table.ListShards {
			wanted = append(wanted, fmt.Sprintf("Query eventual %s11 of PK = TRANSACTIONS#%d AND SK BETWEEN LISTED#",
				suffix, shard))
		}
		path, seen := list+"&order="+order, 0
		for cursor := ""; seen < 30; {
			s.Requests.Take()
			page := s.Must(200, "GET", path+cursor, "")
			wantsAsked(t, s, wanted...)
			got := len(page.Each("id", "data"))
			if seen += got; got != 10 {
				t.Fatalf("a page of %d", got)
			}
			if seen < 30 {
				cursor = "&cursor=" + url.QueryEscape(page.Text("next_cursor"))
			}
		}
	}
	s.Requests.Take()
	s.Must(200, "GET", "/v1/transactions?to=2015-01-01T00:00:00Z", "") // nothing to read
	if got := s.Requests.Take(); len(got) != table.ListShards {
		t.Errorf("an empty list asked for %q", system.Lines(got))
	}
}

// Finding by metadata is one query, and one read of what was found.
func TestFindingByMetadataIsOneQuery(t *testing.T) {
	t.Parallel()
	s, _ := newListed(t)
	s.Requests.Take()
	page := s.Must(200, "GET", "/v1/transactions?metadata.order=7", "")
	if got := len(page.Each("id", "data")); got != 10 {
		t.Errorf("found %d", got)
	}
	wantsAsked(t, s, "BatchGetItem strong TXN#o-", "Query eventual newest first, 21 of PK = METADATA#order#7 AND SK BETWEEN LISTED#")
}

// writePage puts a page of the journal, minted at a time: headers that were posted then.
func writePage(s *system.System, then time.Time, headers ...table.Key) {
	entries := &types.AttributeValueMemberL{}
	for _, key := range headers {
		id, _ := table.ParseTransaction(key)
		entries.Value = append(entries.Value, ddb.Map(ddb.Item{table.AttrEvent: ddb.String("posted"),
			table.AttrAt: ddb.String(events.FormatTime(then)), table.AttrTransaction: ddb.String(id)}))
	}
	page := ddb.Key(table.JournalKey(string(events.FirstKSUID(then))))
	page[table.AttrType], page[table.AttrEntries] = ddb.String(table.KindJournal), entries
	s.Put(page)
}

// When the first pages of the journal have too few entries, one more query reads as many pages as are likely to have
// the others, and no more than that.
func TestJournalReadsFewPages(t *testing.T) {
	t.Parallel()
	s, headers := newListed(t)
	then := time.Now().Add(-time.Hour)
	for i := range 10 {
		writePage(s, then.Add(time.Duration(i)*time.Second), headers[3*i:3*i+3]...)
	}
	s.Requests.Take()
	page := s.Must(200, "GET", "/v1/journal?limit=15", "")
	if got := len(page.Each("event", "data")); got != 15 {
		t.Errorf("read %d entries, want 15", got)
	}
	wantsAsked(t, s, "Query strong 2 of PK = JOURNAL", "Query strong 3 of PK = JOURNAL", "BatchGetItem strong TXN#o-")
}

// A page of the journal is one query and one read, and only the query when nothing is new.
func TestJournalIsOneQuery(t *testing.T) {
	t.Parallel()
	s, headers := newListed(t)
	writePage(s, time.Now().Add(-time.Hour), headers...) // those that were written just now are too new to be read
	const query = "Query strong 2 of PK = JOURNAL AND SK BETWEEN ENTRIES#"
	after := ""
	for _, want := range []int{20, 10, 0} {
		s.Requests.Take()
		page := s.Must(200, "GET", "/v1/journal"+after, "")
		if got := len(page.Each("event", "data")); got != want {
			t.Fatalf("read %d entries, want %d", got, want)
		}
		if want > 0 {
			wantsAsked(t, s, query, "BatchGetItem strong TXN#o-")
		} else {
			wantsAsked(t, s, query)
		}
		after = "?after=" + url.QueryEscape(page.Text("next_cursor"))
	}
}
