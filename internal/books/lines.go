package books

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// Conversion is the account against which conversions between commodities are closed, so that every asset sums to zero.
const Conversion = "conversion"

// earliest is the first instant that a posting can have: the KSUIDs' epoch.
var earliest = time.Unix(1_400_000_000, 0).UTC()

// timeFormat is how times are sent.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// Ledger is what must be known of the ledger that takes the book. Errors are those of *client.Client, whose code says
// when there is no such asset or account.
type Ledger interface {
	Asset(ctx context.Context, id string) (client.Reply[client.Asset], error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
}

// Options say how a book is imported.
type Options struct {
	Ledger Ledger
	Scales map[string]int // of assets that the ledger does not have yet, by commodity; else the most decimals in the book
	Now    time.Time      // no posting may be later
}

// Lines are the lines of an import, each with its place in the book.
type Lines struct {
	Text      []byte
	Positions []Position
	Notes     []string // what is not taken, for people
}

// Lines turns a book to the lines of an import. Problems are why it cannot be imported, by their places: then nothing of
// it should be. Error: the ledger could not be asked.
func (b Book) Lines(ctx context.Context, o Options) (Lines, []Problem, error) {
	if len(b.Problems) > 0 {
		return Lines{}, b.Problems, nil
	}
	m := &mapping{
		Options: o, declared: b.Declared, accounts: newNames(b.Accounts), assets: newNames(b.Assets), scales: make(map[string]int),
		currencies: make(map[string]string), ids: make(map[string]int), days: make(map[string]int),
		told: make(map[string]int), out: Lines{Notes: b.Notes},
	}
	m.collect(b.Transactions)
	if err := m.defineAssets(ctx, b.Transactions); err != nil {
		return Lines{}, nil, err
	}
	var transactions []request
	for _, t := range b.Transactions {
		if r, ok := m.transaction(t); ok {
			transactions = append(transactions, r)
		}
	}
	if err := m.defineAccounts(ctx); err != nil {
		return Lines{}, nil, err
	}
	for _, r := range transactions {
		m.line(r.at, "transaction", r)
	}
	for _, note := range slices.Sorted(maps.Keys(m.told)) {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s (%d times)", note, m.told[note]))
	}
	return m.out, m.problems, nil
}

// request is a transaction as it is sent.
type request struct {
	ID          string            `json:"id"`
	EffectiveAt string            `json:"effective_at"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Postings    []client.Leg      `json:"postings"`

	at Position
}

// mapping is one book on its way to lines.
type mapping struct {
	Options
	accounts, assets *names
	declared         []string
	first            map[string]Position // where an account's name stands first
	scales           map[string]int      // by asset's id
	currencies       map[string]string   // by asset's id
	needsConversion  bool
	ids              map[string]int // of transactions: how often
	days             map[string]int // transactions by date
	out              Lines
	told             map[string]int
	problems         []Problem
}

func (m *mapping) wrong(at Position, format string, a ...any) {
	m.problems = append(m.problems, Problem{at, fmt.Sprintf(format, a...)})
}

func (m *mapping) tell(note string) { m.told[note]++ }

func (m *mapping) line(at Position, kind string, body any) {
	text, err := json.Marshal(map[string]any{kind: body})
	if err != nil {
		m.wrong(at, "%v", err)
		return
	}
	m.out.Text = append(append(m.out.Text, text...), '\n')
	m.out.Positions = append(m.out.Positions, at)
}

// collect gives ids to all names, and says which can have none.
func (m *mapping) collect(transactions []Transaction) {
	m.first = make(map[string]Position)
	wrong := make(map[string]bool)
	for _, name := range m.declared {
		if _, err := m.accounts.id(name); err != nil {
			m.wrong(Position{}, "account %v", err)
		}
	}
	for _, t := range transactions {
		for i := range t.Postings {
			p := &t.Postings[i]
			at := t.of(*p)
			if told := valueOf(p.Metadata, TagCost); told != "" {
				weight, err := parseCost(told)
				if err != nil {
					m.wrong(at, "%s: %v", TagCost, err)
				}
				p.Weight = &weight
			}
			if _, known := m.first[p.Account]; !known {
				m.first[p.Account] = at
				if _, err := m.accounts.id(p.Account); err != nil {
					m.wrong(at, "account %v", err)
				}
			}
			for _, a := range p.amounts() {
				if _, err := m.assets.id(a.Commodity); err != nil && !wrong[a.Commodity] {
					wrong[a.Commodity] = true
					m.wrong(at, "commodity %v", err)
				}
			}
		}
	}
}

// of is where a posting stands.
func (t Transaction) of(p Posting) Position {
	return Position{t.File, cmp.Or(p.Line, t.Line)}
}

func (p Posting) amounts() []Amount {
	if p.Weight == nil {
		return []Amount{p.Quantity}
	}
	return []Amount{p.Quantity, *p.Weight}
}

// asset is a line that registers an asset.
type asset struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Scale    int    `json:"scale"`
	Currency string `json:"currency,omitempty"`
}

// defineAssets writes a line for each asset that the ledger does not have. Those that it has keep their scale and
// currency.
func (m *mapping) defineAssets(ctx context.Context, transactions []Transaction) error {
	seen := make(map[string]int)                    // decimals of quantities, by commodity
	weights := make(map[string]map[string]int)      // how often by commodity and commodity
	weighed := make(map[string]int)                 // decimals of weights
	note := func(of map[string]int, a Amount) int { // the most decimals
		of[a.Commodity] = max(of[a.Commodity], a.Number.decimals())
		return of[a.Commodity]
	}
	for _, t := range transactions {
		for _, p := range t.Postings {
			note(seen, p.Quantity)
			if p.Weight != nil {
				note(weighed, *p.Weight)
				if weights[p.Quantity.Commodity] == nil {
					weights[p.Quantity.Commodity] = make(map[string]int)
				}
				weights[p.Quantity.Commodity][p.Weight.Commodity]++
			}
		}
	}
	var fresh []string
	for _, name := range slices.Sorted(maps.Keys(m.assets.given)) {
		assetID := m.assets.given[name]
		r, err := m.Ledger.Asset(ctx, assetID)
		switch {
		case err == nil:
			m.scales[assetID] = r.Value.Scale
			if r.Value.Currency != nil {
				m.currencies[assetID] = *r.Value.Currency
			}
			continue
		case !isAbsent(err, "asset_not_found"):
			return err
		}
		fresh = append(fresh, name)
		scale, isTold := m.Scales[name]
		if decimals, isPosted := seen[name]; !isTold && isPosted {
			scale = decimals
		} else if !isTold {
			scale = min(weighed[name], 2)
		}
		if scale > events.ScaleMax {
			m.wrong(Position{}, "commodity %q has %d decimals, and there are at most %d", name, scale, events.ScaleMax)
		}
		m.scales[assetID] = scale
	}
	for _, name := range fresh {
		assetID := m.assets.given[name]
		often := weights[name]
		for _, c := range slices.SortedFunc(maps.Keys(often), func(a, b string) int {
			return cmp.Or(cmp.Compare(often[b], often[a]), strings.Compare(a, b))
		})[:min(1, len(often))] {
			if currency := m.assets.given[c]; !m.leads(currency, assetID) {
				m.currencies[assetID] = currency
			}
		}
	}
	written := make(map[string]bool)
	var write func(name string)
	write = func(name string) { // its currency first
		assetID := m.assets.given[name]
		if written[assetID] || !slices.Contains(fresh, name) {
			return
		}
		written[assetID] = true
		if currency := m.currencies[assetID]; currency != "" {
			write(m.assets.of[currency])
		}
		m.line(Position{}, "asset", asset{assetID, nameOf(name, assetID), m.scales[assetID], m.currencies[assetID]})
	}
	for _, name := range fresh {
		write(name)
	}
	return nil
}

// leads reports whether the currencies from one asset on lead to another: a circle cannot be registered.
func (m *mapping) leads(from, to string) bool {
	for ; from != ""; from = m.currencies[from] {
		if from == to {
			return true
		}
	}
	return false
}

// nameOf is a name as an asset or account may have it.
func nameOf(name, id string) string {
	if name = strings.ToValidUTF8(name, "?"); name == "" {
		return id
	}
	return cut(name, events.NameChars)
}

// cut is the beginning of s of so many characters at most.
func cut(s string, chars int) string {
	if r := []rune(s); len(r) > chars {
		return string(r[:chars])
	}
	return s
}

// isAbsent reports whether the ledger said that there is no such thing.
func isAbsent(err error, code string) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == code
}

// defineAccounts writes a line for each account that the ledger does not have. One that it has must let the book's
// postings pass, whatever their order.
func (m *mapping) defineAccounts(ctx context.Context) error {
	if m.needsConversion {
		if _, isOwn := m.accounts.of[Conversion]; isOwn {
			m.wrong(m.first[m.accounts.of[Conversion]], "account %q is where conversions are closed: rename it", Conversion)
		}
		m.accounts.given[Conversion] = Conversion
	}
	for _, name := range slices.Sorted(maps.Keys(m.accounts.given)) {
		accountID := m.accounts.given[name]
		r, err := m.Ledger.Account(ctx, accountID)
		switch {
		case isAbsent(err, "account_not_found"):
			m.line(m.first[name], "account", map[string]string{
				"id": accountID, "name": nameOf(name, accountID), "overdraft": "unlimited"})
		case err != nil:
			return err
		case !client.Unlimited(r.Value.Overdraft) || r.Value.State == client.StateFrozen || r.Value.State == client.StateClosed:
			m.wrong(m.first[name], "account %q is in the ledger already, and may refuse the book's postings: it is %s, and its "+
				"overdraft is not unlimited or may not be used", accountID, r.Value.State)
		}
	}
	return nil
}

// transaction maps an entry. ok is false when it has problems, or moves nothing.
func (m *mapping) transaction(t Transaction) (r request, ok bool) {
	problems := len(m.problems)
	r.at = t.Position
	r.EffectiveAt = m.effectiveAt(t)
	r.Postings = m.legs(t)
	if len(m.problems) > problems {
		return r, false
	}
	if len(r.Postings) == 0 {
		m.tell("entries that move nothing are left out")
		return r, false
	}
	if len(r.Postings) > events.PostingsMax {
		m.wrong(t.Position, "it has %d postings, conversions included, and there are at most %d", len(r.Postings),
			events.PostingsMax)
	}
	m.annotate(t, &r)
	m.identify(t, &r)
	return r, len(m.problems) == problems
}

// effectiveAt is an entry's time: the start of its day, and so many microseconds as entries of the day come before.
func (m *mapping) effectiveAt(t Transaction) string {
	day, err := time.Parse(time.DateOnly, t.Date)
	if err != nil {
		m.wrong(t.Position, "%q is not a date", t.Date)
		return ""
	}
	at := day.Add(time.Duration(m.days[t.Date]) * time.Microsecond)
	m.days[t.Date]++
	if told, err := time.Parse(time.RFC3339Nano, valueOf(t.Metadata, TagAt)); err == nil {
		if told = told.UTC(); told.Format(time.DateOnly) == t.Date {
			at = told
		}
	}
	switch {
	case at.Before(earliest):
		m.wrong(t.Position, "%s is before %s, the earliest time of a posting", t.Date, earliest.Format(time.RFC3339))
	case at.After(m.Now):
		m.wrong(t.Position, "%s (UTC) is in the future", t.Date)
	}
	return at.Format(timeFormat)
}

func valueOf(pairs []Pair, key string) string {
	for _, p := range pairs {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// identify gives an entry its id: what it tells itself, or its date and a hash of its postings, so that a second import
// finds it again. Equal entries of a day are numbered.
func (m *mapping) identify(t Transaction, r *request) {
	if told := valueOf(t.Metadata, TagID); told != "" {
		if !events.ValidID(told) {
			m.wrong(t.Position, "%s: %q is no id: it %s", TagID, told, events.IDRule)
		}
		if r.ID = told; m.ids[told] > 0 {
			m.wrong(t.Position, "%s: %q is the id of an earlier entry", TagID, told)
		}
		m.ids[told]++
		return
	}
	h := sha256.New()
	for _, p := range t.Postings {
		fmt.Fprintf(h, "%q %q %s\n", p.Account, p.Quantity.Commodity, p.Quantity.Number.trimmed())
		if p.Weight != nil {
			fmt.Fprintf(h, "%q %s\n", p.Weight.Commodity, p.Weight.Number.trimmed())
		}
	}
	r.ID = t.Date + "." + hex.EncodeToString(h.Sum(nil)[:10])
	m.ids[r.ID]++
	if n := m.ids[r.ID]; n > 1 {
		r.ID = fmt.Sprintf("%s.%d", r.ID, n)
	}
}

// annotate takes an entry's texts, as far as there is room.
func (m *mapping) annotate(t Transaction, r *request) {
	description := strings.ToValidUTF8(t.Description, "?")
	if r.Description = cut(description, events.DescriptionChars); r.Description != description {
		m.tell(fmt.Sprintf("descriptions are cut to %d characters", events.DescriptionChars))
	}
	pairs := slices.Clone(t.Metadata)
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
		key, value := strings.ToValidUTF8(p.Key, "?"), strings.ToValidUTF8(p.Value, "?")
		_, isDouble := r.Metadata[key]
		switch {
		case key == TagID || key == TagAt:
		case key == "" || isDouble || len([]rune(key)) > events.MetadataKeyChars ||
			len([]rune(value)) > events.MetadataValueChars || len(r.Metadata) == events.MetadataPairs ||
			size+len(key)+len(value) > events.MetadataBytes:
			m.tell("tags and metadata beyond the limits of a transaction's metadata are left out")
		default:
			r.Metadata[key], size = value, size+len(key)+len(value)
		}
	}
}

// legs maps the postings, and closes what they leave of each asset against Conversion.
func (m *mapping) legs(t Transaction) (legs []client.Leg) {
	var order []string
	left := make(map[string]client.Leg)
	for _, p := range t.Postings {
		leg, err := m.leg(p)
		if err != nil {
			m.wrong(t.of(p), "%v", err)
			continue
		}
		if leg.Quantity.IsZero() && leg.Cost.IsZero() {
			continue
		}
		legs = append(legs, leg)
		rest, known := left[leg.Asset]
		if !known {
			order = append(order, leg.Asset)
		}
		var errs [2]error
		rest.Quantity, errs[0] = rest.Quantity.Sub(leg.Quantity)
		rest.Cost, errs[1] = rest.Cost.Sub(leg.Cost)
		if err := errors.Join(errs[:]...); err != nil {
			m.wrong(t.of(p), "%v", err)
		}
		left[leg.Asset] = rest
	}
	for _, assetID := range order {
		if rest := left[assetID]; !rest.Quantity.IsZero() || !rest.Cost.IsZero() {
			rest.Account, rest.Asset, m.needsConversion = Conversion, assetID, true
			legs = append(legs, rest)
		}
	}
	return legs
}

// leg maps a posting. Its cost is its weight, when that is in the asset's currency.
func (m *mapping) leg(p Posting) (leg client.Leg, err error) {
	if p.Wrong != "" {
		return leg, errors.New(p.Wrong)
	}
	leg.Account, leg.Asset = m.accounts.given[p.Account], m.assets.given[p.Quantity.Commodity]
	scale := m.scales[leg.Asset]
	quantity, isRounded, err := p.Quantity.Number.minor(scale)
	if isRounded {
		return leg, fmt.Errorf("%s %s has more decimals than the %d of the asset", p.Quantity.Number, p.Quantity.Commodity, scale)
	}
	if err != nil {
		return leg, fmt.Errorf("%s %s %w", p.Quantity.Number, p.Quantity.Commodity, err)
	}
	leg.Quantity = quantity
	weight := p.Weight
	if weight == nil {
		return leg, nil
	}
	currency, isKnown := m.assets.given[weight.Commodity]
	if !isKnown || currency != m.currencies[leg.Asset] {
		if !weight.Number.isZero() {
			m.tell(fmt.Sprintf("costs and prices of %s in %s are not its currency's, and not recorded", p.Quantity.Commodity,
				weight.Commodity))
		}
		return leg, nil
	}
	if leg.Cost, isRounded, err = weight.Number.minor(m.scales[currency]); err != nil {
		return leg, fmt.Errorf("%s %s %w", weight.Number, weight.Commodity, err)
	}
	if isRounded {
		m.tell(fmt.Sprintf("costs in %s are rounded to %d decimals", weight.Commodity, m.scales[currency]))
	}
	return leg, nil
}

// parseCost reads what TagCost says.
func parseCost(text string) (Amount, error) {
	number, commodity, _ := strings.Cut(text, " ")
	n, err := ParseNumber(number)
	return Amount{n, strings.Trim(commodity, `"`)}, err
}

// Reader reads the lines.
func (l Lines) Reader() *bytes.Reader { return bytes.NewReader(l.Text) }
