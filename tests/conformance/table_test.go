package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// The adapter to DynamoDB keeps the contract of table.Table, in memory and on DynamoDB Local.
func TestTable(t *testing.T) {
	for name, open := range map[string]func(testing.TB) (*dynamodb.Client, string){
		"DynamoDB Local": newTable, "memory": newMemoryTable,
	} {
		for what, test := range map[string]func(*tableSuite){
			"reads": (*tableSuite).reads, "queries": (*tableSuite).queries, "scans": (*tableSuite).scans,
			"writes": (*tableSuite).writes, "transactions": (*tableSuite).transactions,
			"numbers": (*tableSuite).numbers,
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				client, name := open(t)
				test(&tableSuite{t, table.NewTable(client, name), t.Context()})
			})
		}
	}
}

// tableSuite is a test on a table of its own.
type tableSuite struct {
	*testing.T
	table table.Table
	ctx   context.Context
}

func (s *tableSuite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *tableSuite) same(got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// clock fails the test unless at is a time of the store: whole seconds, and about now.
func (s *tableSuite) clock(at time.Time) {
	s.Helper()
	if at.Nanosecond() != 0 || time.Since(at).Abs() > time.Minute {
		s.Errorf("the store's time is %v, at %v", at, time.Now())
	}
}

func key(n int) table.Key { return table.Key{PK: "P", SK: fmt.Sprintf("S#%03d", n)} }

// item returns an item of type Odd or Even with the attributes N and Name.
func item(n int) table.Item {
	i := table.Begin(key(n), []string{"Even", "Odd"}[n%2])
	i["N"], i["Name"] = table.Integer(int64(n)), table.String("x") // a reserved word
	return i
}

func (s *tableSuite) put(items ...table.Item) {
	s.Helper()
	for _, i := range items {
		at, err := s.table.Write(s.ctx, table.Write{Item: i})
		s.must(err)
		s.clock(at)
	}
}

func (s *tableSuite) get(n int) table.Item {
	s.Helper()
	i, at, err := s.table.Get(s.ctx, key(n), table.Strong)
	s.must(err)
	s.clock(at)
	return i
}

// figures returns N of items.
func figures(items []table.Item) (all []int64) {
	for _, i := range items {
		all = append(all, table.Read(i).Integer("N"))
	}
	return all
}

func (s *tableSuite) reads() {
	s.put(item(1), item(2))
	s.same(s.get(1), item(1))
	s.same(s.get(3), table.Item(nil))
	all, at, err := s.table.Snapshot(s.ctx, []table.Key{key(2), key(3), key(1)})
	s.must(err)
	s.clock(at)
	s.same(all, []table.Item{item(2), nil, item(1)})
	all, _, err = s.table.Snapshot(s.ctx, []table.Key{key(2), key(3)}, "PK", "N")
	s.must(err)
	s.same(all, []table.Item{{"PK": table.String("P"), "N": table.Integer(2)}, nil})
}

// pages follows the positions of pages. It returns N of all their items, and how many pages had items.
func (s *tableSuite) pages(read func(after table.Item) (table.Page, error)) (all []int64, pages int) {
	s.Helper()
	for after, more := table.Item(nil), true; more; more = after != nil {
		page, err := read(after)
		s.must(err)
		s.clock(page.At)
		if len(page.Items) > 0 {
			pages++
		}
		all, after = append(all, figures(page.Items)...), page.Next
	}
	return all, pages
}

func (s *tableSuite) queries() {
	for n := range 10 {
		s.put(item(n))
	}
	other := item(4)
	other["PK"] = table.String("Q")
	s.put(other)
	for what, c := range map[string]struct {
		change func(*table.Query)
		want   []int64
		pages  int
	}{
		"all":      {func(*table.Query) {}, []int64{3, 4, 5, 6, 7}, 1},
		"none":     {func(q *table.Query) { q.Partition = "R" }, nil, 0},
		"reversed": {func(q *table.Query) { q.Descending = true }, []int64{7, 6, 5, 4, 3}, 1},
		"limited":  {func(q *table.Query) { q.Limit = 2 }, []int64{3, 4, 5, 6, 7}, 3},
		"selected": {func(q *table.Query) { q.Attributes = []string{"N", "Name"} }, []int64{3, 4, 5, 6, 7}, 1},
		"counted":  {func(q *table.Query) { q.CountOnly = true }, nil, 0},
	} {
		q := table.Query{Partition: "P", Within: table.Range{From: key(3).SK, To: key(7).SK}, Consistency: table.Strong}
		c.change(&q)
		count := 0
		all, pages := s.pages(func(after table.Item) (table.Page, error) {
			q.After = after
			page, err := s.table.Query(s.ctx, q)
			for _, i := range page.Items {
				s.same(q.Attributes == nil || reflect.DeepEqual(slices.Sorted(maps.Keys(i)), q.Attributes), true)
			}
			count += page.Count
			return page, err
		})
		if !slices.Equal(all, c.want) || pages != c.pages || what != "none" && count != 5 {
			s.Errorf("%s: %v in %d pages, %d counted", what, all, pages, count)
		}
	}
}

func (s *tableSuite) scans() {
	for n := range 40 {
		i := item(n)
		i["PK"], i["Note"] = table.String(fmt.Sprint("P", n)), table.String(strings.Repeat("n", 60_000))
		s.put(i)
	}
	for _, parts := range []int{0, 1, 3} {
		var got []int64
		read, replies := 0, 0
		for part := range max(parts, 1) {
			all, _ := s.pages(func(after table.Item) (table.Page, error) {
				page, err := s.table.Scan(s.ctx, table.Scan{Part: part, Parts: parts, Types: []string{"Odd", "None"},
					Attributes: []string{"N"}, Consistency: table.Strong, After: after})
				for _, i := range page.Items {
					s.same(len(i), 1)
				}
				read, replies = read+page.Count, replies+1
				return page, err
			})
			got = append(got, all...)
		}
		slices.Sort(got)
		if len(got) != 20 || got[0] != 1 || got[19] != 39 || read != 40 || parts < 2 && replies != 3 { // a page holds 1 MB
			s.Errorf("in %d parts: %v of %d items in %d pages", parts, got, read, replies)
		}
	}
}

// refused returns the error of a write whose condition failed, with its old item.
func (s *tableSuite) refused(w table.Write) table.Item {
	s.Helper()
	_, err := s.table.Write(s.ctx, w)
	refused, ok := errors.AsType[*table.Refused](err)
	if !ok || !errors.Is(err, table.ErrConflict) {
		s.Fatalf("error %v", err)
	}
	s.clock(refused.At)
	return refused.Old
}

func (s *tableSuite) writes() {
	add := table.Write{Key: key(1), Update: "ADD N :n", If: "#n <= :most", Names: map[string]string{"#n": "N"},
		Values: table.Item{":n": table.Integer(5), ":most": table.Integer(6)}, ReturnOld: true}
	s.same(s.refused(add), table.Item(nil)) // a comparison with an absent attribute is false
	put := table.Write{Item: item(1), If: table.IfAbsent, ReturnOld: true}
	_, err := s.table.Write(s.ctx, put)
	s.must(err)
	again := put
	again.Item = item(1)
	again.Item["N"] = table.Integer(9)
	s.same(s.refused(again), item(1))
	again.ReturnOld = false
	s.same(s.refused(again), table.Item(nil))
	_, err = s.table.Write(s.ctx, add)
	s.must(err)
	_, err = s.table.Write(s.ctx, add)
	s.must(err)
	s.same(figures([]table.Item{s.refused(add), s.get(1)}), []int64{11, 11})
}

func (s *tableSuite) transactions() {
	s.put(item(1), item(2))
	writes := []table.Write{
		{Item: item(3), If: table.IfAbsent, ReturnOld: true},
		{Item: item(1), If: table.IfAbsent, ReturnOld: true},
		{Key: key(4), Update: "SET N = :n", If: "N = :n", Values: table.Item{":n": table.Integer(4)}, ReturnOld: true},
		{Key: key(2), If: table.IfAbsent},
		{Key: key(5), If: table.IfAbsent},
	}
	at, err := s.table.Transact(s.ctx, writes)
	cancelled, ok := errors.AsType[*table.Cancelled](err)
	if !ok || !errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrThrottled) {
		s.Fatalf("error %v", err)
	}
	s.clock(at)
	for i, r := range cancelled.Reasons { // their texts are the store's
		if (r.Why == "") != (r.Is == table.CauseNone) {
			s.Errorf("reason %d is %v, %q", i, r.Is, r.Why)
		}
		cancelled.Reasons[i].Why = ""
	}
	s.same(*cancelled, table.Cancelled{At: at, Reasons: []table.Reason{{}, {Is: table.CauseCondition, Old: item(1)},
		{Is: table.CauseCondition}, {Is: table.CauseCondition}, {}}})
	s.same(s.get(3), table.Item(nil))

	writes[1], writes[2].If, writes[3].Key = table.Write{Item: item(6)}, "", key(7)
	at, err = s.table.Transact(s.ctx, writes)
	s.must(err)
	s.clock(at)
	s.same(figures([]table.Item{s.get(3), s.get(6), s.get(4)}), []int64{3, 6, 4})
	s.same(s.get(7), table.Item(nil))
}

// DynamoDB trims trailing zeros. Amounts with many zeros are read back exactly all the same, at every width.
func (s *tableSuite) numbers() {
	for _, digits := range []int{1, 19, 20, events.PostedDigits, events.FoldedDigits} {
		for _, text := range []string{"1" + strings.Repeat("0", digits-1), strings.Repeat("9", digits)} {
			a, err := events.ParseAmount(text, events.FoldedDigits)
			s.must(err)
			i := item(1)
			i["N"] = table.Amount(a.Neg())
			s.put(i)
			s.same(table.Read(s.get(1)).Amount("N"), a.Neg())
		}
	}
}
