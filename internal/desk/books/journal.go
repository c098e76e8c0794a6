package books

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readHledger reads a journal with `hledger print`, which also checks that entries balance and assertions hold.
func readHledger(ctx context.Context, program, file string) (Book, error) {
	options, err := hledgerOptions(ctx, program, file)
	if err != nil {
		return Book{}, err
	}
	out, err := output(ctx, nil, program, append(options, "print", "-x", "-O", "json")...)
	if err != nil {
		return Book{}, err
	}
	b, err := parseHledger(out)
	if err != nil {
		return Book{}, err
	}
	if b.mayBeInferred() {
		written, err := output(ctx, nil, program, append(options, "print")...)
		if err != nil {
			return Book{}, err
		}
		b.markInferred(elided(written))
	}
	b.refuseRounded()
	declared, err := output(ctx, nil, program, append(options, "accounts", "--declared")...)
	if err != nil {
		return Book{}, err
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
	Sources     []struct {
		Name string `json:"sourceName"`
		Line int    `json:"sourceLine"`
	} `json:"tsourcepos"`
	Postings []struct {
		Account string          `json:"paccount"`
		Amounts []hledgerAmount `json:"pamount"`
		Date    string          `json:"pdate"`
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
	Price *hledgerPrice `json:"aprice"`
	Cost  *hledgerPrice `json:"acost"` // in newer versions
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
	case quantity.sign() != w.Number.sign(): // only some versions write the sign
		w.Number = w.Number.negated().trimmed()
	}
	return &w, nil
}

// parseHledger parses the output of `hledger print -O json`.
func parseHledger(text []byte) (Book, error) {
	var in []hledgerTransaction
	if err := json.Unmarshal(text, &in); err != nil {
		return Book{}, fmt.Errorf("the output of hledger cannot be parsed: %w", err)
	}
	b := Book{}
	for _, t := range in {
		to := Transaction{Date: t.Date, Description: t.Description}
		if len(t.Sources) > 0 {
			to.Position = Position{t.Sources[0].Name, t.Sources[0].Line}
		}
		to.Metadata = tags(t.Tags)
		to.code(t.Code)
		if t.Date2 != "" {
			to.Metadata = append(to.Metadata, Pair{"date2", t.Date2})
		}
		if t.Status == "Pending" {
			to.Metadata = append(to.Metadata, Pair{"status", "pending"})
		}
		if len(t.Tags) == 0 && strings.TrimSpace(t.Comment) != "" {
			to.Metadata = append(to.Metadata, Pair{"comment", strings.TrimSpace(t.Comment)})
		}
		for n, p := range t.Postings { // their lines are unknown
			kind := cmp.Or(p.Type, p.Real)
			if !postingKinds[kind] {
				return Book{}, fmt.Errorf("the output of hledger has a posting of unknown kind %q: whether it is "+
					"virtual is not known. Read the book with %s", kind, hledgerVersions)
			}
			for _, a := range p.Amounts {
				posting := Posting{number: n, Account: p.Account, Virtual: kind == "VirtualPosting",
					Metadata: tags(ownTags(p.Tags, p.Comment))}
				var err error
				if posting.Quantity, err = a.amount(); err == nil {
					posting.Weight, err = a.weight(posting.Quantity.Number)
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
		b.Transactions = append(b.Transactions, to)
	}
	return b, nil
}

func dated(account, date string) string {
	return fmt.Sprintf("the posting to %s has its own date, %s, but all postings of a transaction have one time: "+
		"write two entries, with an account between them",
		account, date)
}

// ownTags returns the tags that stand in the comment of a posting. The others are of its account: a tag that is added
// to an account would change all of its entries.
func ownTags(all [][2]string, comment string) (own [][2]string) {
	for _, tag := range all {
		name, value := regexp.QuoteMeta(tag[0]), regexp.QuoteMeta(tag[1])
		of := regexp.MustCompile(`(?m)(^|[\s,])` + name + `:\s*` + value + `\s*(,|$)`)
		if of.MatchString(comment) {
			own = append(own, tag)
		}
	}
	return own
}

func tags(all [][2]string) []Pair { return pairs(all).all() }
