package forward

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
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
