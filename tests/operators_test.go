package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/tests/process"
)

// gate stands in front of the store and keeps which IAM actions the requests through it take.
type gate struct {
	*httptest.Server
	mu      sync.Mutex
	actions map[string]bool
}

func newGate(t *testing.T) *gate {
	t.Helper()
	behind, err := url.Parse(store.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{actions: make(map[string]bool)}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.note(t, r.Header.Get("X-Amz-Target"), body)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// note takes down what a request takes. Transactions are authorised by the actions in them (AWS, DynamoDB Developer Guide, "Using
// IAM with DynamoDB transactions").
func (g *gate) note(t *testing.T, target string, body []byte) {
	_, operation, _ := strings.Cut(target, ".")
	var in struct {
		IndexName     *string
		TransactItems []map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil || in.IndexName != nil {
		t.Errorf("%s, %v, which the documents don't tell of: %s", operation, err, body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !strings.HasPrefix(operation, "Transact") {
		g.actions["dynamodb:"+operation] = true
	}
	for _, item := range in.TransactItems {
		for kind := range item {
			g.actions["dynamodb:"+map[string]string{
				"Get": "GetItem", "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
			}[kind]] = true
		}
	}
}

// take returns the actions since the last take, in order.
func (g *gate) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := slices.Sorted(maps.Keys(g.actions))
	clear(g.actions)
	return taken
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Whoever runs an operator's command needs just the permissions that the document names: here each finds something to do.
func TestOperatorsPermissionsAreDocumented(t *testing.T) {
	t.Parallel()
	documented := make(map[string][]string)
	for _, row := range documentRows(t, operationsFile, "Permissions") {
		cells := strings.Split(row, "|")
		for _, action := range quoted.FindAllStringSubmatch(cells[2], -1) {
			command := quoted.FindStringSubmatch(cells[1])[1]
			documented[command] = append(documented[command], action[1])
		}
	}
	g := newGate(t)
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	s.Must(201, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	run := func(status int, command string, arguments ...string) {
		t.Helper()
		arguments = append([]string{command, "--dynamodb-endpoint", g.URL, "--table", s.table}, arguments...)
		out, problems, got := process.Run(t, "", arguments...)
		if got != status {
			t.Errorf("%q: status %d, want %d: %s%s", arguments, got, status, out, problems)
		}
		if taken := g.take(); !slices.Equal(taken, documented[command]) {
			t.Errorf("ledger %s takes %q, and %s says %q", command, taken, operationsFile, documented[command])
		}
	}
	run(1, "verify", "--settle", "0s")       // nothing is projected
	putEvents(t, s, old("bank", "USD", 300)) // a closed segment, to be checked and mended
	aside := filepath.Join(t.TempDir(), "set-aside.jsonl")
	if err := os.WriteFile(aside, []byte(objectOf(t, s.projected()...)), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "redrive", aside)
	// What a projector would not look at: a wrong figure under the right count.
	for k, item := range s.contents() {
		if account, asset, ok := table.ParseBalance(k); ok && account == "bank" && asset == "USD" {
			head := wire.Read(item).Map(table.AttrHead)
			head[table.AttrCredits] = wire.Amount(events.NewAmount(1))
			if _, err := s.plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(0, "rebuild")
}

// A table that was restored from a backup has no stream: it is audited and mended before it is in use.
func TestARestoredTableIsAudited(t *testing.T) {
	t.Parallel()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	plain, name := local.DynamoDB(store.Endpoint), "restored"
	in.TableName, in.StreamSpecification = &name, nil
	if _, err := plain.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	s := serve(t, name, withoutPump)
	s.OpenBooks()
	var cut table.Key
	for _, k := range s.projected() {
		if account, asset, _, _ := table.ParsePosting(k); account == "market" && asset == "AAPL" {
			cut = k
		}
	}
	posting := s.contents()[cut]
	if _, err := plain.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: wire.Key(cut)}); err != nil {
		t.Fatal(err)
	}
	at := []string{"--dynamodb-endpoint", store.Endpoint, "--table", name}
	out, problems, status := process.Run(t, "", append([]string{"verify", "--settle", "0s"}, at...)...)
	if status != 1 || !strings.Contains(out, "posting_missing") || !strings.Contains(out, cut.SK) {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	if _, err := plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: posting}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"rebuild", "verify"} {
		if out, problems, status := process.Run(t, "", append([]string{command}, at...)...); status != 0 {
			t.Errorf("%s: status %d: %s%s", command, status, out, problems)
		}
	}
}
