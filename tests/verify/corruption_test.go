package verify

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/internal/watch/audit"
	"ledger.example/tests/harness/full"
)

// inside returns the map in an item that has the attribute at a path, such as "Legs[2].ID" or "Head.Count", and the
// attribute's name. It copies the maps and lists on the path, which other books may share.
func (b book) inside(k table.Key, path string) (item table.Item, name string) {
	if item = b[k]; item == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	for {
		outer, rest, isInner := strings.Cut(path, ".")
		if !isInner {
			return item, path
		}
		path = rest
		name, index, isList := strings.Cut(strings.TrimSuffix(outer, "]"), "[")
		if !isList {
			copied := maps.Clone(item[name].(*types.AttributeValueMemberM).Value)
			item[name], item = table.Map(copied), copied
			continue
		}
		i, err := strconv.Atoi(index)
		if err != nil {
			panic(err)
		}
		list := slices.Clone(item[name].(*types.AttributeValueMemberL).Value)
		copied := maps.Clone(list[i].(*types.AttributeValueMemberM).Value)
		list[i] = table.Map(copied)
		item[name], item = &types.AttributeValueMemberL{Value: list}, copied
	}
}

// value returns an attribute, which must exist.
func (b book) value(k table.Key, path string) types.AttributeValue {
	item, name := b.inside(k, path)
	if item[name] == nil {
		panic("there is no " + path + " in " + k.PK + " " + k.SK)
	}
	return item[name]
}

func (b book) text(k table.Key, path string) string {
	return b.value(k, path).(*types.AttributeValueMemberS).Value
}

func (b book) set(k table.Key, path string, v types.AttributeValue) {
	item, name := b.inside(k, path)
	item[name] = v
}

func (b book) unset(k table.Key, path string) {
	b.value(k, path)
	item, name := b.inside(k, path)
	delete(item, name)
}

