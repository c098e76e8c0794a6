package pump

import "time"

// Stats count what a pump has done since it was made.
type Stats struct {
	// Records read from the stream.
	Records int64
	// Filtered are those of them that no filter let pass.
	Filtered int64
	// Delivered are those that the handler has done.
	Delivered int64
	// SetAside are those that were given up.
	SetAside int64
	// Pending are those that are read and neither delivered nor set aside yet.
	Pending int64
	// Invocations of the handler, and how many of them failed, in whole or in
	// part.
	Invocations, Failures int64
	// Retries of a batch that count as such, and batches halved or split.
	Retries, Bisected int64
	// ShardsReading and ShardsEnded are numbers of shards.
	ShardsReading, ShardsEnded int
}

// Stats returns the figures so far.
func (p *Pump) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	for _, sh := range p.shards {
		switch sh.state {
		case reading:
			s.ShardsReading++
		case ended:
			s.ShardsEnded++
		}
	}
	return s
}

// count changes the figures.
func (p *Pump) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

// CaughtUp tells whether every record that was in the stream at t has been
// delivered or set aside. It is meant to be polled with the time right after a
// write; while records keep coming it may stay false.
//
// A shard counts as read up to t when it answered a request that began at t or
// later without any record. DynamoDB Local does that at the end of a shard
// only; AWS may do it anywhere, and then this is true too early.
func (p *Pump) CaughtUp(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats.Pending > 0 || !p.settled {
		return false
	}
	for _, sh := range p.shards {
		if sh.state == waiting || sh.state == reading && sh.readTo.Before(t) {
			return false
		}
	}
	return true
}
