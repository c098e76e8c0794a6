package memdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

// membership returns an item in the inverse index.
func membership(user string) table.Item {
	i := table.KeyItem(table.Membership.Key("jane", user))
	i[table.AttrUser], i[table.AttrNumber] = table.String(user), table.Integer(1)
	i[table.AttrPK2] = table.String(table.Membership.PK2(user))
	return i
}

// ofUser counts a user's items in the inverse index.
func ofUser(t testing.TB, client *dynamodb.Client, user string) int {
	t.Helper()
	page, err := table.NewTable(client, *tableName).Query(t.Context(), table.Query{
		Index: table.IndexInverse, Partition: table.Membership.PK2(user), Within: table.Account.Partitions(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}

// Eventually consistent reads and indexes lag. Strongly consistent reads are current.
func TestEventuallyConsistentReadsLag(t *testing.T) {
	c := newClock()
	lag := 5 * time.Second
	_, client := open(t, memdb.Options{Now: c.Now, Lag: func(context.Context) time.Duration { return lag }})
	put(t, client, plain(keyA, 1))
	put(t, client, membership("u"))
	if got := versionOf(t, client, keyA, false); got != "" || versionOf(t, client, keyA, true) != "1" {
		t.Errorf("at once, behind: %q", got)
	}
	if n := ofUser(t, client, "u"); n != 0 {
		t.Errorf("at once, the index shows %d", n)
	}
	c.now = c.now.Add(3 * time.Second)
	put(t, client, plain(keyA, 2))
	gone := membership("u")
	delete(gone, table.AttrPK2)
	put(t, client, gone)
	c.now = c.now.Add(3 * time.Second) // 6 s after the first, 3 s after the second
	if got := versionOf(t, client, keyA, false); got != "1" {
		t.Errorf("after 6 s, behind: %q", got)
	}
	if n := ofUser(t, client, "u"); n != 1 {
		t.Errorf("after 6 s, the index shows %d", n)
	}
	lag = 0
	if got := versionOf(t, client, keyA, false); got != "2" || ofUser(t, client, "u") != 0 {
		t.Errorf("without a lag: %q", got)
	}
	// Versions older than maxLag are dropped, with their index entries.
	lag = time.Hour
	c.now = c.now.Add(time.Hour)
	put(t, client, membership("u"))
	if n := ofUser(t, client, "u"); n != 0 {
		t.Errorf("an hour later, the index shows %d", n)
	}
	if got := versionOf(t, client, keyA, false); got != "2" {
		t.Errorf("with the maximum lag: %q", got)
	}
}

// Every reply, including errors, has the time of the store's clock.
func TestRepliesHaveTheStoresDate(t *testing.T) {
	c := newClock()
	_, client := open(t, memdb.Options{Now: c.Now})
	out, err := client.GetItem(t.Context(), getInput(keyA, false))
	if err != nil || !table.StoreTime(out.ResultMetadata).Equal(c.now) {
		t.Errorf("%v, %v", table.StoreTime(out.ResultMetadata), err)
	}
	_, err = client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("other"), Key: table.KeyItem(keyA)})
	if !table.ErrorTime(err).Equal(c.now) {
		t.Errorf("%v of %v", table.ErrorTime(err), err)
	}
}

// A caller cannot change stored items through the items that it sent or got.
func TestItemsAreCopied(t *testing.T) {
	_, client := open(t, memdb.Options{})
	sent := plain(keyA, 1)
	sent["M"] = table.Map(table.Item{"n": table.Integer(1)})
	put(t, client, sent)
	spoil(sent)
	spoil(itemOf(t, client, keyA))
	if got := itemOf(t, client, keyA); len(got) != len(sent)+1 || table.Read(table.Read(got).Map("M")).Integer("n") != 1 {
		t.Errorf("it became %v", got)
	}
}

func spoil(i table.Item) {
	nested := table.Read(i).Map("M")
	nested["n"].(*types.AttributeValueMemberN).Value = "7"
	delete(nested, "n")
	delete(i, table.AttrVersion)
}

func itemOf(t testing.TB, client *dynamodb.Client, k table.Key) table.Item {
	t.Helper()
	out, err := client.GetItem(t.Context(), getInput(k, true))
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}
