package projections_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

const second = time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (w *world) pause(context.Context, int) error {
	w.yield()
	if w.stopping {
		return errDead
	}
	return nil
}

func (w *world) reader(c *client) *projections.Reader {
	r := projections.NewReader(c, slog.New(slog.DiscardHandler))
	r.Pause(w.pause)
	r.OneAtATime()
	return r
}

// transaction is one request for a transaction, and what became of it.
type transaction struct {
	number int
	legs   map[projections.Key]int64 // quantities
	header map[projections.Key]projections.Posting
	whole  bool // all its items are there
}

// command is one request; its client asks again until it is answered.
func (w *world) command(number int) {
	t := &transaction{number: number, legs: make(map[projections.Key]int64)}
	for _, k := range keys {
		if len(t.legs) == 0 || w.chance(w.spread) {
			t.legs[k] = int64(w.rng.IntN(3) - 1)
		}
	}
	c := &client{Memory: w.store, w: w, commands: true, skew: w.skews[w.rng.IntN(len(w.skews))]}
	reader := w.reader(c)
	for w.yield(); !w.stopping; w.yield() {
		start := w.now
		if t.header == nil {
			legs := w.mint(c, t)
			w.yield()
			switch fate := w.rng.Float64(); {
			case fate < .75:
				for range w.rng.IntN(3) {
					w.yield()
				}
				if w.now.Sub(start) > 8*second || t.header != nil {
					continue
				}
				w.commit(t, legs)
			case fate < .85:
				continue // never arrived
			default:
				delay := seconds(w.rng.Float64() * 12)
				if w.chance(.3) {
					delay *= 5
				}
				at := w.now.Add(delay)
				w.start(1, func() {
					for w.now.Before(at) && !w.stopping {
						w.yield()
					}
					w.commit(t, legs)
				})
				if w.chance(.3) {
					return // the caller dies and never asks again
				}
				for range w.rng.IntN(12) {
					w.yield()
				}
				continue
			}
			w.yield()
		}
		if !t.whole || !w.certain(reader, t, start) {
			continue
		}
		if w.chance(.1) {
			continue // the answer is lost
		}
		for k, p := range t.header {
			w.acked[k] |= w.bits[p.ID]
		}
		w.readable()
		return
	}
}

func (w *world) mint(c *client, t *transaction) map[projections.Key]projections.Posting {
	random := func(b []byte) error {
		for i := range b {
			b[i] = byte(w.rng.Uint32())
		}
		return nil
	}
	ids, _, err := events.NewMinter(c.clock, random).Mint(len(t.legs))
	if err != nil {
		w.broken("mint: %w", err)
	}
	legs := make(map[projections.Key]projections.Posting)
	for _, k := range keys {
		if quantity, ok := t.legs[k]; ok {
			legs[k] = projections.Posting{ID: ids[len(legs)], Quantity: events.NewAmount(quantity), Cost: events.NewAmount(1 << t.number)}
		}
	}
	return legs
}

// commit appends a transaction unless it is there; its postings become visible one by one.
func (w *world) commit(t *transaction, legs map[projections.Key]projections.Posting) {
	if t.header != nil {
		return
	}
	t.header = legs
	for _, k := range keys {
		if p, ok := legs[k]; ok {
			w.put(k, p)
			for range w.rng.IntN(3) {
				w.yield()
			}
		}
	}
	t.whole = true
}

// certain makes sure of what is old, as a command does before it answers.
func (w *world) certain(reader *projections.Reader, t *transaction, start time.Time) bool {
	if w.defect == "nosure" {
		return true
	}
	for _, k := range keys {
		p, ok := t.header[k]
		if !ok || max(w.now.Sub(start), w.storeTime().Sub(p.ID.Time())) <= 4*second {
			continue
		}
		hurt := w.hurting()
		err := reader.MakeSure(context.Background(), k.Account, k.Asset, p.ID)
		switch {
		case err == nil:
		case hurt(), errors.Is(err, table.ErrConflict), errors.Is(err, errDead):
			return false
		default:
			w.broken("make sure: %w", err)
			return false
		}
	}
	return true
}

