// Package wire speaks to the one table through the AWS SDK: items to and from the domain's fields, keys, errors, and
// the store's clock. Both adapters are built on it, and neither imports the other.
package wire

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// Item is an item as the SDK has it.
type Item = map[string]types.AttributeValue

// Key returns k as the SDK wants it.
func Key(k table.Key) Item { panic("todo") }

// EventItem returns the whole stored item of an event: its keys, type, version and fields.
func EventItem(e events.Event) Item { panic("todo") }

// DecodeEvent reads an event from its stored item; it checks that the keys are those that the event must have.
func DecodeEvent(i Item) (events.Event, error) { panic("todo") }

// ReadError translates the SDK's error of a read: ErrThrottled, ErrConflict (a transactional read), ErrUnavailable, or ctx's own cause wrapped in ErrUnavailable.
func ReadError(err error) error { panic("todo") }

// WriteError translates the SDK's error of a write other than a cancelled transaction: ErrThrottled and ErrUnavailable when nothing was
// sent or the store declined, ErrConflict, else ErrUnknownOutcome. A failed condition is left to the caller.
func WriteError(err error) error { panic("todo") }

// StoreTime returns the store's clock as a reply told it, or the zero time.
func StoreTime(m middleware.Metadata) time.Time { panic("todo") }
