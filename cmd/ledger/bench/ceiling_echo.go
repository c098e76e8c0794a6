package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// echo is the second ceiling: an HTTP handler that takes a request of ours apart with encoding/json, does nothing, and
// answers what we answered to such a one, to the byte. It is safe for concurrent use.
type echo struct {
	answers map[string]exchange // by what is asked for
}

// newEcho answers like those. There must be one of each path that is posted to, and of each that is read.
func newEcho(exchanges []exchange) *echo {
	e := &echo{answers: make(map[string]exchange)}
	for _, x := range exchanges {
		if k := asked(x.request.method, x.request.path, x.request.query); e.answers[k].answer.body == nil {
			e.answers[k] = x
		}
	}
	return e
}

func asked(method, path, query string) string { return method + " " + path + "?" + query }

// body is that of any request that posts.
type body struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	From        string            `json:"from"`
	To          string            `json:"to"`
	Buyer       string            `json:"buyer"`
	Seller      string            `json:"seller"`
	Asset       string            `json:"asset"`
	Quantity    string            `json:"quantity"`
	Cost        string            `json:"cost"`
	Settle      bool              `json:"settle"`
	Postings    []struct {
		Account  string `json:"account"`
		Asset    string `json:"asset"`
		Quantity string `json:"quantity"`
		Cost     string `json:"cost"`
	} `json:"postings"`
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, new(body))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	x, ok := e.answers[asked(r.Method, r.URL.Path, r.URL.RawQuery)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), x.answer.header)
	w.WriteHeader(x.answer.status)
	_, _ = w.Write(x.answer.body) // a caller who is gone needs no answer
}

// echoed sends requests of ours once more, in the same order and again from the first until the slice ends, by as many
// clients at once, to where they are echoed.
func (r *run) echoed(ctx context.Context, kept []exchange) (out beside, err error) {
	url, stop, err := r.inside.Serve(newEcho(kept))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	to, err := newCaller(r.pool, url, nil)
	if err != nil {
		return out, err
	}
	buffers := make([]bytes.Buffer, r.Clients)
	sending, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	return alone(ctx, r.Clients, r.bound(), func(worker, n int) error {
		x := &kept[n%len(kept)]
		got, err := to.send(sending, &x.request, &buffers[worker])
		if err != nil && sending.Err() == nil { // a connection may be closed under a request: net/http doesn't repeat a post
			got, err = to.send(sending, &x.request, &buffers[worker])
		}
		if err == nil && got.status != x.answer.status {
			err = fmt.Errorf("%d and not %d was answered", got.status, x.answer.status)
		}
		return err
	})
}
