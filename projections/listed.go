package projections

import (
	"time"

	"ledger.example/events"
)

// ListedEntry is an entry in a list of transactions: by time, or by the value of an indexed metadata key. It points to
// the header.
type ListedEntry struct {
	ID          events.KSUID // of the header's first leg
	Transaction string       // id
	Held        bool         // the transaction is a hold: its outcome is to be read, too
	Void        bool         // it was wrong and lists nothing: readers skip it
}

// Events of the journal. A hold's outcomes are named as events.Outcome has them.
const (
	JournalPosted = "posted"
	JournalHeld   = StatusHeld
)

// JournalEntry says that something was posted.
type JournalEntry struct {
	Event       string    // JournalPosted, JournalHeld or a hold's outcome
	At          time.Time // when it was recorded, UTC, whole microseconds
	Transaction string    // id
}

// JournalPage is what the journal says of one batch of the stream. No page is ever written again.
type JournalPage struct {
	ID      events.KSUID // minted right before it was written
	Entries []JournalEntry
	Void    bool // it was wrong and says nothing: readers skip it
}

// JournalEvent reports whether the journal has entries of such an event.
func JournalEvent(event string) bool {
	switch event {
	case JournalPosted, JournalHeld,
		string(events.OutcomeCaptured), string(events.OutcomeReleased), string(events.OutcomeExpired):
		return true
	}
	return false
}
