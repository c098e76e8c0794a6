package ledger

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"ledger.example/events"
)

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

// sameProfile compares by content: the order of keys makes no difference, nor does how a text is escaped or a number
// written.
func sameProfile(a, b string) bool {
	if a == b {
		return true
	}
	left, ok1 := parseProfile(a)
	right, ok2 := parseProfile(b)
	return ok1 && ok2 && reflect.DeepEqual(byValue(left), byValue(right))
}

// byValue returns a parsed JSON value in which numbers of the same value are the same.
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

// A decimal is the value of a number of JSON: ±digits × 10^exponent, the digits without a zero at either end. Zero is
// the zero value.
type decimal struct {
	negative bool
	digits   string
	exponent string // a whole number: JSON bounds none
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
