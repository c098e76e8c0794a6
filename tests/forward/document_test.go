package forward

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	template "ledger.example"
	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/caller"
	"ledger.example/tests/process"
	"ledger.example/tests/system"
)

var (
	block    = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```")
	resource = regexp.MustCompile(`\$\(resource (\w+)\)`)
	payload  = regexp.MustCompile(`--payload '([^']*)'`)
)

// The commands in docs/events.md run in order, against a ledger whose journal has an event, and a receiver. Those that
// forward end when the receiver has the event. Those of AWS are checked as far as they name something of ours.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	s := system.New(t)
	event := posted("order-1", time.Now().Add(-time.Hour))
	event.Legs[0].Account, event.Legs[1].Account = "bank", "jane"
	event.Legs[0].Quantity, event.Legs[1].Quantity = events.NewAmount(-2500), events.NewAmount(2500)
	s.Put(store.EventItem(event))
	s.Put(projections.JournalForm.Item(projections.JournalPage{ID: events.FirstKSUID(time.Now().Add(-time.Hour)),
		Entries: []projections.JournalEntry{projections.EntryOf(event)}}))

	var mu sync.Mutex
	var bodies []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
	}))
	t.Cleanup(receiver.Close)
	got := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(bodies)
	}
	dir := t.TempDir()
	forwards := 0
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		switch language, script := b[1], b[2]; {
		case language == "json":
			if !matches(t, bodies[len(bodies)-1], script) {
				t.Errorf("the body is %s", bodies[len(bodies)-1])
			}
		case strings.Contains(script, "aws ") || strings.Contains(script, "sam "):
			for _, r := range resource.FindAllStringSubmatch(script, -1) {
				if !strings.Contains(string(template.YAML), "\n  "+r[1]+":\n") {
					t.Errorf("the stack has no %s", r[1])
				}
			}
			for _, p := range payload.FindAllStringSubmatch(script, -1) {
				var in app.Forwarding
				if err := json.Unmarshal([]byte(p[1]), &in); err != nil || in.Rewind.IsZero() {
					t.Errorf("%s: %v", p[1], err)
				}
			}
			run := exec.CommandContext(t.Context(), "bash", "-euc", "aws() { :; }; sam() { :; }; resource() { :; }; QUEUE_ARN=x\n"+script)
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", script, err, out)
			}
		default:
			forwards++
			run := exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(script, "https://shop.example.com", receiver.URL))
			run.Dir, run.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
			run.Env = append(os.Environ(), "LEDGER_URL="+s.URL, "PATH="+filepath.Dir(process.Binary(t))+":"+os.Getenv("PATH"))
			var log strings.Builder
			run.Stderr = &log
			before := got()
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- run.Wait() }()
			caller.Eventually(t, time.Minute, "the event is delivered: "+script, func() bool { return got() > before || len(ended) > 0 })
			_ = syscall.Kill(-run.Process.Pid, syscall.SIGTERM)
			<-ended
			if got() == before {
				t.Errorf("%s: %s", script, log.String())
			}
		}
	}
	if forwards != 3 {
		t.Errorf("%d commands that forward", forwards)
	}
}

// matches compares JSON. The text "…" in want stands for any text.
func matches(t *testing.T, got, want string) bool {
	t.Helper()
	canonical := func(text string) string {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		out, _ := json.Marshal(v)
		return string(out)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(canonical(want)), `"…"`, `"(?:[^"\\]|\\.)*"`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(canonical(got))
}
