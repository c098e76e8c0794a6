package books

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ledger.example/client"
	"ledger.example/events"
)

// transaction converts an entry, into several requests if it is split. There is none if it has problems or no amounts.
func (m *mapping) transaction(t Transaction) []*request {
	problems := len(m.problems)
	r := request{at: t.Position}
	m.at = t.Position
	r.EffectiveAt = m.effectiveAt(t)
	r.Postings = m.legs(t)
	if len(m.problems) > problems {
		return nil
	}
	if len(r.Postings) == 0 {
		m.note("entries that move nothing are left out")
		return nil
	}
	m.annotate(t, &r)
	if m.identify(t, &r); r.ID != "" && len(r.Postings) > events.PostingsMax {
		m.wrong(t.Position, "it has %d postings and the tag %s, and a transaction has at most %d: remove the tag",
			len(r.Postings), TagID, events.PostingsMax)
	}
	if len(m.problems) > problems {
		return nil
	}
	return m.split(&r)
}

// firstDay is the first day whose beginning a posting may have.
var firstDay = events.Epoch().Truncate(24*time.Hour).AddDate(0, 0, 1)

// effectiveAt returns the time of an entry: that of TagAt if it is on the day of the entry, else the start of the day
// plus one microsecond for each earlier entry of the day.
func (m *mapping) effectiveAt(t Transaction) time.Time {
	day, err := time.Parse(time.DateOnly, t.Date)
	if err != nil {
		m.wrong(t.Position, "%q is not a date", t.Date)
		return day
	}
	at := day.Add(time.Duration(m.days[t.Date]) * time.Microsecond)
	m.days[t.Date]++
	if tagged, ok := events.ReadTime(valueOf(t.Metadata, TagAt)); ok {
		if tagged = tagged.UTC(); tagged.Format(time.DateOnly) == t.Date {
			at = tagged
		}
	}
	switch {
	case at.Before(events.Epoch()):
		m.wrong(t.Position, "%s is before %s, the first day of a posting: --opening DATE posts the totals before DATE "+
			"as opening entries", t.Date, firstDay.Format(time.DateOnly))
	case at.After(m.Now):
		m.wrong(t.Position, "%s (UTC) is in the future: import the entry when its day has begun", t.Date)
	}
	return at
}

