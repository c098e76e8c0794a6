package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/digest"
	"ledger.example/internal/store"
	"ledger.example/tests/full"
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

// What leaves no trace in the table, if the checksums are computed anew, is named by a check of an earlier digest. An
// audit finds most of these tables sound.
func TestDigestNamesWhatLeavesNoTrace(t *testing.T) {
	sound := 0
	for _, c := range rows(t) {
		if c.section != "checksums" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			before, b := copyOfBook(t), copyOfBook(t)
			check := sealed(t, before.client(t))
			c.plant(b)
			b.recomputeChecksums()
			client := b.client(t)
			if verify(t, client, 0).Sound() {
				sound++
			}
			found := check(client)
			b.eachEvent(func(k store.Key, e events.Event) {
				_, isJournaled := store.ParseJournaled(k.ID())
				was, _ := event(before[k])
				if isNamed := strings.Contains(found, "event "+k.ID()+" is "); isJournaled &&
					isNamed != (events.Checksum(e) != events.Checksum(was)) {
					t.Errorf("%s is named: %v, in %q", k.ID(), isNamed, found)
				}
			})
		})
	}
	if sound < 9 {
		t.Errorf("the audit found only %d tables sound", sound)
	}
}

// Each attribute of each event of the book gets the value of another event, or is changed, and the checksums are
// computed anew: a check names the event. Some of these the audit does not see: that is what a digest is for.
func TestDigestSeesWhatTheAuditDoesNot(t *testing.T) {
	sound := copyOfBook(t)
	client := sound.client(t)
	check := sealed(t, client)
	values, done, unseen := sound.values(), 0, make(map[string]int)
	for _, k := range slices.SortedFunc(maps.Keys(sound), compareKeys) {
		if _, ok := store.ParseJournaled(k.ID()); !ok {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(sound[k])) {
			altered := sound.borrowed(k, name, values[name])
			if altered == nil {
				continue
			}
			if done++; done%full.Count(3, 1) != 0 {
				continue
			}
			put(t, client, altered)
			if found := check(client); strings.Count(found, "event ") != 1 || !strings.Contains(found, "event "+k.ID()+" is ") {
				t.Errorf("%s of %s: found %q", name, k.ID(), found)
			}
			if done%2 == 0 && verify(t, client, 0).Sound() {
				unseen[name]++
			}
			put(t, client, sound[k])
		}
	}
	if t.Logf("%d alterations, unseen by the audit: %v", done, unseen); done < 100 || len(unseen) == 0 {
		t.Error("too few of them are of interest")
	}
}

// borrowed returns an event that can be read, with another value of an attribute; nil if there is none.
func (b book) borrowed(k store.Key, name string, values []types.AttributeValue) store.Item {
	for _, v := range append(slices.Clone(values), store.String("x"), store.Integer(7)) {
		item := maps.Clone(b[k])
		item[name] = v
		if e, ok := event(item); ok && store.EventKey(e) == k && events.Checksum(e) != b.text(k, store.AttrChecksum) {
			return store.EventItem(e)
		}
	}
	return nil
}

func put(t *testing.T, client *dynamodb.Client, item store.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(books), Item: item}); err != nil {
		t.Fatal(err)
	}
}
