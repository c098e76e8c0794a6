package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// garbagePercent trades memory for time: a history lives for a moment, and hardly any of it at once.
const garbagePercent = 400

func TestMain(m *testing.M) {
	debug.SetGCPercent(garbagePercent)
	os.Exit(m.Run())
}
