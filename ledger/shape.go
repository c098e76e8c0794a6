package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
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
	isOwn := r.Currency != "" && r.Currency == r.ID
	if isOwn {
		r.Currency = "" // the id is checked already
	}
	f := shapeOf(r)
	if isOwn {
		f.check(Field{Name: "currency"}, "must name another asset")
	}
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r OpenAccount) Shape() []FieldError { return shapeOf(r) }

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r RegisterGroup) Shape() []FieldError { return shapeOf(r) }

// shapeOf checks a definition by the rules in its tags. Its actor is checked when the command starts.
func shapeOf(definition any) (f faults) {
	for _, of := range fieldsOf(definition) {
		violation := ""
		switch of.rule { // the value's type
		case "scale":
			if scale := of.value.Int(); scale < 0 || scale > events.ScaleMax {
				violation = "must be 0 to " + strconv.Itoa(events.ScaleMax)
			}
		case "profile":
			f.profile(of.value.String())
		case "limits":
			f.overdraft(of.value.Interface().(events.Overdraft))
		case "metadata":
			f.metadata(of.value.Interface().(map[string]string))
		case "rates":
			f.rates(of.value.Interface().([]events.Rate))
		case "actor", "time":
		default:
			violation = of.violation(of.value.String())
		}
		f.check(Field{Name: of.name}, violation)
	}
	return f
}

// annotation checks what a request says of its transaction, by the rules in the tags.
func (f *faults) annotation(a events.Annotation) {
	v := reflect.ValueOf(&a).Elem()
	for i, of := range annotationFields {
		if of.rule == "metadata" {
			f.metadata(a.Metadata)
			continue
		}
		f.check(Field{Name: of.name}, of.violation(v.Field(i).String()))
	}
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
	if r.Metadata != nil {
		f.metadata(*r.Metadata)
	}
	if r.Rates != nil {
		f.rates(*r.Rates)
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
func (r GroupAccount) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "group"}, idViolation(r.Group))
	f.check(Field{Name: "account"}, idViolation(r.Account))
	return f
}

const noProfile = "{}"

func (f *faults) profile(profile string) {
	if profile == "" {
		return
	}
	content, ok := parseProfile(profile)
	switch {
	case !ok:
		f.check(Field{Name: "profile"}, "must be a JSON object")
		return
	case len(compactJSON(profile)) > events.ProfileBytes:
		f.check(Field{Name: "profile"}, RuleProfile)
	}
	listed, ok := content["addresses"]
	if !ok {
		return
	}
	addresses, ok := listed.([]any)
	if !ok || len(addresses) > events.AddressesMax || slices.ContainsFunc(addresses, isNotObject) {
		f.check(EntryField("profile", "addresses"), RuleAddresses)
	}
}

func isNotObject(v any) bool {
	_, ok := v.(map[string]any)
	return !ok
}

// parseProfile parses a JSON object. It keeps numbers as text.
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

// compactJSON removes white space. It returns "" if s is not JSON.
func compactJSON(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return ""
	}
	return b.String()
}

// sameProfile reports whether two profiles have the same content. The order of keys, the escaping of texts and the
// notation of numbers make no difference.
func sameProfile(a, b string) bool {
	if a == b {
		return true
	}
	left, ok1 := parseProfile(a)
	right, ok2 := parseProfile(b)
	return ok1 && ok2 && reflect.DeepEqual(byValue(left), byValue(right))
}

// byValue returns a parsed JSON value with its numbers as decimals, so that equal numbers compare equal.
func byValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = byValue(v[key])
		}
	case []any:
		for i := range v {
			v[i] = byValue(v[i])
		}
	case json.Number:
		return decimalOf(v)
	}
	return v
}

// A decimal is the value of a JSON number: ±digits × 10^exponent, without leading or trailing zero digits. The zero
// value is zero.
type decimal struct {
	negative bool
	digits   string
	exponent string // an integer of any size: JSON does not limit it
}

func decimalOf(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return decimal{}
	}
	exponent, _ := new(big.Int).SetString(power, 10) // JSON: it is a number
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	return decimal{negative, significant, exponent.String()}
}
