package cost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ledger.example/internal/table"
)

// What a partition of DynamoDB serves in a second.
const partitionWrites, partitionReads = 1_000, 3_000

// hotShare is the lowest ratio of the units an operation with twice the parties to those without at which a key is hot.
// It is 0.5 if every party has its own, and 1 if all share it.
const hotShare = 0.75

// A keyKind is all partition keys that begin alike, in the table or in an index.
type keyKind struct{ index, prefix string }

func (k keyKind) String() string {
	if k.index == "" {
		return k.prefix
	}
	return k.index + " " + k.prefix
}

func (k keyKind) compare(other keyKind) int { return strings.Compare(k.String(), other.String()) }

func kindOf(k table.PartitionKey) keyKind {
	prefix, _, isLong := strings.Cut(k.Key, "#")
	if isLong {
		prefix += "#"
	}
	return keyKind{k.Index, prefix}
}

// keyLoad is what each operation took of a kind of key: of all its keys, and of the one that took most.
type keyLoad struct {
	writes, reads, hottestWrites, hottestReads float64
	keys                                       int
}

// loads returns what each operation took, by the kind of key.
func loads(byKey map[table.PartitionKey]table.Units, operations int) map[keyKind]keyLoad {
	all := make(map[keyKind]keyLoad)
	for k, units := range byKey {
		writes, reads := float64(units.WriteUnits)/float64(operations), float64(units.ReadHalves)/2/float64(operations)
		l := all[kindOf(k)]
		l.keys++
		l.writes, l.hottestWrites = l.writes+writes, max(l.hottestWrites, writes)
		l.reads, l.hottestReads = l.reads+reads, max(l.hottestReads, reads)
		all[kindOf(k)] = l
	}
	return all
}

// evenly is the load if the keys, over which transactions are spread by a hash, share it evenly.
func (l keyLoad) evenly() keyLoad {
	l.hottestWrites, l.hottestReads = l.writes/float64(l.keys), l.reads/float64(l.keys)
	return l
}

// ceiling is how many operations a second the hottest key allows, and whether its reads are the reason.
func (l keyLoad) ceiling() (perSecond float64, isRead bool) {
	writes, reads := partitionWrites/l.hottestWrites, partitionReads/l.hottestReads
	return min(writes, reads), reads < writes
}

// isHot reports whether an operation of a workload with twice the parties takes about as many units of some key.
func isHot(few, many keyLoad) bool {
	hot := func(few, many float64) bool { return many > 0 && many >= hotShare*few }
	return hot(few.hottestWrites, many.hottestWrites) || hot(few.hottestReads, many.hottestReads)
}

// A declaredKey is how the items with a kind of key are declared.
type declaredKey struct {
	table.Growth
	splits bool // DynamoDB can split it: what it lists is sorted by ids, not by time or number
}

// declaredKeys are the declarations of each kind of key.
func declaredKeys(t *testing.T, types []*table.Pattern) map[keyKind]declaredKey {
	t.Helper()
	all := make(map[keyKind]declaredKey)
	add := func(index, pattern, sort string, g table.Growth, what string) {
		fixed, _, _ := strings.Cut(pattern, "{")
		kind := kindOf(table.PartitionKey{Index: index, Key: fixed})
		before, known := all[kind]
		if known && before.Growth != g {
			t.Errorf("%s grows %q, and %q as %s is declared", kind, before.Growth, g, what)
		}
		_, first, _ := strings.Cut(strings.TrimPrefix(sort, pattern), "{")
		first, _, _ = strings.Cut(first, "}")
		splits := first != "" && !slices.Contains([]string{"ksuid", "number", "expires"}, first)
		all[kind] = declaredKey{g, splits && (before.splits || !known)}
	}
	for _, p := range types {
		i := p.ItemType
		add("", i.PK, i.SK, i.Grows, i.What)
		if i.SK2 != "" {
			add(table.IndexHistory, i.PK, i.SK2, i.Grows, i.What)
		}
		if i.PK2 != "" {
			add(table.IndexInverse, i.PK2, i.PK, i.Grows2, i.What)
		}
	}
	return all
}

// hotKey is a kind of key that is hot in a workload.
type hotKey struct {
	keyKind
	workload *workload
	keyLoad
}

// findHot runs each workload with parties and with twice as many. It returns the hot keys, in the order
// of the workloads, and the items that these made.
func findHot(t *testing.T, all []*workload) (hot []hotKey, made map[*table.Pattern]bool) {
	t.Helper()
	made = make(map[*table.Pattern]bool)
	for _, w := range all {
		few := loads(w.run(t, parties, made), parties)
		many := loads(w.run(t, 2*parties, made), 2*parties)
		for _, kind := range slices.SortedFunc(maps.Keys(many), keyKind.compare) {
			if isHot(few[kind], many[kind]) {
				hot = append(hot, hotKey{kind, w, many[kind]})
			}
		}
	}
	return hot, made
}

