package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

// membership is an item that comes into the inverse index and goes out of it.
func membership(user string) wire.Item {
	i := wire.Key(table.MembershipKey("jane", user))
	i[table.AttrUser], i[table.AttrNumber] = wire.String(user), wire.Integer(1)
	i[table.AttrPK2] = wire.String(table.UserPK2(user))
	return i
}

// ofUser counts what the inverse index shows of a user.
func ofUser(t testing.TB, client *dynamodb.Client, user string) int {
	t.Helper()
	out, err := client.Query(t.Context(), wire.WithinInverse(table.UserPK2(user), table.AccountsRange("", ""), &dynamodb.QueryInput{TableName: aws.String(books)}))
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Items)
}

// Eventually consistent reads and indexes show the table as it was; strongly consistent reads as it is.
func TestReadsThatAreBehind(t *testing.T) {
	c := newClock()
	lag := 5 * time.Second
	_, client := open(t, memory.Options{Now: c.Now, Lag: func(context.Context) time.Duration { return lag }})
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
	// What was superseded long ago is forgotten: in the index, too, where its place is taken away.
	lag = time.Hour
	c.now = c.now.Add(time.Hour)
	put(t, client, membership("u"))
	if n := ofUser(t, client, "u"); n != 0 {
		t.Errorf("an hour later, the index shows %d", n)
	}
	if got := versionOf(t, client, keyA, false); got != "2" {
		t.Errorf("as far back as one can look: %q", got)
	}
}

// The table's clock is in every answer, errors included.
func TestAnswersTellTheStoresClock(t *testing.T) {
	c := newClock()
	_, client := open(t, memory.Options{Now: c.Now})
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(books), Key: wire.Key(keyA)})
	if err != nil || !wire.StoreTime(out.ResultMetadata).Equal(c.now) {
		t.Errorf("%v, %v", wire.StoreTime(out.ResultMetadata), err)
	}
	_, err = client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("other"), Key: wire.Key(keyA)})
	if !wire.ErrorTime(err).Equal(c.now) {
		t.Errorf("%v of %v", wire.ErrorTime(err), err)
	}
}

// Wherever pages are cut, all items come, once and in order, forwards and backwards, and with a scan.
func TestPagesCutAnywhere(t *testing.T) {
	cuts := 0
	_, client := open(t, memory.Options{Page: func(_ context.Context, n int) int { cuts++; return min(n, cuts*7%4) }})
	const count = 30
	for n := range count {
		put(t, client, posting("jane", n))
		put(t, client, posting(fmt.Sprint(n), n))
	}
	for _, reverse := range []bool{false, true} {
		q := wire.Within(table.AccountKey("jane").PK, table.PostingsOfAsset("USD"), &dynamodb.QueryInput{
			TableName: aws.String(books), ScanIndexForward: aws.Bool(!reverse), Limit: aws.Int32(5),
		})
		var sks []string
		empty := 0
		for pages := 0; pages == 0 || q.ExclusiveStartKey != nil; pages++ {
			out, err := client.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range out.Items {
				k, _ := wire.KeyOf(i)
				sks = append(sks, k.SK)
			}
			if len(out.Items) == 0 {
				empty++
			}
			q.ExclusiveStartKey = out.LastEvaluatedKey
		}
		if len(sks) != count || empty < 2 {
			t.Fatalf("%d items, %d empty pages", len(sks), empty)
		}
		for n := 1; n < count; n++ {
			if (sks[n-1] < sks[n]) == reverse {
				t.Errorf("%s before %s", sks[n-1], sks[n])
			}
		}
	}
	seen := make(map[table.Key]bool)
	const segments = 7
	for segment := range int32(segments) {
		in := &dynamodb.ScanInput{TableName: aws.String(books), Segment: &segment, TotalSegments: aws.Int32(segments)}
		for pages := 0; pages == 0 || in.ExclusiveStartKey != nil; pages++ {
			out, err := client.Scan(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range out.Items {
				k, _ := wire.KeyOf(i)
				if seen[k] {
					t.Errorf("%v comes twice", k)
				}
				seen[k] = true
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
	if len(seen) != 2*count {
		t.Errorf("the scan shows %d", len(seen))
	}
}

// What a caller does with what it sent or got changes nothing in the store.
func TestItemsAreCopied(t *testing.T) {
	_, client := open(t, memory.Options{})
	sent := plain(keyA, 1)
	sent["M"] = wire.Map(wire.Item{"n": wire.Integer(1)})
	put(t, client, sent)
	spoil(sent)
	spoil(itemOf(t, client, keyA))
	if got := itemOf(t, client, keyA); len(got) != len(sent)+1 || wire.Read(wire.Read(got).Map("M")).Integer("n") != 1 {
		t.Errorf("it became %v", got)
	}
}

func spoil(i wire.Item) {
	nested := wire.Read(i).Map("M")
	nested["n"].(*types.AttributeValueMemberN).Value = "7"
	delete(nested, "n")
	delete(i, table.AttrVersion)
}

func itemOf(t testing.TB, client *dynamodb.Client, k table.Key) wire.Item {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(books), Key: wire.Key(k), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}
