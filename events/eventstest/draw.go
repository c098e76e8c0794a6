// Package eventstest draws random events and values, for property tests.
package eventstest

import (
	"math/big"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// ID draws ids.
func ID() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`)
}

// Text draws texts of least to most characters, without NUL.
func Text(least, most int) *rapid.Generator[string] {
	return rapid.Map(rapid.StringN(least, most, -1), func(s string) string {
		return strings.ReplaceAll(s, "\x00", "0")
	})
}

// Whole draws whole numbers of at most the given digits, of every length, often at limits of the representation.
func Whole(digits int) *rapid.Generator[*big.Int] {
	bound := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	seams := []*big.Int{new(big.Int), new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(1), 64)}
	for n := big.NewInt(1); n.Cmp(bound) <= 0; n = new(big.Int).Mul(n, big.NewInt(10)) {
		seams = append(seams, n)
	}
	return rapid.Custom(func(t *rapid.T) *big.Int {
		n := new(big.Int)
		if rapid.Bool().Draw(t, "at a seam") {
			n.Add(rapid.SampledFrom(seams).Draw(t, "seam"), big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "off")))
		} else {
			n.SetString(rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits"), 10)
		}
		n.Rem(n, bound)
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return n
	})
}

// Amount draws amounts of at most the given digits.
func Amount(digits int) *rapid.Generator[events.Amount] {
	return rapid.Map(Whole(digits), AmountOf)
}

// AmountOf converts n, which must be in range.
func AmountOf(n *big.Int) events.Amount {
	a, err := events.ParseAmount(n.String(), events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	return a
}

// year is in microseconds.
const year = int64(365 * 24 * time.Hour / time.Microsecond)

// Time draws whole microseconds in the first 100 years of KSUIDs.
func Time() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 100*year), func(micros int64) time.Time {
		return time.Date(2014, 5, 13, 16, 53, 20, 0, time.UTC).Add(time.Duration(micros) * time.Microsecond)
	})
}

// KSUIDs draws n increasing KSUIDs of one instant.
func KSUIDs(n int) *rapid.Generator[[]events.KSUID] {
	return rapid.Custom(func(t *rapid.T) []events.KSUID {
		at := Time().Draw(t, "at")
		ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(n)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	})
}

// Event draws valid events of all kinds.
func Event() *rapid.Generator[events.Event] {
	return rapid.OneOf(
		of(transactionPosted), PostingRecorded(), of(holdEnded), of[events.TransactionReversed](nil),
		of[events.AssetRegistered](nil), of(accountOpened), of(accountChanged),
		of[events.GroupRegistered](nil), of(accountGrouped), of(memberGranted),
		of[events.PeriodClosed](nil), of[events.LanesGrown](nil),
	)
}

// PostingRecorded draws valid postings of every phase.
func PostingRecorded() *rapid.Generator[events.Event] { return of(postingRecorded) }

// of draws events of one type: each field obeys its rule, and fit makes the fields fit each other.
func of[E events.Event](fit func(*rapid.T, *E)) *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		var e E
		if fill(t, reflect.ValueOf(&e).Elem()); fit != nil {
			fit(t, &e)
		}
		return e
	})
}

// fill draws the fields of a struct by the rules in their tags.
func fill(t *rapid.T, v reflect.Value) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		tag, to := f.Tag.Get("stored"), v.FieldByIndex(f.Index)
		rule, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous, rule == "-", rule == "flag":
		case rule == "counted" || rule == "rates": // see those of each event
		case to.Kind() == reflect.Slice && rule == "legs":
			n := rapid.IntRange(events.PostingsMin, 5).Draw(t, f.Name)
			if rapid.IntRange(0, 3).Draw(t, "most") == 0 {
				n = events.PostingsMax
			}
			to.Set(reflect.MakeSlice(to.Type(), n, n))
			ids := KSUIDs(n).Draw(t, "ksuids")
			for i := range n {
				fill(t, to.Index(i))
				if leg, isLeg := to.Index(i).Addr().Interface().(*events.Leg); isLeg {
					leg.ID = ids[i]
				}
			}
		case strings.Contains(options, "optional") && rapid.IntRange(0, 4).Draw(t, "absent") == 0 && rule != "metadata":
			if rule == "profile" {
				to.SetString("{}")
			}
		default:
			to.Set(reflect.ValueOf(value(t, to.Interface(), rule)).Convert(to.Type()))
		}
	}
}

// value draws a value that obeys a rule, for a field of the type of like.
func value(t *rapid.T, like any, rule string) any {
	limits := rapid.MapOfN(ID(), rapid.Map(Amount(events.PostedDigits), events.Amount.Abs), 1, 5)
	if most := events.TextChars(rule); most > 0 {
		return Text(1, min(most, 256)).Draw(t, rule)
	}
	switch rule {
	case "id":
		return ID().Draw(t, rule)
	case "ksuid":
		return KSUIDs(1).Draw(t, rule)[0]
	case "profile":
		profiles := []string{`{"a":[1,{"b":null}],"<":"é"}`, `{"addresses":[{"city":"Springfield"}]}`}
		return rapid.SampledFrom(profiles).Draw(t, rule)
	case "fingerprint":
		return rapid.StringMatching(`[1-9][0-9]?:[0-9a-f]{64}`).Draw(t, rule)
	case "time":
		return Time().Draw(t, rule)
	case "amount":
		return Amount(events.PostedDigits).Draw(t, rule)
	case "kind":
		kinds := []events.Kind{events.KindTransaction, events.KindTransfer, events.KindTrade}
		return rapid.SampledFrom(kinds).Draw(t, rule)
	case "phase":
		return rapid.SampledFrom([]events.Phase{
			events.PhasePlaced, events.PhaseCaptured, events.PhaseReleased, events.PhaseExpired,
		}).Draw(t, rule)
	case "role":
		return rapid.SampledFrom([]events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner}).Draw(t, rule)
	case "state":
		states := []events.AccountState{events.StateOpen, events.StateFrozen, events.StateClosed}
		return rapid.SampledFrom(states).Draw(t, rule)
	case "scale":
		return rapid.IntRange(0, events.ScaleMax).Draw(t, rule)
	case "number", "period":
		return rapid.Int64Range(1, events.MemberNumberMax).Draw(t, rule)
	case "version":
		return rapid.Int64Range(2, events.ChangesMax).Draw(t, rule)
	case "reversal":
		return rapid.Int64Range(1, events.ReversalsMax).Draw(t, rule)
	case "lanes":
		return 1 << rapid.IntRange(1, bits.Len(events.LanesMax)-1).Draw(t, rule)
	case "groups":
		return slices.Sorted(slices.Values(
			rapid.SliceOfNDistinct(ID(), 1, events.AccountGroupsMax, rapid.ID[string]).Draw(t, rule)))
	case "metadata":
		// Keys are also such whose order differs between UTF-8 and UTF-16.
		seam := rapid.StringOfN(rapid.SampledFrom([]rune("a\ud7ff\ue000\uffff\U00010000\U0010ffff")), 1, 3, -1)
		keys := rapid.OneOf(Text(1, events.MetadataKeyChars), seam)
		return rapid.MapOfN(keys, Text(0, 20), 0, 5).Draw(t, rule)
	case "limits", "highest":
		drawn := limits.Draw(t, rule)
		if _, isPolicy := like.(events.Overdraft); !isPolicy {
			return drawn
		}
		if rapid.Bool().Draw(t, "unlimited") {
			return events.Overdraft{Unlimited: true}
		}
		return events.Overdraft{Limits: drawn}
	}
	panic("eventstest: draw values for the rule " + rule)
}

func transactionPosted(t *rapid.T, e *events.TransactionPosted) {
	e.ExpiresAt, e.RecordedAt = time.Time{}, time.Time{}
	switch rapid.IntRange(0, 3).Draw(t, "hold or backdated") {
	case 0, 1:
		e.ExpiresAt = Time().Draw(t, "expires")
	case 2:
		micros := rapid.Int64Range(1, year).Draw(t, "recorded after")
		e.RecordedAt = e.PostedAt().Add(time.Duration(micros) * time.Microsecond)
	}
	if e.RecordedAt.IsZero() {
		e.Period = 0
	}
	if e.Reverses = ""; rapid.IntRange(0, 3).Draw(t, "reversal") == 0 {
		e.Kind, e.Reverses = events.KindReversal, ID().Draw(t, "reverses")
	}
	for i := range e.Legs {
		isCounted := e.Legs[i].Quantity.Sign() < 0 && !e.IsBackdated() && e.Reverses == ""
		if isCounted && rapid.Bool().Draw(t, "counted") {
			e.Legs[i].Counted = strings.Join(names(t), " ")
		}
	}
}

func postingRecorded(t *rapid.T, e *events.PostingRecorded) {
	defer countPosting(t, e)
	e.Pending, e.RecordedAt = events.Amount{}, time.Time{}
	switch e.Phase {
	case events.PhasePlaced:
		e.Pending, e.Quantity, e.Cost = e.Quantity, events.Amount{}, events.Amount{}
	case events.PhaseCaptured:
		e.Pending = e.Quantity.Neg()
	case events.PhaseReleased, events.PhaseExpired:
		e.Pending, e.Quantity, e.Cost = e.Quantity.Neg(), events.Amount{}, events.Amount{}
	default:
		if e.Backdated = rapid.Bool().Draw(t, "backdated"); e.Backdated && rapid.IntRange(0, 3).Draw(t, "dated") > 0 {
			micros := rapid.Int64Range(1, year).Draw(t, "recorded after")
			e.RecordedAt = e.ID.Time().Add(time.Duration(micros) * time.Microsecond)
		}
	}
}

// countPosting draws the limits over time that counted a posting.
func countPosting(t *rapid.T, e *events.PostingRecorded) {
	isDebit := e.Quantity.Sign() < 0 || e.Pending.Sign() < 0
	isCounted := isDebit && !e.Backdated && !e.Phase.Ends() && e.Kind != events.KindReversal
	if isCounted && rapid.Bool().Draw(t, "counted") {
		e.Counted = strings.Join(names(t), " ")
	}
}

func holdEnded(t *rapid.T, e *events.HoldEnded) {
	outcomes := []events.Outcome{events.OutcomeCaptured, events.OutcomeReleased, events.OutcomeExpired}
	e.Outcome = rapid.SampledFrom(outcomes).Draw(t, "outcome")
}

func accountOpened(t *rapid.T, e *events.AccountOpened) {
	e.Rates = rates(t, e.Overdraft)
}

// rates draws limits over time for an account with a policy.
func rates(t *rapid.T, o events.Overdraft) (drawn []events.Rate) {
	if o.Unlimited || rapid.Bool().Draw(t, "without rates") {
		return nil
	}
	for _, asset := range rapid.SliceOfNDistinct(ID(), 1, 3, rapid.ID[string]).Draw(t, "assets") {
		for _, name := range names(t) {
			per, zone, _ := events.ParseRateName(name)
			quantity := rapid.Map(Amount(events.PostedDigits), events.Amount.Abs).Draw(t, "quantity")
			if quantity.IsZero() {
				quantity = events.NewAmount(1)
			}
			drawn = append(drawn, events.Rate{Asset: asset, Per: per, Zone: zone, Quantity: quantity})
		}
	}
	events.SortRates(drawn)
	return drawn
}

// names draws the names of rates of one asset, in order.
func names(t *rapid.T) []string {
	name := rapid.SampledFrom(strings.Fields("day@Europe/Berlin day@UTC month@Etc/GMT+3 month@UTC week@Asia/Gaza"))
	return slices.Sorted(slices.Values(rapid.SliceOfNDistinct(name, 1, 4, rapid.ID[string]).Draw(t, "names")))
}

func accountChanged(t *rapid.T, e *events.AccountChanged) {
	e.Rates = rates(t, e.Overdraft)
	e.Closing = e.State == events.StateFrozen && rapid.Bool().Draw(t, "closing")
	e.Tagged = len(e.Metadata) > 0 || rapid.Bool().Draw(t, "tagged")
}

func accountGrouped(t *rapid.T, e *events.AccountGrouped) {
	if e.Added, e.Removed = "", ""; len(e.Groups) > 0 && rapid.Bool().Draw(t, "added") {
		e.Added = e.Groups[0]
		return
	}
	isFree := func(id string) bool { return !e.Has(id) }
	e.Removed = ID().Filter(isFree).Draw(t, "removed")
}

func memberGranted(t *rapid.T, e *events.MemberGranted) {
	if e.Account, e.Group = ID().Draw(t, "id"), ""; rapid.Bool().Draw(t, "in a group") {
		e.Account, e.Group = "", e.Account
	}
}
