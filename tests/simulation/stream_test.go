package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"ledger.example/functions/stream"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// buckets is the number of hash buckets of keys. Each shard has a range of them.
	buckets = 64
	// maxDeliveries is how often a record may fail before the history fails, without a fault and in time: then only other
	// writers can be the cause. With faults, it may fail far more often. A refold of 50 pages, of which each read meets a
	// fault with a chance of 6 %, succeeds once in 20 deliveries.
	maxDeliveries = 20
	// maxStall is the longest time that a stalled consumer holds a batch: longer than the settle window.
	maxStall = 4 * time.Minute
)

// record is one change in the stream. Only records of the same item are ordered.
type record struct {
	key    table.Key
	number int // sequence number
	poison bool
	image  table.Item // the new image; nil: the record has none
}

// shard is a part of the stream. A shard that splits is closed, and its children are read after it.
type shard struct {
	name     string
	from, to int // range of buckets

	records []record
	closed  bool
	changed chan struct{} // closed and replaced when records or closed change
	readers sync.WaitGroup
}

func (s *shard) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (h *history) startStream() {
	for i := range h.knobs.shards {
		h.openShard(strconv.Itoa(i), nil, i*buckets/h.knobs.shards, (i+1)*buckets/h.knobs.shards)
	}
	if !h.plan.has(Split) {
		return
	}
	d := h.plan.draw("splits", 0)
	for range d.IntN(3) {
		at, which := d.between(0, h.knobs.span), d.Uint64()
		h.callers.Go(func() {
			if h.sleep(at) {
				h.split(which)
			}
		})
	}
}

// inOutage reports whether every consumer stalls now. See knobs.outage.
func (h *history) inOutage() bool {
	since := time.Since(h.began)
	return h.knobs.outage > 0 && since > h.knobs.outage && since < h.knobs.outage+time.Minute
}

// openShard opens a shard and starts its consumers, which begin when its parent has been read.
func (h *history) openShard(name string, parent *shard, from, to int) *shard {
	s := &shard{name: name, from: from, to: to, changed: make(chan struct{})}
	h.mu.Lock()
	h.shards = append(h.shards, s)
	h.mu.Unlock()
	consumers := 1
	if d := h.plan.draw("consumers of "+name, 0); h.occurs(TwoAtOnce, d.chance(.3)) {
		consumers = 2
	}
	for c := range consumers {
		s.readers.Add(1)
		h.deliveries.Go(func() {
			defer s.readers.Done()
			if parent != nil {
				parent.readers.Wait()
			}
			h.consume(as(fmt.Sprintf("consumer %d of %s", c, name)), s)
		})
	}
	return s
}

func (h *history) split(which uint64) {
	h.mu.Lock()
	open := slices.DeleteFunc(slices.Clone(h.shards), func(s *shard) bool { return s.closed || s.to-s.from < 2 })
	if len(open) == 0 {
		h.mu.Unlock()
		return
	}
	s := open[which%uint64(len(open))]
	h.stats.Met[string(Split)]++
	s.closed = true
	s.notify()
	h.mu.Unlock()
	middle := (s.from + s.to) / 2
	h.openShard(s.name+"l", s, s.from, middle)
	h.openShard(s.name+"r", s, middle, s.to)
}

// appendRecord adds a change to the open shard of its key. The caller holds h.mu.
func (h *history) appendRecord(key table.Key, number int, image table.Item) {
	bucket := int(hashOf(key.PK+" "+key.SK) % buckets)
	for _, s := range h.shards {
		if s.closed || bucket < s.from || bucket >= s.to {
			continue
		}
		d := h.plan.draw("record", uint64(number))
		if h.plan.draw("image", uint64(number)).chance(.1) {
			image = nil
		}
		if h.plan.has(Retention) && h.knobs.losesRecords && d.chance(.1) {
			h.stats.Met[string(Retention)]++
			h.lostRecords++
			return
		}
		if h.plan.has(Poison) && d.chance(.005) {
			h.stats.Met[string(Poison)]++
			s.records = append(s.records, record{table.Key{PK: key.PK, SK: table.Posting.Prefix() + "#"}, number, true,
				nil})
		}
		s.records = append(s.records, record{key, number, false, image})
		s.notify()
		return
	}
}

// consume reads a shard to its end in batches, as Lambda's event source mapping does.
func (h *history) consume(ctx context.Context, s *shard) {
	for at := 0; ; {
		h.mu.Lock()
		records, closed, changed := s.records, s.closed, s.changed
		h.mu.Unlock()
		if at == len(records) {
			if closed {
				return
			}
			select {
			case <-changed:
			case <-h.failed:
				return
			case <-h.writesDone:
				// No more records will be added. Read the rest.
				h.mu.Lock()
				more := len(s.records) > at
				h.mu.Unlock()
				if !more {
					return
				}
			}
			continue
		}
		d := h.draw(ctx, "batches")
		wait := d.between(0, 500*time.Millisecond)
		if h.occurs(Stall, !h.faultsOff && (d.chance(h.knobs.stall) || h.inOutage())) {
			wait = d.between(0, maxStall)
		}
		if !h.sleep(wait) {
			return
		}
		h.mu.Lock()
		records = s.records // more may have been added during the sleep
		h.mu.Unlock()
		n := min(1+d.IntN(h.knobs.batch), len(records)-at)
		batch := records[at : at+n]
		at += n
		h.deliverToLister(batch)
		h.deliver(ctx, batch)
		if h.occurs(Duplicate, d.chance(h.knobs.redeliver)) {
			later := d.between(0, 5*time.Minute)
			h.deliveries.Go(func() {
				if h.sleep(later) {
					h.deliver(as(fmt.Sprintf("again %d", batch[0].number)), batch)
				}
			})
		}
	}
}

