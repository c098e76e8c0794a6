package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Account is the current state of an account, by its opening and its newest change.
type Account struct {
	ID        string
	Name      string
	Profile   string // a JSON object in compact form
	Overdraft events.Overdraft
	Metadata  map[string]string
	Rates     []events.Rate // limits over time, sorted
	State     events.AccountState
	Version   int64     // 1 when opened; each change adds 1
	OpenedAt  time.Time // UTC, whole microseconds
	OpenedBy  string
	ChangedAt time.Time // of the newest change, zero at version 1
	ChangedBy string    // of the newest change, empty at version 1

	opening events.AccountOpened
	closing bool                     // see events.AccountChanged, likewise highest
	tagged  bool                     // likewise
	highest map[string]events.Amount // nil at version 1
}

// NewAccount returns the account with an opening and a newest change, which is nil if there is none.
func NewAccount(opening events.AccountOpened, newest *events.AccountChanged) Account {
	a := Account{
		ID: opening.ID, Name: opening.Name, Profile: opening.Profile, Overdraft: opening.Overdraft,
		Metadata: opening.Metadata, tagged: len(opening.Metadata) > 0,
		Rates: opening.Rates,
		State: events.StateOpen, Version: 1, OpenedAt: opening.At, OpenedBy: opening.Actor, opening: opening,
	}
	if newest != nil {
		a.Name, a.Profile, a.Overdraft, a.Rates = newest.Name, newest.Profile, newest.Overdraft, newest.Rates
		a.State, a.Version, a.ChangedAt, a.ChangedBy = newest.State, newest.Number, newest.At, newest.Actor
		a.closing, a.highest = newest.Closing, newest.Highest
		a.Metadata, a.tagged = newest.Metadata, newest.Tagged
	}
	return a
}

// clone returns a copy that shares no map with a, but for empty metadata.
func (a Account) clone() Account {
	a.Overdraft.Limits, a.highest = maps.Clone(a.Overdraft.Limits), maps.Clone(a.highest)
	a.opening.Overdraft.Limits = maps.Clone(a.opening.Overdraft.Limits)
	if len(a.Metadata)+len(a.opening.Metadata) > 0 { // most have none: a copy of an empty map is an allocation
		a.Metadata, a.opening.Metadata = maps.Clone(a.Metadata), maps.Clone(a.opening.Metadata)
	}
	a.Rates, a.opening.Rates = slices.Clone(a.Rates), slices.Clone(a.opening.Rates)
	return a
}

// reopening returns the opening with which the account would be what it is now, apart from its state.
func (a Account) reopening() events.AccountOpened {
	o := a.opening
	o.Name, o.Profile, o.Overdraft, o.Metadata, o.Rates = a.Name, a.Profile, a.Overdraft, a.Metadata, a.Rates
	return o
}

// Floor returns the lowest quantity of an asset that a balance of the account may have, nil without a limit. It uses
// the highest limit that the account ever had, because a limit may be reduced below the account's debt.
func (a Account) Floor(asset string) *events.Amount {
	if a.Overdraft.Unlimited {
		return nil
	}
	most := a.mostOverdraft(asset).Neg()
	return &most
}

// mostOverdraft is the highest limit that an asset ever had.
func (a *Account) mostOverdraft(asset string) events.Amount {
	if highest, ok := a.highest[asset]; ok {
		return highest
	}
	return a.Overdraft.Limits[asset]
}

// highestBeside returns AccountChanged.Highest of the next change, which sets the policy o.
func (a *Account) highestBeside(o events.Overdraft) map[string]events.Amount {
	var highest map[string]events.Amount
	for _, earlier := range []map[string]events.Amount{a.Overdraft.Limits, a.highest} { // the higher ones last
		for asset, limit := range earlier {
			if limit.Cmp(o.Limits[asset]) > 0 {
				if highest == nil {
					highest = make(map[string]events.Amount)
				}
				highest[asset] = limit
			}
		}
	}
	return highest
}

// Account reads an account, strongly consistent. Errors: CodeAccountNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Account(ctx context.Context, id string) (Account, error) {
	found, err := l.lookupValid(ctx, id, lookupKeys{accounts: []string{id}})
	return definition(found.account(id), err, AccountNotFound())
}

// KnownAccount returns an account, perhaps an earlier version of it: it prefers the cache, at any age. Errors: those of
// Account.
func (l *Ledger) KnownAccount(ctx context.Context, id string) (Account, error) {
	if known, ok := l.accounts.anyAge(id); ok {
		return known, nil
	}
	return l.Account(ctx, id)
}

