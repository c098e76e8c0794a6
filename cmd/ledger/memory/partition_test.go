package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/ledger/table"
)

// A partition is an ordered list, however it is cut into runs.
func TestPartitionIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, list := &partition{}, []string{}
		at := func(sort string) entry { return entry{sort, &row{key: table.Key{PK: "p", SK: sort}}} }
		for range rapid.IntRange(0, 5).Draw(t, "rounds") {
			from, step := rapid.IntRange(0, 5000).Draw(t, "from"), rapid.IntRange(1, 3).Draw(t, "step")
			removes := rapid.Bool().Draw(t, "removes")
			for n := range rapid.IntRange(0, 2*runMost).Draw(t, "entries") {
				sort := fmt.Sprintf("%05d", from+n*step)
				i, there := slices.BinarySearch(list, sort)
				if removes {
					p.remove(at(sort))
					if there {
						list = slices.Delete(list, i, i+1)
					}
				} else if p.insert(at(sort)); !there {
					list = slices.Insert(list, i, sort)
				}
			}
			for i, run := range p.runs {
				if len(run) == 0 || len(run) > runMost {
					t.Fatalf("run %d has %d entries", i, len(run))
				}
			}
			bound := func(name string) string {
				return fmt.Sprintf("%05d", rapid.IntRange(0, 9000).Draw(t, name))
			}
			low, high := bound("low"), bound("high")
			lower, _ := slices.BinarySearch(list, low)
			upper, _ := slices.BinarySearch(list, high)
			want := slices.Clone(list[min(lower, upper):upper])
			for _, forward := range []bool{true, false} {
				got := []string{}
				for e := range p.between(
					p.first(func(e entry) bool { return strings.Compare(e.sort, low) < 0 }),
					p.first(func(e entry) bool { return strings.Compare(e.sort, high) < 0 }), forward) {
					got = append(got, e.sort)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("between %s and %s, forward %v: %v, want %v", low, high, forward, got, want)
				}
				slices.Reverse(want)
			}
			if i, there := slices.BinarySearch(list, low); there {
				if found, ok := p.place(spot{low, table.Key{PK: "p", SK: low}}); !ok || p.runs[found.run][found.index].sort != low {
					t.Fatalf("%s is at %d, and isn't found", low, i)
				}
			}
		}
	})
}
