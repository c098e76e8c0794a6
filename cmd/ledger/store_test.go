package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"ledger.example/ledger/wire"
)

// The pump looks at its table all the time, and must not leave a connection behind each time. (Now and then the SDK gives one
// up by itself: when an answer comes before the sender has noticed that its request is through.)
func TestLookingAtATableKeepsItsConnection(t *testing.T) {
	var connections atomic.Int64
	const described = `{"Table":{"TableName":"books"}}`
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(described))))
		fmt.Fprint(w, described)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s, err := openStore(t.Context(), server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	const looks = 40
	for range looks {
		var schema *wire.SchemaError
		if _, err := s.stream(t.Context(), "books"); !errors.As(err, &schema) {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n > looks/2 {
		t.Errorf("%d connections for %d looks", n, looks)
	}
}
