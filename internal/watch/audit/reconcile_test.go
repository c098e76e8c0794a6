package audit

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Assets beyond assetsMax share one sum. An unreadable posting of one of them makes that sum unknown, not unbalanced.
func TestUnreadablePostingOfAssetWithoutOwnSum(t *testing.T) {
	a := New(Options{Findings: 9})
	c := newReconciler(a)
	for i := range assetsMax {
		c.assetSums.add(strconv.Itoa(i), posting{leg: leg{amounts: amounts{new(big.Int), new(big.Int)}}})
	}
	c.sumBefore = c.sumBefore.AddDate(1, 0, 0)
	c.noteUnreadable("GOLD")
	c.addToAsset(posting{leg: leg{Asset: "GOLD", amounts: amounts{big.NewInt(1), new(big.Int)}}})
	if c.checkSums(t.Context()); a.result().Counts.Findings > 0 {
		t.Errorf("%+v", a.result())
	}
	c.addToAsset(posting{leg: leg{Asset: "0", amounts: amounts{big.NewInt(1), new(big.Int)}}})
	if c.checkSums(t.Context()); a.result().ByCode[AssetUnbalanced] != 1 {
		t.Errorf("%+v", a.result())
	}
}

// pages is a store with a journal. A query returns one page.
type pages struct {
	Store
	all   []attributes
	reads int
}

func (p *pages) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (
	*dynamodb.QueryOutput, error,
) {
	p.reads++
	at := 0
	for at < len(p.all) && textOf(p.all[at][table.AttrSK]) <= textOf(in.ExclusiveStartKey[table.AttrSK]) {
		at++
	}
	out := &dynamodb.QueryOutput{Items: p.all[at:min(at+1, len(p.all))]}
	if at+1 < len(p.all) {
		out.LastEvaluatedKey = p.all[at]
	}
	return out, nil
}

// add appends a page of entries to the journal.
func (p *pages) add(entries ...journalEntry) {
	var list []types.AttributeValue
	for _, e := range entries {
		list = append(list, &types.AttributeValueMemberM{Value: attributes{
			table.AttrEvent: stringOf(e.Event.ID()), table.AttrAt: stringOf(e.At.Format(instantForm)),
		}})
	}
	item := itemKey(table.Journal.Key("0", fmt.Sprintf("2h3vKAaVzJZ8mP0eMqk1kT9x%03d", len(p.all))))
	item[table.AttrType], item[table.AttrForm] = stringOf(table.Journal.Type), &types.AttributeValueMemberN{Value: "1"}
	item[table.AttrEntries] = &types.AttributeValueMemberL{Value: list}
	p.all = append(p.all, item)
}

// Duplicate entries in the journal are harmless: the window ignores near ones, and recountJournal the others. Missing
// entries and entries without an event are not harmless.
func TestDuplicateJournalEntriesCountOnce(t *testing.T) {
	db := &pages{}
	a := New(Options{Store: db})
	a.started = time.Now()
	c := newReconciler(a)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	entry := func(id string) journalEntry { return journalEntry{table.Transaction.Key(id), at} }
	key := table.Journal.Key("0", "x")
	dirty := func() (ids []string) {
		for _, id := range []string{"once", "twice", "far", "missing", "nothing"} {
			if !c.bucket(c.bucketOf(id)).isClean(journalPart) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for _, id := range []string{"once", "twice", "far", "missing"} {
		c.addJournal(t.Context(), []journalEntry{entry(id)})
	}
	written := []journalEntry{entry("once"), entry("twice"), entry("twice"), entry("far"), entry("nothing")}
	db.add(written...)
	db.add(entry("far"))
	c.addJournal(t.Context(), written, key)
	for i := range uint64(2 * windowEntries) { // fill the window
		c.journalSeen.add(digest{i})
	}
	c.addJournal(t.Context(), []journalEntry{entry("far")}, key)
	if got := fmt.Sprint(dirty()); got != "[far missing nothing]" {
		t.Errorf("before: %s", got)
	}
	c.recountJournal(t.Context())
	if got := fmt.Sprint(dirty()); got != "[missing nothing]" || db.reads != 2+1 { // the log of lanes
		t.Errorf("after %d reads: %s", db.reads, got)
	}
}

// If only lists differ, one rescan must do. One finding stands for all other differences.
func TestDirtyListsNeedAtMostOneRescan(t *testing.T) {
	a := New(Options{Findings: 9})
	a.started = time.Now()
	c := newReconciler(a)
	for i := range 10 {
		c.bucket(i).items = rescanItems / 4
		c.bucket(i).differences[listsPart][0] = 1
	}
	c.buckets[9].differences[eventsPart][0] = 1
	if dirty := c.dirtyBuckets(t.Context()); len(dirty) != 5 || a.result().ByCode[ListsIncomplete] != 1 {
		t.Errorf("%d buckets, %+v", len(dirty), a.result())
	}
	for i := range 6 {
		delete(c.buckets, i)
	}
	if dirty := c.dirtyBuckets(t.Context()); len(dirty) != 4 || a.result().ByCode[ListsIncomplete] != 1 {
		t.Errorf("%d buckets, %+v", len(dirty), a.result())
	}
}

// ksuidBefore has the given time and is below those of later times.
func TestKSUIDBefore(t *testing.T) {
	const ksuid = "2h3vKAaVzJZ8mP0eMqk1kT9xYzA"
	at, ok := instantOf(ksuid)
	if !ok {
		at = time.Unix(ksuidEpoch+5, 0)
	}
	for _, at := range []time.Time{at, time.Unix(ksuidEpoch, 0), time.Unix(ksuidEpoch+1, 999_999_000)} {
		bound := ksuidBefore(at)
		if got, ok := instantOf(bound); !ok || !got.Equal(at) || len(bound) != ksuidChars {
			t.Errorf("%s of %s is of %s", bound, at, got)
		}
		if next := ksuidBefore(at.Add(time.Microsecond)); bound >= next {
			t.Errorf("%s is not before %s", bound, next)
		}
	}
}

// The entries that are searched for are bounded, however many transactions are recorded during an audit.
func TestSearchedJournalEntriesAreBounded(t *testing.T) {
	a := New(Options{})
	c := newReconciler(a)
	var all []journalEntry
	for i := range missingMax {
		all = append(all, journalEntry{Event: table.Transaction.Key(fmt.Sprint(i))})
	}
	if !c.expectInJournal(all) || c.expectInJournal([]journalEntry{{Event: table.Transaction.Key("more")}}) ||
		len(c.missingFromJournal) != missingMax {
		t.Errorf("%d of %d entries", len(c.missingFromJournal), missingMax)
	}
}
