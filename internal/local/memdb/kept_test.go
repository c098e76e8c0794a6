package memdb_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// keptMost is the maximum memory in bytes that a small request with paddingBytes of spaces may retain.
const keptMost, paddingBytes = 4 << 10, 200 << 10

// kept returns how many bytes each of n requests retains.
func kept(n int, request func(i int)) int64 {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // the second run empties pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range n {
		request(i)
	}
	return (heap() - before) / int64(n)
}

// Stored items do not retain the bodies of requests.
func TestRequestsAreNotRetained(t *testing.T) {
	h := newAPI(t)
	spaces := strings.Repeat(" ", paddingBytes)
	for _, c := range []struct{ path, body string }{
		{"/v1/transfers", `{"id":"transfer-%d","from":"bank","to":"jane","asset":"USD","quantity":"5"%s}`},
		{"/v1/transactions", `{"id":"transaction-%d","description":"rent","metadata":{"month":"May"},"postings":[
			{"account":"bank","asset":"USD","quantity":"-5"},{"account":"joe","asset":"USD","quantity":"5"}]%s}`},
	} {
		n := kept(50, func(i int) { send(t, h, "POST", c.path, fmt.Sprintf(c.body, i, spaces)) })
		if n > keptMost {
			t.Errorf("%s: each request retains %d bytes", c.path, n)
		}
	}
	runtime.KeepAlive(h)
}