// add adds to a number.
func (b book) add(k table.Key, path string, n int64) {
	stored, err := events.ParseAmount(b.value(k, path).(*types.AttributeValueMemberN).Value, events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	sum, err := stored.Add(amount(n))
	if err != nil {
		panic(err)
	}
	b.set(k, path, table.Amount(sum))
}

func (b book) drop(k table.Key) {
	if b[k] == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	delete(b, k)
}

func (b book) put(k table.Key, item table.Item) {
	copied := maps.Clone(item)
	copied[table.AttrPK], copied[table.AttrSK] = table.String(k.PK), table.String(k.SK)
	b[k] = copied
}

// Keys in the book.
var (
	gold     = table.Transaction.Key("x-1")
	openHold = table.Transaction.Key("h-open")
)

// future is a KSUID of a future time.
var future = string(events.FirstKSUID(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))

// want is an expected finding.
type want struct {
	code      audit.Code
	key       table.Key
	attribute string
}

type wants []want

var minusZero = regexp.MustCompile(`(^|[^0-9A-Za-z_-])-0([^0-9A-Za-z_-]|$)`)

// differs says how a report differs from the wanted findings, or "". If none of these is about lists, it ignores
// findings about lists: an altered header or end differs from its entries.
func differs(report audit.Report, wanted wants) (how string) {
	var found wants
	isOfLists := func(w want) bool { return slices.Contains(listCodes, w.code) }
	for _, f := range report.Findings {
		if isOfLists(want{code: f.Code}) && !slices.ContainsFunc(wanted, isOfLists) {
			continue
		}
		found = append(found, want{f.Code, f.Key, f.Attribute})
		if f.Stored == f.Recomputed {
			how += fmt.Sprintf("%s: Stored and Recomputed are %q\n", f.Code, f.Stored)
		}
		if minusZero.MatchString(f.Stored + " " + f.Recomputed) {
			how += fmt.Sprintf("%+v shows -0\n", f)
		}
	}
	order := func(a, b want) int {
		return strings.Compare(a.key.PK+a.key.SK+string(a.code)+a.attribute,
			b.key.PK+b.key.SK+string(b.code)+b.attribute)
	}
	slices.SortFunc(found, order)
	if wanted = slices.SortedFunc(slices.Values(wanted), order); !slices.Equal(found, wanted) {
		how += fmt.Sprintf("wanted %q\nfound %s", wanted, some(report.Findings))
	}
	return how
}

// eachEvent calls do for every event of the book.
func (b book) eachEvent(do func(k table.Key, e events.Event)) {
	for k, item := range b {
		if e, ok := event(item); ok {
			do(k, e)
		}
	}
}

// tryRows calls try with a book that has some corruptions. If it is wrong, they may hide each other: each half of them
// is tried.
func tryRows(t *testing.T, rows []corruption, try func(b book, wanted wants) (wrong string)) {
	t.Helper()
	b, half := copyOfBook(t), len(rows)/2
	var wanted wants
	for _, c := range rows {
		b.plant(c)
		wanted = append(wanted, c.wanted...)
	}
	if wrong := try(b, wanted); wrong != "" && half == 0 {
		t.Errorf("%s: %s", rows[0].name, wrong)
	} else if wrong != "" {
		tryRows(t, rows[:half], try)
		tryRows(t, rows[half:], try)
	}
}

// tryEach calls try with books that have all the corruptions. It puts some into one book if they change other items and
// have other findings.
func tryEach(t *testing.T, all []corruption, try func(b book, wanted wants) (wrong string)) {
	t.Helper()
	type group struct {
		rows []corruption
		keys map[table.Key]bool
	}
	var groups []group
	for range len(all) / 16 {
		groups = append(groups, group{})
	}
	for _, c := range all {
		keys := make(map[table.Key]bool)
		for k := range c.items {
			keys[k] = true
		}
		for _, w := range c.wanted {
			keys[w.key] = true
		}
		isApart := func(g group) bool {
			for k := range keys {
				if g.keys[k] {
					return false
				}
			}
			return len(g.rows) == 0 || (g.rows[0].section == ofLists) == (c.section == ofLists)
		}
		slices.SortStableFunc(groups, func(g, h group) int { return len(g.rows) - len(h.rows) })
		i := slices.IndexFunc(groups, isApart) // not with its neighbours, which are likely to be alike
		if i < 0 {
			i, groups = len(groups), append(groups, group{})
		}
		maps.Copy(keys, groups[i].keys)
		groups[i] = group{append(groups[i].rows, c), keys}
	}
	for _, g := range groups {
		tryRows(t, g.rows, try)
	}
}

// checksums returns the expected findings about checksums that differ from the event.
func (b book) checksums() (wanted wants) {
	b.eachEvent(func(k table.Key, e events.Event) {
		if b.text(k, table.AttrChecksum) != events.Checksum(e) {
			wanted = append(wanted, want{audit.ChecksumDiffers, k, table.AttrChecksum})
		}
	})
	return wanted
}

// In the full run each corruption has a book of its own: in a shared one, another corruption may lead the audit to it.
func TestEachCorruptionIsFound(t *testing.T) {
	all := corruptions(t)
	try := func(b book, wanted wants) string {
		return differs(verify(t, b.client(t), 0), append(wanted, b.checksums()...))
	}
	if full.Enabled() {
		for _, c := range all {
			tryRows(t, []corruption{c}, try)
		}
	} else {
		tryEach(t, all, try)
	}
	found := map[audit.Code]bool{audit.ChecksumDiffers: true, audit.ListsIncomplete: true} // this needs thousands of entries
	for _, c := range all {
		if len(c.items) == 0 {
			t.Errorf("%s: nothing is changed", c.name)
		}
		for _, w := range c.wanted {
			found[w.code] = true
		}
	}
	for _, code := range audit.Codes() {
		if !found[code.Code] {
			t.Errorf("testdata/corruptions.txt: no row leads to %s", code.Code)
		}
	}
}

// An altered event is found even if its checksum was recomputed.
func TestEventCorruptionIsFoundWithRecomputedChecksums(t *testing.T) {
	full.Only(t, "plants each corruption of an event in one more book")
	tryEach(t, slices.DeleteFunc(corruptions(t), func(c corruption) bool { return len(c.items.checksums()) == 0 }),
		func(b book, wanted wants) string {
			b.recomputeChecksums()
			return differs(verify(t, b.client(t), 0), wanted)
		})
}

// isBehind reports whether a finding disappears when the projector catches up.
func isBehind(w want) bool {
	return strings.HasSuffix(string(w.code), "_behind") || w.code == audit.EventUnseen
}

// isUnsettled reports whether a finding is counted as unsettled while its events are young.
func isUnsettled(w want) bool {
	return slices.Contains([]audit.Code{audit.BalanceBehind, audit.HoldEntryBehind, audit.ListEntryBehind,
		audit.JournalBehind, audit.EventUnseen}, w.code)
}

// In a young book missing projections are unsettled, not findings. Every other corruption is found: the short run
// leaves it out.
func TestEachLastingCorruptionIsFoundInYoungBook(t *testing.T) {
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool {
		return c.section == ofFuture || !full.Enabled() && !slices.ContainsFunc(c.wanted, isBehind)
	})
	tryEach(t, all, func(b book, wanted wants) string {
		lasting := slices.DeleteFunc(append(slices.Clone(wanted), b.checksums()...), isBehind)
		report := verify(t, b.client(t), 2*time.Hour)
		if slices.ContainsFunc(wanted, isUnsettled) && len(lasting) == 0 && report.Unsettled == 0 {
			return "nothing is unsettled"
		}
		return differs(report, lasting)
	})
}

