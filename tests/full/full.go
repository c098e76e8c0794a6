// Package full is the only switch that leaves tests out. go test ./... runs the short part, in about two minutes.
// LEDGER_TESTS=full go test ./... runs everything, as CI does. A heavy test calls Only. A test of adjustable length
// asks Count for its length. No other package may skip a test.
package full

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	_ "pgregory.net/rapid" // registers its flags before init
)

const variable = "LEDGER_TESTS"

// Enabled reports whether everything runs. A value that nobody knows is refused, so that a misspelt one leaves nothing
// out.
func Enabled() bool {
	switch value := os.Getenv(variable); value {
	case "":
		return false
	case "full":
		return true
	default:
		panic(fmt.Sprintf("%s=%q: set it to full, or leave it unset", variable, value))
	}
}

// Only skips t unless everything runs, and prints what was left out and why. why is a short reason such as "kills
// processes for a minute". go test discards what a passing package prints, so the line also goes to the terminal, if
// there is one.
func Only(t testing.TB, why string) {
	t.Helper()
	if Enabled() {
		return
	}
	tell(fmt.Sprintf("%s: left out %s: %s (%s=full runs it)\n", filepath.Base(os.Args[0]), t.Name(), why, variable))
	t.Skipf("left out: %s (%s=full runs it)", why, variable)
}

// missing has what Without was called for.
var missing sync.Map

// Without skips t, whatever is asked for, because what it needs is not on this machine and cannot be fetched. It says
// so as Only does, once for all tests that need it.
func Without(t testing.TB, what string) {
	t.Helper()
	if _, told := missing.LoadOrStore(what, true); !told {
		tell(fmt.Sprintf("%s: left out %s, and others that need it: %s\n", filepath.Base(os.Args[0]), t.Name(), what))
	}
	t.Skipf("left out: %s", what)
}

// tell writes line to the terminal from which the tests were started. Without one (CI, an editor) the skip itself must
// do.
func tell(line string) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	io.WriteString(terminal, line)
	terminal.Close()
}

// Count returns few, or many if everything runs. It scales rounds, callers, histories, and time.Durations.
func Count[N ~int | ~int64](few, many N) N {
	if Enabled() {
		return many
	}
	return few
}

// usualSeed makes every run of a property test draw the same inputs, so that no change is blamed for what is older.
// -rapid.seed=N draws others, and -rapid.seed=0 new ones in each run.
const usualSeed = "20260801"

func init() { flag.Set("rapid.seed", usualSeed) } // in a program without rapid there is no such flag

// Checks lets rapid.Check try few inputs in this test binary, unless everything runs or -rapid.checks says how many.
func Checks(few int) {
	const name = "rapid.checks"
	if f := flag.Lookup(name); !Enabled() && f != nil && f.Value.String() == f.DefValue {
		flag.Set(name, strconv.Itoa(few))
	}
}
