package books

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readHledger reads a journal with `hledger print`, which also checks that entries balance and assertions hold.
func readHledger(ctx context.Context, program, file string) (*Book, error) {
	options, err := hledgerOptions(ctx, program, file)
	if err != nil {
		return nil, err
	}
	var b *Book
	if err := stream(ctx, nil, func(out io.Reader) (err error) {
		b, err = parseHledger(out)
		return err
	}, program, append(options, "print", "-x", "-O", "json")...); err != nil {
		return nil, err
	}
	mayBeInferred, err := b.mayBeInferred()
	if err != nil {
		return nil, err
	}
	var inferred [][]bool
	if mayBeInferred {
		if err := stream(ctx, nil, func(out io.Reader) (err error) {
			inferred, err = elided(out)
			return err
		}, program, append(options, "print")...); err != nil {
			return nil, err
		}
	}
	b.completeHledger(inferred)
	prices, err := output(ctx, nil, program, append(options, "prices")...)
	if err != nil {
		return nil, err
	}
	for range bytes.Lines(prices) {
		b.lose(Position{}, "prices", true)
	}
	declared, err := output(ctx, nil, program, append(options, "accounts", "--declared")...)
	if err != nil {
		return nil, err
	}
	for name := range strings.Lines(string(declared)) {
		if name = strings.TrimSpace(name); name != "" {
			b.Declared = append(b.Declared, name)
		}
	}
	return b, nil
}

// hledgerVersions are the versions whose JSON is known.
const hledgerVersions = "hledger 1.25 to 1.99"

var hledgerVersion = regexp.MustCompile(`^hledger ([0-9]+)\.([0-9]+)`)

// hledgerOptions returns the options for a file, which are cut to their length. It is an error if the program's version
// is not supported. Newer versions do not read the user's hledger.conf, whose options could change what they print.
func hledgerOptions(ctx context.Context, program, file string) ([]string, error) {
	out, err := output(ctx, nil, program, "--version")
	if err != nil {
		return nil, err
	}
	version := strings.TrimSpace(string(out))
	match := hledgerVersion.FindStringSubmatch(version)
	if match == nil {
		return nil, fmt.Errorf("%s --version says %q: %s is needed", program, version, hledgerVersions)
	}
	minor, _ := strconv.Atoi(match[2])
	switch {
	case match[1] != "1" || minor < 25 || minor > 99:
		return nil, fmt.Errorf("%s is %s.%s, but the import knows the output of %s only: give the path of such a one "+
			"by --program", program, match[1], match[2], hledgerVersions)
	case minor >= 40: // the first one with a configuration file
		return slices.Clip([]string{"-n", "-f", file}), nil
	default:
		return slices.Clip([]string{"-f", file}), nil
	}
}

// postingKinds are the kinds of postings. Some have another name since 1.99.1.
var postingKinds = map[string]bool{
	"RegularPosting": true, "RealPosting": true, "BalancedVirtualPosting": true, "VirtualPosting": true,
}

// hledgerTransaction has the fields that are used of a transaction of `hledger print -O json`.
type hledgerTransaction struct {
	Date        string      `json:"tdate"`
	Date2       string      `json:"tdate2"`
	Code        string      `json:"tcode"`
	Description string      `json:"tdescription"`
	Status      string      `json:"tstatus"`
	Tags        [][2]string `json:"ttags"`
	Comment     string      `json:"tcomment"`
	Preceding   string      `json:"tprecedingcomment"`
	Sources     []struct {
		Name string `json:"sourceName"`
		Line int    `json:"sourceLine"`
	} `json:"tsourcepos"`
	Postings []struct {
		Account string          `json:"paccount"`
		Amounts []hledgerAmount `json:"pamount"`
		Date    string          `json:"pdate"`
		Date2   string          `json:"pdate2"`
		Status  string          `json:"pstatus"`
		Type    string          `json:"ptype"`
		Real    string          `json:"preal"` // the name of Type since 1.99.1
		Tags    [][2]string     `json:"ptags"` // with those of the account, also of its parents
		Comment string          `json:"pcomment"`
	} `json:"tpostings"`
}

