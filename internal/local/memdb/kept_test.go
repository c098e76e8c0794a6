package memdb_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// keptMost is the most that may be kept of a request that says little, in bytes, and paddingBytes what else it has.
const keptMost, paddingBytes = 20 << 10, 200 << 10

// kept returns how many bytes of each of n requests are held afterwards.
func kept(n int, request func(i int)) int64 {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what pools held on to goes with the second
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

// The store holds what was posted, and not the requests that it was part of.
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
			t.Errorf("%s: %d bytes of each request are kept", c.path, n)
		}
	}
	runtime.KeepAlive(h)
}
