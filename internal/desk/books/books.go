// Package books reads plain-text books of hledger, ledger and beancount, and converts them to the lines of an import.
// It does not parse these languages. It runs the program of the book and parses its machine-readable output, so a book
// means what its program says.
package books

import (
	"fmt"
	"iter"
	"math/big"
	"regexp"
	"strings"

	"ledger.example/events"
)

// Book is the content of a book, as its program reports it. Its entries are in a temporary file.
type Book struct {
	stored   spool[Transaction]          // in the program's order
	complete func(n int, t *Transaction) // what is known of the nth entry after all were read; nil: nothing
	Declared []string                    // names of declared accounts, used or not
	// Accounts and Assets have the ids that the book itself defines, by name (see TagAccount).
	Accounts, Assets map[string]string
	lost             map[string]*noted // what is left out, by text
	priced           map[priced]bool   // of ledger
	// Notes say which parts of the book are not imported, for people.
	Notes []string
	// Problems are errors that the program reports. A book with problems is not imported.
	Problems []Problem
}

// Transaction is an entry of a book.
type Transaction struct {
	Position
	Date        string // YYYY-MM-DD
	Description string
	Metadata    []Pair
	Postings    []Posting
	isTotal     bool // of older entries: costs in other currencies are not in it
}

// add adds an entry.
func (b *Book) add(t Transaction) { b.stored.add(t) }

// Len returns the number of entries.
func (b *Book) Len() int { return b.stored.count }

// entries are entries of a book. An error of its temporary file ends the iteration.
type entries = iter.Seq2[Transaction, error]

// all iterates over the entries.
func (b *Book) all() entries {
	return func(yield func(Transaction, error) bool) {
		n := 0
		for t, err := range b.stored.all() {
			if err == nil && b.complete != nil {
				b.complete(n, &t)
			}
			if n++; !yield(t, err) {
				return
			}
		}
	}
}

// Close removes the temporary file.
func (b *Book) Close() { b.stored.close() }

// lose counts parts of the book that are left out, if this is one.
func (b *Book) lose(at Position, kind string, isLost bool) {
	if !isLost {
		return
	}
	if b.lost == nil {
		b.lost = make(map[string]*noted)
	}
	kind += " are left out"
	if b.lost[kind] == nil {
		b.lost[kind] = &noted{first: at}
	}
	b.lost[kind].times++
}

// code adds the code of an entry to its metadata. In an export of a ledger, which has TagAt, the code is the id.
func (t *Transaction) code(code string) {
	key := "code"
	if valueOf(t.Metadata, TagAt) != "" {
		key = TagID
	}
	if code != "" {
		t.Metadata = append(t.Metadata, Pair{key, code})
	}
}

// Posting is a line of an entry.
type Posting struct {
	Line     int // 0: unknown
	Account  string
	Quantity Amount
	// Weight is the amount with which the posting counts in the balance of its entry, if that is in another commodity:
	// the total cost or price, with its sign. nil: the posting counts with its quantity.
	Weight *Amount
	// WeightError is by how much the weight may be wrong at most, because the program has rounded the price.
	WeightError Number
	Nth         int  // in its entry, from 0; a posting of several commodities is several postings of one number
	Inferred    bool // nobody wrote the quantity: the program computed it
	Virtual     bool // its entry does not balance with it: (account) in hledger and ledger
	// Wrong is the reason why the posting cannot be imported, or "".
	Wrong    string
	Metadata []Pair
}

// Amount is a quantity of a commodity.
type Amount struct {
	Number    Number
	Commodity string
}

// Pair is one piece of metadata.
type Pair struct{ Key, Value string }

