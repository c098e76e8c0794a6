package stack

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
)

// When its context ends, Serve accepts no new requests and completes in-flight ones.
func TestServeFinishesInFlightRequests(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(began)
			<-finish
		}
		io.WriteString(w, "whole")
	})
	l, err := Listen("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, "it", l, handler, slog.New(slog.DiscardHandler)) }()

	answer := make(chan string)
	go func() {
		resp, err := http.Get(url)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- string(text)
	}()
	<-began
	end()
	// Wait until the listener is closed.
	for {
		resp, err := http.Head(url)
		if err != nil {
			break
		}
		resp.Body.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended before the request did: %v", err)
	default:
	}
	close(finish)
	if got := <-answer; got != "whole" {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
