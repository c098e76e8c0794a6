package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// sentences says what each refusal of the API means, by its code, to somebody who fills in forms. Figures and fields
// follow in lines of their own.
var sentences = map[string]string{
	"insufficient_funds":     "There is not enough available for this.",
	"rate_exceeded":          "This is more than the account may debit in this time.",
	"unbalanced":             "The legs do not balance: those of each asset must sum to zero, and so must their costs.",
	"invalid_transaction":    "These entries do not go together.",
	"invalid_request":        "Some entries are wrong or missing.",
	"malformed_body":         "The ledger does not understand this form. The console may be of another version.",
	"account_not_found":      "There is no such account, or you may not see it. Upper and lower case differ.",
	"asset_not_found":        "There is no such asset. Upper and lower case differ.",
	"group_not_found":        "There is no such group, or you may not see it. Upper and lower case differ.",
	"transaction_not_found":  "There is no such transaction, or you may not see it. Upper and lower case differ.",
	"account_frozen":         "The account is frozen: nothing can be taken from it until it is opened again.",
	"account_closed":         "The account is closed: nothing can be posted to it any more.",
	"account_exists":         "There is an account with this id already, and it says something else.",
	"asset_exists":           "There is an asset with this id already, and it says something else.",
	"group_exists":           "There is a group with this id already, and it says something else.",
	"transaction_id_reused":  "Another transaction has this id. Choose another one.",
	"too_many_groups":        "The account is in as many groups as it can be. Remove it from one first.",
	"invalid_change":         "The account cannot be changed like this.",
	"version_mismatch":       "Somebody has changed the account meanwhile. Look at it again.",
	"precondition_failed":    "It exists already.",
	"period_closed":          "The books are closed for this date. Choose a later one, or none.",
	"period_exists":          "This period was closed otherwise.",
	"invalid_period":         "The period cannot be closed like this.",
	"not_a_hold":             "This transaction is not a hold: it was posted at once.",
	"hold_ended":             "The hold has ended already.",
	"hold_expired":           "The hold has expired. What it reserved is available again.",
	"exceeds_hold":           "This is more than the hold has.",
	"cost_required":          "A part of something that has a cost needs its cost, too.",
	"nothing_captured":       "This would capture nothing. Release the hold instead.",
	"nothing_to_reverse":     "There is nothing to reverse: the hold was not captured.",
	"exceeds_reversible":     "This is more than is left to reverse.",
	"batch_too_large":        "This is too much for one request.",
	"forbidden":              "You may not do this.",
	"unauthenticated":        "The ledger does not know who you are. Check the credentials of the console.",
	"invalid_cursor":         "This page is not there any more. Begin at the first one.",
	"not_found":              "The ledger does not know this. It may be of another version than the console.",
	"method_not_allowed":     "The ledger does not know this. It may be of another version than the console.",
	"unsupported_media_type": "The ledger does not understand this form. The console may be of another version.",
	"body_too_large":         "This is too long.",
	"foreign_host":           "The ledger answers only on the machine on which it runs.",
	"throttled":              "The ledger is busy. Nothing was done: try again in a moment.",
	"contention":             "Others post to the same account at the moment. Nothing was done: try again.",
	"unavailable":            "The ledger cannot be reached at the moment. Nothing was done: try again.",
	"outcome_unknown":        "It is not known whether this was done.",
	"internal":               "Something went wrong in the ledger. It may have been done.",
}

// isDetailed has the codes of refusals whose details say more than their sentences.
var isDetailed = map[string]bool{
	"forbidden": true, "invalid_request": true, "invalid_transaction": true, "invalid_change": true,
	"malformed_body": true, "internal": true,
}

// Sentence returns what a refusal with a code means, ok is false if the console has no sentence for it.
func Sentence(code string) (text string, ok bool) {
	text, ok = sentences[code]
	return text, ok
}

// errorText returns the text of an error for people: for a refusal a sentence, its figures, and a line for each invalid
// field. It escapes invisible characters, because the text may quote input such as metadata keys.
func (v *visit) errorText(err error) string { return v.textOf(err, &form{}) }

