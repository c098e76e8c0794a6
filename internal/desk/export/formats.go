package export

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/books"
)

// csvFormat writes CSV (RFC 4180) with a row for each posting. Amounts are decimals.
type csvFormat struct {
	*exporter
	rows *csv.Writer
}

func newCSV(e *exporter) format {
	// The struct hides e.out from csv, which would flush it, too.
	return csvFormat{e, csv.NewWriter(struct{ io.Writer }{e.out})}
}

func (f csvFormat) begin() error {
	return f.rows.WriteAll([][]string{{"posted_at", "recorded_at", "transaction", "kind", "posting", "account", "asset",
		"quantity", "cost", "currency", "description", "metadata"}})
}

func (f csvFormat) transaction(_ context.Context, t posted) error {
	metadata := ""
	if len(t.Metadata) > 0 {
		text, err := json.Marshal(t.Metadata)
		if err != nil {
			return err
		}
		metadata = string(text)
	}
	rows := make([][]string, len(t.legs))
	for i, leg := range t.legs {
		cost, currency := f.cost(leg)
		rows[i] = []string{events.FormatTime(t.at), t.RecordedAt, t.ID, t.Kind, leg.ID, leg.Account, leg.Asset,
			f.quantity(leg), cost, currency, t.Description, metadata}
	}
	return f.rows.WriteAll(rows)
}

// quantity formats the quantity of a leg as a decimal.
func (e *exporter) quantity(leg client.Posting) string {
	return leg.Quantity.Decimal(e.assets[leg.Asset].Scale)
}

// cost formats the cost of a leg as a decimal, and returns its currency. Both are empty if there is no cost.
func (e *exporter) cost(leg client.Posting) (cost, currency string) {
	c := e.assets[leg.Asset].Currency
	if c == "" || leg.Cost.IsZero() {
		return "", ""
	}
	return leg.Cost.Decimal(e.assets[c].Scale), c
}

// hledgerFormat writes an hledger journal, in which all accounts and commodities are declared.
type hledgerFormat struct{ *exporter }

func newHledger(e *exporter) format { return hledgerFormat{e} }

func (f hledgerFormat) begin() error {
	_, err := fmt.Fprintln(f.out, "; Exported from a ledger. The code of a transaction is its id.\ndecimal-mark .")
	return err
}

func (f hledgerFormat) asset(a client.Asset) error {
	one := events.NewAmount(0).Decimal(a.Scale)
	if a.Scale == 0 {
		one += "."
	}
	_, err := fmt.Fprintf(f.out, "\ncommodity %s %s  ; %s:%s\n", one, symbol(a), books.TagAsset, a.ID)
	return err
}

