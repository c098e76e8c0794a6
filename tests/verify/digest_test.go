package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/digest"
	"ledger.example/internal/store"
)

// sealed makes a digest of a table. check compares it with a table later, and returns the findings.
func sealed(t *testing.T, client *dynamodb.Client) (check func(*dynamodb.Client) string) {
	t.Helper()
	c := digest.Config{Table: store.NewTable(client, books), Origin: "ledger-journal/" + books, Dir: t.TempDir(),
		Now: func() time.Time { return time.Now().Add(time.Minute) }}
	if err := digest.NewKey(c.Dir, c.Origin); err != nil {
		t.Fatal(err)
	}
	if _, err := digest.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return func(client *dynamodb.Client) string {
		t.Helper()
		c.Table = store.NewTable(client, books)
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
	check := sealed(t, sound.client(t))
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool { return c.section != "checksums" })
	tryEach(t, all, func(b book, wanted wants) string {
		b.recomputeChecksums()
		client := b.client(t)
		wrong, found := differs(verify(t, client, 0), wanted), check(client)
		b.eachEvent(func(k store.Key, e events.Event) {
			_, isJournaled := store.ParseJournaled(k.ID())
			was, _ := event(sound[k])
			isNamed := strings.Contains(found, "event "+k.ID()+" is ")
			if isJournaled && isNamed != (events.Checksum(e) != events.Checksum(was)) {
				wrong += fmt.Sprintf("%s is named: %v, in %q\n", k.ID(), isNamed, found)
			}
		})
		return wrong
	})
}
