// Package eventstest draws random events and values, for property tests.
package eventstest

import (
	"math/big"
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
	return rapid.OneOf(transactionPosted(), PostingRecorded(), lifecycle(), group(), definition())
}

// definition draws assets, accounts and their members.
func definition() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		id, at, actor := draw.id("id"), Time().Draw(t, "at"), draw.text("actor", 1, 100)
		switch rapid.IntRange(0, 3).Draw(t, "kind of event") {
		case 0:
			return events.AssetRegistered{
				ID: id, Name: draw.text("name", 1, events.NameChars), Actor: actor, At: at,
				Description: draw.text("description", 0, events.DescriptionChars),
				Scale:       rapid.IntRange(0, events.ScaleMax).Draw(t, "scale"),
				Currency:    rapid.OneOf(ID(), rapid.Just("")).Draw(t, "currency"),
			}
		case 1:
			return events.AccountOpened{
				ID: id, Name: draw.text("name", 0, events.NameChars), Profile: draw.profile(),
				Overdraft: draw.overdraft(), Actor: actor, At: at,
			}
		case 2:
			return events.MemberGranted{
				Account: id, User: draw.id("user"), Role: draw.role(), Number: draw.number(),
				Actor: actor, At: at,
			}
		}
		return events.MemberGranted{Account: id, User: draw.id("user"), Number: draw.number(), Actor: actor, At: at}
	})
}

// metadataKey draws keys, also those whose order differs between UTF-8 and UTF-16.
func metadataKey() *rapid.Generator[string] {
	seam := rapid.StringOfN(rapid.SampledFrom([]rune("a\ud7ff\ue000\uffff\U00010000\U0010ffff")), 1, 3, -1)
	return rapid.OneOf(Text(1, events.MetadataKeyChars), seam)
}

func transactionPosted() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		e := events.TransactionPosted{
			ID: draw.id("id"), Kind: draw.kind(), Description: draw.text("description", 0, events.DescriptionChars),
			Metadata:    rapid.MapOfN(metadataKey(), Text(0, 20), 0, 5).Draw(t, "metadata"),
			Fingerprint: rapid.StringMatching(`[1-9][0-9]?:[0-9a-f]{64}`).Draw(t, "fingerprint"),
			Actor:       draw.text("actor", 1, 100),
		}
		n := rapid.OneOf(rapid.IntRange(events.PostingsMin, 5), rapid.Just(events.PostingsMax)).Draw(t, "legs")
		for _, id := range KSUIDs(n).Draw(t, "ksuids") {
			e.Legs = append(e.Legs, draw.leg(id))
		}
		switch rapid.IntRange(0, 3).Draw(t, "hold or backdated") {
		case 0, 1:
			e.ExpiresAt = Time().Draw(t, "expires")
		case 2:
			micros := rapid.Int64Range(1, year).Draw(t, "recorded after")
			e.RecordedAt = e.PostedAt().Add(time.Duration(micros) * time.Microsecond)
		}
		if rapid.IntRange(0, 3).Draw(t, "reversal") == 0 {
			e.Kind, e.Reverses = events.KindReversal, draw.id("reverses")
		}
		return e
	})
}

// PostingRecorded draws valid postings of every phase.
func PostingRecorded() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		e := events.PostingRecorded{
			Leg: draw.leg(KSUIDs(1).Draw(t, "ksuid")[0]), Transaction: draw.id("transaction"), Kind: draw.kind(),
			Description: draw.text("description", 0, events.DescriptionChars),
		}
		e.Phase = rapid.SampledFrom([]events.Phase{
			"", events.PhasePlaced, events.PhaseCaptured, events.PhaseReleased, events.PhaseExpired,
		}).Draw(t, "phase")
		switch e.Phase {
		case events.PhasePlaced:
			e.Pending, e.Quantity, e.Cost = e.Quantity, events.Amount{}, events.Amount{}
		case events.PhaseCaptured:
			e.Pending = e.Quantity.Neg()
		case events.PhaseReleased, events.PhaseExpired:
			e.Pending, e.Quantity, e.Cost = e.Quantity.Neg(), events.Amount{}, events.Amount{}
		default:
			e.Backdated = rapid.Bool().Draw(t, "backdated")
		}
		return e
	})
}

