package export

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// accountsAtOnce is the number of concurrent reads of accounts.
const accountsAtOnce = 8

// temporaryLimit is the overdraft with which a limited account is opened, so that its postings are accepted in any
// order. The import backdates them, so credits can be spent only after they are projected. end writes the real limits.
var temporaryLimit, _ = events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits) // valid

// linesFormat writes the lines of an import.
type linesFormat struct {
	*exporter
	lines  *json.Encoder
	access map[string]access       // newest groups, groupings and roles, by the event's key without its number
	left   map[string][]client.Leg // what later reversals in the file take of a transaction, by its id
}

func newLines(e *exporter) format {
	lines := json.NewEncoder(e.out)
	lines.SetEscapeHTML(false)
	return &linesFormat{e, lines, make(map[string]access), make(map[string][]client.Leg)}
}

func (f *linesFormat) line(kind client.Kind, body any) error {
	return f.lines.Encode(map[client.Kind]any{kind: body})
}

func (f *linesFormat) asset(a client.Asset) error {
	return f.line(client.KindAsset, client.Line[client.Asset]{Request: a})
}

func (f *linesFormat) account(ctx context.Context, accounts []client.Account) error {
	open := client.Overdraft{Limits: make(map[string]events.Amount)}
	for _, id := range slices.Sorted(maps.Keys(f.assets)) {
		if len(open.Limits) < events.OverdraftAssets {
			open.Limits[id] = temporaryLimit
		}
	}
	whole := make([]client.Account, len(accounts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(accountsAtOnce)
	for n, a := range accounts {
		g.Go(func() error {
			r, err := f.Ledger.Account(ctx, a.ID) // lists leave fields out
			if whole[n] = r.Value; string(r.Value.Profile) == "{}" {
				whole[n].Profile = nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, a := range whole {
		if !a.Overdraft.Unlimited {
			a.Overdraft = open
		}
		a.Rates = nil // end writes them: what is not backdated would count as of the day of the import
		if err := f.line(client.KindAccount, client.Line[client.Account]{Request: a}); err != nil {
			return err
		}
	}
	return nil
}

// requestFor returns the request for legs, of the kind of a transaction if a request of that kind can have them. The
// capture of a trade may have a cost only.
func requestFor(t client.Transaction, legs []client.Posting, at time.Time, hold *client.Hold) (client.Kind, any) {
	switch first := legs[0]; {
	case t.Kind == string(client.KindTransfer):
		return client.KindTransfer, client.Transfer{
			ID: t.ID, Annotation: t.Annotation(), From: first.Account, To: legs[1].Account,
			Asset: first.Asset, Quantity: legs[1].Quantity, Hold: hold, EffectiveAt: at,
		}
	case t.Kind == string(client.KindTrade) && first.Quantity.Sign() > 0:
		return client.KindTrade, client.Trade{
			ID: t.ID, Annotation: t.Annotation(), Buyer: first.Account, Seller: legs[1].Account,
			Asset: first.Asset, Quantity: first.Quantity, Cost: first.Cost, Settle: len(legs) > 2, Hold: hold,
			EffectiveAt: at,
		}
	}
	return client.KindTransaction, client.TransactionRequest{
		ID: t.ID, Annotation: t.Annotation(), Postings: client.Legs(legs), Hold: hold,
		EffectiveAt: at,
	}
}

func (f *linesFormat) transaction(ctx context.Context, t posted) error {
	if t.Reverses != "" {
		r, err := f.Ledger.Transaction(ctx, t.Reverses)
		if err != nil {
			return err
		}
		if part, ok := f.part(r.Value, t.legs); ok {
			return f.line(client.KindReversal, reversal{t.Reverses, client.Reversal{
				ID: t.ID, Annotation: t.Annotation(), EffectiveAt: t.at, Part: part,
			}})
		}
		f.note("reversals of several postings of one account and asset become plain transactions")
	}
	return f.line(requestFor(t.Transaction, t.legs, t.at, nil))
}

// reversal and release are lines.
type reversal struct {
	Of string `json:"transaction"`
	client.Reversal
}

type release struct {
	Of          string `json:"transaction"`
	Description string `json:"description,omitempty"`
}

// part returns the part of a transaction that a reversal with the given legs took. ok is false if it cannot be told.
func (f *linesFormat) part(of client.Transaction, legs []client.Posting) (part client.Part, ok bool) {
	first := legs[0]
	switch kind, _ := requestFor(of, movements(of.AsPosted()), time.Time{}, nil); kind {
	case client.KindTransfer:
		part.Quantity = &first.Quantity
		return part, true
	case client.KindTrade:
		quantity, cost := first.Quantity.Neg(), first.Cost.Neg()
		part.Quantity, part.Cost = &quantity, &cost
		return part, true
	}
	part.Postings = f.taken(of, legs)
	return part, part.Postings != nil
}

// taken returns what a reversal with the given legs took of each posting of a transaction that is not zero, nil if it
// cannot be told. The legs are in the order of the postings, but several postings may have their account and asset.
// Then it is one of which all reversals together took just the rest, else the first one of which they took enough.
func (f *linesFormat) taken(of client.Transaction, legs []client.Posting) []client.Taken {
	left, isKnown := f.left[of.ID]
	if !isKnown {
		left = of.Reversed
	}
	for _, preferRests := range []bool{true, false} {
		taken, rest, ok := match(of.AsPosted(), left, legs, preferRests)
		if !ok {
			continue
		}
		if f.left[of.ID] = rest; !slices.ContainsFunc(rest, isLeft) {
			delete(f.left, of.ID)
		}
		return taken
	}
	return nil
}

func isLeft(l client.Leg) bool { return !l.Quantity.IsZero() || !l.Cost.IsZero() }

// match finds the postings of which a reversal took its legs, and returns what later reversals took.
func match(postings []client.Posting, left []client.Leg, legs []client.Posting, preferRests bool) (
	taken []client.Taken, rest []client.Leg, ok bool,
) {
	rest = slices.Clone(left)
	for i, p := range postings {
		if p.Quantity.IsZero() && p.Cost.IsZero() || i >= len(left) {
			continue
		}
		took := client.Taken{Cost: new(events.Amount)}
		if len(legs) > 0 {
			after, fits := less(left[i], legs[0])
			if fits && preferRests && isLeft(after) {
				fits = !slices.ContainsFunc(left[i+1:], func(later client.Leg) bool {
					after, fits := less(later, legs[0])
					return fits && !isLeft(after)
				})
			}
			if fits {
				took = client.Taken{Quantity: legs[0].Quantity.Neg(), Cost: new(legs[0].Cost.Neg())}
				rest[i], legs = after, legs[1:]
			}
		}
		taken = append(taken, took)
	}
	return taken, rest, len(legs) == 0
}

// less returns what is left of a posting less a leg of a reversal. ok is false if the leg cannot be of it.
func less(left client.Leg, leg client.Posting) (rest client.Leg, ok bool) {
	quantity, hasQuantity := lessAmount(left.Quantity, leg.Quantity)
	cost, hasCost := lessAmount(left.Cost, leg.Cost)
	rest = client.Leg{Account: left.Account, Asset: left.Asset, Quantity: quantity, Cost: cost}
	return rest, hasQuantity && hasCost && left.Account == leg.Account && left.Asset == leg.Asset
}

// lessAmount takes an amount of a leg of a reversal, which has the opposite sign and is not more.
func lessAmount(left, reversed events.Amount) (rest events.Amount, ok bool) {
	rest, err := left.Add(reversed)
	return rest, err == nil && (reversed.IsZero() || rest.Sign() != reversed.Sign())
}

// hold writes a hold that posted nothing. It cannot have the time of the hold. If it has ended, neither can it have its
// time of expiry, which has passed when the line is imported, so that the second ledger could not wait for it.
func (f *linesFormat) hold(t client.Transaction) error {
	var hold client.Hold
	end := release{t.ID, t.EndDescription}
	switch t.Status {
	case client.StatusHeld:
		at, err := time.Parse(time.RFC3339Nano, t.ExpiresAt)
		if err != nil {
			return fmt.Errorf("hold %q: %w", t.ID, err)
		}
		hold.ExpiresAt = at
	case client.StatusExpired:
		f.note("expired holds are exported as released")
		end.Description = "Expired at " + t.EndedAt
	}
	err := f.line(requestFor(t, t.Postings, time.Time{}, &hold))
	if err == nil && t.Status != client.StatusHeld {
		err = f.line(client.KindRelease, end)
	}
	return err
}

// access has the lines for a group, for the groups of an account, or for the role of a user.
type access struct {
	event string // id of the event that made it so
	kind  client.Kind
	lines []any
}

// other takes groups, groupings and roles. The newest event counts: its key ends with its number.
func (f *linesFormat) other(e client.JournalEntry) (err error) {
	a := access{event: e.ID}
	switch e.Type {
	case events.TypeGroupRegistered:
		var g client.Group
		err = json.Unmarshal(e.Data, &g)
		a.kind, a.lines = client.KindGroup, []any{client.Line[client.Group]{Request: g}}
	case events.TypeGrouped, events.TypeUngrouped:
		var of client.AccountGroups
		err = json.Unmarshal(e.Data, &of)
		a.kind = client.KindGrouping
		for _, group := range of.Groups {
			a.lines = append(a.lines, client.Line[client.GroupedAccount]{
				Request: client.GroupedAccount{Group: group, Account: of.Account}})
		}
	case events.TypeMemberGranted:
		var m client.Membership
		err = json.Unmarshal(e.Data, &m)
		a.kind, a.lines = client.KindMember, []any{client.Line[client.Membership]{Request: m}}
	case events.TypeGroupMemberGranted:
		var m client.GroupMembership
		err = json.Unmarshal(e.Data, &m)
		a.kind, a.lines = client.KindGroupMember, []any{client.Line[client.GroupMembership]{Request: m}}
	case events.TypeMemberRevoked, events.TypeGroupMemberRevoked: // no line
	default:
		return nil
	}
	if key := e.ID[:max(strings.LastIndexByte(e.ID, '#'), 0)]; f.access[key].event < e.ID {
		f.access[key] = a
	}
	return err
}

// end writes groups, groupings and roles, and last the real limits of limited accounts, also those over time, and the
// states of accounts that are not open.
func (f *linesFormat) end(context.Context) error {
	f.result.Notes = append(f.result.Notes, "earlier versions of accounts, and revoked roles, are not exported")
	keys := slices.Sorted(maps.Keys(f.access))
	for _, kind := range []client.Kind{
		client.KindGroup, client.KindGrouping, client.KindMember, client.KindGroupMember,
	} {
		for _, key := range keys {
			for _, line := range f.access[key].lines {
				if f.access[key].kind != kind {
					break
				}
				if err := f.line(kind, line); err != nil {
					return err
				}
			}
		}
	}
	for a, err := range f.Ledger.Accounts {
		if err != nil {
			return err
		}
		var change client.AccountPatch
		if !a.Overdraft.Unlimited {
			change.Overdraft = &a.Overdraft
		}
		if a.State != client.StateOpen {
			change.State = a.State
		}
		if len(a.Rates) > 0 {
			change.Rates = a.Rates
		}
		if change.Overdraft == nil && change.State == "" {
			continue
		}
		request := client.AccountChange{ID: a.ID, AccountPatch: change}
		if err := f.line(client.KindChange, client.Line[client.AccountChange]{Request: request}); err != nil {
			return err
		}
	}
	return nil
}