func (f hledgerFormat) account(_ context.Context, accounts []client.Account) error {
	for _, a := range accounts {
		f.names.giveHledger(a, f.accounts)
		_, err := fmt.Fprintf(f.out, "\naccount %s  ; %s:%s\n", f.names.in(a.ID), books.TagAccount, a.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// ownTags is the prefix of books.TagID and the others: an import would take a key of metadata for one of them.
const ownTags = "ledger-"

// isOwn reports whether an import would take a key for one of its tags. TagBook is metadata as well.
func isOwn(key string) bool { return strings.HasPrefix(key, ownTags) && key != books.TagBook }

// hledgerTag matches keys that are valid tag names. hledgerValue matches values that hledger reads unchanged.
var (
	hledgerTag   = regexp.MustCompile(`^[^\s:,;\[\]]+$`)
	hledgerValue = regexp.MustCompile(`^([^\s,\[\]]([^,\n\r\[\]]*[^\s,\[\]])?)?$`)
	// hledgerText replaces characters that would end a description.
	hledgerText = strings.NewReplacer("\n", " ", "\r", " ", ";", ",")
)

func (f hledgerFormat) transaction(_ context.Context, t posted) error {
	description := strings.TrimSpace(hledgerText.Replace(t.Description))
	fmt.Fprintf(f.out, "\n%s (%s) %s\n    ; %s:%s\n", t.at.Format(time.DateOnly), t.ID, description, books.TagAt,
		events.FormatTime(t.at))
	if description != t.Description {
		fmt.Fprintf(f.out, "    ; %s:%s\n", books.TagDescription, books.Escaped(t.Description))
	}
	escaped := 0
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value := t.Metadata[key]
		if isOwn(key) {
			f.note("metadata whose key begins with ledger- is left out")
			continue
		}
		if !hledgerTag.MatchString(key) || !hledgerValue.MatchString(value) || key == "date" || key == "date2" {
			escaped++
			fmt.Fprintf(f.out, "    ; %s%d:%s\n", books.TagMetadata, escaped, books.EscapedPair(key, value))
			continue
		}
		fmt.Fprintf(f.out, "    ; %s:%s\n", key, value)
	}
	priced := f.priced(t.legs)
	for _, leg := range t.legs {
		fmt.Fprintf(f.out, "    %s  %s %s", f.names.in(leg.Account), f.quantity(leg), symbol(f.assets[leg.Asset]))
		cost, currency := f.cost(leg)
		switch {
		case cost == "":
		case priced[leg.Asset]:
			fmt.Fprintf(f.out, " @@ %s %s", strings.TrimPrefix(cost, "-"), symbol(f.assets[currency]))
		default:
			f.note("costs that hledger cannot represent are in tags only")
			fmt.Fprintf(f.out, "  ; %s:%s %s", books.TagCost, cost, symbol(f.assets[currency]))
		}
		fmt.Fprintln(f.out)
	}
	return nil
}

// priced returns the assets whose legs all have a cost with the sign of the quantity. hledger balances a leg by its
// cost if it has one, else by its quantity, so the legs of an asset must not be mixed.
func (f hledgerFormat) priced(legs []client.Posting) map[string]bool {
	priced := make(map[string]bool)
	for _, leg := range legs {
		if _, known := priced[leg.Asset]; !known {
			priced[leg.Asset] = true
		}
		if leg.Quantity.Sign() != leg.Cost.Sign() {
			priced[leg.Asset] = false
		}
	}
	return priced
}

const (
	// beancountDay is the date of all accounts and commodities. No posting is older.
	beancountDay = "2014-05-13"
	// beancountRoot is the prefix of accounts whose ids are not valid names in beancount.
	beancountRoot = "Equity:Ledger:"
	// beancountChars is the maximum length of a commodity in beancount 2.
	beancountChars = 24
)

var (
	beancountAccount = regexp.MustCompile(
		`^(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+$`)
	beancountCommodity = regexp.MustCompile(`^[A-Z][A-Z0-9._-]{0,22}[A-Z0-9]$`)
	beancountKey       = regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]+$`)
	beancountText      = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	// beancountWords are reserved, and cannot be commodities.
	beancountWords = []string{"TRUE", "FALSE", "NULL"}
)

// beancountFormat writes a beancount book.
type beancountFormat struct {
	*exporter
	commodities map[string]string // by asset
	taken       map[string]bool
}

func newBeancount(e *exporter) format {
	return &beancountFormat{e, make(map[string]string), make(map[string]bool)}
}

func (f *beancountFormat) begin() error {
	_, err := fmt.Fprintln(f.out, "; Exported from a ledger. The metadata of an entry has its id and its time.")
	return err
}

// quoted returns s as a string literal of beancount.
func quoted(s string) string { return `"` + beancountText.Replace(s) + `"` }

func (f *beancountFormat) asset(a client.Asset) error {
	f.written(a)
	_, err := fmt.Fprintf(f.out, "\n%s commodity %s\n  %s: %s\n  name: %s\n", beancountDay, f.commodities[a.ID],
		books.TagAsset, quoted(a.ID), quoted(a.Name))
	return err
}

// written names the commodity of an asset: by its id, or, if that is not valid, by a valid name made from it. The name
// depends on the assets before.
func (f *beancountFormat) written(a client.Asset) {
	name := a.ID
	if !beancountCommodity.MatchString(name) || slices.Contains(beancountWords, name) {
		name = strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, strings.ToUpper(name))
		name = "X" + name[:min(len(name), beancountChars-8)] + "X" // valid first and last characters, room for a number
	}
	for n, first := 2, name; f.taken[name]; n++ {
		name = fmt.Sprintf("%s%d", first, n)
	}
	f.commodities[a.ID], f.taken[name] = name, true
}

// accountName returns the name of an account: its id if that is valid, else a valid name that is unique for the id.
func accountName(id string) string {
	if beancountAccount.MatchString(id) && !strings.HasPrefix(id, beancountRoot) {
		return id
	}
	var b strings.Builder
	for part := range strings.SplitSeq(id, ":") {
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		if part == "" || part[0] < '0' || part[0] > 'Z' || part[0] > '9' && part[0] < 'A' ||
			strings.HasPrefix(part, "X-") { // else it would be taken for a part to which X- is added
			b.WriteString("X-")
		}
		for i := range len(part) {
			switch c := part[i]; {
			case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
				b.WriteByte(c)
			case c == '-':
				b.WriteString("--")
			default:
				fmt.Fprintf(&b, "-%02x", c)
			}
		}
	}
	return beancountRoot + b.String()
}

func isBeancountKey(key string) bool {
	return beancountKey.MatchString(key) && key != "filename" && key != "lineno" && !strings.HasPrefix(key, ownTags)
}

func (f *beancountFormat) account(_ context.Context, accounts []client.Account) error {
	for _, a := range accounts {
		f.names.giveBeancount(a, f.accounts)
		fmt.Fprintf(f.out, "\n%s open %s\n  %s: %s\n", beancountDay, f.names.in(a.ID), books.TagAccount, quoted(a.ID))
		if a.Name != "" {
			fmt.Fprintf(f.out, "  name: %s\n", quoted(a.Name))
		}
	}
	return nil
}

func (f *beancountFormat) transaction(_ context.Context, t posted) error {
	fmt.Fprintf(f.out, "\n%s * %s\n  %s: %s\n  %s: %s\n", t.at.Format(time.DateOnly), quoted(t.Description),
		books.TagID, quoted(t.ID), books.TagAt, quoted(events.FormatTime(t.at)))
	if strings.TrimSpace(t.Description) != t.Description {
		fmt.Fprintf(f.out, "  %s: %s\n", books.TagDescription, quoted(books.Escaped(t.Description)))
	}
	escaped, ofLegs := 0, make([]string, len(t.legs))
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value := t.Metadata[key]
		leg, ofLeg, isNumbered := strings.Cut(key, ".")
		n, err := strconv.Atoi(leg)
		switch {
		case isOwn(key):
			f.note("metadata whose key begins with ledger- is left out")
		case isBeancountKey(key) || key == books.TagBook:
			fmt.Fprintf(f.out, "  %s: %s\n", key, quoted(value))
		case isNumbered && err == nil && n >= 1 && n <= len(t.legs) && strconv.Itoa(n) == leg && isBeancountKey(ofLeg):
			ofLegs[n-1] += fmt.Sprintf("    %s: %s\n", ofLeg, quoted(value))
		default:
			escaped++
			fmt.Fprintf(f.out, "  %s%d: %s\n", books.TagMetadata, escaped, quoted(books.EscapedPair(key, value)))
		}
	}
	for n, leg := range t.legs {
		fmt.Fprintf(f.out, "  %s  %s %s\n", f.names.in(leg.Account), f.quantity(leg), f.commodities[leg.Asset])
		if cost, currency := f.cost(leg); cost != "" {
			fmt.Fprintf(f.out, "    %s: %s %s\n", books.TagCost, cost, f.commodities[currency])
		}
		_, _ = f.out.WriteString(ofLegs[n])
	}
	return nil
}
