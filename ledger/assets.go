package ledger

import (
	"context"
	"strconv"
	"strings"

	"ledger.example/events"
)

// Shape returns every field of r that is out of range.
func (r RegisterAsset) Shape() []FieldError {
	var f faults
	f.id("id", r.ID)
	f.text("name", r.Name, 1, events.NameChars)
	f.text("description", r.Description, 0, events.DescriptionChars)
	if r.Scale < 0 || r.Scale > events.ScaleMax {
		f.add("scale", "must be 0 to "+strconv.Itoa(events.ScaleMax))
	}
	switch {
	case r.Currency == "":
	case !events.ValidID(r.Currency):
		f.add("currency", ruleID)
	case r.Currency == r.ID:
		f.add("currency", "must name another asset")
	}
	return f
}

// RegisterAsset registers an asset; created is false when it had been registered with the same body before.
// Errors: CodeInvalidRequest, CodeAssetNotFound (the currency), CodeAssetExists, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) RegisterAsset(ctx context.Context, r RegisterAsset) (asset events.AssetRegistered, created bool, err error) {
	if fields := r.Shape(); fields != nil {
		return asset, false, invalidRequest(fields)
	}
	if err := actorError(r.Actor); err != nil {
		return asset, false, err
	}
	ctx, cancel := lifeOf(ctx)
	defer cancel()
	if r.Currency != "" {
		missing, err := l.missingAssets(ctx, []string{r.Currency})
		if err != nil {
			return asset, false, err
		}
		if len(missing) > 0 {
			return asset, false, assetsNotFound([]FieldError{{Field: "currency", Rule: ruleAsset}})
		}
	}
	stored, known := l.assets.get(r.ID)
	if !known {
		// It will be remembered: its texts may be parts of a whole request.
		wanted := events.AssetRegistered{
			ID: strings.Clone(r.ID), Name: strings.Clone(r.Name), Description: strings.Clone(r.Description), Scale: r.Scale,
			Currency: strings.Clone(r.Currency), Actor: strings.Clone(r.Actor), At: l.instant(),
		}
		stored = new(events.AssetRegistered)
		created, err = l.put(ctx, func(ctx context.Context) (ours bool, err error) {
			*stored, err = l.journal.RegisterAsset(ctx, wanted)
			return *stored == wanted, err
		})
		if err != nil {
			return asset, false, err
		}
		l.assets.put(stored.ID, stored)
	}
	if stored.Name != r.Name || stored.Description != r.Description || stored.Scale != r.Scale || stored.Currency != r.Currency {
		return asset, false, &Error{Code: CodeAssetExists, Detail: "The asset was registered before with another body."}
	}
	return *stored, created, nil
}

// missingAssets returns those of ids that are not registered, in their order.
func (l *Ledger) missingAssets(ctx context.Context, ids []string) ([]string, error) {
	var unknown, missing []string
	for _, id := range ids {
		if _, ok := l.assets.get(id); !ok {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	found, err := l.look(ctx, Wanted{Assets: unknown})
	if err != nil {
		return nil, err
	}
	for _, id := range unknown {
		if _, ok := found.Assets[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