type hledgerAmount struct {
	Commodity string `json:"acommodity"`
	Quantity  struct {
		Mantissa json.Number `json:"decimalMantissa"`
		Places   int         `json:"decimalPlaces"`
	} `json:"aquantity"`
	Price *hledgerPrice   `json:"aprice"`
	Cost  *hledgerPrice   `json:"acost"`      // in newer versions
	Basis json.RawMessage `json:"acostbasis"` // of a lot, in newer versions
}

type hledgerPrice struct {
	Tag      string        `json:"tag"` // UnitPrice or TotalPrice; in newer versions, UnitCost or TotalCost
	Contents hledgerAmount `json:"contents"`
}

func (a hledgerAmount) amount() (Amount, error) {
	units, ok := new(big.Rat).SetString(a.Quantity.Mantissa.String()) // a large mantissa is written as 1.0e29
	switch {
	case !ok || !units.IsInt() || a.Quantity.Places < 0:
		return Amount{}, fmt.Errorf("%s is not a number that can be imported", a.Quantity.Mantissa)
	}
	return Amount{numberOf(units.Num(), a.Quantity.Places), a.Commodity}, nil
}

// weight returns the price of the whole amount, with the sign of the amount, or nil without a price.
func (a hledgerAmount) weight(quantity Number) (*Amount, error) {
	price := cmp.Or(a.Price, a.Cost)
	if price == nil {
		return nil, nil //nolint:nilnil // it has none
	}
	w, err := price.Contents.amount()
	switch {
	case err != nil:
		return nil, err
	case strings.HasPrefix(price.Tag, "Unit"):
		w.Number = w.Number.times(quantity)
	case !strings.HasPrefix(price.Tag, "Total"):
		return nil, fmt.Errorf("unknown kind of price %q", price.Tag)
	case quantity.sign()*w.Number.sign() < 0: // only some versions write the sign
		w.Number = w.Number.negated().trimmed()
	}
	return &w, nil
}

// weightError returns by how much the weight may be wrong at most, because hledger has rounded the price.
func (a hledgerAmount) weightError(quantity Number) Number {
	price := cmp.Or(a.Price, a.Cost)
	if price == nil || price.Contents.Quantity.Places < hledgerPlaces {
		return Number{}
	}
	unit := Number{exact: new(big.Rat).SetFrac(big.NewInt(1), power(hledgerPlaces))}
	if strings.HasPrefix(price.Tag, "Unit") {
		unit = unit.times(quantity)
	}
	return Number{exact: unit.exact.Abs(unit.exact)}.trimmed()
}

// defineAccount takes the id of an account from the tags of a posting. The tag of the account is before those of its
// parents.
func (b *Book) defineAccount(account string, tags [][2]string) {
	if b.Accounts[account] == "" {
		b.Accounts[account] = valueOf(pairs(tags).all(), TagAccount)
	}
}

// parseHledger parses the output of `hledger print -O json`. It has some thousand bytes for each posting, so one entry
// is in memory at a time.
func parseHledger(out io.Reader) (b *Book, err error) {
	b = &Book{Accounts: make(map[string]string)}
	in := json.NewDecoder(out)
	if _, err = in.Token(); err == nil { // the start of the list
		for in.More() && err == nil {
			var t hledgerTransaction
			if err = in.Decode(&t); err == nil {
				err = b.addHledger(t)
			}
		}
	}
	if err == nil {
		_, err = in.Token() // its end
	}
	if err != nil {
		err = fmt.Errorf("the output of hledger cannot be parsed: %w", err)
	}
	return b, err
}

