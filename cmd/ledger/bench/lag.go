package bench

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/cmd/ledger/client"
)

const (
	// probeEvery is how often a posting is taken at most that was acknowledged just now; probesMax how many are watched
	// at once, so that watching is no load of its own.
	probeEvery = 100 * time.Millisecond
	probesMax  = 4
	// probePoll is how often the balance of one is looked at, and how exact a lag is: more often, and DynamoDB Local is kept
	// busy by it. probePatience is how long at most.
	probePoll     = 40 * time.Millisecond
	probePatience = 30 * time.Second
)

// probe watches how long acknowledged postings take into the projection, from outside: by when the eventual balance says that
// it is as of the posting, or of a later one.
type probe struct {
	run  *run
	ctx  context.Context
	next atomic.Int64 // when the next posting is taken, in nanoseconds since began

	began   time.Time
	watched sync.WaitGroup

	mu     sync.Mutex
	open   int
	lags   []uint32
	unseen int
}

// newProbe returns one that takes nothing where nothing is projected, and gives up when ctx ends.
func (r *run) newProbe(ctx context.Context) *probe {
	return &probe{run: r, ctx: ctx, began: time.Now()}
}

// offer gives the answer to a transaction that was acknowledged just now. It costs nothing unless a posting is due, and may be
// called by any goroutine.
func (p *probe) offer(answer []byte) {
	now := time.Now()
	next := p.next.Load()
	if !p.run.Projected || int64(now.Sub(p.began)) < next || !p.next.CompareAndSwap(next, int64(now.Sub(p.began)+probeEvery)) {
		return
	}
	p.mu.Lock()
	free := p.open < probesMax
	if free {
		p.open++
	}
	p.mu.Unlock()
	if !free {
		return
	}
	var t client.Transaction
	if err := json.Unmarshal(answer, &t); err != nil || len(t.Postings) == 0 {
		p.close(0, false)
		return
	}
	posting := t.Postings[rand.IntN(len(t.Postings))]
	p.watched.Go(func() {
		p.close(p.watch(posting, now))
	})
}

// watch returns how long after began a posting was projected.
func (p *probe) watch(posting client.Posting, began time.Time) (lag time.Duration, seen bool) {
	for {
		b, err := p.run.balanceOf(p.ctx, posting.Account, posting.Asset, false)
		lag = time.Since(began)
		switch {
		case err == nil && b.AsOf != nil && *b.AsOf >= posting.ID:
			return lag, true
		case lag > probePatience, !wait(p.ctx, probePoll):
			return 0, false
		}
	}
}

func (p *probe) close(lag time.Duration, seen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	switch {
	case seen:
		p.lags = append(p.lags, microseconds(lag))
	case p.ctx.Err() == nil: // else it was not waited for
		p.unseen++
	}
}

// wait returns the lags in microseconds when all postings taken were projected, or given up, which is how many of them.
func (p *probe) wait() (lags []uint32, unseen int) {
	p.watched.Wait()
	return p.lags, p.unseen
}
