package documents

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
	"syscall"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

var (
	resource = regexp.MustCompile(`\$\(resource (\w+)\)`)
	payload  = regexp.MustCompile(`--payload '([^']*)'`)
)

// The commands in docs/events.md run in order, against a ledger whose journal has an event, and a receiver. Those that
// forward end when the receiver has the event. Those of AWS are checked as far as they name something of ours.
func TestForwarding(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"order-1","from":"bank","to":"jane","asset":"USD","quantity":"2500"}`)
	event, err := table.DecodeEvent(s.Contents()[table.Transaction.Key("order-1")])
	if err != nil {
		t.Fatal(err)
	}
	s.Put(projections.JournalForm.Item(projections.JournalPage{ID: events.FirstKSUID(time.Now().Add(-time.Hour)),
		Entries: []projections.JournalEntry{projections.EntryOf(event)}}))
	received := make(chan []byte, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- body
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	var body []byte
	forwards := 0
	for _, b := range readSnippets(t, filepath.Join(root, "docs/events.md")) {
		switch {
		case b.language == "json":
			if !matches(t, body, []byte(b.text)) {
				t.Errorf("the body is %s", body)
			}
		case strings.Contains(b.text, "aws ") || strings.Contains(b.text, "sam "):
			for _, r := range resource.FindAllStringSubmatch(b.text, -1) {
				if readTemplate(t).section("Resources")[r[1]] == nil {
					t.Errorf("the stack has no %s", r[1])
				}
			}
			for _, p := range payload.FindAllStringSubmatch(b.text, -1) {
				var in app.Forwarding
				if err := json.Unmarshal([]byte(p[1]), &in); err != nil || in.Rewind.IsZero() {
					t.Errorf("%s: %v", p[1], err)
				}
			}
			bash(t, dir, "aws() { :; }; sam() { :; }; resource() { :; }; QUEUE_ARN=x\n"+b.text)
		default:
			forwards++
			body = forward(t, s, dir, strings.ReplaceAll(b.text, "https://shop.example.com", receiver.URL), received)
		}
	}
	if forwards != 3 {
		t.Errorf("%d commands that forward", forwards)
	}
}

// forward runs a command that forwards until a body is received.
func forward(t *testing.T, s *system.System, dir, script string, received <-chan []byte) (body []byte) {
	t.Helper()
	for len(received) > 0 { // of the command before
		<-received
	}
	run := exec.CommandContext(t.Context(), "bash", "-euc", script)
	run.Dir, run.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
	run.Env = append(os.Environ(), "LEDGER_URL="+s.URL, "PATH="+filepath.Dir(process.Binary(t))+":"+os.Getenv("PATH"))
	var log strings.Builder
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	select {
	case body = <-received:
	case err := <-ended:
		t.Fatalf("%s: %v: %s", script, err, log.String())
	case <-time.After(time.Minute):
		t.Errorf("%s: nothing was received", script)
	}
	_ = syscall.Kill(-run.Process.Pid, syscall.SIGTERM)
	<-ended
	return body
}
