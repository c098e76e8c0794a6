package books

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ledgerFields are the fields that `ledger register` prints of each posting, as CSV (RFC 4180). Ledger's csv and xml
// commands leave out the position of a posting, or its decimals.
var ledgerFields = []string{
	"quoted_rfc(filename)", "xact.beg_line", "beg_line",
	`quoted_rfc(format_date(xact.date, "%Y-%m-%d"))`, `quoted_rfc(format_date(date, "%Y-%m-%d"))`,
	"quoted_rfc(code)", "quoted_rfc(payee)", "quoted_rfc(xact.note)", "quoted_rfc(note)",
	"xact.cleared", "xact.pending", "cleared", "pending",
	`quoted_rfc(xact.aux_date)`, "quoted_rfc(aux_date)",
	"quoted_rfc(lot_price(amount))", "quoted_rfc(lot_date(amount))", "quoted_rfc(lot_tag(amount))",
	"has_cost", "cost_calculated", "quoted_rfc(account)", "virtual", "quoted_rfc(display_account)", "calculated",
	"quantity(amount)", "quoted_rfc(commodity(amount))", "quantity(cost)", "quoted_rfc(commodity(cost))",
	"quoted_rfc(amount)",
}

// The first field of a row: whether the row is the first one of its entry, or of another date than the one before.
const (
	firstRow = "first"
	laterRow = "later"
)

// readLedger reads a journal with `ledger register`, which also checks that entries balance and assertions hold. A
// report leaves out postings that would be printed as zero, unless --empty and --unround tell it not to. So the totals
// of what was read are compared with those of `ledger balance`.
func readLedger(ctx context.Context, program, file string) (*Book, error) {
	fields := ",%(" + strings.Join(ledgerFields, "),%(") + ")\n"
	// Without the environment and ~/.ledgerrc, whose options may hide postings.
	options := ledgerOptions(file)
	var b *Book
	var totals, prices []byte
	runs, running := errgroup.WithContext(ctx)
	runs.Go(func() error {
		return stream(running, nil, func(out io.Reader) (err error) {
			b, err = parseLedger(out)
			return err
		}, program, append(options[:len(options):len(options)], "--format", firstRow+fields+"%/"+laterRow+fields,
			"register")...)
	})
	runs.Go(func() (err error) {
		totals, err = ledgerBalances(running, program, file)
		return err
	})
	runs.Go(func() (err error) {
		prices, err = output(running, nil, program, "--args-only", "-f", file, "--pricedb-format",
			"%(format_date(datetime, \"%Y-%m-%d %H:%M:%S\")) %(display_account)\n", "pricedb")
		return err
	})
	if err := runs.Wait(); err != nil {
		return nil, err
	}
	b.losePrices(prices)
	return b, agrees(b.all(), totals)
}

// losePrices counts the prices of commodities that no posting gives: the others are known from postings of their day.
func (b *Book) losePrices(prices []byte) {
	for line := range strings.Lines(string(prices)) {
		at, commodity, _ := strings.Cut(strings.TrimSpace(line), " 00:00:00 ")
		b.lose(Position{}, "prices", !b.priced[priced{at, unquoted(commodity)}])
	}
}

// priced is a day and a commodity to which a posting gives a price.
type priced struct{ day, commodity string }

func ledgerOptions(file string) []string {
	return []string{"--args-only", "-f", file, "--empty", "--unround"}
}

// ledgerBalances returns the balances of all accounts, as CSV of accounts and amounts.
func ledgerBalances(ctx context.Context, program, file string, more ...string) ([]byte, error) {
	options := append(ledgerOptions(file), more...)
	return output(ctx, nil, program, append(options, "--flat", "--no-total", "--format",
		"%(quoted_rfc(account)),%(quoted_rfc(strip(amount)))\n", "balance")...)
}

// parseLedger parses rows of ledgerFields.
func parseLedger(out io.Reader) (*Book, error) {
	in := csv.NewReader(out)
	in.FieldsPerRecord, in.ReuseRecord = 1+len(ledgerFields), true
	b := &Book{priced: make(map[priced]bool)}
	var entry Transaction
	own := "" // date of the row before
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			if len(entry.Postings) > 0 {
				b.add(entry)
			}
			return b, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the output of ledger cannot be parsed: %w", err)
		}
		r := ledgerRow{}
		for i, field := range r.all() {
			*field = row[1+i]
		}
		t, err := r.entry()
		if err != nil {
			return nil, err
		}
		// A file may be included twice, and postings that the program adds have none, so positions do not tell entries
		// apart.
		isFirst := len(entry.Postings) == 0
		sameEntry := !isFirst && (row[0] == laterRow || own != r.date && entry.Position == t.Position)
		if own = r.date; !sameEntry {
			if !isFirst {
				b.add(entry)
			}
			entry = t
		}
		entry.Postings = append(entry.Postings, r.posting())
		b.lose(t.Position, "prices beside the price of a lot", r.isPricedBesideLot())
		if r.hasCost == "true" {
			b.priced[priced{r.entryDate, unquoted(r.commodity)}] = true
		}
	}
}

// ledgerRow has the values of ledgerFields.
type ledgerRow struct {
	file, entryLine, line, entryDate, date, code, payee, entryNote, note          string
	entryCleared, entryPending, cleared, pending, entryAux, aux                   string
	lotPrice, lotDate, lotLabel, hasCost, isCostCalculated                        string
	account, isVirtual, shownAccount, isInferred, quantity, commodity, cost, unit string
	shown                                                                         string
}