// Position is a position in a book.
type Position struct {
	File string
	Line int // from 1; 0: unknown
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Problem is a reason why a book cannot be imported.
type Problem struct {
	Position
	Text string
}

func (p Problem) String() string {
	return strings.TrimPrefix(fmt.Sprintf("%s: %s", p.Position, p.Text), ": ")
}

// The tags with which an export to a plain-text book stores data for which the book's language has no place. An import
// reads them, so that it restores the ids and times of an exported ledger.
const (
	TagID          = "ledger-id"          // of an entry: the transaction's id
	TagAt          = "ledger-at"          // of an entry: the transaction's time
	TagCost        = "ledger-cost"        // of a posting: its cost, as "-12.50 USD"
	TagAccount     = "ledger-account"     // of an account of beancount: its id
	TagBook        = "ledger-book"        // of an entry and in its metadata: the name of its book
	TagDescription = "ledger-description" // of an entry: its description, escaped, if the language cannot hold it
	TagMetadata    = "ledger-metadata-"   // with a number, of an entry: an escaped pair that the language cannot hold
	TagAsset       = "ledger-asset"       // of a commodity of beancount: its id
)

// placesMax bounds the decimal places of a number in a book. It is far above the scale of any asset.
const placesMax = 100

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Number is an exact decimal number, with the number of decimal places with which it is written. The zero value is 0.
type Number struct {
	exact  *big.Rat // nil is 0
	places int
}

// ParseNumber parses a number such as "-12.50".
func ParseNumber(s string) (Number, error) {
	_, fraction, _ := strings.Cut(s, ".")
	if !numeral.MatchString(s) || len(fraction) > placesMax {
		return Number{}, fmt.Errorf("%q is not a number that can be imported: write it in digits, with at most %d "+
			"decimals", s, placesMax)
	}
	exact, _ := new(big.Rat).SetString(s) // numeral matches only valid numbers
	return Number{exact, len(fraction)}, nil
}

// numberOf returns units times 10^-places.
func numberOf(units *big.Int, places int) Number {
	return Number{new(big.Rat).SetFrac(units, power(places)), places}
}

// MarshalBinary and UnmarshalBinary store a number, as written.
func (n Number) MarshalBinary() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalBinary is the reverse of MarshalBinary.
func (n *Number) UnmarshalBinary(text []byte) error {
	exact, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return fmt.Errorf("%q is not a number", text)
	}
	_, fraction, _ := strings.Cut(string(text), ".")
	*n = Number{exact, len(fraction)}
	return nil
}

func (n Number) value() *big.Rat {
	if n.exact == nil {
		return new(big.Rat)
	}
	return n.exact
}

// trimmed returns n without trailing zeros, so that equal numbers are written in the same way.
func (n Number) trimmed() Number {
	places, _ := n.value().FloatPrec()
	return Number{n.exact, places}
}

// withPlaces returns n with at least the given number of decimal places.
func (n Number) withPlaces(places int) Number { return Number{n.exact, max(n.places, places)} }

func (n Number) sign() int { return n.value().Sign() }

func (n Number) isZero() bool { return n.sign() == 0 }

func (n Number) negated() Number { return Number{new(big.Rat).Neg(n.value()), n.places} }

func (n Number) times(m Number) Number {
	return Number{exact: new(big.Rat).Mul(n.value(), m.value())}.trimmed()
}

// decimals returns the number of decimal places. If it exceeds events.ScaleMax, trailing zeros are not counted.
func (n Number) decimals() int {
	if n.places > events.ScaleMax {
		return n.trimmed().places
	}
	return n.places
}

func (n Number) String() string { return n.value().FloatString(n.places) }

func power(places int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
}

// minor returns n in units of 10^-scale, rounded half to even. It is an error if the amount has too many digits.
func (n Number) minor(scale int) (a events.Amount, isRounded bool, err error) {
	exact := new(big.Rat).Mul(n.value(), new(big.Rat).SetInt(power(scale)))
	units, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	twice := rest.Lsh(rest.Abs(rest), 1)
	if half := twice.Cmp(exact.Denom()); half > 0 || half == 0 && units.Bit(0) == 1 {
		units.Add(units, big.NewInt(int64(exact.Sign())))
	}
	a, err = events.ParseAmount(units.String(), events.PostedDigits)
	if err != nil {
		err = fmt.Errorf("has more than %d digits in minor units", events.PostedDigits)
	}
	return a, !exact.IsInt(), err
}
