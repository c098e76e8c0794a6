package bench

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"testing"
)

// BenchmarkSend is what one request takes of the load's client, and of a server that answers nothing.
func BenchmarkSend(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })}
	go server.Serve(listener)
	b.Cleanup(func() { server.Close() })
	c, err := newCaller(newPool(1), "http://"+listener.Addr().String(), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := request{method: "POST", path: "/v1/transfers", body: []byte(`{"id":"t-1","from":"a","to":"b","asset":"c","quantity":"1"}`), id: "t-1"}
	var buffer bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		if a, err := c.send(context.Background(), &r, &buffer); err != nil || a.status != http.StatusCreated {
			b.Fatal(a.status, err)
		}
	}
}
