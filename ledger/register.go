package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Asset returns an asset's definition. Definitions are immutable, so they are cached.
// Errors: CodeAssetNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Asset(ctx context.Context, id string) (events.AssetRegistered, error) {
	if asset, ok := l.assets.get(id); ok {
		return *asset, nil
	}
	found, err := l.lookupValid(ctx, id, lookupKeys{assets: []string{id}})
	return definition(found.asset(id), err, refuse(CodeAssetNotFound, "There is no such asset."))
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
		currency := func(string) Field { return Field{Name: "currency"} }
		if err := l.checkRegistered(c, []string{r.Currency}, currency); err != nil {
			return asset, false, err
		}
	}
	cloneTexts(&r.ID, &r.Name, &r.Description, &r.Currency, &r.Actor)
	r.At = l.instant()
	return define(c, l, l.assets, r.ID, events.AssetRegistered(r), func(stored events.AssetRegistered) *Error {
		return definedOtherwise(CodeAssetExists, "asset was registered",
			different{"name", stored.Name != r.Name},
			different{"description", stored.Description != r.Description},
			different{"scale", stored.Scale != r.Scale},
			different{"currency", stored.Currency != r.Currency})
	})
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
	read, opening := readTimeNow(l.now), events.AccountOpened{}
	if cached := l.accounts.anyAge(r.ID); cached != nil {
		opening = *cached.opening
	} else if opening, created, err = putDefinition(c, l, events.AccountOpened(r)); err != nil {
		return account, false, err
	}
	if created {
		account = NewAccount(opening, nil)
		l.accounts.add(&account, read)
		return account, true, nil
	}
	if refused := definedOtherwise(CodeAccountExists, "account was opened",
		different{"name", opening.Name != r.Name},
		different{"profile", !sameProfile(opening.Profile, r.Profile)},
		different{"overdraft", !SameOverdraft(opening.Overdraft, r.Overdraft)}); refused != nil {
		return account, false, refused
	}
	account, err = l.Account(c, r.ID)
	return account, false, err
}

// checkOverdraft returns CodeAssetNotFound for a policy that names unregistered assets.
func (l *Ledger) checkOverdraft(ctx context.Context, o events.Overdraft) error {
	field := func(asset string) Field { return EntryField("overdraft", asset) }
	return l.checkRegistered(ctx, slices.Sorted(maps.Keys(o.Limits)), field)
}

// checkRegistered returns CodeAssetNotFound if assets are not registered; field names the field of each. It may change
// ids.
func (l *Ledger) checkRegistered(ctx context.Context, ids []string, field func(asset string) Field) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { _, ok := l.assets.get(id); return ok })
	if len(ids) == 0 {
		return nil
	}
	found, err := l.lookup(ctx, lookupKeys{assets: ids})
	if err != nil {
		return err
	}
	var f faults
	for _, id := range ids {
		if found.asset(id) == nil {
			f.check(field(id), ruleAsset)
		}
	}
	if f != nil {
		return assetsNotFound(f)
	}
	return nil
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

// define puts a definition with an id, unless it is cached or stored. created is false if it was. differs returns the
// error of a stored definition that is not the wanted one.
func define[E events.Event](
	c *command, l *Ledger, known *cache[string, *E], id string, wanted E, differs func(stored E) *Error,
) (stored E, created bool, err error) {
	if cached, ok := known.get(id); ok {
		stored = *cached
	} else if stored, created, err = putDefinition(c, l, wanted); err != nil {
		return stored, false, err
	}
	known.put(id, &stored)
	if refused := differs(stored); refused != nil {
		return *new(E), false, refused
	}
	return stored, created, nil
}

// putDefinition puts a definition unless it is stored. It returns the stored one, and whether this command wrote it.
func putDefinition[E events.Event](c *command, l *Ledger, wanted E) (stored E, created bool, _ error) {
	e, created, err := l.put(c, addition{event: wanted})
	if err != nil {
		return stored, false, err
	}
	if stored, err = store.Only[E](e, nil); err != nil {
		return stored, false, internalError(err)
	}
	return stored, created, nil
}

// different says whether a field differs from that of an earlier request with the same id.
type different struct {
	field string
	is    bool
}

// definedOtherwise is the error of a definition whose id was used before with other fields, nil if none differs.
func definedOtherwise(code Code, what string, fields ...different) *Error {
	var f faults
	for _, d := range fields {
		if d.is {
			f.check(Field{Name: d.field}, ruleSame)
		}
	}
	return f.refusal(code, "The "+what+" before with another body.")
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