// group draws groups, their accounts and their members.
func group() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		id, at, actor := draw.id("id"), Time().Draw(t, "at"), draw.text("actor", 1, 100)
		switch rapid.IntRange(0, 3).Draw(t, "kind of event") {
		case 0:
			return events.GroupRegistered{
				ID: id, Name: draw.text("name", 0, events.NameChars), Actor: actor, At: at,
				Description: draw.text("description", 0, events.DescriptionChars),
			}
		case 1:
			groups := rapid.SliceOfNDistinct(ID(), 1, events.AccountGroupsMax, rapid.ID[string]).Draw(t, "groups")
			e := events.AccountGrouped{Account: id, Number: draw.number(), Actor: actor, At: at}
			if e.Added = groups[0]; rapid.Bool().Draw(t, "removed") {
				e.Added, e.Removed, groups = "", groups[0], groups[1:]
			}
			if len(groups) > 0 {
				e.Groups = slices.Sorted(slices.Values(groups))
			}
			return e
		case 2:
			return events.MemberGranted{
				Group: id, User: draw.id("user"), Role: draw.role(), Number: draw.number(),
				Actor: actor, At: at,
			}
		}
		return events.MemberGranted{Group: id, User: draw.id("user"), Number: draw.number(), Actor: actor, At: at}
	})
}

// lifecycle draws ends of holds, reversals and changes of accounts.
func lifecycle() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		id, actor := draw.id("id"), draw.text("actor", 1, 100)
		n := rapid.IntRange(events.PostingsMin, 5).Draw(t, "legs")
		switch rapid.IntRange(0, 2).Draw(t, "kind of event") {
		case 0:
			e := events.HoldEnded{
				Transaction: id, Actor: actor, Description: draw.text("description", 0, events.DescriptionChars),
				Outcome: rapid.SampledFrom([]events.Outcome{
					events.OutcomeCaptured, events.OutcomeReleased, events.OutcomeExpired,
				}).Draw(t, "outcome"),
			}
			for _, id := range KSUIDs(n).Draw(t, "ksuids") {
				e.Legs = append(e.Legs, draw.leg(id))
			}
			return e
		case 1:
			e := events.TransactionReversed{
				Transaction: id, By: draw.id("by"), Number: rapid.Int64Range(1, events.ReversalsMax).Draw(t, "number"),
			}
			for range n {
				leg := draw.leg("")
				e.Taken = append(e.Taken, events.Taken{Quantity: leg.Quantity, Cost: leg.Cost})
			}
			return e
		}
		e := events.AccountChanged{
			ID: id, Name: draw.text("name", 0, events.NameChars), Profile: draw.profile(), Overdraft: draw.overdraft(),
			Number: rapid.Int64Range(2, events.ChangesMax).Draw(t, "number"), Actor: actor, At: Time().Draw(t, "at"),
			State: rapid.SampledFrom([]events.AccountState{
				events.StateOpen, events.StateFrozen, events.StateClosed,
			}).Draw(t, "state"),
			Highest: draw.limits("highest"),
		}
		e.Closing = e.State == events.StateFrozen && rapid.Bool().Draw(t, "closing")
		return e
	})
}

// drawing draws the fields of an event.
type drawing struct{ t *rapid.T }

func (d drawing) id(label string) string { return ID().Draw(d.t, label) }

func (d drawing) text(label string, least, most int) string {
	return Text(least, most).Draw(d.t, label)
}

func (d drawing) profile() string {
	return rapid.SampledFrom([]string{
		"{}", `{"a":[1,{"b":null}],"<":"é"}`, `{"addresses":[{"city":"Springfield"}]}`,
	}).Draw(d.t, "profile")
}

func (d drawing) overdraft() (o events.Overdraft) {
	if o.Unlimited = rapid.Bool().Draw(d.t, "unlimited"); o.Unlimited {
		return o
	}
	o.Limits = d.limits("limits")
	return o
}

// limits are nil if there are none.
func (d drawing) limits(label string) map[string]events.Amount {
	limit := rapid.Map(Amount(events.PostedDigits), events.Amount.Abs)
	if limits := rapid.MapOfN(ID(), limit, 0, 5).Draw(d.t, label); len(limits) > 0 {
		return limits
	}
	return nil
}

func (d drawing) role() events.Role {
	roles := []events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner}
	return rapid.SampledFrom(roles).Draw(d.t, "role")
}

func (d drawing) number() int64 {
	return rapid.Int64Range(1, events.MemberNumberMax).Draw(d.t, "number")
}

func (d drawing) kind() events.Kind {
	kinds := []events.Kind{events.KindTransaction, events.KindTransfer, events.KindTrade}
	return rapid.SampledFrom(kinds).Draw(d.t, "kind")
}

func (d drawing) leg(id events.KSUID) events.Leg {
	quantity, cost := Amount(events.PostedDigits).Draw(d.t, "quantity"), Amount(events.PostedDigits).Draw(d.t, "cost")
	return events.Leg{ID: id, Account: d.id("account"), Asset: d.id("asset"), Quantity: quantity, Cost: cost}
}
