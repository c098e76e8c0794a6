package soak

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports below those that systems give to outgoing connections (Linux: from 32768): what is started again finds its port
// free, however many connections were made meanwhile.
const firstPort, lastPort = 20_000, 32_000

// freePort is a port that nobody listens on, so that what is started again can be found where it was.
func freePort(t *testing.T, random *rand.Rand) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(firstPort + random.IntN(lastPort-firstPort))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
