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
	if err != nil {
		return events.AssetRegistered{}, err
	}
	if asset := found.asset(id); asset != nil {
		return *asset, nil
	}
	return events.AssetRegistered{}, &Error{Code: CodeAssetNotFound, Detail: "There is no such asset."}
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
	cloneTexts(&r.ID, &r.Name, &r.Description, &r.Currency, &r.Actor)
	r.At = l.instant()
	known, _ := l.assets.get(r.ID)
	stored, created, err := define(c, l, known, events.AssetRegistered(r))
	if err != nil {
		return asset, false, err
	}
	l.assets.put(r.ID, stored)
	var f faults
	f.same("name", stored.Name == r.Name)
	f.same("description", stored.Description == r.Description)
	f.same("scale", stored.Scale == r.Scale)
	f.same("currency", stored.Currency == r.Currency)
	if f != nil {
		return asset, false, definedOtherwise(CodeAssetExists, "asset was registered", f)
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
	cloneTexts(&r.ID, &r.Name, &r.Actor)
	r.Profile, r.Overdraft, r.At = storedProfile(r.Profile), cloneOverdraft(r.Overdraft), l.instant()
	var known *events.AccountOpened
	if cached := l.accounts.anyAge(r.ID); cached != nil {
		known = cached.opening
	}
	read := readTimeNow(l.now)
	opening, created, err := define(c, l, known, events.AccountOpened(r))
	switch {
	case err != nil:
		return account, false, err
	case created:
		account = NewAccount(*opening, nil)
		l.accounts.add(&account, read)
		return account, true, nil
	}
	var f faults
	f.same("name", opening.Name == r.Name)
	f.same("profile", sameProfile(opening.Profile, r.Profile))
	f.same("overdraft", SameOverdraft(opening.Overdraft, r.Overdraft))
	if f != nil {
		return account, false, definedOtherwise(CodeAccountExists, "account was opened", f)
	}
	account, err = l.Account(c, r.ID)
	return account, false, err
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

// cloneTexts clones texts of an event that is cached, so that the cache does not keep whole request bodies.
func cloneTexts(texts ...*string) {
	for _, text := range texts {
		*text = strings.Clone(*text)
	}
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

// define puts a definition unless it is known or stored. It returns the stored definition, and whether this command
// wrote it.
func define[E events.Event](c *command, l *Ledger, known *E, wanted E) (*E, bool, error) {
	if known != nil {
		return known, false, nil
	}
	e, created, err := l.put(c, addition{event: wanted})
	if err != nil {
		return nil, false, err
	}
	stored, ok := e.(E)
	if !ok {
		return nil, false, internalError(fmt.Errorf("stored event is a %T, not a %T", e, wanted))
	}
	return &stored, created, nil
}

// definedOtherwise is the error of a definition whose id was used before, with other fields.
func definedOtherwise(code Code, what string, f faults) *Error {
	return &Error{Code: code, Detail: "The " + what + " before with another body.", Fields: f}
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
	registered := func(id string) bool { return found.asset(id) != nil }
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
