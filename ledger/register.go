package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Asset returns an asset's definition. Definitions are immutable, so they are cached.
// Errors: CodeAssetNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Asset(ctx context.Context, id string) (events.AssetRegistered, error) {
	if asset, ok := l.assets.get(id); ok {
		return asset, nil
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
	cloneTexts(&r)
	r.At = l.instant()
	return define(c, l, l.assets, r.ID, events.AssetRegistered(r), CodeAssetExists, "asset was registered")
}

// OpenAccount opens an account. If it exists, and the body says what it was opened with or what it is now, created is
// false, and account is its current state.
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
	if r.Overdraft.Unlimited && len(r.Rates) > 0 {
		return account, false, invalidChange("rates", ruleUnlimitedRates)
	}
	if err := l.checkRateAssets(c, r.Rates); err != nil {
		return account, false, err
	}
	cloneTexts(&r)
	r.Profile, r.At = storedProfile(r.Profile), l.instant()
	read := readTimeNow(l.now)
	var opening events.AccountOpened
	if cached, ok := l.accounts.anyAge(r.ID); ok {
		opening = cached.opening
	} else if opening, created, err = putDefinition(c, l, events.AccountOpened(r)); err != nil {
		return account, false, err
	}
	if created {
		account = NewAccount(opening, nil)
		l.accounts.add(account, read)
		return account, true, nil
	}
	if account, err = l.Account(c, r.ID); err != nil {
		return Account{}, false, err
	}
	different := differences(opening, events.AccountOpened(r))
	if len(differences(account.reopening(), events.AccountOpened(r))) == 0 {
		different = nil
	}
	if refused := definedOtherwise(CodeAccountExists, "account was opened", different); refused != nil {
		return Account{}, false, refused
	}
	return account, false, nil
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

// storedProfile returns a profile as events store it.
func storedProfile(profile string) string {
	if profile == "" {
		return noProfile
	}
	return compactJSON(profile)
}

// cloneMetadata copies metadata and its texts. It is not nil, as in an event.
func cloneMetadata(metadata map[string]string) map[string]string {
	clone := make(map[string]string, len(metadata))
	for key, value := range metadata {
		clone[strings.Clone(key)] = strings.Clone(value)
	}
	return clone
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

// define puts a definition with an id, unless it is cached or stored. created is false if it was. If the stored one is
// not the wanted one, the error has the code, and what was done to define it.
func define[E events.Event](
	c *command, l *Ledger, known *cache[string, E], id string, wanted E, otherwise Code, what string,
) (stored E, created bool, err error) {
	if cached, ok := known.get(id); ok {
		stored = cached
	} else if stored, created, err = putDefinition(c, l, wanted); err != nil {
		return stored, false, err
	}
	if refused := definedOtherwise(otherwise, what, differences(stored, wanted)); refused != nil {
		return *new(E), false, refused
	}
	known.put(id, stored)
	return stored, created, nil
}

// putDefinition puts a definition unless it is stored. It returns the stored one, and whether this command wrote it.
func putDefinition[E events.Event](c *command, l *Ledger, wanted E) (stored E, created bool, _ error) {
	e, created, err := l.put(c, addition{event: wanted})
	if err != nil {
		return stored, false, err
	}
	if stored, err = table.Only[E](e, nil); err != nil {
		return stored, false, internalError(err)
	}
	return stored, created, nil
}

// definedOtherwise is the error of a definition whose id was used before with other fields, nil if none is different.
func definedOtherwise(code Code, what string, different []string) *Error {
	var f faults
	for _, name := range different {
		f.check(Field{Name: name}, ruleSame)
	}
	return f.refusal(code, "The "+what+" before with another body.")
}

// differences returns the names of the fields that differ. The time and the actor may.
func differences[E events.Event](stored, wanted E) (names []string) {
	others := fieldsOf(wanted)
	for i, f := range fieldsOf(stored) {
		same := f.rule == "time" || f.rule == "actor"
		switch a, b := f.value.Interface(), others[i].value.Interface(); {
		case same:
		case f.rule == "profile":
			same = sameProfile(a.(string), b.(string))
		case f.rule == "metadata":
			same = maps.Equal(a.(map[string]string), b.(map[string]string))
		case f.rule == "rates":
			same = slices.Equal(a.([]events.Rate), b.([]events.Rate))
		case f.rule == "limits":
			same = SameOverdraft(a.(events.Overdraft), b.(events.Overdraft))
		default:
			same = a == b
		}
		if !same {
			names = append(names, f.name)
		}
	}
	return names
}

// cloneTexts clones the texts of a definition that is cached, so that the cache does not keep whole request bodies.
func cloneTexts(definition any) {
	for _, f := range fieldsOf(definition) {
		switch text := f.value.Addr().Interface().(type) {
		case *string:
			*text = strings.Clone(*text)
		case *map[string]string:
			*text = cloneMetadata(*text)
		case *[]events.Rate:
			*text = cloneRates(*text)
		case *events.Overdraft:
			*text = cloneOverdraft(*text)
		}
	}
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
