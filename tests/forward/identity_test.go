package forward

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/client"
	"ledger.example/functions/app"
	"ledger.example/internal/desk/export"
	"ledger.example/internal/forward"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/projections"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"
)

// readers are those who continue to read a ledger: each has its own memory of how far it got.
type readers struct {
	cursor string // of the journal, by the API
	list   string // a cursor of the list of accounts
	file   string // of `ledger forward`
	dir    string // of an auditor
	book   string // an exported file that is continued
	sent   *target
}

// follow continues the reader of the API, and returns the ids of the events.
func (r *readers) follow(s *system.System) (ids []string) {
	s.T.Helper()
	path := "/v1/journal?limit=100"
	if r.cursor != "" {
		path += "&after=" + r.cursor
	}
	page := s.Must(200, "GET", path, "")
	r.cursor = page.Text("next_cursor")
	for _, e := range page.Each("id", "data") {
		ids = append(ids, e.(string))
	}
	return ids
}

// forward continues `ledger forward`, until everything is delivered or it fails.
func (r *readers) forward(s *system.System) (ids []string, err error) {
	s.T.Helper()
	file, err := forward.OpenFile(r.file, forward.Filter{})
	if err != nil {
		s.T.Fatal(err)
	}
	defer file.Close()
	api, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		s.T.Fatal(err)
	}
	t := &target{}
	f := forward.Forwarder{Keep: file, Deliver: t.deliver, Log: slog.New(slog.DiscardHandler),
		Read: func(ctx context.Context, c forward.Cursor) (client.JournalPage, error) {
			page, err := api.JournalPage(ctx, client.JournalQuery{After: c.After}, client.PageLimit)
			return page.Value, err
		}}
	err = f.Run(s.T.Context(), func(_ context.Context, round forward.Round) error {
		if round.Err == nil && !round.More {
			return errEnd
		}
		return round.Err
	})
	return t.got, err
}

// invoke runs the forwarder of a ledger.
func (r *readers) invoke(s *system.System, in app.Forwarding) (ids []string, err error) {
	r.sent = &target{}
	_, err = s.Service.Forward("events", r.sent.deliver)(s.T.Context(), in)
	return r.sent.got, err
}

func (r *readers) digest(s *system.System) digest.Config {
	return digest.Config{Table: table.NewTable(s.Plain, s.Table), Dir: r.dir}
}

// export continues the exported file, and returns it, and what a whole export of the ledger writes.
func (r *readers) export(s *system.System) (file, whole string, err error) {
	s.T.Helper()
	api, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		s.T.Fatal(err)
	}
	c := export.Config{Format: "hledger", Ledger: export.Of(s.T.Context(), api)}
	var out strings.Builder
	_, wrong := export.Run(s.T.Context(), c, &out)
	f, wrong2 := export.Open(r.book)
	if err := errors.Join(wrong, wrong2); err != nil {
		s.T.Fatal(err)
	}
	before, _ := os.ReadFile(r.book)
	_, anew, err := f.Continue(s.T.Context(), c)
	if anew != "" && before != nil {
		s.T.Errorf("it was exported anew: %s", anew)
	}
	after, _ := os.ReadFile(r.book)
	if !bytes.HasPrefix(after, before) || err != nil && len(after) > len(before) {
		s.T.Errorf("the file was %q and is %q", before, after)
	}
	return string(after), out.String(), err
}

// copied serves a copy of a table under another name, item by item.
func copied(s *system.System) *system.System {
	s.T.Helper()
	name := s.Store.NewTable(s.T)
	for _, item := range s.Contents() {
		if _, err := s.Plain.PutItem(s.T.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			s.T.Fatal(err)
		}
	}
	return s.Store.Serve(s.T, name)
}

