package bench

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/internal/meter"
)

// samplesMax is how many requests of a slice are looked at for answers of the HTTP ceiling: enough to see all routes.
const samplesMax = 200

// measured sums up the slices of one workload.
type measured struct {
	workload string
	counts   counts
	own      measurement
	postings int64 // acknowledged

	command, projection meter.Tally

	lags   []time.Duration
	unseen int // postings watched that were not projected in time

	rounds      []round
	store, http measurement
}

// round holds the figures of one slice that are compared with its neighbours'. They are 0 or unknown if they were not
// measured.
type round struct {
	rate, p99               float64
	uniformRate, uniformP99 float64 // of the slice of uniform before it
	store, http             float64 // rates of the ceilings
}

// slice measures one slice of a workload, and then the ceilings.
func (r *Run) slice(ctx context.Context, s slot, m *measured) error {
	r.current.Store(&s.workload)
	watching, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	live := &observer{run: r, watching: watching}
	if r.inside != nil { // what was asked before is not this slice's
		r.inside.command.Take()
		r.inside.projection.Take()
		r.inside.captured.take()
	}
	done := m.counts.done
	own, err := r.drive(ctx, s, bound{r.Count, r.Period}, &m.counts, live)
	if err != nil {
		return err
	}
	live.watched.Wait()
	if r.Projected {
		if _, err := r.unprojected(ctx); err != nil && ctx.Err() == nil { // the checks find what is missing
			return err
		}
	}
	m.own.add(own)
	m.postings += live.postings.Load()
	m.lags, m.unseen = append(m.lags, live.lags...), m.unseen+live.unseen
	this := round{rate: over(m.counts.done-done, own.elapsed.Seconds()), p99: percentile(own.latencies, 99)}
	if s.workload == Uniform {
		r.uniform = this
	}
	this.uniformRate, this.uniformP99 = r.uniform.rate, r.uniform.p99
	if r.inside != nil {
		m.command.Add(r.inside.command.Take())
		m.projection.Add(r.inside.projection.Take())
		if ctx.Err() == nil {
			r.ceilings(ctx, s, m, &this, &live.answers)
		}
	}
	m.rounds = append(m.rounds, this)
	return nil
}

// drive makes the requests of a workload. live may be nil.
func (r *Run) drive(ctx context.Context, s slot, b bound, n *counts, live *observer) (measurement, error) {
	workers := make([]struct {
		draft  draft
		buffer bytes.Buffer
	}, r.Clients)
	under, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	defer r.watchSilence(ctx)()
	var file *lines
	if s.workload == Import {
		opened, stop := r.importLines(s)
		file = opened
		defer stop()
	}
	return measure(ctx, r.Clients, b, func(worker, i int) error {
		w := &workers[worker]
		switch s.workload {
		case HotSpender:
			r.spend(s, worker, &r.spenders[worker], &w.draft)
		case Read:
			r.read(s, i, &w.draft)
		case Import:
			done, err := file.take(&w.draft)
			if err != nil {
				return err
			}
			defer close(done)
		default:
			r.write(s, i, &w.draft)
		}
		if r.isEcho {
			w.draft.names = "" // its answers are to other requests
		}
		out, err := r.call(ctx, under, &w.draft.request, &w.buffer, n)
		if err != nil {
			return err
		}
		r.record(&w.draft, out)
		if live != nil {
			live.note(&w.draft, out)
		}
		if out.retried {
			w.draft.text = nil // an attempt may still read it
		}
		if s.workload == HotSpender && out.code == "" {
			r.spenders[worker].acknowledged(r.fixture, w.draft.legs)
		}
		return nil
	})
}

// record books a transaction that was acknowledged, and keeps one of unknown outcome for resolve.
func (r *Run) record(d *draft, out result) {
	switch {
	case out.code == "":
		r.book.post(d.legs)
	case out.unknown && len(d.legs) > 0:
		open := draft{request: d.request, legs: slices.Clone(d.legs)}
		open.body = slices.Clone(d.body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pending = append(r.pending, open)
	}
}

// observer follows the requests of a slice while it runs. It is safe for concurrent use.
type observer struct {
	run      *Run
	done     atomic.Int64 // requests that succeeded
	postings atomic.Int64
	answers  sync.Map // an answer of each route, of the first samplesMax: for the HTTP ceiling

	// Postings that are watched on their way into the projection.
	watching context.Context // gives up when it ends
	watched  sync.WaitGroup
	mu       sync.Mutex
	open     int
	lags     []time.Duration
	unseen   int // given up
}

// note takes the outcome of a request.
func (o *observer) note(d *draft, out result) {
	o.run.requests.Add(1)
	if out.code != "" {
		return
	}
	if len(d.legs) > 0 {
		o.postings.Add(int64(len(d.legs)))
		o.offer(out.body)
	}
	if o.done.Add(1) <= samplesMax && o.run.inside != nil {
		sample := out.answer
		sample.body = slices.Clone(out.body)
		o.answers.LoadOrStore(route(d.path, d.query), sample)
	}
}
