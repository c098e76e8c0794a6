package cost

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
)

// Holds are found in few requests, however many there are.
func TestAccessPatternsOfHolds(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	var captured, open []string
	for i := range 25 {
		id := l.hold()
		if i%5 == 0 {
			l.capture(id)
			captured = append(captured, id)
		} else {
			open = append(open, id)
		}
		l.clock.Add(int64(time.Second))
	}
	slices.Reverse(captured) // they are listed newest first
	l.projectNew()
	list := func(path string) (ids []string, next string, c taken) {
		t.Helper()
		c = l.take(func() {
			page := l.Must(200, "GET", path, "")
			for i := 0; page.Value("data", i) != nil; i++ {
				ids = append(ids, page.Text("data", i, "id"))
			}
			next = page.Text("next_cursor")
		})
		return ids, next, c
	}

	t.Run("Orders of a user by status", func(t *testing.T) {
		const query = "Query GSI1 eventual newest first, 4 of PK = ACCOUNT#" + holder + " AND SK2 BETWEEN HOLD#captured#"
		path, from := "/v1/accounts/"+holder+"/holds?status=captured&limit=3", 0
		for cursor := ""; from < len(captured); {
			ids, next, c := list(path + cursor)
			want := captured[from:min(from+3, len(captured))]
			if len(ids) < len(want) || !slices.Equal(ids[:len(want)], want) { // the last is of newLives
				t.Errorf("listed %v, want %v", ids, want)
			}
			if len(c.lines) != 1 || !strings.HasPrefix(c.lines[0], query) {
				t.Errorf("from %d: asked for %q", from, c.lines)
			}
			from, cursor = from+3, "&cursor="+url.QueryEscape(next)
		}
	})
	t.Run("Open orders", func(t *testing.T) {
		ids, _, c := list("/v1/holds?limit=10")
		if !slices.Equal(ids, open[:10]) {
			t.Errorf("listed %v, want %v", ids, open[:10])
		}
		slices.Sort(c.lines)
		wanted := []string{"BatchGetItem eventual TXN#"}
		for shard := range table.OpenHoldsShards {
			wanted = append(wanted, "Query GSI2 eventual 11 of PK2 = "+table.OpenHoldsPK2(shard)+" ")
		}
		if !slices.EqualFunc(c.lines, wanted, strings.HasPrefix) {
			t.Errorf("asked for %q", c.lines)
		}
	})
	t.Run("Order with its items", func(t *testing.T) {
		c := l.take(func() {
			l.Must(200, "GET", "/v1/transactions/"+captured[1], "").Shows(t, map[string]any{
				"status": "captured", "postings 0 quantity": "10", "postings 1 quantity": "-10", "captured 1 quantity": "-10",
			})
		})
		if len(c.lines) != 1 || !strings.HasPrefix(c.lines[0], "Query strong 0 of PK = TXN#"+captured[1]+" ") {
			t.Errorf("asked for %q", c.lines)
		}
	})
}
