package digest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/harness/process"
)

// TestMain runs the tests, or a digest that TestKilledRuns kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killedDirectory); dir != "" {
		if err := runToBeKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(process.Main(m))
}

// longAgo is before the day of the test, for the clock of the command.
var longAgo = viewstest.Morning.AddDate(-1, 0, 0)

// served is a book to which commands connect as to DynamoDB. It notes the operations that they ask for.
type served struct {
	*book
	url        string
	mu         sync.Mutex
	operations map[string]bool
}

// serve serves a book of accounts that were opened long ago.
func serve(t *testing.T, accounts ...string) *served {
	s := &served{book: newEmptyBook(t, longAgo), operations: make(map[string]bool)}
	var all []events.Event
	for _, id := range accounts {
		all = append(all, openedLongAgo(id))
	}
	if len(all) > 0 {
		s.page(all...)
	}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func openedLongAgo(id string) events.AccountOpened {
	e := opened(id)
	e.At = longAgo
	return e
}

// answer answers what a digest may ask for.
func (s *served) answer(w http.ResponseWriter, r *http.Request) {
	type key map[string]struct{ S string }
	item := func(k key) map[string]any {
		stored, _, err := s.Table.Get(r.Context(), table.Key{PK: k["PK"].S, SK: k["SK"].S}, table.Strong)
		if r.Context().Err() == nil { // else as below
			s.must(err)
		}
		return itemJSON(stored)
	}
	var in struct {
		dynamodb.QueryInput
		ExpressionAttributeValues, Key key
		RequestItems                   map[string]struct{ Keys []key }
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return // the command has ended, and gave up what it read ahead
	}
	s.must(err)
	out := make(map[string]any)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "DescribeTable": // without the permission, the command does not check the table
		w.WriteHeader(http.StatusBadRequest)
		out["__type"] = "AccessDeniedException"
	case "GetItem":
		out["Item"] = item(in.Key)
	case "BatchGetItem":
		items := []any{}
		for _, k := range in.RequestItems[s.Name].Keys {
			items = append(items, item(k))
		}
		out["Responses"] = map[string]any{s.Name: items}
	case "Query":
		in.QueryInput.ExpressionAttributeValues = make(table.Item)
		for name, v := range in.ExpressionAttributeValues {
			in.QueryInput.ExpressionAttributeValues[name] = table.String(v.S)
		}
		found, err := s.Client.Query(r.Context(), &in.QueryInput)
		if r.Context().Err() != nil {
			return // as above
		}
		s.must(err)
		items := []any{}
		for _, i := range found.Items {
			items = append(items, itemJSON(i))
		}
		out["Items"] = items
	default:
		s.Errorf("the command asks for %s", operation)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations[operation] = true
	if err := json.NewEncoder(w).Encode(out); r.Context().Err() == nil {
		s.must(err)
	}
}

// ledger runs the command on the book.
func (s *served) ledger(status int, args ...string) (out, problems string) {
	s.Helper()
	out, problems, got := process.Run(s.T, "", append(args, "--table", s.Name, "--dynamodb-endpoint", s.url)...)
	if got != status {
		s.Fatalf("%v: status %d: %s%s", args, got, out, problems)
	}
	return out, problems
}

// The policy in docs/proof.md allows what the commands ask for, and no more. Then somebody takes away the limit of an
// account, and computes the checksum anew: a check names the account, in words and in JSON.
func TestCommands(t *testing.T) {
	if out, _ := serve(t).ledger(0, "digest", filepath.Join(t.TempDir(), "empty"), "--new-key"); strings.Contains(out, "root") {
		t.Errorf("the digest of an empty journal: %s", out)
	}
	b, folder := serve(t, "jane", "shop"), filepath.Join(t.TempDir(), "audit")
	b.ledger(0, "digest", folder, "--new-key")
	b.ledger(0, "digest", folder, "--resume")
	b.ledger(0, "digest", folder, "--check")
	b.ledger(0, "digest", folder, "--entries", filepath.Join(t.TempDir(), "entries"))
	b.ledger(0, "prove", folder, "--event", "ACCOUNT#shop/ACCOUNT#shop")
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
	for operation := range b.operations {
		asked = append(asked, "dynamodb:"+operation)
	}
	slices.Sort(asked)
	slices.Sort(s.Action)
	if s.Effect != "Allow" || !slices.Equal(s.Action, asked) ||
		!regexp.MustCompile(`^arn:aws:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]+$`).MatchString(s.Resource) {
		t.Errorf("the policy is %+v, and the commands ask for %q", s, asked)
	}

	forged := openedLongAgo("shop")
	forged.Overdraft.Unlimited = true
	b.forge(forged)
	const finding = "entry 1: event ACCOUNT#shop/ACCOUNT#shop is not what was sealed"
	for _, form := range []string{"--check", "--json"} {
		out, problems := b.ledger(1, "digest", folder, "--check", form)
		if !strings.Contains(out, finding) || !strings.Contains(problems, "2 findings") ||
			form == "--json" && !json.Valid([]byte(out)) {
			t.Errorf("%s: %s%s", form, out, problems)
		}
	}
}