// textOf is errorText for an error of a form.
func (v *visit) textOf(err error, f *form) string {
	text := err.Error()
	_, isUnknown := errors.AsType[*client.UnknownError](err)
	switch refused := refusal(err); {
	case isUnknown:
		text = sentences["outcome_unknown"]
	case refused.Code != "":
		text = v.refusalText(err, refused, f)
	}
	return escaped(text, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// refusalText returns the sentence of a refusal, its figures, and its fields.
func (v *visit) refusalText(err error, refused *client.Error, f *form) string {
	text := cmp.Or(sentences[refused.Code], refused.Detail)
	if refused.Status >= http.StatusInternalServerError && refused.RequestID != "" {
		text += " (request " + refused.RequestID + ")" // the log of the ledger has the cause
	}
	var legs []string
	for _, p := range f.target.Postings {
		legs = append(legs, p.Asset)
	}
	if asset := f.value(assetField.Name); legs == nil && asset != "" {
		legs = []string{asset}
	}
	_, invalid := v.units.LoadRefusal(v.ctx, refused, legs...)
	lines := []string{text}
	if invalid == nil { // otherwise the figures would be in minor units
		lines = append(lines, v.figures(f, refused)...)
	}
	if missing, ok := errors.AsType[*units.MissingAsset](err); ok {
		lines = append(lines, "asset “"+missing.ID+"”")
	}
	for _, e := range refused.Fields {
		rule := e.Rule
		if _, _, _, hasAmount := e.Amount(); hasAmount && invalid != nil {
			rule = "is too much"
		} else if hasAmount {
			rule = v.units.Rule(e, legs...)
		}
		lines = append(lines, f.labelOf(e.Field)+": "+f.inLabels(rule))
	}
	return strings.Join(lines, "\n  ")
}

// figures returns the lines with the figures of a refusal. The assets are loaded.
func (v *visit) figures(f *form, refused *client.Error) (lines []string) {
	amount := func(asset string, a events.Amount) string { return v.units.Quantity(asset, a) + " " + asset }
	who := refused.Account
	if name := v.directories.name(who); name != "" {
		who += " (" + brief(name, nameChars) + ")"
	}
	if refused.Code == client.CodeRateExceeded && who != "" {
		of := func(a events.Amount) string { return amount(refused.Asset, a) }
		lines = append(lines, fmt.Sprintf("%s may debit %s a %s (%s): %s are used, %s are left, and %s were asked for",
			who, of(refused.Limit), refused.Per, refused.Zone, of(refused.Used), of(refused.Available),
			of(refused.Requested)), refused.Opens())
	}
	if refused.Code == client.CodeInsufficientFunds && who != "" {
		if who += " has"; f.Name == "collect" && len(strings.Fields(f.value(sourcesField.Name))) > 1 {
			who = "The accounts together have"
		}
		lines = append(lines, fmt.Sprintf("%s %s available, and %s were asked for", who,
			amount(refused.Asset, refused.Available), amount(refused.Asset, refused.Requested)))
	}
	for _, l := range refused.Left {
		line := fmt.Sprintf("%s: %s are left", l.Account, amount(l.Asset, l.Quantity.Abs()))
		if !l.Cost.IsZero() {
			line += ", at a cost of " + v.units.CostCell(l.Asset, l.Cost.Abs())
		}
		lines = append(lines, line)
	}
	if refused.HoldStatus != "" {
		lines = append(lines, "it is "+refused.HoldStatus)
	}
	if isDetailed[refused.Code] && (len(refused.Fields) == 0 || refused.Code == client.CodeForbidden) {
		lines = append(lines, refused.Detail)
	}
	return lines
}

// refused returns the page of a form that was refused, with the error.
func (v *visit) refused(f *form, err error) page {
	_, f.OutcomeUnknown = errors.AsType[*client.UnknownError](err)
	f.ErrorField, f.Confirm = f.fieldOf(err), f.OutcomeUnknown
	switch {
	case hasField(err, "hold.expires_at"): // it counts from when the form was opened
		f.Error, f.ReopenURL = "this form has expired", f.address()
	case refusal(err).Code == "period_exists":
		f.Error, f.ReopenURL = "somebody closed or opened the books meanwhile", f.renumbered().address()
	default:
		f.Error = v.textOf(err, f)
	}
	for _, field := range f.Fields {
		if f.hasInvalidID(field, err) {
			f.Error = field.Label + ": " + f.Error
		}
	}
	return v.formPage(f, http.StatusUnprocessableEntity)
}

// hasField reports whether err is an error of the API about a field.
func hasField(err error, name string) bool {
	return slices.ContainsFunc(refusal(err).Fields, func(e client.FieldError) bool { return e.Field == name })
}

// legOf matches a field of a leg in a request.
var legOf = regexp.MustCompile(`^postings\[([0-9]+)\]\.([a-z]+)$`)

// itemOf matches a field of an item of a list in a request, and the item itself.
var itemOf = regexp.MustCompile(`^([a-z]+)\[([0-9]+)\]`)

// nameOf returns the name of the form's field that a field of the request comes from, "" if there is none.
func (f *form) nameOf(of string) string {
	name, _, _ := strings.Cut(of, ".")                // of a limit or of metadata
	if m := itemOf.FindStringSubmatch(of); m != nil { // of a list that is entered as lines
		name = m[1]
	}
	if m := legOf.FindStringSubmatch(of); m != nil {
		n, _ := strconv.Atoi(m[1])
		row := n + 1
		if f.HasLegs && n < len(f.rows) {
			row = f.rows[n]
		}
		name = m[2] + "-" + strconv.Itoa(row)
	}
	for _, field := range f.Fields {
		if field.Name == name || field.member == name && field.Kind != "check" {
			return field.Name
		}
	}
	return ""
}

// labelOf returns the label of a field of the request.
func (f *form) labelOf(of string) string {
	name := f.nameOf(of)
	for _, field := range f.Fields {
		if m := itemOf.FindStringSubmatch(of); field.Name == name && m != nil && m[1] == name {
			n, _ := strconv.Atoi(m[2])
			return field.Label + ", no. " + strconv.Itoa(n+1)
		}
		if field.Name == name {
			return field.Label
		}
	}
	if of == "postings" {
		return "Legs"
	}
	return of
}

// otherField matches the name of a field in a rule.
var otherField = regexp.MustCompile(`must differ from ([a-z]+(?:\[[0-9]+\]\.[a-z]+)?)`)

// inLabels replaces the name of a field in a rule by its label.
func (f *form) inLabels(rule string) string {
	if m := otherField.FindStringSubmatch(rule); m != nil {
		return strings.Replace(rule, m[0], "must differ from “"+f.labelOf(m[1])+"”", 1)
	}
	return rule
}

// fieldOf returns the name of the first form field that an error is about, "" if there is none.
func (f *form) fieldOf(err error) string {
	refused := refusal(err)
	isAbout := func(name string) bool {
		return slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool { return f.nameOf(e.Field) == name })
	}
	isShort := refused.Code == client.CodeInsufficientFunds || refused.Code == client.CodeRateExceeded
	missing, isMissing := errors.AsType[*units.MissingAsset](err)
	for _, field := range f.Fields {
		switch {
		case field.Kind == "fixed":
		case isMissing && (field.List == "assets" && field.Value == missing.ID ||
			field.Kind == "lines" && strings.Contains(field.Value, missing.ID)), f.hasInvalidID(field, err),
			strings.HasPrefix(err.Error(), field.Label+": "), // an invalid amount
			refused.Code == field.Name+"_not_found",
			isShort && field.Kind == "amount", isAbout(field.Name):
			return field.Name
		}
	}
	return ""
}

// hasInvalidID reports whether err is client.ErrID, which does not name the field, and the field is the cause.
func (f *form) hasInvalidID(of field, err error) bool {
	ids := []string{"id", "account", "group", "user", "asset"} // the fields that become part of a URL path
	return errors.Is(err, client.ErrID) && slices.Contains(ids, of.Name) && !events.ValidID(of.Value)
}
