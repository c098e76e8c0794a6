package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// Names of processes whose clocks are right and whose requests are fast. They set up a history and check its end.
const (
	setupProcess = "beforehand"
	checkProcess = "afterwards"
	// repairsAtRest is the process that rebuilds what was damaged or lost, before the checks.
	repairsAtRest = "rebuild at rest"
)

const tableName = "ledger"

// process is the service as one Lambda function or command runs it, with its own clock and caches. A dead process gets
// errDead for every request, and its answers are ignored.
type process struct {
	name  string
	dead  bool
	clock func() time.Time

	ledger    *ledger.Ledger
	reader    *projections.Reader
	past      *projections.Past
	lists     *projections.Lists
	projector *projections.Projector
	rebuilder *rebuild.Rebuilder
	handle    stream.Function
}

// newProcess creates the n-th process with a name.
func (h *history) newProcess(name string, n int) *process {
	p := &process{name: fmt.Sprintf("%s.%d", name, n)}
	p.clock = h.clock(h.plan.draw("clock of "+p.name, 0), p)
	random := h.plan.draw("ksuids of "+p.name, 0)
	log := slog.New(logWatcher{h, p})
	client := h.client(p)
	v := table.NewTable(client, tableName)
	p.reader = projections.NewReader(v, log)
	p.lists = projections.NewLists(v)
	p.past = projections.NewPast(v, p.clock)
	p.ledger = ledger.New(ledger.Config{
		Table:       table.NewTable(client, tableName),
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
	p.rebuilder = rebuild.NewRebuilder(v, p.clock, log)
	p.projector.RepairWith(p.rebuilder)
	tuning := projections.Tuning{Stretch: h.knobs.stretch, Segments: h.knobs.segments, Unsealed: h.knobs.unsealed}
	p.projector.Tune(tuning)
	p.rebuilder.Tune(tuning)
	p.handle = stream.Handler(p.projector.Project)
	return p
}

// isProjector reports whether the process consumes the stream.
func (p *process) isProjector() bool { return strings.HasPrefix(p.name, "projector") }

func (p *process) isReliable() bool {
	return strings.HasPrefix(p.name, setupProcess) || strings.HasPrefix(p.name, checkProcess)
}

// die crashes a process. The next user of its name starts another.
func (h *history) die(p *process) {
	p.dead = true
	h.count("crashes")
}

// clock draws a process's clock. Repairs at rest have the right one: by a clock that is minutes behind, a backdated
// posting is not settled yet, and a rebuild of its balance is refused.
func (h *history) clock(d dice, p *process) func() time.Time {
	if p.isReliable() || strings.HasPrefix(p.name, repairsAtRest) {
		return time.Now
	}
	if h.occurs(WrongClock, h.knobs.projectorsAhead && p.isProjector()) {
		ahead := d.between(0, 5*time.Minute)
		return func() time.Time { return time.Now().Add(ahead) }
	}
	if !h.occurs(WrongClock, !d.chance(.3)) {
		return time.Now
	}
	if h.plan.Mode != PostsOnly {
		off := pick(d, d.between(-maxSkew, maxSkew), d.between(-maxSkew, time.Second-maxSkew),
			d.between(maxSkew-time.Second, maxSkew))
		return func() time.Time { return time.Now().Add(off) }
	}
	begin := h.began.Add(d.between(0, h.knobs.span+time.Minute))
	end := begin.Add(d.between(0, time.Minute))
	off := pick(d, -3*time.Second, 3*time.Second, -time.Minute, time.Minute, -5*time.Minute, 5*time.Minute)
	kind := d.IntN(3)
	return func() time.Time {
		t := time.Now()
		switch within := !t.Before(begin) && !t.After(end); {
		case kind == 0, kind == 1 && within: // always off, or for a while
			return t.Add(off)
		case within: // stands still for a while
			return begin
		}
		return t
	}
}

// logWatcher is a log handler that fails the history when a process logs something that must never happen.
type logWatcher struct {
	*history
	process *process
}

// Enabled implements slog.Handler.
func (w logWatcher) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w logWatcher) Handle(_ context.Context, r slog.Record) error {
	if w.process.dead {
		return nil
	}
	number, malformed, key := "", false, false
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "BelowLimit" && w.knobs.itemDelay <= shortItemDelay && w.plan.Mode == PostsOnly:
			w.fail("%s: %s: an account is shown below its limit", w.process.name, r.Message)
		case a.Key == "error" && strings.Contains(a.Value.String(), projections.ErrPostingsMissing.Error()) &&
			!w.damaged:
			w.fail("%s: %s: %v", w.process.name, r.Message, a.Value)
		case a.Key == "EventsAltered":
			w.fail("%s: %s: a false alarm", w.process.name, r.Message)
		case a.Key == "RecordsMalformed":
			malformed = true
		case a.Key == "sequence_number":
			number = a.Value.String()
		case a.Key == "sk":
			key = true
		}
		return true
	})
	switch {
	case malformed && key:
		w.count("malformed")
		w.mu.Lock()
		w.malformed[number] = true
		w.mu.Unlock()
	case malformed && !w.damaged: // only the keys of poison records are malformed
		w.fail("%s: %s: a sound record is reported as malformed", w.process.name, r.Message)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (w logWatcher) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w logWatcher) WithGroup(string) slog.Handler { return w }

