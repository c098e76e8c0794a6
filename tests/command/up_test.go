// Package command tests the command ledger in separate processes. Servers are stopped or killed. Operators' commands
// find errors and repair them. The packages that implement the commands test single cases.
// Only it finds what a second process, a signal or a killed store does.
package command

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledger.example/tests/harness/books"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

const reason = "starts and kills processes of the command, on DynamoDB Local"

// wantEnd sends a signal, and fails the test unless the process exits with status 0.
func wantEnd(t *testing.T, p *process.Process, signal syscall.Signal) {
	t.Helper()
	if status := p.Stop(t, signal); status != 0 {
		t.Errorf("%v: exit status %d: %s", signal, status, p.Stderr())
	}
}

// wantDemo waits until the demo is projected.
func wantDemo(t *testing.T, s *caller.Caller) {
	t.Helper()
	caller.Eventually(t, time.Minute, "the demo is projected", func() bool {
		return s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("quantity") == "350000"
	})
}

// up serves the demo, stops cleanly together with DynamoDB Local, and has its data again after a restart.
func TestUpKeepsItsDataAndStopsCleanly(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	arguments := []string{"up", "--port", "0", "--data", t.TempDir()}
	for _, run := range []struct {
		signal    syscall.Signal
		arguments []string
	}{{syscall.SIGINT, append(arguments, "--demo")}, {syscall.SIGTERM, arguments}} {
		up := process.Start(t, run.arguments...)
		s := caller.New(t, up.URL)
		if got := s.Must(200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong",
			"").Value("quantity"); got != "350000" {
			t.Errorf("the demo's balance is %v", got)
		}
		wantDemo(t, s)
		endpoint := up.Store()
		if _, err := http.Get(endpoint); err != nil {
			t.Fatal("DynamoDB Local is not where it is said to be:", err)
		}
		wantEnd(t, up, run.signal)
		if _, err := http.Get(endpoint); err == nil {
			t.Errorf("%v: DynamoDB Local still runs", run.signal)
		}
	}
}

// With --memory, up needs no other program. It says that the data is lost on exit.
func TestUpInMemoryNeedsNoPrograms(t *testing.T) {
	full.Only(t, reason)
	process.Binary(t) // built before PATH is empty
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	up := process.Start(t, "up", "--memory", "--port", "0", "--demo")
	if !strings.Contains(up.Stderr(), "data is lost") {
		t.Errorf("it does not say that the data is lost: %s", up.Stderr())
	}
	s := caller.New(t, up.URL)
	wantDemo(t, s)
	if !strings.Contains(up.Stderr(), "act as the user u-advisor") {
		t.Errorf("it does not name the user to act as: %s", up.Stderr())
	}
	caller.Eventually(t, time.Minute, "the advisor reaches the customers of the branch", func() bool {
		accounts := s.Must(200, "GET", "/v1/users/u-advisor/accounts", "").Body
		return strings.Count(string(accounts), `"through":"springfield"`) == 3
	})
	wantEnd(t, up, syscall.SIGTERM)
}

// The commands that up suggests post a transaction, with and without the demo. They can be repeated.
func TestSuggestedCommandsPost(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	for _, arguments := range [][]string{{}, {"--demo"}} {
		up := process.Start(t, append([]string{"up", "--memory", "--port", "0"}, arguments...)...)
		suggested := ""
		s := caller.New(t, up.URL)
		caller.Eventually(t, time.Minute, "the suggestions are printed", func() bool {
			_, suggested, _ = strings.Cut(up.Stderr(), "Try:\n")
			return strings.Contains(suggested, "balances")
		})
		if !strings.HasPrefix(suggested, "  export LEDGER_URL="+up.URL+"\n") {
			t.Errorf("the suggestions do not set LEDGER_URL: %s", suggested)
		}
		if status := s.Send("GET", "/v1/transactions/try-1", "").Status; status != 404 {
			t.Fatalf("before: %d", status)
		}
		for range 2 {
			command := exec.Command("bash", "-euc",
				strings.ReplaceAll(suggested, "curl ", "curl --silent --show-error --fail-with-body --noproxy '*' "))
			if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), `"quantity":"`) {
				t.Fatalf("%v: %s", err, out)
			}
			s.Must(200, "GET", "/v1/transactions/try-1", "")
		}
	}
}

// An import that was killed in its middle can be repeated. It posts the rest, and nothing twice.
func TestImportAfterAKilledImport(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	up := process.Start(t, "up", "--memory", "--port", "0")
	b := books.New(20, 2000, 8)
	file := b.File(t)
	s := caller.New(t, up.URL)
	importer := exec.Command(process.Binary(t), "import", file, "--url", up.URL)
	if err := importer.Start(); err != nil {
		t.Fatal(err)
	}
	caller.Eventually(t, time.Minute, "the import is in its middle",
		func() bool { return s.Send("GET", "/v1/transactions/b-60", "").Status == 200 })
	if err := importer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	importer.Wait()
	for i := range 2 {
		out, problems, status := process.Run(t, up.URL, "import", file, "--json")
		var sum struct{ New, Replayed, Failed int }
		if err := json.Unmarshal([]byte(out), &sum); err != nil || status != 0 || sum.Failed != 0 ||
			sum.New+sum.Replayed != len(b.Lines) {
			t.Fatalf("status %d, output %s: %s", status, out, problems)
		}
		if first := i == 0; first != (sum.New > 0) {
			t.Errorf("import %d after the killed one: %d lines were new", i+1, sum.New)
		}
		if wrong := b.Differences(s, "strong"); wrong != nil {
			t.Errorf("strong: %s", wrong)
		}
	}
	caller.Eventually(t, time.Minute, "all is projected", func() bool { return b.Differences(s, "eventual") == nil })
}
