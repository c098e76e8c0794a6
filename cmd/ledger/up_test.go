package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledger.example/cmd/ledger/client"
)

// The end of up takes no new requests and finishes those under way.
func TestRequestsUnderWayAreFinished(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(began)
			<-finish
		}
		io.WriteString(w, "whole")
	}), slog.New(slog.DiscardHandler))
	l, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	go server.Serve(l)

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
	ended := make(chan error)
	go func() { ended <- shutDown(server) }()
	// The listener is closed at once; until then a new request would be taken.
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

func TestUpListensOnTheLoopbackInterface(t *testing.T) {
	l, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if address := l.Addr().String(); !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("it listens on %s", address)
	}
}

// Whoever types the README's requests after `up --demo` gets replays, not conflicts.
func TestTheDemoIsTheREADMEs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(`(?s)curl -X (PUT|POST) localhost:8080(/v1/\S+)[^']*'Content-Type: application/json'[^']*-d '([^']*)'`).FindAllSubmatch(text, -1)
	shown := make(map[string]bool)
	for _, r := range requests {
		shown[string(r[1])+" "+string(r[2])+" "+compact(t, r[3])] = true
	}
	routes := map[client.Kind]string{client.KindTransfer: "POST /v1/transfers", client.KindTrade: "POST /v1/trades"}
	for _, cmd := range demo() {
		route := routes[cmd.Kind]
		if route == "" {
			route = "PUT /v1/" + string(cmd.Kind) + "s/" + cmd.ID
		}
		if !shown[route+" "+compact(t, cmd.Body)] {
			t.Errorf("the README has no %s with %s", route, cmd.Body)
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}
