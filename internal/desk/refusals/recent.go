package refusals

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// kept is how many refusals Recent keeps: some megabytes.
const kept = 10_000

// Recent is a handler of a log that keeps the newest refusals in memory, whatever is printed. It passes each line on to
// another handler. It is safe for concurrent use.
type Recent struct {
	slog.Handler
	lines *lines
}

// lines has the newest refusals, as a ring.
type lines struct {
	mu    sync.Mutex
	all   []Refusal
	first int  // the oldest
	isOut bool // an older one was dropped
}

// NewRecent returns a handler that passes each line on to another one.
func NewRecent(to slog.Handler) *Recent { return &Recent{to, &lines{}} }

// Enabled implements slog.Handler: refusals are lines of the level Info.
func (r *Recent) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || r.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (r *Recent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Recent{r.Handler.WithAttrs(attrs), r.lines}
}

// WithGroup implements slog.Handler.
func (r *Recent) WithGroup(name string) slog.Handler {
	return &Recent{r.Handler.WithGroup(name), r.lines}
}

// Handle implements slog.Handler.
func (r *Recent) Handle(ctx context.Context, line slog.Record) error {
	refusal, isRefusal := Refusal{At: line.Time.UTC().Truncate(time.Microsecond)}, false
	line.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "Refusals": // the metric, which only refused writes have
			isRefusal = true
		case "transaction":
			refusal.Transaction = a.Value.String()
		case "code":
			refusal.Code = a.Value.String()
		case "status":
			refusal.Status = int(a.Value.Int64())
		case "method":
			refusal.Method = a.Value.String()
		case "route":
			refusal.Route = a.Value.String()
		case "actor":
			refusal.Actor = a.Value.String()
		case "request_id":
			refusal.RequestID = a.Value.String()
		}
		return true
	})
	if isRefusal {
		r.lines.add(refusal)
	}
	if !r.Handler.Enabled(ctx, line.Level) {
		return nil
	}
	return r.Handler.Handle(ctx, line)
}

func (l *lines) add(r Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) < kept {
		l.all = append(l.all, r)
		return
	}
	l.all[l.first] = r
	l.first, l.isOut = (l.first+1)%kept, true
}

// Refusals implements Log. A page has more if it is full, or if older refusals were dropped.
func (r *Recent) Refusals(_ context.Context, q Query) (Page, error) {
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	l := r.lines
	page := Page{Data: []Refusal{}, More: l.isOut && !l.all[l.first].At.Before(q.Since)}
	for i := len(l.all) - 1; i >= 0; i-- {
		one := l.all[(l.first+i)%len(l.all)]
		if !q.Has(one) {
			continue
		}
		if len(page.Data) == Most {
			page.More = true
			break
		}
		page.Data = append(page.Data, one)
	}
	return page, nil
}
