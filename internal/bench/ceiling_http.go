package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// echo is the handler of the HTTP ceiling. It parses a request with encoding/json, and sends a recorded answer of the
// ledger to a request of the same route. It is safe for concurrent use.
type echo struct {
	answers *sync.Map // route to answer
}

// route returns the part of a request that all requests of its kind share: the path without the account, and the query.
func route(path, query string) string {
	const account = 3 // the segment of /v1/accounts/NAME/postings
	segments := strings.SplitN(path, "/", account+2)
	return segments[len(segments)-1] + "?" + query
}

func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID, From, To, Buyer, Seller, Asset, Quantity, Cost string
		Settle                                             bool
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) { // reads have no body
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	recorded, _ := e.answers.Load(route(r.URL.Path, r.URL.RawQuery))
	a, ok := recorded.(answer)
	if !ok {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may be gone
}

// httpCeiling measures the HTTP ceiling: the same clients repeat the slice on a server that echoes answers. The
// requests are neither counted nor added to the book.
func (r *Run) httpCeiling(ctx context.Context, s slot, answers *sync.Map) (out measurement, err error) {
	url, stop, err := r.inside.Serve(echo{answers})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	again := &Run{Config: r.Config, fixture: r.fixture, book: newBook(len(r.fixture.names)), pool: r.pool,
		spenders: make([]spending, r.Clients), began: r.began, end: r.end, isEcho: true}
	if again.load, err = newEndpoint(r.pool, url, nil); err != nil {
		return out, err
	}
	var n counts
	if out, err = again.drive(ctx, s, bound{r.Count, r.Period}, &n, nil); err == nil && n.failed() > 0 {
		err = fmt.Errorf("%d requests failed", n.failed())
	}
	return out, err
}
