package verify

import (
	"maps"
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

// in returns the keys of an account's items whose sort keys have a prefix, in order.
func (b book) in(account, prefix string) []store.Key {
	var keys []store.Key
	for k := range b {
		if k.PK == store.Account.PK(account) && strings.HasPrefix(k.SK, prefix) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l store.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

func (b book) postings(account, asset string) []store.Key {
	return b.in(account, store.Posting.All(asset).From)
}

func (b book) segments(account, asset string) []store.Key {
	return b.in(account, store.Segment.All(asset).From)
}

// Keys in the book.
var (
	bank     = store.Account.Key("bank")
	usd      = store.Asset.Key("USD")
	gold     = store.Transaction.Key("x-1")
	deposit  = store.Transaction.Key("d-0")
	bankUSD  = store.Balance.Key("bank", "USD")
	janeUSD  = store.Balance.Key("jane", "USD")
	janeAAPL = store.Balance.Key("jane", "AAPL")
	janeGOLD = store.Balance.Key("jane", "GOLD")
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

// atChecksums returns findings with one code about checksums.
func atChecksums(code audit.Code, keys ...store.Key) (all wants) {
	for _, k := range keys {
		all = append(all, want{code, k, store.AttrChecksum})
	}
	return all
}

// corruption is a change of the book, with all findings that the audit must report.
type corruption struct {
	name   string
	plant  change
	wanted wants
}

// wrong returns a corruption of one attribute.
func wrong(name string, k store.Key, path string, v types.AttributeValue, code audit.Code) corruption {
	return corruption{name, set(k, path, v), wants{{code, k, path}}}
}

// change alters a book.
type change func(b book)

// all returns a change that makes several changes in order.
func all(changes ...change) change {
	return func(b book) {
		for _, do := range changes {
			do(b)
		}
	}
}

func set(k store.Key, path string, v types.AttributeValue) change {
	return func(b book) { b.set(k, path, v) }
}

func unset(k store.Key, path string) change { return func(b book) { b.unset(k, path) } }

func add(k store.Key, path string, n int64) change { return func(b book) { b.add(k, path, n) } }

func drop(keys ...store.Key) change {
	return func(b book) {
		for _, k := range keys {
			b.drop(k)
		}
	}
}

// put returns a change that copies an item to another key. It does not adapt the other attributes.
func put(k, from store.Key) change { return func(b book) { b.put(k, b[from]) } }

// digits38 is more than the maximum of counts and versions.
var digits38 = &types.AttributeValueMemberN{Value: strings.Repeat("9", 38)}

// corruptions returns all corruptions. They use the keys of the sound book.
func corruptions(t *testing.T) []corruption {
	b := copyOfBook(t)
	return slices.Concat(b.itemCorruptions(), b.eventCorruptions(), b.transactionCorruptions(), b.balanceCorruptions(),
		b.accountCorruptions(), b.holdCorruptions(), b.holdEntryCorruptions(), b.reversalCorruptions(), b.effectiveDateCorruptions(), b.changeCorruptions(),
		b.groupCorruptions(), b.listCorruptions())
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
		for _, f := range report.Findings {
			t.Errorf("found %+v", f)
		}
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
			wanted = append(wanted, atChecksums(audit.ChecksumDiffers, k)...)
		}
	})
	return wanted
}

// withoutChecksumFindings leaves out the findings about checksums.
func withoutChecksumFindings(wanted wants) wants {
	return slices.DeleteFunc(slices.Clone(wanted), func(w want) bool {
		return w.code == audit.ChecksumDiffers
	})
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
			expect(t, report, withoutChecksumFindings(c.wanted))
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
			c.plant(b)
			wanted := append(withoutChecksumFindings(c.wanted), b.checksumFindings()...)
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
			t.Errorf("no corruption leads to %s", code.Code)
		}
	}
}

// In a young book missing projections are unsettled, not findings. Every other corruption is found.
func TestEachLastingCorruptionIsFoundInYoungBook(t *testing.T) {
	full.Only(t, "plants each corruption in one more book")
	for _, c := range corruptions(t) {
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			c.plant(b)
			lasting := slices.DeleteFunc(append(withoutChecksumFindings(c.wanted), b.checksumFindings()...), isBehind)
			report := verify(t, b.client(t), 2*time.Hour)
			expect(t, report, lasting)
			isBalance := func(w want) bool { return w.code == audit.BalanceBehind }
			if slices.ContainsFunc(c.wanted, isBalance) && len(lasting) == 0 && report.Unsettled == 0 {
				t.Error("nothing is unsettled")
			}
		})
	}
}

// itemCorruptions are visible in a single item.
func (b book) itemCorruptions() []corruption {
	grant, posting := store.Grant.Key("jane", "u-1", 1), b.postings("bank", "USD")[0]
	note, nobody := store.Key{PK: bank.PK, SK: "NOTE#1"}, store.Account.Key("no one")
	return []corruption{
		{"unknown kind of item", func(b book) { b.put(note, store.Item{store.AttrType: store.String("Note")}) },
			wants{{audit.UnknownItem, note, store.AttrType}}},
		wrong("type of another item", store.Summary.Key("bank"), store.AttrType, store.String(store.Balance.Type),
			audit.UnknownItem),
		wrong("unknown attribute of a fold", bankUSD, "Head.Note", store.String("mine"), audit.UnknownAttribute),
		{"header without an actor", unset(gold, "Actor"), wants{{audit.MissingAttribute, gold, "Actor"}}},
		wrong("kind that is a number", gold, "Kind", store.Integer(1), audit.WrongType),
		wrong("quantity that is not whole", posting, "Quantity", &types.AttributeValueMemberN{Value: "-100000.5"},
			audit.WrongValue),
		wrong("empty text that should be absent", usd, "Description", store.String(""), audit.WrongValue),
		wrong("time without its decimals", grant, "At", store.String("2026-11-21T09:06:39Z"), audit.WrongValue),
		wrong("profile that is not compact", store.Account.Key("jane"), "Profile",
			store.String(`{"email": "jane@example.com"}`), audit.WrongValue),
		wrong("KSUID that nobody can have minted", gold, "Legs[2].ID", store.String(strings.Repeat("z", 27)),
			audit.WrongValue),
		wrong("legs of two instants", gold, "Legs[2].ID", store.String(future), audit.WrongValue),
		{"event without a checksum", unset(gold, store.AttrChecksum), wants{{audit.MissingAttribute, gold, store.AttrChecksum}}},
		wrong("unfinished that is false", bankUSD, store.AttrUnfinished, store.Flag(false), audit.WrongValue),
		wrong("posting elsewhere in the history", posting, store.AttrSK2,
			store.String(store.Posting.SK2(strings.Repeat("0", 27))), audit.WrongKey),
		{"balance outside the inverse index", unset(bankUSD, store.AttrPK2),
			wants{{audit.WrongKey, bankUSD, store.AttrPK2}}},
		wrong("revoked membership in the inverse index", store.Membership.Key("jane", "u-2"), store.AttrPK2,
			store.String(store.Membership.PK2("u-2")), audit.WrongKey),
		wrong("header of another id", gold, "ID", store.String("x-2"), audit.WrongKey),
		{"malformed id", all(put(nobody, bank), set(nobody, "ID", store.String("no one"))),
			wants{{audit.WrongKey, nobody, store.AttrSK}}},
	}
}
