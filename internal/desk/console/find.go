package console

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// A query is what somebody looks for: whatever has all of its words.
type query struct {
	text  string // as it was entered
	words []word
	units *units.Units
	names func(account string) string
}

// A word is a part of a query: a text in any case, which may also be an amount, or metadata such as order=1001.
type word struct {
	text       string // in lower case, without quotes
	key, value string // of metadata, "" for other words
	figure     *units.Figure
}

// lookFor returns the query of a text. Quotes keep the words between them together.
func (v *visit) lookFor(text string) query {
	q := query{text: strings.TrimSpace(text), units: v.units, names: v.directories.name}
	for _, text := range wordsIn(q.text) {
		w := word{text: strings.ToLower(text)}
		if key, value, ok := metadataIn(text); ok {
			w.key, w.value = key, value
		} else if f, ok := q.units.Notation().Figure(text); ok {
			f.Decimal = trimmed(strings.TrimPrefix(f.Decimal, "-"))
			w.figure = &f
		}
		q.words = append(q.words, w)
	}
	return q
}

// phrase returns the query of a text of a form. It is looked for as it is: a choice must not be guessed from letters.
func phrase(text string) query {
	text = strings.TrimSpace(text)
	return query{text: text, words: []word{{text: strings.ToLower(text)}}}
}

// equals joins a key and a value that have spaces around the sign.
var equals = strings.NewReplacer(" =", "=", "= ", "=")

// wordsIn splits a text at spaces that are not between quotes. Spaces that break no line belong to an amount.
func wordsIn(text string) (all []string) {
	for strings.Contains(text, " =") || strings.Contains(text, "= ") {
		text = equals.Replace(text)
	}
	isQuoted := false
	for _, one := range strings.FieldsFunc(text, func(r rune) bool {
		isQuoted = isQuoted != (r == '"')
		return !isQuoted && unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f'
	}) {
		if one = strings.ReplaceAll(one, `"`, ""); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// metadataIn returns the key and the value of a text such as order=1001.
func metadataIn(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return key, value, ok && key != ""
}

// metadata returns the first metadata that is looked for, nil for none.
func (q query) metadata() map[string]string {
	for _, w := range q.words {
		if w.key != "" {
			return map[string]string{w.key: w.value}
		}
	}
	return nil
}

// isEmpty reports whether nothing is looked for. isNothing reports whether nothing can be found.
func (q query) isEmpty() bool   { return len(q.words) == 0 }
func (q query) isNothing() bool { return strings.HasPrefix(q.text, "=") }

// unread returns the words that are amounts in another notation, by this notation.
func (q query) unread() map[string]string {
	all := make(map[string]string)
	for _, w := range q.words {
		if w.figure != nil || w.key != "" || !strings.ContainsAny(w.text, "0123456789") {
			continue
		}
		for _, n := range units.Notations() {
			if f, ok := n.Figure(w.text); ok && strings.ContainsAny(w.text, ".,'’") && (f.Unit == "" || f.IsSign()) {
				all[n.Name] = w.text
			}
		}
	}
	return all
}

// isIn reports whether all words are in texts, each in any of them.
func (q query) isIn(texts ...string) bool {
	return !q.isNothing() && !slices.ContainsFunc(q.words, func(w word) bool { return !contains(w.text, texts...) })
}

// isOf reports whether an account has all words, each in its id or its name, or in its metadata.
func (q query) isOf(a client.Account) bool {
	return !q.isNothing() && !slices.ContainsFunc(q.words, func(w word) bool {
		value, has := a.Metadata[w.key]
		return !contains(w.text, a.ID, a.Name) && !(has && value == w.value)
	})
}

// mentions reports whether a transaction has all words: in its id, its description, its metadata, the ids and names of
// its accounts, its assets, or its amounts, of either sign. Its assets are loaded.
func (q query) mentions(t client.Transaction) bool {
	if q.isNothing() {
		return false
	}
	legs := slices.Concat(t.Postings, t.Captured)
	texts := []string{t.ID, t.Reverses, t.Description, t.Kind, t.Status, t.EndDescription}
	for _, p := range legs {
		texts = append(texts, p.Account, q.names(p.Account), p.Asset)
	}
	for key, value := range maps.All(t.Metadata) {
		texts = append(texts, key, value)
	}
	return !slices.ContainsFunc(q.words, func(w word) bool { return !w.isIn(q, t, legs, texts) })
}

func (w word) isIn(q query, t client.Transaction, legs []client.Posting, texts []string) bool {
	switch {
	case w.key != "":
		value, has := t.Metadata[w.key]
		return has && value == w.value
	case w.figure == nil:
		return contains(w.text, texts...)
	}
	return slices.ContainsFunc(texts, w.isWithin) || slices.ContainsFunc(legs, func(p client.Posting) bool {
		plain := q.units.In(units.Plain)
		cost, currency := plain.Cost(p.Asset, p.Cost.Abs())
		return w.figure.IsOf(p.Asset) && w.figure.Decimal == trimmed(plain.Quantity(p.Asset, p.Quantity.Abs())) ||
			!p.Cost.IsZero() && w.figure.IsOf(currency) && w.figure.Decimal == trimmed(cost)
	})
}

// isWithin reports whether a number is in a text. It is in most ids that the ledger makes, but nobody means that.
func (w word) isWithin(text string) bool {
	_, err := events.ParseKSUID(text)
	return contains(w.text, text) && (err != nil || strings.EqualFold(w.text, text))
}

// trimmed returns a decimal number without zeros at its ends.
func trimmed(decimal string) string {
	if strings.Contains(decimal, ".") {
		decimal = strings.TrimRight(strings.TrimRight(decimal, "0"), ".")
	}
	whole := strings.TrimLeft(decimal, "0")
	if whole == "" || whole[0] == '.' {
		whole = "0" + whole
	}
	return whole
}
