package verify

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
)

// sealed makes a digest of a table, whose clock is now. check compares it with a table later, and returns the findings.
func sealed(t *testing.T, client *dynamodb.Client, now func() time.Time) (check func(*dynamodb.Client) string) {
	t.Helper()
	c := digest.Config{Table: table.NewTable(client, books), Dir: t.TempDir(), Now: now}
	if err := digest.NewKey(c.Dir, "ledger-journal/"+books); err != nil {
		t.Fatal(err)
	}
	if _, err := digest.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return func(client *dynamodb.Client) string {
		t.Helper()
		c.Table = table.NewTable(client, books)
		r, err := digest.Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(r.Findings, "\n")
	}
}

// What leaves no trace in the table, if the checksums are computed anew, is named by a check of an earlier digest.
func TestDigestNamesWhatLeavesNoTrace(t *testing.T) {
	sound := copyOfBook(t)
	check := sealed(t, sound.client(t), time.Now)
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool { return c.section != "checksums" })
	tryEach(t, all, func(b book, wanted wants) string {
		b.recomputeChecksums()
		client := b.client(t)
		wrong, found := differs(verify(t, client, 0), wanted), check(client)
		b.eachEvent(func(k table.Key, e events.Event) {
			_, isJournaled := table.ParseJournaled(k.ID())
			was, _ := event(sound[k])
			isNamed := strings.Contains(found, "event "+k.ID()+" is ")
			if isJournaled && isNamed != (events.Checksum(e) != events.Checksum(was)) {
				wrong += fmt.Sprintf("%s is named: %v, in %q\n", k.ID(), isNamed, found)
			}
		})
		return wrong
	})
}

// After a rebuild of what a rebuild repairs, a digest that was made before still checks, unless a page of the journal is
// gone or void, or its entries are no longer in their order: then the page must be copied back before the rebuild.
func TestRebuildKeepsDigests(t *testing.T) {
	sound := copyOfBook(t)
	check := sealed(t, sound.client(t), time.Now)
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool {
		isOfEvents := func(w want) bool { return !repairs(w.code) }
		return c.altersEvents() || slices.ContainsFunc(c.wanted, isOfEvents)
	})
	for _, c := range all {
		tryRows(t, []corruption{c}, func(b book, _ wants) (wrong string) {
			isLost := false
			for _, k := range sound.journalPages() {
				isLost = isLost || b[k] == nil || b[k][table.AttrVoid] != nil || !reflect.DeepEqual(b[k][table.AttrEntries], sound[k][table.AttrEntries])
			}
			client := b.client(t)
			if _, err := rebuildBook(t, client, true); err != nil {
				t.Fatal(err)
			}
			if found := check(client); (found != "") != isLost {
				wrong = fmt.Sprintf("entries are lost: %t; after the rebuild the digest finds %q\n", isLost, found)
			}
			return wrong
		})
	}
}