func valueOf(pairs []Pair, key string) string {
	for _, p := range pairs {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// identify sets the id of an entry with TagID. The others get theirs by comparison with the ledger.
func (m *mapping) identify(t Transaction, r *request) {
	if r.ID = valueOf(t.Metadata, TagID); r.ID == "" {
		return
	}
	switch {
	case !events.ValidID(r.ID):
		m.wrong(t.Position, "%s: %q is not an id: it %s. Correct the tag, or remove it", TagID, r.ID, events.IDRule)
	case m.ids[r.ID]:
		m.wrong(t.Position, "%s: %q is the id of an earlier entry: remove the tag of one of them", TagID, r.ID)
	}
	m.ids[r.ID] = true
}

// annotate sets description and metadata of a transaction, within the limits of the ledger.
func (m *mapping) annotate(t Transaction, r *request) {
	description := m.valid(t.description())
	if r.Description = cut(description, events.DescriptionChars); r.Description != description {
		m.note(fmt.Sprintf("descriptions are cut to %d characters", events.DescriptionChars))
	}
	pairs := unescaped(t.Metadata)
	if m.File != "" && valueOf(pairs, TagBook) == "" {
		pairs = slices.Insert(pairs, 0, Pair{TagBook, m.bookName()})
	}
	for n, p := range t.Postings {
		for _, pair := range p.Metadata {
			if pair.Key != TagCost {
				pairs = append(pairs, Pair{fmt.Sprintf("%d.%s", n+1, pair.Key), pair.Value})
			}
		}
	}
	size := 0
	r.Metadata = make(map[string]string)
	for _, p := range pairs {
		key, value := m.valid(p.Key), m.valid(p.Value)
		kind := kindOf(key)
		if whole := value; kind == "comments" {
			if value = cut(value, events.MetadataValueChars); value != whole {
				m.note(fmt.Sprintf("comments are cut to %d characters", events.MetadataValueChars))
			}
		}
		_, isDouble := r.Metadata[key]
		switch {
		case key == TagID || key == TagAt || key == TagDescription:
		case key == "" || isDouble || len([]rune(key)) > events.MetadataKeyChars ||
			len([]rune(value)) > events.MetadataValueChars || len(r.Metadata) == events.MetadataPairs ||
			size+len(key)+len(value) > events.MetadataBytes:
			m.note(kind + " beyond the limits of a transaction's metadata are left out")
		default:
			r.Metadata[key], size = value, size+len(key)+len(value)
		}
	}
}

// valid returns a text in UTF-8, and notes if it was not.
func (m *mapping) valid(text string) string {
	if !utf8.ValidString(text) {
		m.note("texts that are not in UTF-8 have ? for the wrong bytes")
	}
	return strings.ToValidUTF8(text, "?")
}

// kindOf returns what a key of metadata stands for, for people.
func kindOf(key string) string {
	if number, of, ok := strings.Cut(key, "."); ok && strings.Trim(number, "0123456789") == "" {
		key = of
	}
	switch key {
	case "comment":
		return "comments"
	case "status", "flag":
		return "marks"
	case "lot-date", "lot-label", "price":
		return "lots and prices"
	case "date2":
		return "second dates"
	}
	return "tags and metadata"
}

// legs converts the postings, and balances each asset with a posting to Conversion.
func (m *mapping) legs(t Transaction) (legs []client.Leg) {
	for _, p := range t.Postings {
		leg, err := m.leg(p)
		if err != nil {
			m.wrong(t.position(p), "%v", err)
			continue
		}
		if !leg.Quantity.IsZero() || !leg.Cost.IsZero() {
			legs = append(legs, leg)
		}
	}
	if !t.isTotal {
		m.balance(t)
	}
	rest, err := rests(legs, Conversion)
	if err != nil {
		m.wrong(t.Position, "%v: split the entry", err)
	}
	if len(rest) > 0 {
		m.reserved[Conversion] = true
	}
	return append(legs, rest...)
}

// leg converts a posting. Its weight becomes its cost if it is in the asset's currency.
func (m *mapping) leg(p Posting) (leg client.Leg, err error) {
	if p.Wrong != "" {
		return leg, errors.New(p.Wrong)
	}
	leg.Account, leg.Asset = m.accounts.ids[p.Account], m.assets.ids[p.Quantity.Commodity]
	scale := m.scales[leg.Asset]
	quantity, isRounded, err := p.Quantity.Number.minor(scale)
	switch {
	case isRounded && p.Inferred:
		m.note(fmt.Sprintf("inferred amounts of %s are rounded to %d decimals", p.Quantity.Commodity, scale))
	case isRounded && m.hasAsset[leg.Asset]:
		return leg, fmt.Errorf("%s %s has more decimals than the %d of the asset %q, which the ledger has already: "+
			"round the number. %s", p.Quantity.Number, p.Quantity.Commodity, scale, leg.Asset,
			anotherID(p.Quantity.Commodity, leg.Asset))
	case isRounded:
		return leg, fmt.Errorf("%s %s has more decimals than --scale %s=%d: round the number, or raise the scale",
			p.Quantity.Number, p.Quantity.Commodity, p.Quantity.Commodity, scale)
	}
	if err != nil {
		way := fmt.Sprintf("give the asset less than %d decimals by --scale", scale)
		if m.hasAsset[leg.Asset] || scale == 0 {
			way = "split the entry, or use a larger unit. " + anotherID(p.Quantity.Commodity, leg.Asset)
		}
		return leg, fmt.Errorf("%s %s %w: %s", p.Quantity.Number, p.Quantity.Commodity, err, way)
	}
	leg.Quantity = quantity
	weight := p.Weight
	if weight == nil {
		return leg, nil
	}
	currency, isKnown := m.assets.ids[weight.Commodity]
	if !isKnown || currency != m.currencies[leg.Asset] {
		if !weight.Number.isZero() {
			m.note(costNote(p))
		}
		return leg, nil
	}
	if !p.isWeightSure(m.scales[currency]) {
		return leg, fmt.Errorf("the price of %s has %d decimals or more, and hledger rounds such numbers for other "+
			"programs: write the total with @@, or let another program read the book, with --format ledger",
			p.Quantity.Commodity, hledgerPlaces)
	}
	if leg.Cost, isRounded, err = weight.Number.minor(m.scales[currency]); err != nil {
		return leg, fmt.Errorf("%s %s %w: split the entry, or use a larger unit", weight.Number,
			weight.Commodity, err)
	}
	if isRounded {
		m.note(fmt.Sprintf("costs in %s are rounded to %d decimals", weight.Commodity, m.scales[currency]))
	}
	return leg, nil
}

// isWeightSure reports whether the weight is the same at a scale, although the program has rounded the price.
func (p Posting) isWeightSure(scale int) bool {
	if p.WeightError.isZero() {
		return true
	}
	least, _, err := p.Weight.Number.plus(p.WeightError.negated()).minor(scale)
	most, _, err2 := p.Weight.Number.plus(p.WeightError).minor(scale)
	return err == nil && err2 == nil && least == most
}

// parseCost parses the value of TagCost.
func parseCost(text string) (Amount, error) {
	number, commodity, _ := strings.Cut(text, " ")
	n, err := ParseNumber(number)
	return Amount{n, strings.Trim(commodity, `"`)}, err
}
