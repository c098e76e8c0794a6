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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	template "ledger.example"
	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/caller"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
	"ledger.example/tests/system"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// `ledger forward` is killed between the delivery and the cursor, and the receiver is stopped and started again. A
// ledger of `up` gets transfers meanwhile. The receiver gets each event, and always with the same id.
func TestKills(t *testing.T) {
	full.Only(t, "waits for the journal, which is 15 seconds behind")
	t.Parallel()
	up := process.Start(t, "up", "--memory", "--port", "0")
	ledger := caller.New(t, up.URL)
	ledger.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	ledger.Must(201, "PUT", "/v1/accounts/bank", `{"name":"Bank","overdraft":"unlimited"}`)
	ledger.Must(201, "PUT", "/v1/accounts/jane", `{"name":"Jane"}`)

	var mu sync.Mutex
	ids := make(map[string][]string) // webhook-ids of deliveries by event
	hold := make(chan struct{})      // the receiver took an event, and answers later
	taken := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var e client.JournalEntry
		if err := json.Unmarshal(text, &e); err != nil {
			t.Error(err)
		}
		mu.Lock()
		ids[e.ID] = append(ids[e.ID], r.Header.Get("webhook-id"))
		mu.Unlock()
		taken <- e.ID
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	secret, cursor := filepath.Join(dir, "secret"), filepath.Join(dir, "cursor")
	if err := os.WriteFile(secret, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *process.Process {
		t.Helper()
		return process.Start(t, "forward", "--url", up.URL, "--to", receiver.URL,
			"--secret-file", secret, "--cursor", cursor)
	}
	first := start()
	<-taken // the first event is delivered, and the cursor is not stored
	first.Kill(t)
	close(hold)
	second := start()
	const transfers = 20
	for i := range transfers {
		id := "t-" + string(rune('a'+i))
		ledger.Must(201, "POST", "/v1/transfers", `{"id":"`+id+`","from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
	}
	caller.Eventually(t, time.Minute, "each event is delivered", func() bool {
		for len(taken) > 0 {
			<-taken
		}
		mu.Lock()
		defer mu.Unlock()
		return len(ids) == transfers+3
	})
	if status := second.Stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("ended with %d: %s", status, second.Stderr())
	}
	mu.Lock()
	defer mu.Unlock()
	repeated := 0
	for event, all := range ids {
		if len(slices.Compact(all)) != 1 {
			t.Errorf("%s was delivered as %q", event, all)
		}
		repeated += len(all) - 1
	}
	if repeated == 0 {
		t.Error("the event before the kill was not delivered again")
	}
}

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
