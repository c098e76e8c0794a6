package events_test

import (
	"math/big"
	"slices"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// kinds has a value of every event that is stored under a name of its own.
var kinds = []events.Event{
	events.AssetRegistered{}, events.AccountOpened{}, events.AccountChanged{}, events.TransactionPosted{},
	events.TransactionPosted{ExpiresAt: epoch}, events.PostingRecorded{}, events.MemberGranted{}, events.MemberRevoked{},
	events.HoldEnded{Outcome: events.OutcomeCaptured}, events.HoldEnded{Outcome: events.OutcomeReleased},
	events.HoldEnded{Outcome: events.OutcomeExpired}, events.TransactionReversed{},
	events.GroupRegistered{}, events.AccountGrouped{}, events.MemberGranted{Group: "g"}, events.MemberRevoked{Group: "g"},
}

func genID() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`)
}

func genText(least, most int) *rapid.Generator[string] {
	return rapid.StringN(least, most, -1)
}

// genWhole draws whole numbers of at most the given digits, of every length, often at the seams of the representation.
func genWhole(digits int) *rapid.Generator[*big.Int] {
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

func genAmount(digits int) *rapid.Generator[events.Amount] {
	return rapid.Map(genWhole(digits), amountOf)
}

// amountOf converts n, which must be in range.
func amountOf(n *big.Int) events.Amount {
	a, err := events.ParseAmount(n.String(), events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	return a
}

var (
	epoch = time.Date(2014, 5, 13, 16, 53, 20, 0, time.UTC)               // the first instant of KSUIDs
	last  = epoch.Add((1<<32-1)*time.Second + 999_999*time.Microsecond)   // the last
	year  = int64(365 * 24 * time.Hour / time.Microsecond)                // in microseconds
	span  = int64((1<<32-1)*1_000_000 + 999_999)                          // from epoch to last, in microseconds
	after = func(micros int64) time.Time { return epoch.Add(us(micros)) } // an instant after epoch
)

func us(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// genTime draws whole microseconds of years that facts are written in.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 100*year), after)
}

// genKSUIDs draws n increasing KSUIDs of one instant.
func genKSUIDs(n int) *rapid.Generator[[]events.KSUID] {
	return rapid.Custom(func(t *rapid.T) []events.KSUID {
		at := genTime().Draw(t, "at")
		ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(n)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	})
}

// genEvent draws valid events of all kinds.
func genEvent() *rapid.Generator[events.Event] {
	return rapid.OneOf(genTransactionPosted(), genPostingRecorded(), genLife(), genGroup(), rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		id, at, actor := draw.id("id"), genTime().Draw(t, "at"), draw.text("actor", 1, 100)
		switch rapid.IntRange(0, 3).Draw(t, "kind of event") {
		case 0:
			return events.AssetRegistered{
				ID: id, Name: draw.text("name", 1, events.NameChars), Actor: actor, At: at,
				Description: draw.text("description", 0, events.DescriptionChars),
				Scale:       rapid.IntRange(0, events.ScaleMax).Draw(t, "scale"),
				Currency:    rapid.OneOf(genID(), rapid.Just("")).Draw(t, "currency"),
			}
		case 1:
			return events.AccountOpened{
				ID: id, Name: draw.text("name", 0, events.NameChars), Profile: draw.profile(), Overdraft: draw.overdraft(),
				Actor: actor, At: at,
			}
		case 2:
			role := rapid.SampledFrom([]events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner})
			return events.MemberGranted{
				Account: id, User: draw.id("user"), Role: role.Draw(t, "role"), Number: draw.number(), Actor: actor, At: at,
			}
		}
		return events.MemberRevoked{Account: id, User: draw.id("user"), Number: draw.number(), Actor: actor, At: at}
	}))
}

func genTransactionPosted() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		e := events.TransactionPosted{
			ID: draw.id("id"), Kind: draw.kind(), Description: draw.text("description", 0, events.DescriptionChars),
			Metadata:    rapid.MapOfN(genText(1, events.MetadataKeyChars), genText(0, 20), 0, 5).Draw(t, "metadata"),
			Fingerprint: rapid.StringMatching(`[1-9][0-9]?:[0-9a-f]{64}`).Draw(t, "fingerprint"),
			Actor:       draw.text("actor", 1, 100),
		}
		n := rapid.OneOf(rapid.IntRange(events.PostingsMin, 5), rapid.Just(events.PostingsMax)).Draw(t, "legs")
		for _, id := range genKSUIDs(n).Draw(t, "ksuids") {
			e.Legs = append(e.Legs, draw.leg(id))
		}
		switch rapid.IntRange(0, 3).Draw(t, "hold or backdated") {
		case 0, 1:
			e.ExpiresAt = genTime().Draw(t, "expires")
		case 2:
			e.RecordedAt = e.PostedAt().Add(us(rapid.Int64Range(1, year).Draw(t, "recorded after")))
		}
		if rapid.IntRange(0, 3).Draw(t, "reversal") == 0 {
			e.Kind, e.Reverses = events.KindReversal, draw.id("reverses")
		}
		return e
	})
}

func genPostingRecorded() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		e := events.PostingRecorded{
			Leg: draw.leg(genKSUIDs(1).Draw(t, "ksuid")[0]), Transaction: draw.id("transaction"), Kind: draw.kind(),
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
		}
		return e
	})
}

// genGroup draws groups, their accounts and their members.
func genGroup() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		draw := drawing{t}
		id, at, actor := draw.id("id"), genTime().Draw(t, "at"), draw.text("actor", 1, 100)
		switch rapid.IntRange(0, 3).Draw(t, "kind of event") {
		case 0:
			return events.GroupRegistered{
				ID: id, Name: draw.text("name", 0, events.NameChars), Actor: actor, At: at,
				Description: draw.text("description", 0, events.DescriptionChars),
			}
		case 1:
			groups := rapid.SliceOfNDistinct(genID(), 1, events.AccountGroupsMax, rapid.ID[string]).Draw(t, "groups")
			e := events.AccountGrouped{Account: id, Number: draw.number(), Actor: actor, At: at}
			if e.Added = groups[0]; rapid.Bool().Draw(t, "removed") {
				e.Added, e.Removed, groups = "", groups[0], groups[1:]
			}
			if len(groups) > 0 {
				e.Groups = slices.Sorted(slices.Values(groups))
			}
			return e
		case 2:
			role := rapid.SampledFrom([]events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner})
			return events.MemberGranted{
				Group: id, User: draw.id("user"), Role: role.Draw(t, "role"), Number: draw.number(), Actor: actor, At: at,
			}
		}
		return events.MemberRevoked{Group: id, User: draw.id("user"), Number: draw.number(), Actor: actor, At: at}
	})
}

// genLife draws ends of holds, reversals and changes of accounts.
func genLife() *rapid.Generator[events.Event] {
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
			for _, id := range genKSUIDs(n).Draw(t, "ksuids") {
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
		return events.AccountChanged{
			ID: id, Name: draw.text("name", 0, events.NameChars), Profile: draw.profile(), Overdraft: draw.overdraft(),
			Number: rapid.Int64Range(2, events.ChangesMax).Draw(t, "number"), Actor: actor, At: genTime().Draw(t, "at"),
			State: rapid.SampledFrom([]events.AccountState{
				events.StateOpen, events.StateFrozen, events.StateClosed,
			}).Draw(t, "state"),
		}
	})
}

// drawing draws the fields of an event.
type drawing struct{ t *rapid.T }

func (d drawing) id(label string) string { return genID().Draw(d.t, label) }

func (d drawing) text(label string, least, most int) string {
	return genText(least, most).Draw(d.t, label)
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
	limit := rapid.Map(genAmount(events.PostedDigits), events.Amount.Abs)
	if limits := rapid.MapOfN(genID(), limit, 0, 5).Draw(d.t, "limits"); len(limits) > 0 {
		o.Limits = limits
	}
	return o
}

func (d drawing) number() int64 {
	return rapid.Int64Range(1, events.MemberNumberMax).Draw(d.t, "number")
}

func (d drawing) kind() events.Kind {
	return rapid.SampledFrom([]events.Kind{events.KindTransaction, events.KindTransfer, events.KindTrade}).Draw(d.t, "kind")
}

func (d drawing) leg(id events.KSUID) events.Leg {
	quantity, cost := genAmount(events.PostedDigits).Draw(d.t, "quantity"), genAmount(events.PostedDigits).Draw(d.t, "cost")
	return events.Leg{ID: id, Account: d.id("account"), Asset: d.id("asset"), Quantity: quantity, Cost: cost}
}