func (r *ledgerRow) all() []*string {
	return []*string{
		&r.file, &r.entryLine, &r.line, &r.entryDate, &r.date, &r.code, &r.payee, &r.entryNote, &r.note,
		&r.entryCleared, &r.entryPending, &r.cleared, &r.pending, &r.entryAux, &r.aux,
		&r.lotPrice, &r.lotDate, &r.lotLabel, &r.hasCost, &r.isCostCalculated,
		&r.account, &r.isVirtual, &r.shownAccount, &r.isInferred, &r.quantity, &r.commodity, &r.cost, &r.unit,
		&r.shown,
	}
}

// entry returns the entry of a row, without its postings.
func (r *ledgerRow) entry() (t Transaction, err error) {
	t = Transaction{Position: Position{File: r.file}, Date: r.entryDate, Description: r.payee,
		Metadata: notePairs(r.entryNote)}
	if t.Line, err = strconv.Atoi(r.entryLine); err != nil {
		return t, fmt.Errorf("the output of ledger cannot be parsed: %w", err)
	}
	t.code(r.code)
	if r.entryAux != "" {
		t.Metadata = append(t.Metadata, Pair{"date2", isoDate(r.entryAux)})
	}
	t.Metadata = append(t.Metadata, ledgerMark(r.entryCleared, r.entryPending)...)
	return t, nil
}

// posting returns the posting of a row.
func (r *ledgerRow) posting() (p Posting) {
	p = Posting{Account: r.account, Inferred: r.isInferred == "true",
		Virtual:  r.isVirtual == "true" && r.shownAccount == "("+r.account+")",
		Metadata: notePairs(strings.TrimSuffix(r.note, r.entryNote))}
	p.Line, _ = strconv.Atoi(r.line)
	if r.cleared != r.entryCleared || r.pending != r.entryPending {
		p.Metadata = append(p.Metadata, ledgerMark(r.cleared, r.pending)...)
	}
	if r.aux != r.entryAux {
		p.Metadata = append(p.Metadata, Pair{"date2", isoDate(r.aux)})
	}
	if lot := isoDate(r.lotDate); lot != "" && lot != r.entryDate { // a new lot has the date of its entry
		p.Metadata = append(p.Metadata, Pair{"lot-date", lot})
	}
	if r.lotLabel != "" {
		p.Metadata = append(p.Metadata, Pair{"lot-label", r.lotLabel})
	}
	units, err := ParseNumber(r.quantity)
	shown, _, _ := strings.Cut(strings.ReplaceAll(r.shown, r.commodity, ""), "{")
	if match := shownPlaces.FindStringSubmatch(shown); match != nil {
		units = units.withPlaces(len(match[1]))
	}
	p.Quantity = Amount{units, unquoted(r.commodity)}
	if err == nil && r.cost != "" && r.commodity != r.unit {
		units, err = ParseNumber(r.cost)
		p.Weight = &Amount{units, unquoted(r.unit)}
	}
	switch {
	case err != nil:
		p.Wrong = err.Error()
	case r.date != r.entryDate:
		p.Wrong = dated(p.Account, r.date)
	}
	return p
}

// isPricedBesideLot reports whether the posting has a price beside that of its lot, which ledger does not tell. A
// posting with a price only becomes a lot of the day of its entry.
func (r *ledgerRow) isPricedBesideLot() bool {
	return r.hasCost == "true" && r.isCostCalculated == "false" && r.lotPrice != "" &&
		isoDate(r.lotDate) != r.entryDate
}

func ledgerMark(cleared, pending string) []Pair {
	switch {
	case cleared == "true":
		return mark("cleared")
	case pending == "true":
		return mark("pending")
	}
	return nil
}

// isoDate returns a date in ledger's default format as YYYY-MM-DD.
func isoDate(date string) string { return strings.ReplaceAll(date, "/", "-") }

// unquoted removes the quotes that ledger writes around some commodities.
func unquoted(commodity string) string { return strings.Trim(commodity, `"`) }

var (
	// shownPlaces matches the decimals of a formatted amount. The field quantity has no trailing zeros.
	shownPlaces = regexp.MustCompile(`\.([0-9]+)(?:[^0-9.,]|$)`)

	// bracketDates matches dates in a comment, which are read as dates.
	bracketDates = regexp.MustCompile(`\[=?[0-9]+[-/.][0-9/.=-]*\]`)

	valueTag = regexp.MustCompile(`^\s*([^\s:]+):\s+(.*\S)\s*$`)
	plainTag = regexp.MustCompile(`^\s*:(\S+):\s*$`)
)

// notePairs returns the metadata in a note: a line "key: value" is a pair, ":one:two:" are tags, and the rest is a
// comment.
func notePairs(note string) (all []Pair) {
	var words, comment []string
	for line := range strings.Lines(bracketDates.ReplaceAllString(note, "")) {
		if match := valueTag.FindStringSubmatch(line); match != nil {
			all = append(all, Pair{match[1], match[2]})
		} else if match := plainTag.FindStringSubmatch(line); match != nil {
			words = append(words, strings.Split(match[1], ":")...)
		} else if line = strings.TrimSpace(line); line != "" {
			comment = append(comment, line)
		}
	}
	all = append(all, listed("tags", words)...)
	if len(comment) > 0 {
		all = append(all, Pair{"comment", strings.Join(comment, " ")})
	}
	return all
}
