package verify

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/tests/full"
)

// inside returns the map in an item that has the attribute at a path, such as "Legs[2].ID" or "Head.Count", and the
// attribute's name. It copies the maps and lists on the path, which other books may share.
func (b book) inside(k store.Key, path string) (item store.Item, name string) {
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
			item[name], item = store.Map(copied), copied
			continue
		}
		i, err := strconv.Atoi(index)
		if err != nil {
			panic(err)
		}
		list := slices.Clone(item[name].(*types.AttributeValueMemberL).Value)
		copied := maps.Clone(list[i].(*types.AttributeValueMemberM).Value)
		list[i] = store.Map(copied)
		item[name], item = &types.AttributeValueMemberL{Value: list}, copied
	}
}

// value returns an attribute, which must exist.
func (b book) value(k store.Key, path string) types.AttributeValue {
	item, name := b.inside(k, path)
	if item[name] == nil {
		panic("there is no " + path + " in " + k.PK + " " + k.SK)
	}
	return item[name]
}

func (b book) text(k store.Key, path string) string {
	return b.value(k, path).(*types.AttributeValueMemberS).Value
}

func (b book) set(k store.Key, path string, v types.AttributeValue) {
	item, name := b.inside(k, path)
	item[name] = v
}

func (b book) unset(k store.Key, path string) {
	b.value(k, path)
	item, name := b.inside(k, path)
	delete(item, name)
}

// add adds to a number.
func (b book) add(k store.Key, path string, n int64) {
	stored, err := events.ParseAmount(b.value(k, path).(*types.AttributeValueMemberN).Value, events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	sum, err := stored.Add(amount(n))
	if err != nil {
		panic(err)
	}
	b.set(k, path, store.Amount(sum))
}

func (b book) drop(k store.Key) {
	if b[k] == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	delete(b, k)
}

func (b book) put(k store.Key, item store.Item) {
	copied := maps.Clone(item)
	copied[store.AttrPK], copied[store.AttrSK] = store.String(k.PK), store.String(k.SK)
	b[k] = copied
}

// Keys in the book.
var (
	gold     = store.Transaction.Key("x-1")
	openHold = store.Transaction.Key("h-open")
)

// future is a KSUID of a future time.
var future = string(events.FirstKSUID(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))

// want is an expected finding.
type want struct {
	code      audit.Code
	key       store.Key
	attribute string
}

type wants []want

// atItems returns findings with one code about whole items.
func atItems(code audit.Code, keys ...store.Key) (all wants) {
	for _, k := range keys {
		all = append(all, want{code, k, ""})
	}
	return all
}

var minusZero = regexp.MustCompile(`(^|[^0-9A-Za-z_-])-0([^0-9A-Za-z_-]|$)`)

// expect fails t unless a report has exactly the wanted findings. If none of these is about lists, it ignores findings
// about lists: an altered header or end differs from its entries.
func expect(t *testing.T, report audit.Report, wanted wants) {
	t.Helper()
	var found wants
	isOfLists := func(w want) bool { return slices.Contains(listCodes, w.code) }
	for _, f := range report.Findings {
		if isOfLists(want{code: f.Code}) && !slices.ContainsFunc(wanted, isOfLists) {
			continue
		}
		found = append(found, want{f.Code, f.Key, f.Attribute})
		if f.Stored == f.Recomputed {
			t.Errorf("%s: Stored and Recomputed are %q", f.Code, f.Stored)
		}
		if minusZero.MatchString(f.Stored + " " + f.Recomputed) {
			t.Errorf("%+v shows -0", f)
		}
	}
	order := func(a, b want) int {
		return strings.Compare(a.key.PK+a.key.SK+string(a.code)+a.attribute,
			b.key.PK+b.key.SK+string(b.code)+b.attribute)
	}
	slices.SortFunc(found, order)
	slices.SortFunc(wanted, order)
	if !slices.Equal(found, wanted) {
		t.Errorf("wanted %q", wanted)
		t.Errorf("found %s", some(report.Findings))
	}
}

// eachEvent calls do for every event of the book.
func (b book) eachEvent(do func(k store.Key, e events.Event)) {
	for k, item := range b {
		if e, ok := event(item); ok {
			do(k, e)
		}
	}
}

// checksumFindings returns the expected findings about checksums that differ from the event.
func (b book) checksumFindings() (wanted wants) {
	b.eachEvent(func(k store.Key, e events.Event) {
		if b.text(k, store.AttrChecksum) != events.Checksum(e) {
			wanted = append(wanted, want{audit.ChecksumDiffers, k, store.AttrChecksum})
		}
	})
	return wanted
}

// An altered event is found even if its checksum was recomputed.
func TestEventCorruptionIsFoundWithRecomputedChecksums(t *testing.T) {
	full.Only(t, "plants each corruption of an event in one more book")
	for _, c := range corruptions(t) {
		sealed := copyOfBook(t)
		if c.plant(sealed); len(sealed.checksumFindings()) == 0 {
			continue // not a corruption of events
		}
		t.Run(c.name, func(t *testing.T) {
			sealed.recomputeChecksums()
			report := verify(t, sealed.client(t), 0)
			expect(t, report, c.wanted)
			sealed.keepsEvidence(t, report)
		})
	}
}

// isBehind reports whether a finding disappears when the projector catches up.
func isBehind(w want) bool { return strings.HasSuffix(string(w.code), "_behind") }

func TestEachCorruptionIsFound(t *testing.T) {
	planted := make(map[audit.Code]bool)
	for _, c := range corruptions(t) {
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			if c.plant(b); reflect.DeepEqual(b, copyOfBook(t)) {
				t.Error("nothing is changed")
			}
			wanted := append(c.wanted, b.checksumFindings()...)
			report := verify(t, b.client(t), 0)
			expect(t, report, wanted)
			b.keepsEvidence(t, report)
			for _, w := range wanted {
				planted[w.code] = true
			}
		})
	}
	for _, code := range audit.Codes() {
		if !planted[code.Code] && code.Code != audit.ListsIncomplete { // needs thousands of wrong entries
			t.Errorf("testdata/corruptions.txt: no row leads to %s", code.Code)
		}
	}
}

