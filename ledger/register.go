package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ledger.example/events"
)

// Asset returns an asset's definition. Definitions are immutable, so they are cached.
// Errors: CodeAssetNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Asset(ctx context.Context, id string) (events.AssetRegistered, error) {
	if asset, ok := l.assets.get(id); ok {
		return *asset, nil
	}
	found, err := l.lookupValid(ctx, id, lookupKeys{assets: []string{id}})
	asset, ok := found.assets[id]
	if err == nil && !ok {
		err = &Error{Code: CodeAssetNotFound, Detail: "There is no such asset."}
	}
	return asset, err
}

// RegisterAsset registers an asset. created is false if it was registered before with the same body.
// Errors: CodeInvalidRequest, CodeAssetNotFound (the currency), CodeAssetExists, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) RegisterAsset(
	ctx context.Context, r RegisterAsset,
) (asset events.AssetRegistered, created bool, err error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return asset, false, err
	}
	defer cancel()
	if r.Currency != "" {
		missing, err := l.missingAssets(c, []string{r.Currency})
		if err != nil {
			return asset, false, err
		}
		if len(missing) > 0 {
			return asset, false, assetsNotFound([]FieldError{{Field: Field{Name: "currency"}, Rule: ruleAsset}})
		}
	}
	// The event is cached. Its texts are cloned so that the cache does not keep whole request bodies.
	stored, created, err := define(c, l, l.assets, r.ID, events.AssetRegistered{
		ID: strings.Clone(r.ID), Name: strings.Clone(r.Name), Description: strings.Clone(r.Description), Scale: r.Scale,
		Currency: strings.Clone(r.Currency), Actor: strings.Clone(r.Actor), At: l.instant(),
	})
	if err != nil {
		return asset, false, err
	}
	var f faults
	f.same("name", stored.Name == r.Name)
	f.same("description", stored.Description == r.Description)
	f.same("scale", stored.Scale == r.Scale)
	f.same("currency", stored.Currency == r.Currency)
	if f != nil {
		return asset, false, &Error{
			Code: CodeAssetExists, Detail: "The asset was registered before with another body.", Fields: f,
		}
	}
	return *stored, created, nil
}

// OpenAccount opens an account. If it was opened before with the same body, created is false, and account is its
// current state.
// Errors: CodeInvalidRequest, CodeAssetNotFound (of the overdraft), CodeAccountExists, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) OpenAccount(ctx context.Context, r OpenAccount) (account Account, created bool, err error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return account, false, err
	}
	defer cancel()
	if err := l.checkOverdraft(c, r.Overdraft); err != nil {
		return account, false, err
	}
	wanted := events.AccountOpened{ // cloned like an asset
		ID: strings.Clone(r.ID), Name: strings.Clone(r.Name), Profile: storedProfile(r.Profile),
		Overdraft: cloneOverdraft(r.Overdraft), Actor: strings.Clone(r.Actor), At: l.instant(),
	}
	opening := l.openingOf(r.ID)
	if opening == nil {
		read := readTimeNow(l.now)
		if opening, created, err = putDefinition(c, l, wanted); err != nil {
			return account, false, err
		}
		if created {
			account = NewAccount(*opening, nil)
			l.accounts.add(&account, read)
			return account, true, nil
		}
	}
	var f faults
	f.same("name", opening.Name == wanted.Name)
	f.same("profile", sameProfile(opening.Profile, wanted.Profile))
	f.same("overdraft", SameOverdraft(opening.Overdraft, wanted.Overdraft))
	if f != nil {
		return account, false, &Error{
			Code: CodeAccountExists, Detail: "The account was opened before with another body.", Fields: f,
		}
	}
	account, err = l.Account(c, r.ID)
	return account, false, err
}

// openingOf returns the opening of a cached account, else nil.
func (l *Ledger) openingOf(id string) *events.AccountOpened {
	if known := l.accounts.anyAge(id); known != nil {
		return known.opening
	}
	return nil
}

// checkOverdraft returns CodeAssetNotFound for a policy that names unregistered assets.
func (l *Ledger) checkOverdraft(ctx context.Context, o events.Overdraft) error {
	missing, err := l.missingAssets(ctx, slices.Sorted(maps.Keys(o.Limits)))
	if err != nil || len(missing) == 0 {
		return err
	}
	var fields faults
	for _, id := range missing {
		fields.check(EntryField("overdraft", id), ruleAsset)
	}
	return assetsNotFound(fields)
}

// storedProfile returns a profile as events store it.
func storedProfile(profile string) string {
	if profile == "" {
		return noProfile
	}
	return compactJSON(profile)
}

// cloneOverdraft copies a policy and its texts.
func cloneOverdraft(o events.Overdraft) events.Overdraft {
	clone := events.Overdraft{Unlimited: o.Unlimited}
	if len(o.Limits) > 0 {
		clone.Limits = make(map[string]events.Amount, len(o.Limits))
		for asset, limit := range o.Limits {
			clone.Limits[strings.Clone(asset)] = limit
		}
	}
	return clone
}

// define writes a definition unless its id is cached or stored. It returns the stored definition, and whether this
// command wrote it.
func define[E events.Event](c *command, l *Ledger, known *cache[string, *E], id string, wanted E) (*E, bool, error) {
	if stored, ok := known.get(id); ok {
		return stored, false, nil
	}
	e, created, err := putDefinition(c, l, wanted)
	if err != nil {
		return nil, false, err
	}
	known.put(id, e)
	return e, created, nil
}

// putDefinition writes a definition unless its id is stored. It returns the stored definition, and whether this command
// wrote it.
func putDefinition[E events.Event](c *command, l *Ledger, wanted E) (*E, bool, error) {
	stored, created, err := l.put(c, addition{event: wanted})
	if err != nil {
		return nil, false, err
	}
	e, ok := stored.(E)
	if !ok {
		return nil, false, internalError(fmt.Errorf("stored event is a %T, not a %T", stored, wanted))
	}
	return &e, created, nil
}

// missingAssets returns the unregistered ids, in their order.
func (l *Ledger) missingAssets(ctx context.Context, ids []string) (missing []string, err error) {
	cached := func(id string) bool { _, ok := l.assets.get(id); return ok }
	if ids = slices.DeleteFunc(ids, cached); len(ids) == 0 {
		return nil, nil
	}
	found, err := l.lookup(ctx, lookupKeys{assets: ids})
	if err != nil {
		return nil, err
	}
	registered := func(id string) bool { _, ok := found.assets[id]; return ok }
	return slices.DeleteFunc(ids, registered), nil
}

// SameOverdraft reports whether two policies mean the same. A limit of zero means the same as no entry.
func SameOverdraft(a, b events.Overdraft) bool {
	within := func(a, b events.Overdraft) bool {
		for asset, limit := range a.Limits {
			if b.Limits[asset] != limit {
				return false
			}
		}
		return true
	}
	return a.Unlimited == b.Unlimited && within(a, b) && within(b, a)
}
