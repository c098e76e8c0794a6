// Package books reads plain-text books of hledger, ledger and beancount, and turns them to the lines that an import
// sends. It leaves the reading of a book's own language to the program that the book is for: that program is run, and
// its machine output is read. So what a book says is what its program says that it does.
package books

import (
	"fmt"
	"strings"
)

// Book is what a program says of a book.
type Book struct {
	Transactions []Transaction // in the program's order
	Declared     []string      // names of accounts, used or not
	// Accounts and Assets are the ids by name, where the book itself tells them (see TagAccount).
	Accounts, Assets map[string]string
	// Notes say what of the book an import does not take, for people.
	Notes []string
	// Problems are the program's own complaints: nothing is imported then.
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

// code notes the code of an entry. In an export of a ledger, which tells the time too, it is the id.
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
	Line     int // 0: not known
	Account  string
	Quantity Amount
	// Weight is what the posting counts for in the balance of its entry, when that is in another commodity: its cost or
	// its price for all of it, with its sign. nil: it counts for its quantity.
	Weight *Amount
	// Wrong says why the posting cannot be imported; "": it can be.
	Wrong    string
	Metadata []Pair
}

// Amount is a number of a commodity.
type Amount struct {
	Number    Number
	Commodity string
}

// Pair is one piece of metadata.
type Pair struct{ Key, Value string }

// Position is where something stands in a book.
type Position struct {
	File string
	Line int // from 1; 0: not known
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Problem is something in a book that keeps it from being imported.
type Problem struct {
	Position
	Text string
}

func (p Problem) String() string {
	return strings.TrimPrefix(fmt.Sprintf("%s: %s", p.Position, p.Text), ": ")
}

// The tags by which an export to a plain-text book keeps what the book's language has no place for. An import reads
// them back, so that a ledger's own export gives the same ids and times again.
const (
	TagID      = "ledger-id"      // of an entry: the transaction's id
	TagAt      = "ledger-at"      // of an entry: the transaction's time
	TagCost    = "ledger-cost"    // of a posting: its cost, as "-12.50 USD"
	TagAccount = "ledger-account" // of an account of beancount: its id
	TagAsset   = "ledger-asset"   // of a commodity of beancount: its id
)