// An event of a far future is not young: otherwise, what does not show it would be unsettled for ever.
func TestFutureIsNotYoung(t *testing.T) {
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool { return c.section != ofFuture })
	tryEach(t, all, func(b book, wanted wants) string {
		return differs(verify(t, b.client(t), 2*time.Hour), append(wanted, b.checksums()...))
	})
}

// What a projection shows may be the only trace of an event that was altered or deleted, whether the checksum was
// recomputed or not. So what is found then must not lead to a rebuild.
func TestForgedEventsAreNotRebuilt(t *testing.T) {
	var forged []corruption
	for _, c := range rows(t) {
		report := audit.Report{ByCode: map[audit.Code]int64{}}
		for _, w := range c.wanted {
			report.ByCode[w.code]++
		}
		if len(c.wanted) > 0 && c.altersEvents() && report.Rebuildable() {
			t.Errorf("%s: the findings lead to a rebuild", c.name)
		}
		if c.section == forgeries {
			forged = append(forged, c)
		}
	}
	tryEach(t, forged, func(b book, wanted wants) (wrong string) {
		b.eachEvent(func(k table.Key, e events.Event) { b[k] = table.EventItem(e) })
		report := verify(t, b.client(t), 0)
		for _, w := range wanted {
			isWanted := func(f audit.Finding) bool { return want{f.Code, f.Key, f.Attribute} == w }
			if !slices.ContainsFunc(report.Findings, isWanted) {
				wrong += fmt.Sprintf("%v is missing in %s\n", w, some(report.Findings))
			}
		}
		return wrong
	})
}

// event decodes an event and ignores its checksum. ok is false if the item is not an event, or is malformed.
func event(item table.Item) (e events.Event, ok bool) {
	if !table.IsEvent(table.Read(item).Text(table.AttrSK)) || item[table.AttrChecksum] == nil {
		return nil, false
	}
	item = maps.Clone(item)
	item[table.AttrChecksum] = table.String(tabletest.Checksum(item))
	e, err := table.DecodeEvent(item)
	return e, err == nil
}

// recomputeChecksums makes altered events consistent, as a skilled attacker would: it recomputes their checksums, and
// updates the copies of them in entries of holds and in current accounts.
func (b book) recomputeChecksums() {
	before := make(map[table.Key]string) // checksums before
	b.eachEvent(func(k table.Key, e events.Event) {
		before[k] = b.text(k, table.AttrChecksum)
		b[k] = table.EventItem(e)
	})
	for k, item := range b {
		if _, _, isEntry := table.Hold.Parse(k); isEntry {
			for _, name := range []string{table.AttrHeader, table.AttrEnded} {
				m, ok := item[name].(*types.AttributeValueMemberM)
				if !ok {
					continue
				}
				if of, err := table.KeyOf(m.Value); err == nil && before[of] == table.Read(m.Value).Text(table.AttrChecksum) {
					item[name] = table.Map(b[of])
				}
			}
		}
		if account, isCurrent := table.Current.Parse(k); isCurrent {
			number := table.Read(item).Integer(table.AttrNumber)
			of := table.Change.Key(account, number)
			if e, ok := event(b[of]); ok && before[of] == b.text(k, table.AttrChecksum) {
				b[k] = table.NewItemEncoder(1).Current(e.(events.AccountChanged))
			}
		}
	}
}