// projector takes any batch in any order, again and again; a record is gone only after it succeeded.
func (w *world) projector() {
	skew := []time.Duration{0, 60 * second, 300 * second, -300 * second}[w.rng.IntN(4)]
	c := &client{Memory: w.store, w: w, fault: []float64{0, .01, .03}[w.rng.IntN(3)], skew: skew}
	if w.faultless {
		c.fault = 0
	}
	p, restarts := w.newProjector(c), []float64{0, .2, 1}[w.rng.IntN(3)]
	for w.yield(); !w.stopping; w.yield() {
		if w.chance(restarts) {
			p = w.newProjector(c)
		}
		if w.chance(.1) { // stalls: a backlog builds up
			for range w.rng.IntN(40) {
				w.yield()
			}
		}
		if len(w.stream) == 0 || w.stopping {
			continue
		}
		first := w.rng.IntN(len(w.stream))
		batch := append([]record(nil), w.stream[first:min(len(w.stream), first+1+w.rng.IntN(8))]...)
		if w.chance(.2) {
			batch = append(batch, batch...)
		}
		if w.chance(.5) {
			w.rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		}
		c.dead = false
		hurt := w.hurting() // what it reads may be wrong
		failed, err := p.Project(context.Background(), w.lambdaBatch(batch))
		if err != nil && !hurt() && !errors.Is(err, errDead) && !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrUnknownOutcome) {
			w.broken("project: %w", err)
		}
		done := batch
		if failed != "" {
			n, _ := strconv.Atoi(failed)
			done = batch[:n]
		}
		if err == nil && w.chance(.8) {
			for _, r := range done {
				if w.chance(.9) {
					w.forget(r)
				}
			}
		}
	}
}

func (w *world) newProjector(c *client) *projections.Projector {
	p := projections.NewProjector(c, c.clock, slog.New(slog.DiscardHandler))
	window := projections.SettleWindow
	if w.defect == "window0" {
		window = 0
	}
	p.Shrink(window, w.stretch, w.segments, w.settled)
	p.OneAtATime()
	p.Pause(w.pause)
	return p
}

// lambdaBatch makes of records what the handler does, with images or without.
func (w *world) lambdaBatch(batch []record) []projections.Record {
	records := make([]projections.Record, len(batch))
	for i, r := range batch {
		key := table.PostingKey(r.key.Account, r.key.Asset, string(r.id))
		records[i] = projections.Record{SequenceNumber: strconv.Itoa(i), PK: key.PK, SK: key.SK}
		if !w.chance(.1) {
			records[i].Figures = &r.figures
		}
	}
	return records
}

// forget takes a record out of the stream, which must be counted by now.
func (w *world) forget(done record) {
	if w.counted(done.key, "head", w.balance(done.key).Head)&w.bits[done.id] == 0 {
		w.broken("a record of %v succeeded, but its posting %s is not counted", done.key, done.id)
	}
	for i, r := range w.stream {
		if r == done {
			w.stream = append(w.stream[:i], w.stream[i+1:]...)
			return
		}
	}
}

// strongRead must find everything acknowledged before it.
func (w *world) strongRead() {
	w.yield()
	reader := w.reader(&client{Memory: w.store, w: w})
	if w.chance(.3) {
		w.strongList(reader)
		return
	}
	k := keys[w.rng.IntN(len(keys))]
	must, hurt := w.acked[k], w.hurting()
	b, err := reader.Balance(context.Background(), k, nil)
	if err != nil || hurt() {
		return // the history ends, or what it read may be wrong
	}
	if missing := must &^ w.counted(k, "strong read", b.Head); missing != 0 {
		w.broken("strong read of %v misses acknowledged transactions %b", k, missing)
	}
}

func (w *world) strongList(reader *projections.Reader) {
	must := make(map[projections.Key]uint64)
	for _, k := range keys {
		if k.Account == "jane" && w.acked[k] != 0 {
			must[k] = w.acked[k]
		}
	}
	hurt := w.hurting()
	listed, err := reader.Balances(context.Background(), "jane", nil, projections.Slice{Limit: 10})
	if err != nil || hurt() {
		return
	}
	for _, b := range listed.Items {
		if missing := must[b.Key] &^ w.counted(b.Key, "strong list", b.Head); missing != 0 {
			w.broken("strong list misses acknowledged transactions %b of %v", missing, b.Key)
		}
		delete(must, b.Key)
	}
	if len(must) > 0 {
		w.broken("strong list misses %v", must)
	}
}

