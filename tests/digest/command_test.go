package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// pageEntries is the number of entries in a page of a command's journal.
const pageEntries = 100

// longAgo is before the day of the test, for the clock of the command.
var longAgo = viewstest.Morning.AddDate(-1, 0, 0)

func openedLongAgo(id string) events.AccountOpened {
	e := opened(id)
	e.At = longAgo
	return e
}

// newCommandBook returns a table in DynamoDB Local whose journal has this number of accounts.
func newCommandBook(t *testing.T, entries int) (table string) {
	t.Helper()
	client := dynamolocal.DynamoDB(dynamolocaltest.Shared(t).Endpoint)
	table = "books-" + fmt.Sprint(rand.Uint32())
	if _, err := dynamolocal.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	put := func(items []store.Item) {
		in := &dynamodb.BatchWriteItemInput{RequestItems: make(map[string][]types.WriteRequest)}
		for _, item := range items {
			in.RequestItems[table] = append(in.RequestItems[table],
				types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		if out, err := client.BatchWriteItem(t.Context(), in); err != nil || len(out.UnprocessedItems) > 0 {
			t.Fatal(err, out)
		}
	}
	projector := projections.NewProjector(store.NewTable(client, table), nil, nil)
	for from := 0; from < entries; from += pageEntries {
		at := longAgo.Add(time.Duration(from) * time.Millisecond)
		page := projections.JournalPage{ID: events.FirstKSUID(at)}
		var items []store.Item
		for i := from; i < min(entries, from+pageEntries); i++ {
			e := openedLongAgo(fmt.Sprint("a-", i))
			items = append(items, store.EventItem(e))
			page.Entries = append(page.Entries, projections.EntryOf(e))
		}
		for some := range slices.Chunk(append(items, projections.JournalForm.Item(page)), 25) {
			put(some)
		}
		var records []projections.Record
		for _, item := range items {
			records = append(records, projections.RecordOf(item))
		}
		if _, err := projector.Project(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// gateway passes requests to DynamoDB Local, and notes their operations.
type gateway struct {
	*httptest.Server
	mu         sync.Mutex
	operations map[string]int
	requests   int64
	after      func(request int64) // called after each reply, with mu held
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	target, err := url.Parse(dynamolocaltest.Shared(t).Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{operations: make(map[string]int), after: func(int64) {}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of callers that were killed
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		g.mu.Lock()
		g.operations[operation]++
		g.mu.Unlock()
		proxy.ServeHTTP(w, r)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.requests++
		g.after(g.requests)
	}))
	t.Cleanup(g.Close)
	return g
}

// ledger runs the command on a table behind g.
func (g *gateway) ledger(t *testing.T, table string, args ...string) string {
	t.Helper()
	out, problems, status := process.Run(t, "", append(args, "--table", table, "--dynamodb-endpoint", g.URL)...)
	if status != 0 {
		t.Fatalf("%v: status %d: %s%s", args, status, out, problems)
	}
	return out
}

// contents returns the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	b := &book{T: t, dir: folder}
	all := make(map[string]string)
	for path, text := range b.files() {
		all[strings.TrimPrefix(path, folder)] = text
	}
	return all
}

// A run that is killed at whatever point, also several times, leaves a directory from which the next one ends with what
// a run without a kill has.
func TestKilledRuns(t *testing.T) {
	table := newCommandBook(t, full.Count(1500, 12_000)) // the latter with a note in between
	g, whole := newGateway(t), filepath.Join(t.TempDir(), "audit")
	g.ledger(t, table, "digest", whole, "--new-key")
	want, requests := contents(t, whole), g.requests
	if notes := len(want) - 3; notes != full.Count(1, 2) {
		t.Fatalf("%d notes", notes)
	}
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
rounds:
	for round := range full.Count(4, 40) {
		folder := filepath.Join(t.TempDir(), "audit")
		if err := os.CopyFS(folder, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		for path := range want {
			if !strings.HasPrefix(path, "/key") {
				if err := os.Remove(folder + path); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chmod(folder+"/key", 0o600); err != nil {
			t.Fatal(err)
		}
		for range 1 + random.IntN(2) {
			command := exec.Command(process.Binary(t), "digest", folder, "--table", table, "--dynamodb-endpoint", g.URL)
			var problems bytes.Buffer
			command.Stderr = &problems
			// Every other kill is after the last reply, when the note is written: as soon as its unfinished file is there,
			// or somewhen.
			at, late := 1+random.Int64N(requests), time.Duration(random.IntN(4000))*time.Microsecond
			if round%2 == 0 {
				at = requests
			}
			ended := make(chan struct{})
			kill := func() {
				for round%4 == 0 {
					unfinished, err := filepath.Glob(filepath.Join(folder, "new*"))
					select {
					case <-ended:
						return
					default:
					}
					if err != nil || unfinished != nil {
						break
					}
				}
				command.Process.Kill()
			}
			g.mu.Lock()
			g.requests = 0
			g.after = func(n int64) {
				if n == at {
					time.AfterFunc(late*time.Duration(round%4)/4, kill)
				}
			}
			err := command.Start()
			g.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			err = command.Wait()
			close(ended)
			switch {
			case err != nil && strings.Contains(err.Error(), "killed"):
				killed++
			case err != nil: // DynamoDB Local on a busy machine; what was read is sealed in one more note
				t.Logf("round %d: %v: %s", round, err, problems.String())
				continue rounds
			}
			g.mu.Lock()
			g.after = func(int64) {}
			g.mu.Unlock()
		}
		g.ledger(t, table, "digest", folder)
		if is := contents(t, folder); !maps.Equal(is, want) {
			t.Fatalf("round %d: the directory has %q, want %q", round, slices.Sorted(maps.Keys(is)),
				slices.Sorted(maps.Keys(want)))
		}
	}
	if t.Logf("%d runs were killed", killed); killed < full.Count(2, 20) {
		t.Error("too few")
	}
}

// The policy in docs/proof.md allows what the commands ask for, and no more.
func TestPolicyOfTheAuditor(t *testing.T) {
	table, g, folder := newCommandBook(t, 150), newGateway(t), filepath.Join(t.TempDir(), "audit")
	out := g.ledger(t, newCommandBook(t, 0), "digest", filepath.Join(t.TempDir(), "empty"), "--new-key")
	if strings.Contains(out, "root") {
		t.Errorf("the digest of an empty journal: %s", out)
	}
	g.ledger(t, table, "digest", folder, "--new-key")
	g.ledger(t, table, "digest", folder)
	g.ledger(t, table, "digest", folder, "--resume")
	g.ledger(t, table, "digest", folder, "--check")
	g.ledger(t, table, "digest", folder, "--entries", filepath.Join(t.TempDir(), "entries"))
	g.ledger(t, table, "prove", folder, "--event", "ACCOUNT#a-7/ACCOUNT#a-7")
	page, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```json policy\n(\\{\\s*\"Version\".*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatal("docs/proof.md has no policy")
	}
	var policy struct {
		Statement []struct {
			Effect, Resource string
			Action           []string
		}
	}
	if err := json.Unmarshal(text[1], &policy); err != nil || len(policy.Statement) != 1 {
		t.Fatalf("%v: %s", err, text[1])
	}
	s := policy.Statement[0]
	var asked []string
	for operation := range g.operations {
		asked = append(asked, "dynamodb:"+operation)
	}
	slices.Sort(asked)
	slices.Sort(s.Action)
	if s.Effect != "Allow" || !slices.Equal(s.Action, asked) ||
		!regexp.MustCompile(`^arn:aws:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]+$`).MatchString(s.Resource) {
		t.Errorf("the policy is %+v, and the commands ask for %q", s, asked)
	}
}

// Somebody takes away the limit of an account, and computes the checksum anew: the audit finds the table sound, and a
// check names the account, in words and in JSON.
func TestCommandNamesAForgery(t *testing.T) {
	table, g, folder := newCommandBook(t, 150), newGateway(t), filepath.Join(t.TempDir(), "audit")
	g.ledger(t, table, "digest", folder, "--new-key")
	forged := openedLongAgo("a-7")
	forged.Overdraft.Unlimited = true
	client := dynamolocal.DynamoDB(dynamolocaltest.Shared(t).Endpoint)
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: store.EventItem(forged)})
	if err != nil {
		t.Fatal(err)
	}
	if out := g.ledger(t, table, "verify"); !strings.HasPrefix(out, "Sound") {
		t.Error(out)
	}
	const finding = "entry 7: event ACCOUNT#a-7/ACCOUNT#a-7 is not what was sealed"
	for _, form := range []string{"--check", "--json"} {
		out, problems, status := process.Run(t, "", "digest", folder, "--check", form, "--table", table,
			"--dynamodb-endpoint", g.URL)
		if status != 1 || !strings.Contains(out, finding) || !strings.Contains(problems, "2 findings") ||
			form == "--json" && !json.Valid([]byte(out)) {
			t.Errorf("%s: status %d, %s%s", form, status, out, problems)
		}
	}
}