// A table that was copied item by item under another name, as by a restore, is the same ledger: it serves, and each
// reader goes on where it was. Another ledger is refused by each, and so is the same one, restored to before them.
func TestRestoredTableIsTheSameLedger(t *testing.T) {
	for name, on := range map[string]func(testing.TB) *system.Store{
		"built-in":       func(testing.TB) *system.Store { return system.Memory(system.Tampered) },
		"DynamoDB Local": system.Local,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := on(t)
			s := system.New(t, system.On(at))
			old := slices.Concat(setup.Listed(t, s.Plain, s.Table, 3*time.Hour, "a-0", "a-1"),
				setup.Listed(t, s.Plain, s.Table, 2*time.Hour, "a-2"))
			r := &readers{file: filepath.Join(t.TempDir(), "cursor"), dir: t.TempDir(), book: filepath.Join(t.TempDir(), "book")}
			r.list = s.Must(200, "GET", "/v1/accounts?limit=1", "").Text("next_cursor")
			if err := digest.NewKey(r.dir, "ledger-journal/books"); err != nil {
				t.Fatal(err)
			}
			r.goesOn(s, old)

			c := copied(s)
			c.Must(201, "PUT", "/v1/accounts/new", `{"name":"New"}`)
			c.Must(200, "PUT", "/v1/accounts/a-0", `{"name":"a-0"}`)
			c.Must(200, "GET", "/v1/accounts?limit=1&cursor="+r.list, "")
			r.goesOn(c, setup.Listed(t, c.Plain, c.Table, time.Hour, "a-3"))

			theirs := system.New(t, system.On(at))
			setup.Listed(t, theirs.Plain, theirs.Table, 4*time.Hour, "a-0", "a-1", "a-2")
			theirs.Put(c.Contents()[table.Forwarded.Key("events")])
			r.isRefused(theirs, "is the directory of another ledger", 3)
			s.Put(c.Contents()[table.Forwarded.Key("events")])
			r.isRefused(s, "go on with --resume", 3)
		})
	}
}

// goesOn continues each reader. It must get exactly these events.
func (r *readers) goesOn(s *system.System, want []string) {
	s.T.Helper()
	check := func(who string, got []string, err, end error) {
		s.T.Helper()
		if !errors.Is(err, end) || !slices.Equal(got, want) {
			s.T.Errorf("%s got %q, %v", who, got, err)
		}
	}
	check("a reader of the API", r.follow(s), nil, nil)
	got, err := r.forward(s)
	check("ledger forward", got, err, errEnd)
	got, err = r.invoke(s, app.Forwarding{})
	check("the function", got, err, nil)
	newest, _, _ := strings.Cut(strings.TrimPrefix(want[len(want)-1], "ACCOUNT#"), "/")
	if file, whole, err := r.export(s); file != whole || err != nil || !strings.Contains(file, newest) {
		s.T.Errorf("the export is %q, %v, a whole one %q", file, err, whole)
	}
	d, err := digest.Run(s.T.Context(), r.digest(s))
	if err != nil || d.New != int64(len(want)) {
		s.T.Errorf("a digest sealed %d, %v", d.New, err)
	}
	if checked, err := digest.Check(s.T.Context(), r.digest(s)); err != nil || len(checked.Findings) > 0 {
		s.T.Errorf("a check found %q, %v", checked.Findings, err)
	}
}

// isRefused continues each reader at a ledger that is not its own. None gets anything, or changes its memory. Then a
// rewind sends everything.
func (r *readers) isRefused(s *system.System, digests string, events int) {
	s.T.Helper()
	const elsewhere = "is of another ledger, or of a ledger restored to before this position"
	if answer := s.Must(400, "GET", "/v1/journal?after="+r.cursor, ""); !strings.Contains(string(answer.Body), elsewhere) ||
		answer.Text("code") != "invalid_cursor" {
		s.T.Errorf("a reader of the API got %s", answer.Body)
	}
	refused := new(client.Error)
	if got, err := r.forward(s); !errors.As(err, &refused) || refused.Code != "invalid_cursor" || len(got) > 0 {
		s.T.Errorf("ledger forward got %q, %v", got, err)
	}
	if got, err := r.invoke(s, app.Forwarding{}); !errors.Is(err, projections.ErrNotInJournal) || len(got) > 0 {
		s.T.Errorf("the function got %q, %v", got, err)
	}
	if _, _, err := r.export(s); err == nil || !strings.Contains(err.Error(), "is of another ledger, or of this one before") {
		s.T.Errorf("the export went on: %v", err)
	}
	if d, err := digest.Run(s.T.Context(), r.digest(s)); err == nil || !strings.Contains(err.Error(), digests) {
		s.T.Errorf("a digest sealed %d, %v", d.New, err)
	}
	if got, err := r.invoke(s, app.Forwarding{Rewind: time.Now().Add(-24 * time.Hour)}); err != nil || len(got) != events {
		s.T.Errorf("a rewind sent %q, %v", got, err)
	}
}
