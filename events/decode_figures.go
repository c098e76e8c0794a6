package events

import (
	"fmt"
	"slices"
)

// A StoredPosting has the part of a stored PostingRecorded that DecodeFigures does not ask for.
type StoredPosting struct {
	Name     string
	Version  int
	Checksum string

	Account, Asset, ID string // as the posting's keys have them
}

// The fields of a posting, by their place in postingFields.
const (
	atAccount = iota
	atAsset
	atBackdated
	atCost
	_ // Counted
	_ // Description
	atID
	_ // Kind
	atPending
	atPhase
	atQuantity
	atRecorded
	atTransaction
)

// postingFields are the fields of a posting without their texts, in order.
var postingFields = func() (all [atTransaction + 1]Field) {
	for i, f := range kinds[postingRecorded].plan {
		all[i] = Field{Name: f.name, Type: f.stored}
	}
	return all
}()

// FigureFields returns the names of the fields that DecodeFigures asks for.
func FigureFields() (names []string) {
	for i, f := range postingFields {
		if i != atAccount && i != atAsset && i != atID {
			names = append(names, f.Name)
		}
	}
	return names
}

// DecodeFigures reads the figures of a PostingRecorded as strictly as Decode. text returns what is stored in a field: a
// text, the digits of a number, or "true". It is "" if the field is absent or of another type. DecodeFigures allocates
// nothing: a fold goes through a million postings. Errors: those of Decode.
func DecodeFigures(s StoredPosting, text func(name string, t FieldType) string) (f Figures, err error) {
	if s.Name != postingRecorded { // the ledger never writes another name under such a key
		return f, fmt.Errorf("%w: %q, version %d, where a posting should be", ErrUnknownEvent, s.Name, s.Version)
	}
	if err := checkVersion(s.Name, s.Version); err != nil {
		return f, err
	}
	all, keys := postingFields, [len(postingFields)]string{atAccount: s.Account, atAsset: s.Asset, atID: s.ID}
	for i := range all {
		if all[i].Text = keys[i]; keys[i] == "" {
			all[i].Text = text(all[i].Name, all[i].Type)
		}
	}
	phase, pending, backdated := Phase(all[atPhase].Text), all[atPending].Text, all[atBackdated].Text
	f.Phase, f.Backdated = phase, backdated != ""
	figures := [...]*Amount{atCost: &f.Cost, atPending: &f.Pending, atQuantity: &f.Quantity}
	for at, to := range figures {
		if to == nil || at == atPending && phase == "" {
			continue
		}
		if *to, err = ParseAmount(all[at].Text, PostedDigits); err != nil {
			return Figures{}, fmt.Errorf("%w: %s: %s: %w", ErrMalformedEvent, postingRecorded, all[at].Name, err)
		}
	}
	if phase != "" {
		f.Hold = all[atTransaction].Text
	}
	isKnown := phase == "" && pending == "" || phase == PhasePlaced || phase.Ends()
	if !isKnown || !f.valid() || f.Backdated && backdated != storedTrue {
		return Figures{}, fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, postingRecorded, all[atPhase].Name, ruleSign)
	}
	if recorded := all[atRecorded].Text; recorded != "" {
		if f.RecordedAt, err = ParseTime(recorded); err != nil || !isRecorded(KSUID(s.ID), f) {
			return Figures{}, fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, postingRecorded, all[atRecorded].Name,
				ruleRecorded)
		}
	}
	present := slices.DeleteFunc(all[:], func(f Field) bool { return f.Text == "" })
	if err := compareChecksum(s.Name, present, s.Checksum); err != nil {
		return Figures{}, err
	}
	return f, nil
}
