package export

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/books"
)

// hledgerFormat writes an hledger journal, in which all accounts and commodities are declared.
type hledgerFormat struct{ *exporter }

func newHledger(e *exporter) format {
	fmt.Fprintf(e.out, "; Exported from a ledger. The code of a transaction is its id.\ndecimal-mark .\n")
	return hledgerFormat{e}
}

func (f hledgerFormat) asset(a client.Asset) error {
	one := events.NewAmount(0).Decimal(a.Scale)
	if a.Scale == 0 {
		one += "."
	}
	_, err := fmt.Fprintf(f.out, "commodity %s %q\n", one, a.ID)
	return err
}

func (f hledgerFormat) account(_ context.Context, accounts []client.Account) error {
	for _, a := range accounts {
		if _, err := fmt.Fprintf(f.out, "account %s\n", a.ID); err != nil {
			return err
		}
	}
	return nil
}

// hledgerTag matches keys that are valid tag names. hledgerValue matches values that hledger reads unchanged.
var (
	hledgerTag   = regexp.MustCompile(`^[^\s:,;\[\]]+$`)
	hledgerValue = regexp.MustCompile(`^([^\s,\[\]]([^,\n\r\[\]]*[^\s,\[\]])?)?$`)
	// hledgerText replaces characters that would end a description.
	hledgerText = strings.NewReplacer("\n", " ", "\r", " ", ";", ",")
)

func (f hledgerFormat) transaction(_ context.Context, t posted) error {
	description := strings.TrimSpace(hledgerText.Replace(t.Description))
	if description != t.Description {
		f.note("descriptions are trimmed, and semicolons and line breaks in them are replaced")
	}
	fmt.Fprintf(f.out, "\n%s (%s) %s\n    ; %s:%s\n", t.at.Format(time.DateOnly), t.ID, description, books.TagAt,
		events.FormatTime(t.at))
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value := t.Metadata[key]
		if !hledgerTag.MatchString(key) || !hledgerValue.MatchString(value) || key == "date" || key == "date2" {
			f.note("metadata that hledger cannot represent is left out")
			continue
		}
		fmt.Fprintf(f.out, "    ; %s:%s\n", key, value)
	}
	priced := f.priced(t.legs)
	for _, leg := range t.legs {
		fmt.Fprintf(f.out, "    %s  %s %q", leg.Account, f.quantity(leg), leg.Asset)
		cost, currency := f.cost(leg)
		switch {
		case cost == "":
		case priced[leg.Asset]:
			fmt.Fprintf(f.out, " @@ %s %q", strings.TrimPrefix(cost, "-"), currency)
		default:
			f.note("costs that hledger cannot represent are in tags only")
			fmt.Fprintf(f.out, "  ; %s:%s %s", books.TagCost, cost, currency)
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
