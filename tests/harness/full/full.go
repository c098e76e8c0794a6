// Package full is the only switch that skips tests. go test ./... is the short run, of about two minutes.
// LEDGER_TESTS=full go test ./... is the full run, as in CI. A heavy test calls Only. A test with an adjustable length
// gets it from Count. No other package may skip a test.
package full

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	_ "pgregory.net/rapid" // registers its flags before init
)

// Variable of the environment: full, or not set.
const Variable = "LEDGER_TESTS"

// Enabled reports whether this is the full run. It panics if LEDGER_TESTS has any other value, so that a misspelt value
// does not silently skip tests.
func Enabled() bool {
	switch value := os.Getenv(Variable); value {
	case "":
		return false
	case "full":
		return true
	default:
		panic(fmt.Sprintf("%s=%q: set it to full, or leave it unset", Variable, value))
	}
}

// Only skips t in the short run, and prints that and why. why is a short reason such as "kills processes for a minute".
// go test discards the output of passing packages, so Only also prints to the terminal, if there is one.
func Only(t testing.TB, why string) {
	t.Helper()
	if Enabled() {
		return
	}
	printToTerminal("%s: left out %s: %s (%s=full runs it)\n", filepath.Base(os.Args[0]), t.Name(), why, Variable)
	t.Skipf("left out: %s (%s=full runs it)", why, Variable)
}

// missing has the arguments of all calls of Without.
var missing sync.Map

// Without skips t, also in the full run, because it needs something that is not on this machine and cannot be fetched.
// It prints that as Only does, but once for all tests with the same what.
func Without(t testing.TB, what string) {
	t.Helper()
	if _, printed := missing.LoadOrStore(what, true); !printed {
		printToTerminal("%s: left out %s, and others that need it: %s\n", filepath.Base(os.Args[0]), t.Name(),
			what)
	}
	t.Skipf("left out: %s", what)
}

// printToTerminal writes a line to the terminal from which the tests were started. Without one, as in CI, it does
// nothing.
func printToTerminal(format string, a ...any) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	fmt.Fprintf(terminal, format, a...)
	terminal.Close()
}

// Count returns few in the short run, and many in the full run. It is for numbers of rounds, callers and histories, and
// for durations.
func Count[N ~int | ~int64](few, many N) N {
	if Enabled() {
		return many
	}
	return few
}

// defaultSeed makes property tests draw the same inputs in every run, so that a change does not fail for an older bug.
// -rapid.seed=N draws others, and -rapid.seed=0 new ones in each run.
const defaultSeed = "20260801"

func init() {
	flag.Set("rapid.seed", defaultSeed)
	debug.SetGCPercent(400) // trades memory for time: most tests keep little memory alive
}

// Checks sets the number of inputs that rapid.Check tries in the short run, unless the flag -rapid.checks is given.
func Checks(few int) {
	const name = "rapid.checks"
	if f := flag.Lookup(name); !Enabled() && f.Value.String() == f.DefValue {
		flag.Set(name, strconv.Itoa(few))
	}
}
