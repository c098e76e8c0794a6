package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"ledger.example/cmd/ledger/client"
	"ledger.example/cmd/ledger/importer"
)

const (
	// linesAhead is how many lines the importer is given ahead of those that are done, for each client: enough that it finds
	// some that don't wait for others, and soon done when a slice is over.
	linesAhead = 16
	// importPatience is how long one line is asked again for, importSilence how long all may be silent.
	importPatience = 30 * time.Second
	importSilence  = time.Minute
)

// lines is a slice of import: the file, which is made while it is read, and the ledger that it goes to.
type lines struct {
	run    *run
	api    *client.Client
	slot   slot
	counts *counts
	seen   *watch

	// Of the file; the importer reads it by one goroutine.
	ctx   context.Context // ends the file
	bound bound
	began time.Time
	next  int
	draft draft
	text  []byte
	ahead chan struct{} // holds one for each line that is read and not done

	fatal   chan struct{} // closed when no line would fare better
	failing sync.Once

	mu     sync.Mutex
	taken  []uint32
	drafts sync.Pool // of *draft
}

// importLines has the importer send generated lines, as `ledger import` does.
func (r *run) importLines(ctx context.Context, s slot, n *counts, seen *watch) (timing, error) {
	api, err := client.New(client.Config{URL: r.load.base.String(), Patience: importPatience, Connections: r.Clients, Sign: r.Sign})
	if err != nil {
		return timing{}, err
	}
	l := &lines{
		run: r, api: api, slot: s, counts: n, seen: seen, ctx: ctx, bound: r.bound(), began: time.Now(),
		ahead: make(chan struct{}, linesAhead*r.Clients), fatal: make(chan struct{}),
		drafts: sync.Pool{New: func() any { return new(draft) }},
	}
	i := importer.New(importer.Config{Ledger: l, Clients: r.Clients, Silence: importSilence, OnFailure: func(importer.Failure) {}})
	// At the end of ctx the file ends, and what was read is still sent.
	under, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	defer r.guard(ctx)()
	if err = i.Run(under, l); under.Err() != nil {
		err = nil // the run's end is told by whoever ended it
	}
	return timing{elapsed: time.Since(l.began), latencies: l.taken}, err
}

// Read returns one line, when not too many are under way.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.text) == 0 {
		if l.ctx.Err() != nil || l.bound.count > 0 && l.next >= l.bound.count || l.bound.period > 0 && time.Since(l.began) >= l.bound.period {
			return 0, io.EOF
		}
		select {
		case l.ahead <- struct{}{}:
		case <-l.fatal:
			return 0, io.EOF
		case <-l.ctx.Done():
			return 0, io.EOF
		}
		l.run.write(l.slot, l.next, &l.draft)
		l.next++
		l.text = append(append(append(l.text[:0], `{"`...), kindOf(l.draft.path)...), `":`...)
		l.text = append(append(l.text, l.draft.body...), '}', '\n')
	}
	n := copy(p, l.text)
	l.text = l.text[n:]
	return n, nil
}

// kindOf names what a path of the API takes: "transfer" of /v1/transfers.
func kindOf(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path, "/v1/"), "s")
}

// Send sends a line, and keeps the books.
func (l *lines) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	defer func() { <-l.ahead }()
	began := time.Now()
	w, err := l.api.Send(ctx, cmd)
	took := microseconds(time.Since(began))
	l.mu.Lock()
	l.taken = append(l.taken, took)
	l.mu.Unlock()

	d := l.drafts.Get().(*draft)
	defer l.drafts.Put(d)
	l.run.write(l.slot, number(cmd.ID), d)
	out := l.became(ctx, w, err)
	switch {
	case out.code == "":
		l.run.succeeded()
		l.counts.count(func(n *counts) {
			n.done++
			if !w.New {
				n.replays++
			}
		})
	case ctx.Err() == nil: // else it was cut off by us
		l.counts.failed(out.code, isFault(err))
	}
	l.run.answered(l.slot, d, out, l.seen)
	return w, err
}

// isFault tells an error from 503 and 429 at the end of the client's patience.
func isFault(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return !ok || refused.Status != http.StatusServiceUnavailable && refused.Status != http.StatusTooManyRequests
}

// became says what became of a line, as ask does of a request. The end of ctx cuts it off.
func (l *lines) became(ctx context.Context, w client.Written, err error) result {
	var refused *client.Error
	var unknown *client.UnknownError
	switch {
	case err == nil:
		status := http.StatusOK
		if w.New {
			status = http.StatusCreated
		}
		return result{answer: answer{status: status, body: w.Raw}} // its headers are the client's affair
	case errors.As(err, &unknown), ctx.Err() != nil:
		return result{code: codeNoAnswer, unknown: true}
	case errors.As(err, &refused):
		return result{code: refused.Code}
	}
	l.failing.Do(func() { close(l.fatal) })
	return result{code: codeNoConnection}
}

// Account answers what the importer asks of accounts that its file did not open.
func (l *lines) Account(ctx context.Context, id string) (client.Reply[client.Account], error) {
	return l.api.Account(ctx, id)
}
