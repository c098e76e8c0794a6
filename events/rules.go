package events

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a field breaks, in errors: the rules of more than one place.
const (
	ruleID       = "is not an id"
	ruleIncrease = "is not greater than the previous one"
	ruleMissing  = "is missing"
	ruleNumber   = "is not a whole number in canonical form"
	ruleRange    = "is out of range"
	ruleSign     = "does not fit the phase, the quantity and the date"
	ruleText     = "is not text of the allowed length"
	ruleType     = "has the wrong type"
	ruleUnknown  = "has an unknown value"
)

// A rule is that of one field: of a text, or of a number, or of the size of a list or a map.
type rule struct {
	valid    func(text string) bool // also of the texts in a list or a map
	validKey func(key string) bool  // of a map
	broken   string                 // what is wrong with a text or a key that is not valid
	absent   string                 // the value of an absent text, which is never stored
	neverNil bool                   // an absent map is empty
	chars    int                    // the maximum length of a text

	least, most int64 // of a number or a size
}

// rules are those that tags name.
var rules = map[string]rule{
	"amount": {}, "time": {}, "flag": {}, // their types say enough

	"id":          {valid: ValidID, broken: ruleID},
	"ksuid":       {valid: validKSUID, broken: "is not a KSUID"},
	"name":        textOf(NameChars),
	"description": textOf(DescriptionChars),
	"actor":       textOf(ActorChars),
	"profile":     {valid: validProfile, broken: "is not a JSON object in compact form", absent: "{}"},
	"fingerprint": {valid: validFingerprint, broken: "is not the number of a rule, a colon and a hash"},

	"kind":  oneOf(KindTransaction, KindTransfer, KindTrade, KindReversal),
	"phase": oneOf(PhasePlaced, PhaseCaptured, PhaseReleased, PhaseExpired),
	"role":  oneOf(RoleViewer, RoleOperator, RoleOwner),
	"per":   oneOf(PerDay, PerWeek, PerMonth),
	"state": oneOf(StateOpen, StateFrozen, StateClosed),

	"scale":    {least: 0, most: ScaleMax},
	"number":   {least: 1, most: MemberNumberMax},
	"period":   {least: 1, most: MemberNumberMax},
	"version":  {least: 2, most: ChangesMax},
	"reversal": {least: 1, most: ReversalsMax},

	"lanes": {least: 2, most: LanesMax},

	"legs":    {least: PostingsMin, most: PostingsMax},
	"groups":  {least: 1, most: AccountGroupsMax, valid: ValidID, broken: ruleID},
	"rates":   {least: 1, most: RatesMax},
	"zone":    {valid: ValidZone, broken: "is not the name of a zone"},
	"counted": {valid: validCounted, broken: "is not a list of rates in order"},
	"limits":  {least: 1, most: OverdraftAssets, validKey: ValidID, broken: ruleID},
	"highest": {least: 1, most: HighestLimits, validKey: ValidID, broken: ruleID},
	"metadata": {
		least: 1, most: MetadataPairs, broken: ruleText, neverNil: true,
		validKey: func(key string) bool { return validText(key, 1, MetadataKeyChars) },
		valid:    func(value string) bool { return validText(value, 0, MetadataValueChars) },
	},
}

// textOf is the rule of a text of 1 to most characters. An empty one is absent, if that is allowed.
func textOf(most int) rule {
	return rule{broken: ruleText, chars: most, valid: func(s string) bool { return validText(s, 1, most) }}
}

// TextChars returns the maximum length of a text with a rule, such as "name"; 0 if the rule has none of its own.
func TextChars(rule string) int { return rules[rule].chars }

// oneOf is the rule of a text that is one of the given.
func oneOf[S ~string](known ...S) rule {
	return rule{broken: ruleUnknown, valid: func(s string) bool { return slices.Contains(known, S(s)) }}
}

func validKSUID(s string) bool {
	_, err := ParseKSUID(s)
	return err == nil
}

// validProfile reports whether s is the stored form of a profile. "{}" is not: it is absent instead.
func validProfile(s string) bool {
	var compact bytes.Buffer
	return len(s) > len("{}") && len(s) <= ProfileBytes && utf8.ValidString(s) && s[0] == '{' &&
		json.Compact(&compact, []byte(s)) == nil && compact.String() == s
}

// validFingerprint reports whether s is the number of a rule, a colon and a hash of visible ASCII.
func validFingerprint(s string) bool {
	rule, hash, _ := strings.Cut(s, ":")
	number, err := ParseAmount(rule, PostedDigits)
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	return err == nil && number.Sign() > 0 && hash != "" && len(s) <= FingerprintChars &&
		!strings.ContainsFunc(hash, invisible)
}