// maxGuardUpdates is how many guards of an account are updated at a time.
const maxGuardUpdates = 16

// ChangeAccount changes an account and returns its new state. A change is acknowledged only after every guard of the
// account has the new version, so it applies to every debit that begins later. A request that changes nothing adds no
// version, but it updates the guards: so a retry after CodeOutcomeUnknown completes the change.
//
// An account can be closed when it has no balances and no open holds. ChangeAccount freezes it first, and opens it
// again if it is not empty. With CodeThrottled, CodeContention or CodeUnavailable, the account may be frozen, and the
// same request goes on. A change applies to debits of an account without a limit after at most debitAge, and the
// closing of an account to its credits after at most creditAge.
//
// Errors: CodeInvalidRequest, CodeAccountNotFound, CodeAssetNotFound (of the overdraft), CodeVersionMismatch,
// CodeInvalidChange, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) ChangeAccount(ctx context.Context, r ChangeAccount) (Account, error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return Account{}, err
	}
	defer cancel()
	if !events.ValidID(r.ID) {
		return Account{}, AccountNotFound()
	}
	if r.Overdraft != nil {
		if err := l.checkOverdraft(c, *r.Overdraft); err != nil {
			if _, absent := l.KnownAccount(c, r.ID); absent != nil { // an error of the account comes first
				err = absent
			}
			return Account{}, err
		}
	}
	if r.Rates != nil {
		if err := l.checkRateAssets(c, *r.Rates); err != nil {
			return Account{}, err
		}
	}
	return (&accountChange{ledger: l, request: r}).run(c)
}

// accountChange is one ChangeAccount in progress.
type accountChange struct {
	ledger  *Ledger
	request ChangeAccount

	account Account               // as last read
	next    events.AccountChanged // the change that follows
	frozen  bool                  // this command froze the account to close it, and did not open it again
	refusal *Error                // why the account cannot be closed: it is being opened again
	reopens int64                 // the number of the change that opens it again
}

// run writes the next change, until the account is as requested and every guard has its version.
func (c *accountChange) run(ctx *command) (Account, error) {
	for {
		read := readTimeNow(c.ledger.now)
		wrote, err := c.ledger.next(ctx, func() (addition, error) { return c.decide(ctx) })
		if err != nil {
			return Account{}, c.fail(asError(err))
		}
		if wrote {
			changed := NewAccount(c.account.opening, &c.next)
			c.ledger.accounts.add(changed, read)
			c.account = changed
			if c.frozen = c.next.Closing; c.frozen {
				continue
			}
		}
		if err := c.ledger.updateGuards(ctx, c.account); err != nil {
			return Account{}, unknownError("", err) // the change is stored, but some guards do not have it
		}
		if c.refusal != nil {
			return Account{}, c.refusal
		}
		return c.account, nil
	}
}

// decide reads the account, and decides on the next change: none if the account is as requested.
func (c *accountChange) decide(ctx context.Context) (addition, error) {
	a, err := c.ledger.Account(ctx, c.request.ID)
	if err != nil {
		return addition{}, err
	}
	c.account, c.next = a, c.nextChange(a)
	closes := c.next.State == events.StateClosed
	switch {
	case changesNothing(a, c.next):
		return addition{}, nil
	case c.refusal != nil && c.reopens <= a.Version: // another request changed it since
		return addition{}, c.refusal
	case c.request.IfMatch != 0 && !c.matches(a, closes):
		return addition{}, versionMismatch(a)
	case a.State == events.StateClosed:
		return addition{}, invalidChange("state", "is closed and cannot be changed")
	}
	if refused := c.checkRules(a, c.next); refused != nil {
		return addition{}, refused
	}
	if closes {
		if err := c.planClose(ctx); err != nil {
			return addition{}, err
		}
	}
	return addition{event: c.next, number: c.next.Number, with: []table.Write{newestChange(c.next)}}, nil
}

// withState returns a change of the account that sets only its state.
func (c *accountChange) withState(a Account, s events.AccountState) events.AccountChanged {
	return events.AccountChanged{
		ID: a.ID, Number: a.Version + 1, Name: a.Name, Profile: a.Profile, Overdraft: a.Overdraft, Rates: a.Rates,
		Highest: a.highest, Metadata: a.Metadata, Tagged: a.tagged, State: s, Actor: strings.Clone(c.request.Actor),
		At: c.ledger.instant(),
	}
}