// faultsOf compares what is hot with what is declared. Each fault names the key.
func faultsOf(hot []hotKey, declared map[keyKind]declaredKey) (faults []string) {
	isHot := make(map[keyKind]bool)
	for _, h := range hot {
		isHot[h.keyKind] = true
		if declared[h.keyKind].Growth == table.ByParty {
			limit, _ := h.ceiling()
			faults = append(faults, fmt.Sprintf("%s is hot: %s end at %.0f a second, however many parties there are. "+
				"Give each party its own key, or declare in internal/table how it grows", h, h.workload.name, limit))
		}
	}
	for kind, d := range declared {
		if d.Growth != table.ByParty && !isHot[kind] {
			faults = append(faults, fmt.Sprintf("%s is declared to grow %q, and no workload finds it hot", kind, d.Growth))
		}
	}
	slices.Sort(faults)
	return faults
}

// TestHotKeys runs every kind of work with some parties, and with twice as many. A partition key whose units an
// operation do not fall ends how far the ledger scales: it must be declared, and docs/capacity.md shows its ceiling.
func TestHotKeys(t *testing.T) {
	t.Parallel()
	hot, made := findHot(t, workloads())
	declared := declaredKeys(t, table.ItemTypes())
	for _, fault := range faultsOf(hot, declared) {
		t.Error(fault)
	}
	for _, p := range table.ItemTypes() {
		if !made[p] {
			t.Errorf("no workload writes a %s (%s)", p.What, p.ItemType.SK)
		}
	}
	var rows keyRows
	known := make(map[keyKind]bool)
	for _, h := range hot {
		want := lanesOf(h.keyKind, h.workload.lanes)
		if declared[h.keyKind].Growth == table.InLanes && want > 0 && h.keys != want {
			t.Errorf("%s is declared to lie in lanes, and %s use %d keys of %d", h.keyKind, h.workload.name, h.keys, want)
		}
		if known[h.keyKind] {
			continue // of the most usual work, which is listed first
		}
		known[h.keyKind] = true
		growth := declared[h.keyKind].Growth
		if growth == table.OneForAll {
			h.keyLoad = h.evenly()
		}
		rows.add("`"+h.String()+"`", h, growth == table.InLanes, map[bool]string{true: "splits", false: "hard"}[declared[h.keyKind].splits])
	}
	account := keyKind{"", "ACCOUNT#"}
	for _, w := range workloads() {
		if of := w.ofOne; of != "" {
			one := loads(w.runAt(t, parties, func(int) int { return 0 }, made), parties)[account]
			rows.add("`ACCOUNT#`, "+of, hotKey{account, w, one}, false, "splits in part")
		}
	}
	rows.check(t)
}

// lanesOf returns how many keys of a kind that lies in lanes there are in some lanes.
func lanesOf(kind keyKind, lanes int) int {
	if kind.prefix == "JOURNAL#" && lanes > 0 {
		return max(1, lanes/table.LanesOfJournal)
	}
	return lanes
}

// keyRows are the rows of a table of docs/capacity.md.
type keyRows struct {
	work, units, is []line
	ceilings        [len(shownLanes)][]line
}

// shownLanes are the numbers of lanes for which ceilings are shown.
var shownLanes = [...]int{1, 4, 32, 128}

func (r *keyRows) add(step string, h hotKey, inLanes bool, is string) {
	limit, isRead := h.ceiling()
	used := fmt.Sprintf("%.2f written", h.hottestWrites)
	if isRead {
		used = fmt.Sprintf("%.2f read", h.hottestReads)
	}
	r.work = append(r.work, line{step, h.workload.name})
	r.units = append(r.units, line{step, used})
	for i, lanes := range shownLanes {
		of := limit
		if inLanes {
			of *= float64(lanesOf(h.keyKind, lanes))
		}
		r.ceilings[i] = append(r.ceilings[i], line{step, thousands(int(of + 0.5))})
	}
	r.is = append(r.is, line{step, is})
}

func (r *keyRows) check(t *testing.T) {
	t.Helper()
	f := figures{heading: "Keys that many share", of: "key", document: "../../docs/capacity.md"}
	f.add("each of", r.work)
	f.add("units of one key", r.units)
	for i, lanes := range shownLanes {
		f.add(map[bool]string{true: "a second, 1 lane", false: fmt.Sprintf("%d lanes", lanes)}[lanes == 1], r.ceilings[i])
	}
	f.add("is", r.is)
	f.check(t)
}

// A key that all operations share is found, and so is one that is no longer declared.
func TestHotKeysAreFound(t *testing.T) {
	t.Parallel()
	planted := &workload{name: "planted reads", do: func(c *crowd, _ int) {
		key := table.Key{PK: "COUNTER", SK: "COUNTER"}
		_, _, err := table.NewTable(c.Client, c.Table).Get(c.t.Context(), key, table.Strong)
		c.must(err)
	}}
	hot, _ := findHot(t, []*workload{planted})
	declared := declaredKeys(t, table.ItemTypes())
	faults := strings.Join(faultsOf(hot, declared), "\n")
	for _, want := range []string{"COUNTER is hot: planted reads end at 3000", "JOURNAL# is declared to grow"} {
		if !strings.Contains(faults, want) {
			t.Errorf("there is no fault %q: %s", want, faults)
		}
	}
	for _, kind := range []string{"ACCOUNT#", "TXN#"} {
		if strings.Contains(faults, kind) {
			t.Errorf("%s is not hot: %s", kind, faults)
		}
	}
}
