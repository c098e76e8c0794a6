package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ledger.example/events"
)

// Rules of more than one field, as texts for callers.
const (
	ruleText     = "must be UTF-8 without NUL"
	rulePositive = "must be above zero"
	ruleNegative = "must not be negative"
	ruleAsset    = "must be the id of a registered asset"
	ruleAccount  = "must be the id of an existing account"
	ruleSame     = "must be the same as when the id was first used"
)

// Rules of sizes, as texts for callers. Adapters check them, too, before they parse an oversized value.
var (
	RuleMetadata  = "must have at most " + strconv.Itoa(events.MetadataPairs) + " pairs"
	RuleOverdraft = "must name at most " + strconv.Itoa(events.OverdraftAssets) + " assets"
	RuleProfile   = "must have at most " + strconv.Itoa(events.ProfileBytes) + " bytes as compact JSON"
	RuleAddresses = "must be a list of at most " + strconv.Itoa(events.AddressesMax) + " objects"
)

// RuleRepeatedID is the rule of ids in a batch, as a text for callers. Adapters check it, too, in requests that cannot
// be decoded.
const RuleRepeatedID = "must not be the id of an earlier request of the batch"

// RuleRepeatedEnd is likewise the rule of the holds that a batch ends.
const RuleRepeatedEnd = "must not be the hold that an earlier request of the batch ends"

const ruleRepeatedReversal = "must not be the transaction that an earlier request of the atomic batch reverses"

// BatchViolation returns the rule that a batch of this number of requests violates, "" if none.
func BatchViolation(requests int) string {
	if requests < 1 || requests > BatchMax {
		return fmt.Sprintf("must have 1 to %d items, not %d", BatchMax, requests)
	}
	return ""
}

var ruleDigits = "must have at most " + strconv.Itoa(events.PostedDigits) + " digits"

// mostPosted is the largest amount that may be posted.
var mostPosted, _ = events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits)

// faults collects the invalid fields of a request.
type faults []FieldError

// check adds a field with the rule that it violates. It does nothing if violation is "" or field is zero.
func (f *faults) check(field Field, violation string) { f.checkStored(field, violation) }

// checkStored is check for a violation that tells of the stored postings of accounts.
func (f *faults) checkStored(field Field, violation string, accounts ...string) {
	if violation != "" && field != (Field{}) {
		*f = append(*f, FieldError{Field: field, Rule: violation, Accounts: accounts})
	}
}

// idViolation returns the rule that an id breaks, "" if none.
func idViolation(id string) string {
	if !events.ValidID(id) {
		return events.IDRule
	}
	return ""
}

// textViolation returns the rule that a text breaks, "" if none. A text has least to most characters (Unicode code
// points). NUL is invalid because databases to which books are exported cannot store it, and an event cannot be
// corrected.
func textViolation(text string, least, most int) string {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return ruleText
	}
	n := utf8.RuneCountInString(text)
	switch {
	case least <= n && n <= most:
		return ""
	case least > 0:
		return "must have " + strconv.Itoa(least) + " to " + strconv.Itoa(most) + " characters"
	}
	return "must have at most " + strconv.Itoa(most) + " characters"
}

// amountViolation returns the rule that a posted amount breaks, "" if none.
func amountViolation(a events.Amount) string {
	if a.Abs().Cmp(mostPosted) > 0 {
		return ruleDigits
	}
	return ""
}

func (f *faults) metadata(metadata map[string]string) {
	if len(metadata) > events.MetadataPairs {
		f.check(Field{Name: "metadata"}, RuleMetadata)
	}
	size := 0
	for _, key := range sortedKeys(metadata) {
		value := metadata[key]
		size += len(key) + len(value)
		violation := textViolation(value, 0, events.MetadataValueChars)
		if rule := textViolation(key, 1, events.MetadataKeyChars); rule != "" {
			violation = "its key " + rule
		}
		f.check(EntryField("metadata", key), violation)
	}
	if size > events.MetadataBytes {
		f.check(Field{Name: "metadata"}, "must have at most "+strconv.Itoa(events.MetadataBytes)+" bytes in all")
	}
}

// sortedKeys returns the keys of metadata in order. Most transactions have none.
func sortedKeys(metadata map[string]string) []string {
	if len(metadata) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(metadata))
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r RegisterAsset) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "id"}, idViolation(r.ID))
	f.check(Field{Name: "name"}, textViolation(r.Name, 1, events.NameChars))
	f.check(Field{Name: "description"}, textViolation(r.Description, 0, events.DescriptionChars))
	if r.Scale < 0 || r.Scale > events.ScaleMax {
		f.check(Field{Name: "scale"}, "must be 0 to "+strconv.Itoa(events.ScaleMax))
	}
	switch r.Currency {
	case "":
	case r.ID:
		f.check(Field{Name: "currency"}, "must name another asset")
	default:
		f.check(Field{Name: "currency"}, idViolation(r.Currency))
	}
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r OpenAccount) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "id"}, idViolation(r.ID))
	f.check(Field{Name: "name"}, textViolation(r.Name, 0, events.NameChars))
	f.profile(r.Profile)
	f.overdraft(r.Overdraft)
	return f
}

func (f *faults) overdraft(o events.Overdraft) {
	if o.Unlimited && len(o.Limits) > 0 {
		f.check(Field{Name: "overdraft"}, "must be unlimited or an amount for each asset, not both")
	}
	if len(o.Limits) > events.OverdraftAssets {
		f.check(Field{Name: "overdraft"}, RuleOverdraft)
	}
	for _, asset := range slices.Sorted(maps.Keys(o.Limits)) {
		violation := amountViolation(o.Limits[asset])
		switch {
		case !events.ValidID(asset):
			violation = "must be named by an asset's id"
		case violation == "" && o.Limits[asset].Sign() < 0:
			violation = ruleNegative
		}
		f.check(EntryField("overdraft", asset), violation)
	}
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r ChangeAccount) Shape() []FieldError {
	var f faults
	if r.Name != nil {
		f.check(Field{Name: "name"}, textViolation(*r.Name, 0, events.NameChars))
	}
	if r.Profile != nil {
		f.profile(*r.Profile)
	}
	if r.Overdraft != nil {
		f.overdraft(*r.Overdraft)
	}
	if r.State != nil {
		switch *r.State {
		case events.StateOpen, events.StateFrozen, events.StateClosed:
		default:
			f.check(Field{Name: "state"}, "must be open, frozen or closed")
		}
	}
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r GrantMember) Shape() []FieldError {
	f := faults(RevokeMember(r).Shape())
	switch r.Role {
	case events.RoleViewer, events.RoleOperator, events.RoleOwner:
	default:
		f.check(Field{Name: "role"}, "must be viewer, operator or owner")
	}
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r RevokeMember) Shape() []FieldError {
	var f faults
	if r.Group != "" {
		f.check(Field{Name: "group"}, idViolation(r.Group))
	} else {
		f.check(Field{Name: "account"}, idViolation(r.Account))
	}
	f.check(Field{Name: "user"}, idViolation(r.User))
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r RegisterGroup) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "id"}, idViolation(r.ID))
	f.check(Field{Name: "name"}, textViolation(r.Name, 0, events.NameChars))
	f.check(Field{Name: "description"}, textViolation(r.Description, 0, events.DescriptionChars))
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r GroupAccount) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "group"}, idViolation(r.Group))
	f.check(Field{Name: "account"}, idViolation(r.Account))
	return f
}
