package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

// run runs verify, rebuild or redrive on the table of the system.
func run(s *system.System, command string, arguments ...string) (out, problems string, status int) {
	s.T.Helper()
	arguments = append([]string{command, "--dynamodb-endpoint", s.Store.Endpoint, "--table", s.Table}, arguments...)
	return process.Run(s.T, "", arguments...)
}

// wantProjected fails the test unless eventual and strong reads of each balance agree.
func wantProjected(s *system.System, balances ...string) {
	s.T.Helper()
	for _, b := range balances {
		account, asset, _ := strings.Cut(b, " ")
		path := "/v1/accounts/" + account + "/balances/" + asset
		projected, exact := s.Must(200, "GET", path, ""), s.Must(200, "GET", path+"?consistency=strong", "")
		for _, field := range []string{"quantity", "net_expenditure", "credits", "debits", "postings", "as_of"} {
			if got, want := projected.Value(field), exact.Value(field); got != want {
				s.T.Errorf("%s of %s is %v, want %v", field, b, got, want)
			}
		}
	}
}

// A table that was restored from a backup has no stream. It can be audited and repaired before it is used.
func TestRestoredTable(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	s := system.New(t, system.On(system.Local(t)))
	_, err := s.Plain.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: &s.Table, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.OpenBooks()
	cut := slices.IndexFunc(s.Projected(), func(k table.Key) bool {
		return strings.HasPrefix(k.SK, table.Posting.Prefix()+"AAPL#")
	})
	key := s.Projected()[cut]
	posting := s.Contents()[key]
	s.Delete(key)
	out, problems, status := run(s, "verify", "--settle", "0s")
	if status != 1 || !strings.Contains(out, "posting_missing") || !strings.Contains(out, key.SK) {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	s.Put(posting)
	for _, command := range [][]string{{"rebuild"}, {"verify", "--settle", "0s"}} {
		if out, problems, status := run(s, command[0], command[1:]...); status != 0 {
			t.Errorf("%s: status %d: %s%s", command, status, out, problems)
		}
	}
	for k := range s.Contents() {
		if _, _, _, ok := table.Listed.Parse(k); ok {
			s.Delete(k)
			break
		}
	}
	if out, problems, status := run(s, "verify", "--settle", "0s"); status != 1 ||
		!strings.Contains(out, "list_entry_behind") || !strings.Contains(out, "ledger rebuild --lists") {
		t.Errorf("status %d: %s%s", status, out, problems)
	}
	for _, command := range [][]string{{"rebuild", "--lists"}, {"verify", "--settle", "0s"}} {
		if out, problems, status := run(s, command[0], command[1:]...); status != 0 {
			t.Errorf("%s: status %d: %s%s", command, status, out, problems)
		}
	}
	wantProjected(s, "jane USD", "jane AAPL", "market USD", "market AAPL", "bank USD")
}

// redriven is the summary that redrive prints with --json.
type redriven struct {
	DryRun                              bool `json:"dry_run"`
	Files, Records, Skipped             int64
	Balances, Refolded, Counted, Failed int64
	Memberships, Listed                 int64
}

// redrive processes dead letters of a projector and a lister without access to the table. It does not change the file.
// Each run adds a page to the journal.
func TestRedrive(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	s := system.New(t, system.On(system.Local(t)))
	s.OpenBooks()
	s.Must(201, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	s.Must(200, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"owner"}`)
	file := deadLetters(s)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed := int64(0)
	for k := range s.Contents() {
		if table.IsJournaled(k.SK) {
			listed++
		}
	}
	want := redriven{Files: 1, Records: 8 + listed, Balances: 5, Memberships: 1, Listed: listed}
	for _, step := range []struct {
		name              string
		flags             []string
		dry               bool
		refolded, counted int64
		writes            bool
	}{
		{"dry run", []string{"--dry-run"}, true, 5, 0, false},
		{"first run", nil, false, 5, 0, true},
		{"second run", nil, false, 0, 5, true},
	} {
		contents := s.Contents()
		out, problems, status := run(s, "redrive", slices.Concat([]string{"--json", file}, step.flags)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var sum redriven
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
			t.Fatalf("%s: %v: %s%s", step.name, err, out, problems)
		}
		want.DryRun, want.Refolded, want.Counted = step.dry, step.refolded, step.counted
		if sum != want || status != 0 {
			t.Errorf("%s: %+v, status %d: %s", step.name, sum, status, problems)
		}
		if wrote := !reflect.DeepEqual(s.Contents(), contents); wrote != step.writes {
			t.Errorf("%s: wrote: %t", step.name, wrote)
		}
	}
	wantProjected(s, "jane USD", "jane AAPL", "market USD", "market AAPL", "bank USD")
	if members := s.All("/v1/accounts/jane/members", 10); len(members) != 1 || members[0]["role"] != "owner" {
		t.Errorf("members: %v", members)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}

// deadLetters pumps the table's stream into a projector and a lister without access to the table, until all events are
// dead letters.
func deadLetters(s *system.System) (file string) {
	s.T.Helper()
	faults := inject.NewSet()
	faults.All(inject.AnyOperation, inject.Refuses(400, "AccessDeniedException"))
	projector, lister, err := dynamolocal.StreamSettings()
	if err != nil {
		s.T.Fatal(err)
	}
	file = filepath.Join(s.T.TempDir(), "dead-letters.jsonl")
	failing := s.NewProcess(system.WithFaults(faults)).Service
	pumpUntilIdle(s, file, failing.Stream(), projector)
	pumpUntilIdle(s, file, failing.List(), lister)
	return file
}

// pumpUntilIdle pumps the table's stream into a handler until all records are processed.
func pumpUntilIdle(s *system.System, file string, handler pump.Handler, settings pump.Settings) {
	s.T.Helper()
	settings.Window, settings.MaximumRetryAttempts = 0, 0
	p, err := pump.New(pump.Options{
		Stream: dynamolocal.Streams(s.Store.Endpoint), StreamARN: s.Stream(),
		Handler: handler, Settings: settings, DeadLetters: file,
	})
	if err != nil {
		s.T.Fatal(err)
	}
	ctx, end := context.WithCancel(s.T.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	now := time.Now()
	caller.Eventually(s.T, 30*time.Second, "all are dead letters", func() bool { return p.CaughtUp(now) })
	end()
	if err := <-ended; err != nil {
		s.T.Fatal(err)
	}
}

// rebuild --dry-run finds damaged balances, segments and summaries, and writes nothing. rebuild repairs them. Package
// simulation tests concurrent posting.
func TestRebuild(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	s := system.New(t, system.On(system.Local(t)))
	s.OpenBooks()
	s.PutPostings(system.OldPostings("bank", "USD", projections.StretchPostings+40))
	s.DeliverAll()
	damaged := table.Balance.Key("bank", "USD")
	for k, item := range s.Contents() {
		_, _, _, segment := table.Segment.Parse(k)
		switch {
		case segment:
			item[table.AttrCount] = table.Integer(7)
			s.Put(item)
		case k == damaged:
			table.Read(item).Map(table.AttrHead)[table.AttrCredits] = table.Integer(7)
			s.Put(item)
		case k == table.Summary.Key("jane"):
			s.Delete(k)
		}
	}
	before := s.Contents()
	out, problems, status := run(s, "rebuild", "--dry-run", "--json")
	if status != 1 || !strings.Contains(out, damaged.SK) || !strings.Contains(out, `"mended":false`) ||
		!strings.Contains(problems, "items are wrong") || !reflect.DeepEqual(s.Contents(), before) {
		t.Errorf("dry run: status %d: %s%s", status, out, problems)
	}
	for _, arguments := range [][]string{{"--json"}, {"--dry-run"}} {
		if out, problems, status := run(s, "rebuild", arguments...); status != 0 {
			t.Errorf("rebuild %s: status %d: %s%s", arguments, status, out, problems)
		}
	}
	wantProjected(s, "bank USD", "jane USD")
}
