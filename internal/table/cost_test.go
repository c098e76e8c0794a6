package table_test

import (
	"strings"
	"testing"

	"ledger.example/internal/table"
)

// The sizes in AWS's "DynamoDB item sizes and formats".
func TestNumberBytes(t *testing.T) {
	digits38 := strings.Repeat("9", 38)
	for number, want := range map[string]int{
		"0": 1, "7": 2, "42": 2, "421": 3, "-42": 3, "4200000000": 2, "0042": 2, "4002": 3,
		"0.0425": 3, "-10.01": 4, "1.500": 2, digits38: 20, "-" + digits38: 21,
	} {
		if got := table.NumberBytes(number); got != want {
			t.Errorf("%s: %d bytes, want %d", number, got, want)
		}
	}
}

func TestTableUnits(t *testing.T) {
	for bytes, want := range map[int]int{0: 1, 1: 1, 1024: 1, 1025: 2, 3584: 4, table.ItemBytes: 400} {
		if plain, double := table.TableUnits(bytes, false), table.TableUnits(bytes, true); plain != want ||
			double != 2*want {
			t.Errorf("%d bytes: %d units, %d in a transaction, want %d and twice that", bytes, plain, double, want)
		}
	}
}

func TestIndexUnits(t *testing.T) {
	for name, c := range map[string]struct {
		before, after int
		moved, same   bool
		want          int
	}{
		"not in the index":            {0, 0, false, true, 0},
		"put in":                      {0, 200, true, false, 1},
		"put in, of 3 KB":             {0, 3000, true, false, 3},
		"removed, of 3 KB":            {3000, 0, true, false, 3},
		"unchanged":                   {200, 200, false, true, 0},
		"changed":                     {200, 180, false, false, 1},
		"changed, the larger counts":  {3000, 200, false, false, 3},
		"moved: removed and put in":   {200, 200, true, false, 2},
		"moved, of 3 KB":              {3000, 3000, true, false, 6},
		"moved, with different sizes": {3000, 200, true, false, 4},
	} {
		if got := table.IndexUnits(c.before, c.after, c.moved, c.same); got != c.want {
			t.Errorf("%s: %d units, want %d", name, got, c.want)
		}
	}
}

func TestReadHalves(t *testing.T) {
	for bytes, want := range map[int]int{0: 1, 4096: 1, 4097: 2, 8192: 2} { // AWS's example is 8 KB
		for consistency, times := range map[table.ReadKind]int{table.EventualRead: 1, table.StrongRead: 2,
			table.TransactionalRead: 4} {
			if got := table.ReadHalves(bytes, consistency); got != times*want {
				t.Errorf("%d bytes read at %d: %d halves, want %d", bytes, consistency, got, times*want)
			}
		}
	}
}

func TestProjectedAttributesFitTheQuota(t *testing.T) {
	named := 0
	for _, index := range table.Indexes() {
		named += len(index.Include)
	}
	if named > table.ProjectedAttributes {
		t.Errorf("%d attributes are projected by name, at most %d may be", named, table.ProjectedAttributes)
	}
}
