package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// Processes whose clocks are right and whose requests take hardly any time: what they are asked must be done.
const (
	setup      = "setup"
	afterwards = "afterwards"
)

// tableName is the one table's.
const tableName = "ledger"

// process is one running program: the whole service, as a function has it. What it remembers goes with it.
type process struct {
	name  string
	dead  bool
	clock func() time.Time

	ledger    *ledger.Ledger
	reader    *projections.Reader
	lists     projections.Lists
	projector *projections.Projector
	handle    func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)
}

// start starts the n-th process of a name.
func (h *history) start(name string, n int) *process {
	p := &process{name: fmt.Sprintf("%s.%d", name, n)}
	p.clock = h.clock(h.plan.draw("clock of "+p.name, 0), p)
	random := h.plan.draw("ksuids of "+p.name, 0)
	log := slog.New(watcher{h, p})
	client := h.client(p)
	v := views.NewViews(client, tableName)
	p.reader = projections.NewReader(v, log)
	p.lists = views.NewLists(client, tableName)
	p.ledger = ledger.New(ledger.Config{
		Journal:     journal.NewJournal(client, tableName),
		Projections: p.reader,
		Now:         p.clock,
		Log:         log,
		Minter: events.NewMinter(p.clock, func(b []byte) error {
			for i := 0; i < len(b); i += 8 {
				var eight [8]byte
				binary.BigEndian.PutUint64(eight[:], random.Uint64())
				copy(b[i:], eight[:])
			}
			return nil
		}),
	})
	p.projector = projections.NewProjector(v, p.clock, log)
	p.projector.Tune(projections.Tuning{Stretch: h.knobs.stretch, Segments: h.knobs.segments, Leave: h.knobs.leave})
	p.handle = stream.Handler(p.projector)
	return p
}

// projects tells whether a process works on the stream.
func (p *process) projects() bool { return strings.HasPrefix(p.name, "projector") }

func (p *process) favoured() bool {
	return strings.HasPrefix(p.name, setup) || strings.HasPrefix(p.name, afterwards)
}

// die ends a process; whoever needs one starts the next.
func (h *history) die(p *process) {
	p.dead = true
	h.count(&h.stats.Crashes)
}

// clock draws a process's clock.
func (h *history) clock(d dice, p *process) func() time.Time {
	if p.favoured() {
		return time.Now
	}
	if h.meets(WrongClock, h.knobs.ahead && p.projects()) {
		ahead := d.between(0, 5*time.Minute)
		return func() time.Time { return time.Now().Add(ahead) }
	}
	if !h.meets(WrongClock, !d.chance(.3)) {
		return time.Now
	}
	begin := h.began.Add(d.between(0, h.knobs.span+time.Minute))
	end := begin.Add(d.between(0, time.Minute))
	off := pick(d, -3*time.Second, 3*time.Second, -time.Minute, time.Minute, -5*time.Minute, 5*time.Minute)
	switch d.IntN(3) {
	case 0: // off, always
		return func() time.Time { return time.Now().Add(off) }
	case 1: // jumps, and is set right
		return func() time.Time {
			if t := time.Now(); t.Before(begin) || t.After(end) {
				return t
			}
			return time.Now().Add(off)
		}
	}
	return func() time.Time { // stands still
		if t := time.Now(); t.Before(begin) || t.After(end) {
			return t
		}
		return begin
	}
}

// watcher reads what a process logs: what it must never have to say breaks the history.
type watcher struct {
	*history
	process *process
}

// Enabled implements slog.Handler.
func (w watcher) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w watcher) Handle(_ context.Context, r slog.Record) error {
	if w.process.dead {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "BelowLimit" && w.knobs.visible <= briefly:
			w.broken("%s: %s: an account is shown below its limit", w.process.name, r.Message)
		case a.Key == "error" && strings.Contains(a.Value.String(), projections.ErrPostingsMissing.Error()) && !w.damaged:
			w.broken("%s: %s: %v", w.process.name, r.Message, a.Value)
		}
		return true
	})
	return nil
}

// WithAttrs implements slog.Handler.
func (w watcher) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w watcher) WithGroup(string) slog.Handler { return w }
