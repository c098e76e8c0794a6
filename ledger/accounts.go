package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ledger.example/events"
)

const noProfile = "{}"

// Shape returns every field of r that is out of range.
func (r OpenAccount) Shape() []FieldError {
	var f faults
	f.id("id", r.ID)
	f.text("name", r.Name, 0, events.NameChars)
	f.profile("profile", r.Profile)
	f.overdraft("overdraft", r.Overdraft)
	return f
}

func (f *faults) profile(field, profile string) {
	if profile == "" {
		return
	}
	content, ok := parseProfile(profile)
	switch {
	case !ok:
		f.add(field, "must be a JSON object")
		return
	case len(compactJSON(profile)) > events.ProfileBytes:
		f.add(field, "must have at most "+strconv.Itoa(events.ProfileBytes)+" bytes as compact JSON")
	}
	listed, ok := content["addresses"]
	if !ok {
		return
	}
	addresses, ok := listed.([]any)
	if !ok || len(addresses) > events.AddressesMax || slices.ContainsFunc(addresses, isNotObject) {
		f.add(field+".addresses", "must be a list of at most "+strconv.Itoa(events.AddressesMax)+" objects")
	}
}

func isNotObject(v any) bool {
	_, ok := v.(map[string]any)
	return !ok
}

func (f *faults) overdraft(field string, o events.Overdraft) {
	if o.Unlimited && len(o.Limits) > 0 {
		f.add(field, "must be unlimited or an amount for each asset, not both")
	}
	if len(o.Limits) > events.OverdraftAssets {
		f.add(field, "must name at most "+strconv.Itoa(events.OverdraftAssets)+" assets")
	}
	for _, asset := range slices.Sorted(maps.Keys(o.Limits)) {
		field, limit := field+"."+asset, o.Limits[asset]
		switch {
		case !events.ValidID(asset):
			f.add(field, "must be named by an asset's id")
		case f.amount(field, limit) && limit.Sign() < 0:
			f.add(field, ruleNegative)
		}
	}
}

// parseProfile reads a JSON object, numbers by their text.
func parseProfile(profile string) (map[string]any, bool) {
	if !utf8.ValidString(profile) || !json.Valid([]byte(profile)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(profile))
	decoder.UseNumber()
	var content map[string]any
	err := decoder.Decode(&content)
	return content, err == nil && content != nil
}

// compactJSON drops white space; of what isn't JSON it returns "".
func compactJSON(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return ""
	}
	return b.String()
}

// OpenAccount opens an account; created is false when it had been opened with the same body before.
// Errors: CodeInvalidRequest, CodeAssetNotFound (of the overdraft), CodeAccountExists, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) OpenAccount(ctx context.Context, r OpenAccount) (account events.AccountOpened, created bool, err error) {
	if fields := r.Shape(); fields != nil {
		return account, false, invalidRequest(fields)
	}
	if err := actorError(r.Actor); err != nil {
		return account, false, err
	}
	ctx, cancel := lifeOf(ctx)
	defer cancel()
	missing, err := l.missingAssets(ctx, slices.Sorted(maps.Keys(r.Overdraft.Limits)))
	if err != nil {
		return account, false, err
	}
	if len(missing) > 0 {
		var fields faults
		for _, id := range missing {
			fields.add("overdraft."+id, ruleAsset)
		}
		return account, false, assetsNotFound(fields)
	}
	// It will be remembered: its texts may be parts of a whole request.
	wanted := events.AccountOpened{
		ID: strings.Clone(r.ID), Name: strings.Clone(r.Name), Profile: noProfile, Overdraft: events.Overdraft{Unlimited: r.Overdraft.Unlimited},
		Actor: strings.Clone(r.Actor), At: l.instant(),
	}
	if r.Profile != "" {
		wanted.Profile = compactJSON(r.Profile)
	}
	if len(r.Overdraft.Limits) > 0 {
		wanted.Overdraft.Limits = make(map[string]events.Amount, len(r.Overdraft.Limits))
		for asset, limit := range r.Overdraft.Limits {
			wanted.Overdraft.Limits[strings.Clone(asset)] = limit
		}
	}
	stored, known := l.accounts.get(r.ID)
	if !known {
		stored = new(events.AccountOpened)
		created, err = l.put(ctx, func(ctx context.Context) (ours bool, err error) {
			*stored, err = l.journal.OpenAccount(ctx, wanted)
			return reflect.DeepEqual(*stored, wanted), err
		})
		if err != nil {
			return account, false, err
		}
		l.accounts.put(stored.ID, stored)
	}
	if stored.Name != wanted.Name || !sameProfile(stored.Profile, wanted.Profile) || !sameOverdraft(stored.Overdraft, wanted.Overdraft) {
		return account, false, &Error{Code: CodeAccountExists, Detail: "The account was opened before with another body."}
	}
	return *stored, created, nil
}

// sameProfile compares by content: the order of keys makes no difference.
func sameProfile(a, b string) bool {
	if a == b {
		return true
	}
	left, ok1 := parseProfile(a)
	right, ok2 := parseProfile(b)
	return ok1 && ok2 && reflect.DeepEqual(left, right)
}

// sameOverdraft compares by meaning: a limit of zero is as good as none.
func sameOverdraft(a, b events.Overdraft) bool {
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
