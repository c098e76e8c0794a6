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