// history runs one to its rest and returns the first rule that it broke.
func history(seed uint64, defect string) (stats, error) { return historyWith(seed, defect, -1) }

// historyWith is history with a rebuild beside it, unless hurt is negative, that mends so many damages.
func historyWith(seed uint64, defect string, hurt int) (stats, error) {
	w := newWorld(seed, defect)
	defer w.stop()
	if hurt >= 0 {
		w.faultless = hurt > 0 // a write that arrives late might meet the version of a damaged item again
		w.start(2, func() { w.rebuilder(hurt) })
	}
	waiting, commands, reads := 3+w.rng.IntN(45), 0, 0
	for range 1 + max(0, w.rng.IntN(4)-1) {
		w.start(1+w.rng.IntN(2), w.projector)
	}
	projectors := len(w.actors)
	if hurt >= 0 {
		projectors--
	}
	for quiet := 0; quiet < 600 || w.committing > 0; w.stats.steps++ {
		if w.stats.steps == 200_000 {
			return w.stats, errors.New("did not come to rest")
		}
		w.now = w.now.Add(seconds(w.rng.Float64() * w.speed))
		if waiting > 0 && w.chance(w.rate) {
			waiting--
			number := commands
			commands++
			w.start(1, func() { w.command(number) })
		}
		if reads < 4 && w.chance(.2) {
			reads++
			w.start(1, func() { w.strongRead(); reads-- })
		}
		w.step()
		if w.err != nil {
			return w.stats, w.err
		}
		// What is under way may still write when all is done.
		if waiting == 0 && len(w.stream) == 0 && len(w.actors) <= projectors+reads {
			quiet++
		} else {
			quiet = 0
		}
	}
	w.exact()
	return w.stats, w.err
}

func (s *stats) add(t stats) {
	s.steps += t.steps
	s.writes += t.writes
	s.unfinished += t.unfinished
	s.lateInSegment += t.lateInSegment
	s.lateInSeal += t.lateInSeal
	s.corrections += t.corrections
	s.crashes += t.crashes
	s.conflicts += t.conflicts
	s.mended += t.mended
	s.given += t.given
}

// defects are rules taken away beneath the code under test; each must be found. (Rules within the code are broken by
// hand: skip the check, leave a correction out of segment, base, seal or head, close without saving.)
var defects = map[string]string{
	"noversion": "versions are not compared",
	"eventual":  "postings are not read strongly",
	"apart":     "segment and balance are read apart",
	"window0":   "the seal follows the newest posting at once",
	"ownclock":  "settled is judged by the projector's own clock",
	"nosure":    "old postings are acknowledged without making sure",
	"nobump":    "making sure raises no version",
}

const (
	historiesRun = 300
	historiesMax = 5000 // to find a defect; the rarest of them takes some hundreds
)

// HISTORIES and FIRST run others than the usual ones: HISTORIES=30000 FIRST=300 go test -run TestHistories -v
func number(t *testing.T, variable string, usual uint64) uint64 {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func TestHistories(t *testing.T) {
	t.Parallel()
	var total stats
	first := number(t, "FIRST", 0)
	for seed := first; seed < first+number(t, "HISTORIES", historiesRun); seed++ {
		s, err := history(seed, "")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total.add(s)
	}
	t.Logf("%+v", total)
	if total.corrections == 0 || total.lateInSegment == 0 || total.lateInSeal == 0 || total.unfinished == 0 || total.crashes == 0 || total.conflicts == 0 {
		t.Errorf("the histories are too tame: %+v", total)
	}
}

func TestHistoriesFindDefects(t *testing.T) {
	for defect, rule := range defects {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(historiesMax) {
				if _, err := history(seed, defect); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("%d histories came out right although %s", historiesMax, rule)
		})
	}
}
