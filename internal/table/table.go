// Package table is the way to the ledger's one DynamoDB table. It has the layout of the table, the port through which
// everything is read and written, and the port's implementation by the AWS SDK.
//
//   - The layout: ItemTypes declares the kinds of items with the patterns of their keys; attributes, indexes, limits
//     and costs stand beside it. No other code has these names, except template.yaml, and a test compares the two.
//   - Items: EventItem and DecodeEvent turn events into items and back; Begin and Open do so for guards and
//     projections.
//   - The port: Table, with the meaning of every error. Overlay records the writes of a dry run in place of making
//     them; tests have more decorators.
//   - The implementation: NewClient and NewTable. A write is sent once; its error says whether it can have been
//     applied.
//
// An item has a partition key (PK) and a sort key (SK). An account's partition has all items of the account: its
// events (opening, postings, grants), its guards and its projections. Keys are built from ids, whose alphabet is A-Z
// a-z 0-9 . _ : @ -. All of these sort between '#' and '~'. A '#' therefore ends a part of a key, keys sort as their
// ids do, and '~' ends a range.
//
// Everything in it is safe for concurrent use, except ItemEncoder and Reader.
package table

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a stored item, or a part of one: attribute names to values.
type Item = map[string]types.AttributeValue

// Table is the port to the ledger's one table. Everything that the ledger reads and writes goes through it. The adapter
// to DynamoDB is one implementation; the others decorate it: they pace, count, or record instead of writing.
//
// Every method makes one request to the store unless it says otherwise, is safe for concurrent use, and returns when
// its context ends. Errors are those of this package, wrapped, and do not name the operation: callers add it. Reads
// return ErrThrottled or ErrUnavailable. Writes return ErrThrottled or ErrUnavailable, which mean that this attempt
// wrote nothing, ErrUnknownOutcome, *Refused or *Cancelled. A write is never retried. Any other error (the table is
// missing, access is denied, the request is malformed) is final: nothing was written, and a retry would not help.
//
// Times are the store's clock in whole seconds, zero if the store did not report it.
type Table interface {
	// Get reads one item, nil if it is absent.
	Get(ctx context.Context, k Key, c Consistency) (Item, time.Time, error)

	// BatchGet reads the items of distinct keys, in any order and without the absent ones. It makes one request for
	// each BatchGetKeys, and more for keys that the store leaves unprocessed.
	BatchGet(ctx context.Context, keys []Key, c Consistency) ([]Item, time.Time, error)

	// Snapshot reads at most TransactionActions items in one serializable request, in the order of keys, nil for
	// absent ones. It returns only the named attributes, or all if there are none. Error: also ErrConflict.
	Snapshot(ctx context.Context, keys []Key, attributes ...string) ([]Item, time.Time, error)

	// Query reads a page of a partition of the table or of an index.
	Query(ctx context.Context, q Query) (Page, error)

	// Scan reads a page of the whole table.
	Scan(ctx context.Context, s Scan) (Page, error)

	// Write makes one write. It costs half as much as a transaction. Error: also *Refused if the condition failed, and
	// ErrConflict if a transaction on the item was in flight.
	Write(ctx context.Context, w Write) (time.Time, error)

	// Transact makes at most TransactionActions writes of distinct items, all or none. Error: also *Cancelled.
	Transact(ctx context.Context, writes []Write) (time.Time, error)
}

// Consistency is the consistency of a read.
type Consistency bool

// A strong read includes every write that was acknowledged before it. An eventual read costs half as much, and may miss
// recent writes. An index is always read eventually.
const (
	Strong   Consistency = true
	Eventual Consistency = false
)

// Query selects the items of one partition whose sort keys are in a range. The range must not be empty.
type Query struct {
	Index       string // "" for the table; IndexHistory or IndexInverse
	Partition   string
	Within      Range
	After       Item // the page begins after it: Page.Next of the page before, or nil
	Limit       int  // of items; 0: as many as the store reads for a page, one megabyte
	Descending  bool
	Consistency Consistency
	Attributes  []string // nil: all
	CountOnly   bool     // the page has only Count
	Priced      bool     // the page has ReadHalves
}

// Scan selects all items of one of Parts parts of the table.
type Scan struct {
	Part, Parts int      // 0 and 0: the whole table
	After       Item     // as in Query
	Types       []string // nil: items of every type
	Attributes  []string // nil: all
	Consistency Consistency
}

// Page is the result of one request of a query or a scan. A page may be empty although there are more.
type Page struct {
	Items []Item
	Count int  // items that were read; of a scan, also those of other types
	Next  Item // where the next page begins; nil at the end
	At    time.Time

	ReadHalves int // of a query that is Priced: what it consumed, in halves of a read unit
}

// Write is one action on one item: the put of Item or, without it, the Update of the item at Key or, with neither, the
// check of If for that item (only in Transact). Update and If are expressions of DynamoDB, with the placeholders in
// Names (#) and Values (:). If must hold, or nothing is written; "" always holds.
type Write struct {
	Item   Item
	Key    Key
	Update string
	If     string
	Names  map[string]string
	Values Item
	// ReturnOld asks for the stored item if the condition fails.
	ReturnOld bool
}

// IfAbsent is the condition of every write of an event: no item has its key.
const IfAbsent = "attribute_not_exists(" + AttrPK + ")"

// Refused is the error of a write whose condition failed. Nothing was written. It wraps ErrConflict.
type Refused struct {
	Old Item // the stored item, if the write asked for it; nil if there is none
	At  time.Time
}

func (*Refused) Error() string { return "the item is not as the write requires" }

// Unwrap returns ErrConflict.
func (*Refused) Unwrap() error { return ErrConflict }

// Cancelled is the error of a transaction that the store cancelled. Nothing was written. It wraps ErrThrottled if all
// reasons are throttling, else ErrConflict.
type Cancelled struct {
	Reasons []Reason // one for each write
	At      time.Time
}

// Reason is why one write of a transaction failed.
type Reason struct {
	Is  Cause
	Old Item   // with CauseCondition: as Refused.Old
	Why string // what the store says, for the log: its code and message
}

// Cause is the kind of a Reason.
type Cause int

// CauseNone means that the write did not fail, or was not examined. CauseConflict proves nothing about the item: the
// other write may be an earlier attempt of the same command.
const (
	CauseNone Cause = iota
	CauseCondition
	CauseConflict
	CauseThrottled
)

// Error names the store's reasons: which writes failed, and why.
func (c *Cancelled) Error() string {
	return "transaction was cancelled by the store" + whyOf(c.Reasons)
}

// whyOf returns the text of all reasons but CauseNone, equal ones once, with the numbers of their actions.
func whyOf(reasons []Reason) string {
	var order []string
	actions := map[string][]string{}
	for i, r := range reasons {
		if r.Is == CauseNone || r.Why == "" {
			continue
		}
		if actions[r.Why] == nil {
			order = append(order, r.Why)
		}
		actions[r.Why] = append(actions[r.Why], strconv.Itoa(i))
	}
	var b strings.Builder
	for _, why := range order {
		fmt.Fprintf(&b, "; action %s: %s", strings.Join(actions[why], ", "), why)
	}
	return b.String()
}

// Unwrap returns ErrThrottled or ErrConflict.
func (c *Cancelled) Unwrap() error {
	for _, r := range c.Reasons {
		if r.Is == CauseCondition || r.Is == CauseConflict {
			return ErrConflict
		}
	}
	return ErrThrottled
}
