package table_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

func keys(n int) []table.Key {
	all := make([]table.Key, n)
	for i := range all {
		all[i] = table.Account.Key(fmt.Sprintf("a%03d", i))
	}
	return all
}

// asked returns the keys of a batch request in the store's form.
func asked(r tabletest.Request) []any {
	return r.Body["RequestItems"].(map[string]any)["books"].(map[string]any)["Keys"].([]any)
}

// answer returns the first n keys of a batch as items with no other attributes, and leaves the others unprocessed.
func answer(r tabletest.Request, n int) tabletest.Reply {
	all := asked(r)
	n = min(n, len(all))
	unread := `{}`
	if n < len(all) {
		unread = `{"books":{"Keys":` + tabletest.JSON(all[n:]) + `}}`
	}
	return tabletest.OK(`{"Responses":{"books":` + tabletest.JSON(all[:n]) + `},"UnprocessedKeys":` + unread + `}`)
}

// Each key is read once, in requests of at most 100, regardless of how many keys the store leaves unprocessed.
func TestBatchGetReadsAll(t *testing.T) {
	for _, c := range []struct{ keys, most, requests int }{
		{0, 100, 0}, {1, 100, 1}, {100, 100, 1}, {101, 100, 2}, {250, 100, 3}, {250, 60, 5}, {7, 2, 4},
	} {
		fake, client := tabletest.New(t, func(r tabletest.Request) tabletest.Reply { return answer(r, c.most) })
		wanted := keys(c.keys)
		items, at, err := table.NewTable(client, "books").BatchGet(t.Context(), wanted, table.Strong)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]table.Key, len(items))
		for i, item := range items {
			got[i] = table.ItemKey(item)
		}
		slices.SortFunc(got, func(a, b table.Key) int { return strings.Compare(a.PK, b.PK) })
		if !slices.Equal(got, wanted) {
			t.Errorf("%+v: read %v", c, got)
		}
		if at.IsZero() != (c.keys == 0) {
			t.Errorf("%+v: at %v", c, at)
		}
		requests := fake.Requests()
		if len(requests) != c.requests {
			t.Errorf("%+v: %d requests", c, len(requests))
		}
		for _, r := range requests {
			if n := len(asked(r)); n > table.BatchGetKeys {
				t.Errorf("%+v: a batch of %d", c, n)
			}
			if r.Body["RequestItems"].(map[string]any)["books"].(map[string]any)["ConsistentRead"] != true {
				t.Errorf("%+v: not strongly consistent", c)
			}
		}
	}
}

// A store that leaves all keys unprocessed is throttling. BatchGet fails after some attempts, or when its context ends.
func TestBatchGetGivesUp(t *testing.T) {
	fake, client := tabletest.New(t, func(r tabletest.Request) tabletest.Reply { return answer(r, 0) })
	if _, _, err := table.NewTable(client, "books").BatchGet(t.Context(), keys(3), table.Eventual); !errors.Is(err, table.ErrThrottled) {
		t.Errorf("error %v", err)
	}
	if n := len(fake.Requests()); n < 2 || n > 10 {
		t.Errorf("asked %d times", n)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	_, client = tabletest.New(t, func(r tabletest.Request) tabletest.Reply { cancel(); return answer(r, 1) })
	if _, _, err := table.NewTable(client, "books").BatchGet(ctx, keys(3), table.Eventual); !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("after its context: %v", err)
	}
}