// shownAsUnsettled are the codes of items that are counted as unsettled while their events are young.
var shownAsUnsettled = []audit.Code{
	audit.BalanceBehind, audit.HoldEntryBehind, audit.ListEntryBehind, audit.JournalBehind,
}

// In a young book missing projections are unsettled, not findings. Every other corruption is found: the short run
// leaves it out.
func TestEachLastingCorruptionIsFoundInYoungBook(t *testing.T) {
	for _, c := range corruptions(t) {
		if !full.Enabled() && !slices.ContainsFunc(c.wanted, isBehind) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			c.plant(b)
			lasting := slices.DeleteFunc(append(slices.Clone(c.wanted), b.checksumFindings()...), isBehind)
			report := verify(t, b.client(t), 2*time.Hour)
			expect(t, report, lasting)
			isCounted := func(w want) bool { return slices.Contains(shownAsUnsettled, w.code) }
			if slices.ContainsFunc(c.wanted, isCounted) && len(lasting) == 0 && report.Unsettled == 0 {
				t.Error("nothing is unsettled")
			}
		})
	}
}

// keepsEvidence fails t if the events of b are altered, and the findings lead to a rebuild: what a projection shows may
// be the only trace of an event that was altered or deleted.
func (b book) keepsEvidence(t *testing.T, report audit.Report) {
	t.Helper()
	if !report.Sound() && report.Rebuildable() && !sameEvents(b, copyOfBook(t)) {
		t.Errorf("they lead to a rebuild: %s", some(report.Findings))
	}
}

// Projections that still show the original of an event are evidence, whether the checksum was recomputed or not.
func TestForgedEventsAreNotRebuilt(t *testing.T) {
	for _, c := range rows(t) {
		if c.section != forgeries {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			c.plant(b)
			b.keepsEvidence(t, verify(t, b.client(t), 0))
			b.eachEvent(func(k store.Key, e events.Event) { b[k] = store.EventItem(e) })
			report := verify(t, b.client(t), 0)
			b.keepsEvidence(t, report)
			for _, w := range c.wanted {
				isWanted := func(f audit.Finding) bool { return want{f.Code, f.Key, f.Attribute} == w }
				if !slices.ContainsFunc(report.Findings, isWanted) {
					t.Errorf("%v is missing in %s", w, some(report.Findings))
				}
			}
		})
	}
}

// event decodes an event and ignores its checksum. ok is false if the item is not an event, or is malformed.
func event(item store.Item) (e events.Event, ok bool) {
	if !store.IsEvent(store.Read(item).Text(store.AttrSK)) || item[store.AttrChecksum] == nil {
		return nil, false
	}
	item = maps.Clone(item)
	item[store.AttrChecksum] = store.String(storetest.Checksum(item))
	e, err := store.DecodeEvent(item)
	return e, err == nil
}

// recomputeChecksums makes altered events consistent, as a skilled attacker would: it recomputes their checksums, and
// updates the copies of them in entries of holds and in current accounts.
func (b book) recomputeChecksums() {
	before := make(map[store.Key]string) // checksums before
	b.eachEvent(func(k store.Key, e events.Event) {
		before[k] = b.text(k, store.AttrChecksum)
		b[k] = store.EventItem(e)
	})
	for k, item := range b {
		if _, _, isEntry := store.Hold.Parse(k); isEntry {
			for _, name := range []string{store.AttrHeader, store.AttrEnded} {
				m, ok := item[name].(*types.AttributeValueMemberM)
				if !ok {
					continue
				}
				if of, err := store.KeyOf(m.Value); err == nil && before[of] == store.Read(m.Value).Text(store.AttrChecksum) {
					item[name] = store.Map(b[of])
				}
			}
		}
		if account, isCurrent := store.Current.Parse(k); isCurrent {
			number := store.Read(item).Integer(store.AttrNumber)
			of := store.Change.Key(account, number)
			if e, ok := event(b[of]); ok && before[of] == b.text(k, store.AttrChecksum) {
				b[k] = store.NewItemEncoder(1).Current(e.(events.AccountChanged))
			}
		}
	}
}
