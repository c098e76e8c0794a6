package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledger.example/client"
)

const (
	// scanMost is how many transactions or holds a page looks through at once, and in any case. If it has found nothing
	// then, it goes on at the pace of scanEvery until it finds something.
	scanMost = 500
	// scanEvery is the time between two requests of all searches that go on: 25 pages of a list a second.
	scanEvery = 40 * time.Millisecond
)

// pages reads the page of a list at a cursor.
type pages[T any] func(ctx context.Context, cursor string, limit int) (client.List[T], error)

// pagesOf returns the pages of a list of the API.
func pagesOf[T any](from client.Listing[T]) pages[T] {
	return func(ctx context.Context, cursor string, limit int) (client.List[T], error) {
		reply, err := from.Page(ctx, cursor, limit)
		return reply.Value, err
	}
}

// pagesIn returns the pages of items in memory. Cursors are numbers of items.
func pagesIn[T any](all []T) pages[T] {
	return func(_ context.Context, cursor string, limit int) (list client.List[T], err error) {
		first, err := strconv.Atoi(cmp.Or(cursor, "0"))
		if err != nil || first < 0 || first > len(all) {
			return list, problem{http.StatusBadRequest, sentences["invalid_cursor"]}
		}
		last := min(first+limit, len(all))
		if list.Data = all[first:last]; last < len(all) {
			list.NextCursor = new(strconv.Itoa(last))
		}
		return list, nil
	}
}

// pagesAfter returns the pages of a list whose first page, however long, is in memory.
func pagesAfter[T any](first client.List[T], rest pages[T]) pages[T] {
	return func(ctx context.Context, cursor string, limit int) (client.List[T], error) {
		if cursor == "" {
			return first, nil
		}
		return rest(ctx, cursor, limit)
	}
}

// pace bounds the cost per second of everything that goes on by itself. It is safe for concurrent use.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits for its turn. Error: that of ctx.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	at := time.Now()
	if at.Before(p.next) {
		at = p.next
	}
	p.next = at.Add(scanEvery)
	p.mu.Unlock()
	select {
	case <-time.After(time.Until(at)):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A scan looks through a list from a cursor on for the items that pass.
type scan[T any] struct {
	of     pages[T]
	cursor string
	limit  int // of the items to find
	pass   func(T) bool
	pace   *pace // nil for a list in memory, of which it looks through all
	// step is called before the scan goes on at the pace, when it has found nothing yet.
	step func(found[T]) error
}

// found is what a scan found. Next is the cursor to go on at, nil at the end of the list.
type found[T any] struct {
	client.List[T]
	Last   *T // the last item that it has looked at, nil for none
	Looked int
}

// run looks until the scan has found limit items, has found something among scanMost items or later, or is at the end.
func (s scan[T]) run(ctx context.Context) (all found[T], err error) {
	cursor, skip := place(s.cursor)
	for {
		page, err := s.of(ctx, cursor, client.PageLimit)
		if err != nil {
			return all, err
		}
		for i, item := range page.Data {
			if i < skip {
				continue
			}
			if len(all.Data) == s.limit {
				all.NextCursor = new(strconv.Itoa(i) + placeSign + cursor)
				return all, nil
			}
			all.Last = &page.Data[i]
			if all.Looked++; s.pass(item) {
				all.Data = append(all.Data, item)
			}
		}
		all.NextCursor, skip = page.NextCursor, 0
		isFast := s.pace == nil || all.Looked < scanMost
		if page.NextCursor == nil || len(all.Data) == s.limit || !isFast && len(all.Data) > 0 {
			return all, nil
		}
		if cursor = *page.NextCursor; isFast {
			continue
		}
		if err := s.step(all); err != nil {
			return all, err
		}
		if err := s.pace.wait(ctx); err != nil {
			return all, err
		}
	}
}

// placeSign separates the number of items to skip from the cursor of a page: a cursor of the API is of a page.
const placeSign = "~"

// place returns the cursor of a page, and the number of its items that were looked at before.
func place(text string) (cursor string, skip int) {
	before, cursor, ok := strings.Cut(text, placeSign)
	if !ok {
		return text, 0
	}
	skip, _ = strconv.Atoi(before)
	return cursor, skip
}
