package bench

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/internal/meter"
)

// samplesMax is the number of requests of a slice whose answers may be recorded for the HTTP ceiling: enough for all
// routes.
const samplesMax = 200

// measured has the sums of all slices of one workload.
type measured struct {
	workload string
	counts   counts
	own      measurement
	postings int64 // acknowledged

	command, projection meter.Tally
	projectionCPU       time.Duration // until the projection has caught up

	lags   []time.Duration
	unseen int // watched postings that were not projected in time

	rounds      []round
	store, http measurement
}

// round has the figures of one slice that are compared with other slices. Those that were not measured are 0 or absent.
type round struct {
	rate, p99               float64
	uniformRate, uniformP99 float64 // of the latest slice of uniform
	store, http             float64 // rates of the ceilings
}

// slice measures one slice of a workload, and then the ceilings.
func (r *Run) slice(ctx context.Context, s slot, m *measured) error {
	r.current.Store(&s.workload)
	watching, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	o := &observer{run: r, watching: watching}
	if r.inside != nil { // reset the counts
		r.inside.command.Take()
		r.inside.projection.Take()
		r.inside.captured.take()
	}
	stop, err := watchProjection()
	if err != nil {
		return err
	}
	done := m.counts.done
	own, err := r.drive(ctx, s, bound{r.Count, r.Period}, &m.counts, o)
	o.watched.Wait()
	if err == nil && r.Projected {
		if _, err = r.unprojected(ctx); ctx.Err() != nil { // the checks report missing projections
			err = nil
		}
	}
	projectionCPU, stopErr := stop()
	if err = errors.Join(err, stopErr); err != nil {
		return err
	}
	m.projectionCPU += projectionCPU
	m.own.add(own)
	m.postings += o.postings.Load()
	m.lags, m.unseen = append(m.lags, o.lags...), m.unseen+o.unseen
	this := round{rate: over(m.counts.done-done, own.elapsed.Seconds()), p99: percentile(own.latencies, 99)}
	if s.workload == Uniform {
		r.uniform = this
	}
	this.uniformRate, this.uniformP99 = r.uniform.rate, r.uniform.p99
	if r.inside != nil {
		m.command.Add(r.inside.command.Take())
		m.projection.Add(r.inside.projection.Take())
		if ctx.Err() == nil {
			r.ceilings(ctx, s, m, &this, &o.answers)
		}
	}
	m.rounds = append(m.rounds, this)
	return nil
}

// drive makes the requests of a workload. o may be nil.
func (r *Run) drive(ctx context.Context, s slot, b bound, n *counts, o *observer) (measurement, error) {
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
			w.draft.names = "" // the answers belong to other requests
		}
		out, err := r.call(ctx, under, &w.draft.request, &w.buffer, n)
		if err != nil {
			return err
		}
		r.record(&w.draft, out)
		if o != nil {
			o.note(&w.draft, out)
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

// record adds an acknowledged transaction to the book, and keeps one of unknown outcome for resolve.
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
	answers  sync.Map // an answer for each route, for the HTTP ceiling

	// Postings that are watched until they are projected.
	watching context.Context // its end stops the watching
	watched  sync.WaitGroup
	mu       sync.Mutex
	open     int
	lags     []time.Duration
	unseen   int // not projected within probeTimeout
}

// note records the outcome of a request.
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