// nextChange returns the requested change of the account.
func (c *accountChange) nextChange(a Account) events.AccountChanged {
	if c.refusal != nil {
		return c.withState(a, events.StateOpen)
	}
	r, next := c.request, c.withState(a, a.State)
	if r.Name != nil {
		next.Name = strings.Clone(*r.Name)
	}
	if r.Profile != nil {
		next.Profile = storedProfile(*r.Profile)
	}
	if r.Overdraft != nil {
		next.Overdraft = cloneOverdraft(*r.Overdraft)
		next.Highest = a.highestBeside(next.Overdraft)
	}
	if r.Metadata != nil {
		next.Metadata = cloneMetadata(*r.Metadata)
		next.Tagged = a.tagged || len(next.Metadata) > 0
	}
	if r.Rates != nil {
		next.Rates = cloneRates(*r.Rates)
	}
	if r.State != nil {
		next.State = *r.State
	}
	// A change of anything else ends the closing: it is not taken for the freeze that began it.
	unchanged := next
	if unchanged.Closing = a.closing; r.State == nil && changesNothing(a, unchanged) {
		return unchanged
	}
	return next
}

// changesNothing reports whether a change would leave the account the same.
func changesNothing(a Account, next events.AccountChanged) bool {
	return a.Name == next.Name && a.State == next.State && a.closing == next.Closing &&
		sameProfile(a.Profile, next.Profile) && maps.Equal(a.Metadata, next.Metadata) &&
		SameOverdraft(a.Overdraft, next.Overdraft) && slices.Equal(a.Rates, next.Rates)
}

// matches reports whether the account has the version in IfMatch, or the next one if that only froze it to close it:
// this request did so before, or another one that also closes it.
func (c *accountChange) matches(a Account, closes bool) bool {
	if a.Version == c.request.IfMatch || c.refusal != nil {
		return true
	}
	return closes && a.closing && a.Version == c.request.IfMatch+1
}

// checkRules returns CodeInvalidChange if the account does not allow a change.
func (c *accountChange) checkRules(a Account, next events.AccountChanged) *Error {
	switch {
	case a.Overdraft.Unlimited && !next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must stay unlimited")
	case !a.Overdraft.Unlimited && next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must not become unlimited")
	case next.Overdraft.Unlimited && len(next.Rates) > 0:
		return invalidChange("rates", ruleUnlimitedRates)
	case len(next.Highest) > events.HighestLimits:
		return invalidChange("overdraft", fmt.Sprintf("must not lower limits of more than %d assets over the "+
			"account's life", events.HighestLimits))
	}
	return nil
}

// newestChange copies a change to the account's newest one, on the condition that this has the preceding number.
func newestChange(c events.AccountChanged) table.Write {
	newest := table.Write{Item: table.NewItemEncoder(1).Current(c), If: table.IfAbsent}
	if previous := c.Number - 1; previous > 1 {
		newest.If, newest.Names = isPrevious, changeNames
		newest.Values = table.Item{":previous": table.Integer(previous)}
	}
	return newest
}

const isPrevious = "#number = :previous"

var changeNames = map[string]string{"#number": "Number"} // a field of the event, named by its codec

// fail returns the error that the command ends with.
func (c *accountChange) fail(err *Error) error {
	switch {
	case !c.frozen:
	case err.Code == CodeContention, err.Code == CodeThrottled, err.Code == CodeUnavailable:
		err.Detail = "The account is frozen, and not closed yet. Send the same request again to close it."
	default:
		return unknownError("", err)
	}
	return err
}

// updateGuards sets the account's version on all its guards. It may miss a guard that is being created. That guard gets
// the version anyway, because createGuards reads the account after it wrote the guard.
func (l *Ledger) updateGuards(ctx context.Context, a Account) error {
	if a.Version == 1 || a.Overdraft.Unlimited {
		return nil // createGuards sets version 1; an account without a limit has no guards
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxGuardUpdates)
	var skipped error
	err := l.eachGuard(groupCtx, a.ID, func(g guard) {
		switch {
		case g.version >= a.Version:
		case groupCtx.Err() != nil: // the deadline passed, or another update failed
			skipped = groupCtx.Err()
		default:
			group.Go(func() error { return l.setGuardVersion(groupCtx, g.pair, a.Version) })
		}
	})
	return cmp.Or(group.Wait(), err, skipped)
}

func invalidChange(field, rule string) *Error {
	return refuse(CodeInvalidChange, "The account does not allow this change.",
		FieldError{Field: Field{Name: field}, Rule: rule})
}

func versionMismatch(a Account) *Error {
	return &Error{Code: CodeVersionMismatch, Version: a.Version,
		Detail: "The account does not have the version in the request. Nothing was written."}
}