// isFiltered reports whether the event source's filters pass a record to the projector.
func isFiltered(r record) bool {
	return projections.IsProjected(r.key.SK) || projections.IsWatched(r.key.SK)
}

// deliver delivers a batch to a projector until all of it succeeds, as Lambda does: it retries from the first record
// that failed, and bisects the batch if the function returned an error.
func (h *history) deliver(ctx context.Context, batch []record) {
	var wanted []record
	for _, r := range batch {
		if isFiltered(r) || h.occurs(Unfiltered, true) {
			wanted = append(wanted, r)
		}
	}
	for failures := 0; len(wanted) > 0; {
		d := h.draw(ctx, "deliveries")
		p := h.projectorProcess(d)
		sent, faults := h.add(ctx, "requests", 0), h.add(ctx, "faults", 0)
		limited, cancel := context.WithTimeout(ctx, d.between(15*time.Second, time.Minute))
		answer, err := p.handle(limited, event(wanted))
		late := limited.Err() != nil
		cancel()
		h.observe()
		if n := h.add(ctx, "requests", 0) - sent; n > 0 &&
			!slices.ContainsFunc(wanted, isFiltered) {
			h.fail("the projector sends %d requests for records of projections only, such as %v", n, wanted[0].key)
		}
		done := wanted
		switch {
		case p.dead:
			done = nil
		case err != nil && len(wanted) > 1:
			half := len(wanted) / 2
			h.deliver(ctx, wanted[:half])
			h.deliver(ctx, wanted[half:])
			return
		case err != nil:
			done = nil
			if !late && faults == h.add(ctx, "faults", 0) {
				failures++
			}
			if failures > maxDeliveries {
				h.fail("record %v failed %d times without a fault: %w", wanted[0].key, failures, err)
				return
			}
		case len(answer.BatchItemFailures) > 0:
			at := slices.IndexFunc(wanted, func(r record) bool {
				return strconv.Itoa(r.number) == answer.BatchItemFailures[0].ItemIdentifier
			})
			if at < 0 {
				h.fail("the projector reports the failure of record %q, which is not in its batch",
					answer.BatchItemFailures[0].ItemIdentifier)
				return
			}
			done = wanted[:at]
		}
		h.checkLogged(done)
		h.model.checkCounted(done)
		wanted = wanted[len(done):]
		if len(wanted) > 0 && !h.sleep(d.between(0, 2*time.Second)) {
			return
		}
	}
}

// deliverToLister delivers the events of a batch that the journal has to a lister, concurrently with the projector.
// The lister sends requests in parallel. They meet no faults, because then the history could not be replayed. But the
// lister can die after a batch, which is then redelivered.
func (h *history) deliverToLister(batch []record) {
	var wanted []record
	for _, r := range batch {
		if table.IsJournaled(r.key.SK) {
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return
	}
	h.deliveries.Go(func() {
		ctx := as(fmt.Sprintf("lister from %d", wanted[0].number))
		d := h.draw(ctx, "listings")
		for died := true; died; {
			if d.chance(.2) && !h.sleep(d.between(0, time.Minute)) {
				return
			}
			v := table.NewTable(h.store.DynamoDB(), tableName)
			lister := projections.NewLister(v, indexed, nil, slog.New(slog.DiscardHandler))
			answer, err := stream.Handler(lister.List)(ctx, event(wanted))
			if err != nil || len(answer.BatchItemFailures) > 0 {
				h.fail("the lister failed: %+v (%w)", answer, err)
				return
			}
			died = d.chance(.2)
		}
	})
}

// checkLogged checks that each poison record was logged as malformed before it was taken for done.
func (h *history) checkLogged(done []record) {
	for _, r := range done {
		h.mu.Lock()
		logged := h.malformed[strconv.Itoa(r.number)]
		h.mu.Unlock()
		if r.poison && !logged {
			h.fail("record %v has a malformed key, but succeeded without a log entry", r.key)
		}
	}
}

// projectorProcess picks one of three projector processes, and starts it if it is not running.
func (h *history) projectorProcess(d dice) *process {
	n := d.IntN(3)
	h.mu.Lock()
	p := h.projectors[n]
	h.mu.Unlock()
	if p == nil || p.dead {
		p = h.startProcess("projector", n)
		h.mu.Lock()
		h.projectors[n] = p
		h.mu.Unlock()
	}
	return p
}
