package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"ledger.example/client"
)

// The README has the requests of the demo. After `up --demo`, they are replayed and do not conflict.
func TestDemoIsInTheREADME(t *testing.T) {
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