// addHledger adds an entry of hledger.
func (b *Book) addHledger(t hledgerTransaction) error {
	to := Transaction{Date: t.Date, Description: t.Description}
	if len(t.Sources) > 0 {
		to.Position = Position{t.Sources[0].Name, t.Sources[0].Line}
	}
	own, comment := written(t.Tags, t.Comment)
	to.Metadata = own
	to.code(t.Code)
	if t.Date2 != "" && valueOf(own, "date2") == "" {
		to.Metadata = append(to.Metadata, Pair{"date2", t.Date2})
	}
	to.Metadata = append(append(to.Metadata, mark(t.Status)...), comment...)
	b.lose(to.Position, "comments before entries", strings.TrimSpace(t.Preceding) != "")
	for n, p := range t.Postings { // their lines are unknown
		kind := cmp.Or(p.Type, p.Real)
		if !postingKinds[kind] {
			return fmt.Errorf("the output of hledger has a posting of unknown kind %q: whether it is "+
				"virtual is not known. Read the book with %s", kind, hledgerVersions)
		}
		b.defineAccount(p.Account, p.Tags)
		own, comment := written(p.Tags, p.Comment)
		if p.Status != t.Status {
			own = append(own, mark(p.Status)...)
		}
		if p.Date2 != "" && valueOf(own, "date2") == "" {
			own = append(own, Pair{"date2", p.Date2})
		}
		for _, a := range p.Amounts {
			b.lose(to.Position, "cost bases of lots", len(a.Basis) > 0 && string(a.Basis) != "null")
			posting := Posting{Nth: n, Account: p.Account, Virtual: kind == "VirtualPosting",
				Metadata: append(slices.Clip(own), comment...)}
			var err error
			if posting.Quantity, err = a.amount(); err == nil {
				posting.Weight, err = a.weight(posting.Quantity.Number)
				posting.WeightError = a.weightError(posting.Quantity.Number)
			}
			switch {
			case err != nil:
				posting.Wrong = err.Error()
			case p.Date != "" && p.Date != t.Date:
				posting.Wrong = dated(p.Account, p.Date)
			}
			to.Postings = append(to.Postings, posting)
		}
	}
	b.add(to)
	return nil
}

func dated(account, date string) string {
	return fmt.Sprintf("the posting to %s has its own date, %s, but all postings of a transaction have one time: "+
		"write two entries, with an account between them",
		account, date)
}

// mark returns the mark of an entry or a posting as metadata.
func mark(status string) []Pair {
	if status == "" || status == "Unmarked" {
		return nil
	}
	return []Pair{{"status", strings.ToLower(status)}}
}

// written returns the tags that stand in a comment, and the rest of it. Other tags of a posting are of its account: a
// tag that is added to an account would change all of its entries.
func written(all [][2]string, comment string) (own, rest []Pair) {
	for _, tag := range all {
		if from, to := findTag(comment, tag[0], tag[1]); from >= 0 {
			own = append(own, Pair{tag[0], tag[1]})
			comment = comment[:from] + comment[to:]
		}
	}
	var lines []string
	for line := range strings.Lines(bracketDates.ReplaceAllString(comment, "")) {
		if line = strings.Trim(line, " \t\n,"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return own, nil
	}
	return own, []Pair{{"comment", strings.Join(lines, "\n")}}
}

// findTag returns where a tag stands in a comment, with the comma after it; -1 if nowhere.
func findTag(comment, name, value string) (from, to int) {
	for from = 0; ; from++ {
		at := strings.Index(comment[from:], name+":")
		if at < 0 {
			return -1, 0
		}
		from += at
		to = from + len(name) + 1
		to += spaces(comment[to:])
		isWord := from == 0 || strings.ContainsRune(" \t\n,", rune(comment[from-1]))
		if !isWord || !strings.HasPrefix(comment[to:], value) {
			continue
		}
		to += len(value)
		switch to += spaces(comment[to:]); {
		case to == len(comment) || comment[to] == '\n':
			return from, to
		case comment[to] == ',':
			return from, to + 1 + spaces(comment[to+1:])
		}
	}
}

// spaces returns the number of spaces at the beginning of a text.
func spaces(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }
