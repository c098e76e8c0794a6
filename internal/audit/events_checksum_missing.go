package audit

import (
	"sync"
	"time"

	"ledger.example/internal/table"
)

// overlap is how long events without a checksum may be written after the first event with one. A deployment runs the
// old and the new release at the same time for minutes.
const overlap = time.Hour

// checksums finds out when the ledger began to write checksums. A later event without a checksum was altered: somebody
// removed the checksum and set the version back. It is safe for concurrent use.
type checksums struct {
	mu    sync.Mutex
	first time.Time // time of the oldest event with a checksum; zero: there is none
	last  event     // the newest event without a checksum
}

// observe takes an item of the scan. It does not use the time of an event that has faults, or of a posting with a
// checksum: that time may be an effective date.
func (c *checksums) observe(value any, sound bool) {
	d, ok := value.(storedEvent)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, isPosting := value.(posting)
	switch e := d.base(); {
	case e.at.IsZero(): // a reversal has no time
	case !e.hasChecksum && e.at.After(c.last.at):
		c.last = e
	case e.hasChecksum && sound && !isPosting && (c.first.IsZero() || e.at.Before(c.first)):
		c.first = e.at
	}
}

// anyMissing reports whether an event of the scan lacks a checksum that it must have. Call it after the scan.
func (c *checksums) anyMissing() bool { return c.isMissing(c.last) }

// isMissing reports whether value is an event that lacks a checksum that it must have.
func (c *checksums) isMissing(value any) bool {
	d, ok := value.(storedEvent)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && !d.base().hasChecksum && !c.first.IsZero() && d.base().at.After(c.first.Add(overlap))
}

// expected describes a missing checksum in a finding: it says when checksums began.
func (c *checksums) expected() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "a checksum: all events have one since " + c.first.UTC().Format(instantForm)
}

// missingAmong finds the events of a transaction without a checksum, if other events of the transaction have one: one
// release of the ledger writes all of them together. It leaves out the events of isMissing, which the rescan reports.
func (c *checksums) missingAmong(written map[table.Key]storedEvent) (found []Finding) {
	isAnySealed := false
	for k, e := range written {
		isAnySealed = isAnySealed || e.base().hasChecksum
		if !e.base().hasChecksum && !c.isMissing(e) {
			found = append(found, checksumMissing(k, "a checksum: other events of the transaction have one"))
		}
	}
	if !isAnySealed {
		return nil
	}
	return found
}

func checksumMissing(k table.Key, right string) Finding {
	return Finding{ChecksumMissing, k, table.AttrChecksum, absent, right}
}
