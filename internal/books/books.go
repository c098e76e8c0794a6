// Package books reads plain-text books of hledger, ledger and beancount, and converts them to the lines of an import.
// It does not parse these languages. It runs the program of the book and parses its machine-readable output, so a book
// means what its program says.
package books

import (
	"fmt"
	"strings"
)

// Book is the content of a book, as its program reports it.
type Book struct {
	Transactions []Transaction // in the program's order
	Declared     []string      // names of declared accounts, used or not
	// Accounts and Assets have the ids that the book itself defines, by name (see TagAccount).
	Accounts, Assets map[string]string
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
	TagID      = "ledger-id"      // of an entry: the transaction's id
	TagAt      = "ledger-at"      // of an entry: the transaction's time
	TagCost    = "ledger-cost"    // of a posting: its cost, as "-12.50 USD"
	TagAccount = "ledger-account" // of an account of beancount: its id
	TagAsset   = "ledger-asset"   // of a commodity of beancount: its id
)
