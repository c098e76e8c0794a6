package audit

import (
	"sync"
	"time"

	"ledger.example/internal/table"
)

// overlap is how long after the first event with a checksum others may be written without one: a deployment runs the
// ledger's old and new versions side by side for minutes.
const overlap = time.Hour

// checksums finds out when the ledger began to write checksums. It never stopped since, so a later event without one
// was altered: its checksum was removed and its version set back. It is safe for concurrent use.
type checksums struct {
	mu    sync.Mutex
	first time.Time // time of the oldest event with a checksum; zero: there is none
	last  event     // the newest event without one
}

// note takes an event of the scan. The time of one that is not sound by itself proves nothing about others, nor does
// that of a posting, which may be an effective date.
func (c *checksums) note(value any, sound bool) {
	d, ok := value.(dated)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, isPosting := value.(posting)
	switch e := d.written(); {
	case e.at.IsZero(): // a reversal
	case !e.sealed && e.at.After(c.last.at):
		c.last = e
	case e.sealed && sound && !isPosting && (c.first.IsZero() || e.at.Before(c.first)):
		c.first = e.at
	}
}

// anyMissing reports whether some event of a finished scan lacks a checksum that it should have.
func (c *checksums) anyMissing() bool { return c.isMissing(c.last) }

// isMissing reports whether value is an event that lacks a checksum that it should have.
func (c *checksums) isMissing(value any) bool {
	d, ok := value.(dated)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && !d.written().sealed && !c.first.IsZero() && d.written().at.After(c.first.Add(overlap))
}

// since says when checksums began, for a finding.
func (c *checksums) since() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "a checksum: events have them since " + c.first.UTC().Format(instantForm)
}

// missingAmong finds the events of a transaction without a checksum, if others of it have one: all are written
// together, by one version of the ledger. It leaves out what isMissing finds: the rescan reports that.
func (c *checksums) missingAmong(written map[table.Key]dated) (found []Finding) {
	isAnySealed := false
	for k, e := range written {
		isAnySealed = isAnySealed || e.written().sealed
		if !e.written().sealed && !c.isMissing(e) {
			found = append(found, checksumMissing(k, "a checksum, as others of its transaction have"))
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
