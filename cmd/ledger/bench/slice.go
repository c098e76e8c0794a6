package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/cmd/ledger/meter"
)

// exchangesMax is how many exchanges of a slice are kept for the ceiling that answers the same.
const exchangesMax = 2_000

// parsedEvery is of how many answers to reads one is looked at whether it is JSON to its end: all would be a load of its own.
const parsedEvery = 50

// measured is what the slices of one workload came to.
type measured struct {
	workload string
	counts   counts
	timing   timing
	postings int64 // acknowledged
	used     process

	command, projection meter.Tally

	lags   []uint32 // microseconds
	unseen int      // postings watched that were not projected in time

	rounds      []round
	store, http beside // the ceilings
}

// round are the figures of one slice that are compared with their neighbours'.
type round struct {
	rate, p99   float64
	store, http float64 // the rates of the ceilings; 0: not measured
}

func newMeasured(workload string) *measured { return &measured{workload: workload} }

// reads tells whether a workload posts nothing.
func reads(workload string) bool { return workload == Read }

// bound is that of a slice of ours.
func (r *run) bound() bound {
	if r.Count > 0 {
		return bound{count: r.Count}
	}
	return bound{period: r.Period}
}

// slice gives a workload one slice of load, and then the ceilings theirs.
func (r *run) slice(ctx context.Context, s slot, m *measured) error {
	p := &progress{name: s.workload, began: time.Now()}
	r.current.Store(p)
	watching, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	probe := r.newProbe(watching)
	kept := new(keeper)
	if r.inside != nil {
		r.inside.command.Take()
		r.inside.projection.Take()
		r.inside.captured.start()
	}
	done := m.counts.done
	runtime.GC() // neither slice pays for what another left
	before, err := used()
	if err != nil {
		return err
	}
	postings := &atomic.Int64{}
	var t timing
	if s.workload == Import {
		t, err = r.importLines(ctx, s, &m.counts, &watch{p, postings, probe, kept})
	} else {
		t, err = r.drive(ctx, s, r.bound(), &m.counts, &watch{p, postings, probe, kept})
	}
	if err != nil {
		return err
	}
	after, err := used()
	if err != nil {
		return err
	}
	m.used.add(after.since(before))
	m.timing.add(t)
	m.postings += postings.Load()
	var captured []*dynamodb.TransactWriteItemsInput
	if r.inside != nil {
		captured = r.inside.captured.take()
	}
	this := round{rate: rate(m.counts.done-done, t.elapsed), p99: float64(t.percentiles(99)[0])}
	if r.inside != nil {
		m.command.Add(r.inside.command.Take())
	}
	lags, unseen := probe.wait()
	m.lags, m.unseen = append(m.lags, lags...), m.unseen+unseen
	if err := r.settle(ctx); err != nil {
		return err
	}
	if r.inside != nil {
		m.projection.Add(r.inside.projection.Take())
		if ctx.Err() == nil {
			r.ceilings(ctx, m, &this, kept.taken(), captured)
		}
	}
	m.rounds = append(m.rounds, this)
	return nil
}

// watch is what a slice tells of its requests while it runs. Its parts are safe for concurrent use.
type watch struct {
	progress *progress
	postings *atomic.Int64
	probe    *probe
	kept     *keeper
}

// drive makes the requests of any workload but import. seen may be nil.
func (r *run) drive(ctx context.Context, s slot, b bound, n *counts, seen *watch) (timing, error) {
	type hands struct {
		draft  draft
		buffer bytes.Buffer
	}
	workers := make([]hands, r.Clients)
	under, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	defer r.guard(ctx)()
	return drive(ctx, r.Clients, b, func(worker, i int) error {
		h := &workers[worker]
		switch s.workload {
		case Read:
			r.read(s, i, &h.draft)
		case HotSpender:
			r.spend(s, worker, &r.spenders[worker], &h.draft)
		default:
			r.write(s, i, &h.draft)
		}
		out, err := r.ask(ctx, under, &h.draft.request, &h.buffer, n)
		if err != nil {
			return err
		}
		if s.workload == Read && i%parsedEvery == 0 && out.code == "" && !json.Valid(out.body) {
			out.code = codeNotOurs
			n.count(func(n *counts) { n.done-- })
			n.failed(codeNotOurs, true)
		}
		r.answered(s, &h.draft, out, seen)
		if out.again {
			h.draft.renew()
		}
		if s.workload == HotSpender && out.code == "" {
			r.spenders[worker].paid(r.cast, h.draft.legs)
		}
		return nil
	})
}

// answered keeps the books of what became of a request.
func (r *run) answered(s slot, d *draft, out result, seen *watch) {
	switch {
	case out.code == "":
		r.book.post(d.legs)
	case out.unknown && d.id != "":
		r.mu.Lock()
		defer r.mu.Unlock()
		again := posted{d.request, slices.Clone(d.legs)}
		again.request.body = slices.Clone(d.body)
		r.pending = append(r.pending, again)
	}
	if seen == nil {
		return
	}
	seen.progress.done.Add(1)
	if out.code != "" {
		return
	}
	seen.postings.Add(int64(len(d.legs)))
	if len(d.legs) > 0 {
		seen.probe.offer(out.body)
	}
	if r.inside != nil { // only then there are ceilings
		seen.kept.keep(&d.request, out.answer)
	}
}

// keeper keeps the first exchanges of a slice. It is safe for concurrent use.
type keeper struct {
	next      atomic.Int64
	exchanges [exchangesMax]exchange
}

func (k *keeper) keep(req *request, a answer) {
	i := k.next.Add(1) - 1
	if i >= exchangesMax {
		return
	}
	e := exchange{*req, a}
	e.request.body, e.answer.body = slices.Clone(req.body), slices.Clone(a.body)
	k.exchanges[i] = e
}

// taken returns what was kept, when no more is.
func (k *keeper) taken() []exchange { return k.exchanges[:min(k.next.Load(), exchangesMax)] }