// openStore creates the store with its faults, and the table of template.yaml.
func (h *history) openStore() error {
	h.store = memdb.New(memdb.Options{
		Now: time.Now,
		Between: func(ctx context.Context) {
			h.observe()
			if h.occurs(ItemByItem, !h.faultsOff) {
				time.Sleep(h.draw(ctx, "item by item").between(0, h.itemDelay(ctx)))
			}
		},
		Order: func(n int, swap func(i, j int)) {
			if h.plan.has(ItemByItem) {
				h.draw(context.Background(), "order of items").Shuffle(n, swap)
			}
		},
		Lag: func(ctx context.Context) time.Duration {
			d := h.draw(ctx, "lag")
			if !h.occurs(StaleReads, h.knobs.lag > 0 && !d.chance(.4)) {
				return 0
			}
			return d.between(0, h.knobs.lag)
		},
		Page: func(ctx context.Context, n int) int {
			if !h.occurs(CutPages, n > h.knobs.page) {
				return n
			}
			d := h.draw(ctx, "pages")
			if d.chance(.03) {
				return 0
			}
			return min(n, h.knobs.page)
		},
		Actions: max(h.maxActions(), h.knobs.segments+2), // no more than the largest write of this history needs
		Violation: func(err error) {
			if !h.auditing {
				h.fail("a request breaks a rule of the store: %w", err)
			}
		},
	})
	if _, err := dynamolocal.CreateTable(context.Background(), h.store.DynamoDB(), tableName); err != nil {
		return fmt.Errorf("create the table: %w", err)
	}
	return nil
}

// maxActions is the most actions in one transaction of a command.
func (h *history) maxActions() int {
	if h.plan.Mode == PostsOnly {
		return 10
	}
	return 40
}

// itemDelay is the longest time between two items of a transaction becoming visible.
func (h *history) itemDelay(ctx context.Context) time.Duration {
	if name, _ := ctx.Value(actor{}).(string); h.knobs.slowProjectors && strings.HasPrefix(name, "consumer") {
		return 2 * time.Second
	}
	return h.knobs.itemDelay
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

// startProcess starts the next process of a name.
func (h *history) startProcess(name string, n int) *process {
	name = fmt.Sprintf("%s %d", name, n)
	h.mu.Lock()
	h.launches[name]++
	birth := h.launches[name]
	h.mu.Unlock()
	p := h.newProcess(name, birth)
	h.mu.Lock()
	h.processes = append(h.processes, p)
	h.mu.Unlock()
	return p
}
