package declared_test

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/export"
	"ledger.example/internal/desk/importer"
	"ledger.example/internal/watch/audit"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// A post is an operation that posts, with the fields of a request that say what is moved, and other values of these.
type post struct {
	operation     client.Operation
	moves, others map[string]any
	command, form string // of the command line and of the console
}

var posts = map[client.Kind]post{
	client.KindTransaction: {
		client.PostTransaction.Untyped(), map[string]any{"postings": legs(5)},
		map[string]any{"postings": legs(6), "hold": map[string]any{}}, "post", "legs",
	},
	client.KindTransfer: {
		client.PostTransfer.Untyped(), map[string]any{"from": "a", "to": "b", "asset": "USD", "quantity": "5"},
		map[string]any{"from": "c", "to": "c", "asset": "EUR", "quantity": "6", "hold": map[string]any{}}, "transfer", "transfer",
	},
	client.KindTrade: {
		client.PostTrade.Untyped(), map[string]any{"asset": "AAPL", "buyer": "a", "seller": "b", "quantity": "5", "cost": "7"},
		map[string]any{
			"asset": "MSFT", "buyer": "c", "seller": "c", "quantity": "6", "cost": "8", "settle": true, "hold": map[string]any{},
		}, "trade", "trade",
	},
	client.KindSplit: {
		client.PostSplit.Untyped(), map[string]any{"asset": "USD", "quantity": "5", "from": "a", "to": portions(1)},
		map[string]any{"asset": "EUR", "quantity": "6", "from": "c", "to": portions(2), "hold": map[string]any{}}, "split", "split",
	},
	client.KindReversal: {
		client.ReverseTransaction.Untyped(), map[string]any{"quantity": "2"}, map[string]any{"quantity": "1"}, "reverse", "reverse",
	},
	client.KindCapture: {
		client.CaptureHold.Untyped(), map[string]any{"quantity": "2"}, map[string]any{"quantity": "1"}, "capture", "capture",
	},
	client.KindRelease: {client.ReleaseHold.Untyped(), nil, nil, "release", "release"},
}

// partFields say how much is taken of what a request ends or reverses. Quantity stands for all of them.
var partFields = []string{"cost", "postings"}

// fitFields say how much a transfer or a split moves, in place of a quantity, which stands for all of them. The scenarios
// Fits and SplitFits of tests/acceptance change each of them.
var fitFields = []string{"up_to", "keep", "at_least"}

func portions(weight int) []map[string]any {
	return []map[string]any{{"account": "b", "share": "10%"}, {"account": "b", "rest": weight}}
}

func legs(quantity int) []map[string]string {
	return []map[string]string{
		{"account": "a", "asset": "USD", "quantity": fmt.Sprint(-quantity)},
		{"account": "b", "asset": "USD", "quantity": fmt.Sprint(quantity)},
	}
}

// isAbout reports whether requests are about a transaction of the path.
func (p post) isAbout() bool { return strings.Contains(p.operation.Path, "{id}") }

// endsHold reports whether requests end the hold of the path.
func (p post) endsHold() bool { return p.isAbout() && !p.operation.CreatesTransaction() }

// notes returns the fields that do not say what is moved. Each answer shows them.
func (p post) notes() (notes []client.Field) {
	for _, f := range client.FieldsOf(p.operation.In) {
		_, moves := p.moves[f.JSON]
		_, changes := p.others[f.JSON]
		if f.IsSettable() && f.JSON != "id" && !moves && !changes && !(p.isAbout() && slices.Contains(partFields, f.JSON)) &&
			!slices.Contains(fitFields, f.JSON) {
			notes = append(notes, f)
		}
	}
	return notes
}

// shownAs returns the name of a note in answers.
func (p post) shownAs(note string) string {
	switch {
	case note == "effective_at":
		return "posted_at"
	case note == "description" && p.endsHold():
		return "end_description"
	}
	return note
}

// noteValues returns a value of a note, another one, and one above its limit. isPlain is true if the console shows the
// value as it is.
func noteValues(t *testing.T, f client.Field) (one, other, over any, isPlain bool) {
	stamp := func(year int) string { return fmt.Sprintf("%d-01-31T12:00:00.000000Z", year) }
	switch f.Type {
	case reflect.TypeFor[time.Time]():
		return stamp(2026), stamp(2025), stamp(2126), false
	case reflect.TypeFor[map[string]string]():
		return map[string]string{"a": "b"}, map[string]string{"a": "c"}, map[string]string{"a": strings.Repeat("x", 5000)}, false
	}
	return values(t, f)
}

// postings tests the operations that post.
type postings struct {
	*testing.T
	*system.System
	n int // transactions so far
}

// request returns a new request with a body: its path, the id that it writes or ends, and the id of its target.
func (s *postings) request(p post, body map[string]any) (path, id, of string, full map[string]any) {
	s.n++
	id, of = fmt.Sprint("t-", s.n), fmt.Sprint("of-", s.n)
	full = maps.Clone(p.moves)
	if full == nil {
		full = map[string]any{}
	}
	maps.Copy(full, body)
	switch {
	case p.endsHold():
		s.Must(201, "POST", "/v1/transfers", `{"id":"`+of+`","from":"a","to":"b","asset":"USD","quantity":"5","hold":{}}`)
		return strings.Replace(p.operation.Path, "{id}", of, 1), of, of, full
	case p.isAbout():
		s.Must(201, "POST", "/v1/transfers", `{"id":"`+of+`","from":"a","to":"b","asset":"USD","quantity":"5",`+
			`"effective_at":"2025-01-01T00:00:00Z"}`)
	}
	full["id"] = id
	return strings.Replace(p.operation.Path, "{id}", of, 1), id, of, full
}

// with returns a body with another value of a field.
func with(body map[string]any, name string, value any) string {
	changed := maps.Clone(body)
	changed[name] = value
	return jsonOf(changed)
}

// isCompared checks that a request with the same id and another value of a field is refused.
func (s *postings) isCompared(kind client.Kind, p post, name string, other any) {
	path, id, _, body := s.request(p, nil)
	s.Must(map[bool]int{true: 200, false: 201}[p.endsHold()], "POST", path, jsonOf(body))
	s.Must(200, "POST", path, jsonOf(body))
	if r := s.Send("POST", path, with(body, name, other)); r.Status != 409 {
		s.Errorf("%s of a %s is not compared when %s is used again: %d %.300s", name, kind, id, r.Status, r.Body)
	}
}

// Each field of a request that posts is compared when its id is used again. Each note is stored, is refused above its
// limit, and is in every answer and list, in an export that is imported, in the command line, in the console, and in
// the audit's own spelling of an event and of a fingerprint.
func TestEachFieldOfATransaction(t *testing.T) {
	s := &postings{t, system.New(t, system.Pumped), 0}
	for _, id := range []string{"USD", "EUR"} {
		s.Must(201, "PUT", "/v1/assets/"+id, `{"name":"Money","scale":2}`)
	}
	for _, id := range []string{"AAPL", "MSFT"} {
		s.Must(201, "PUT", "/v1/assets/"+id, `{"name":"Share","scale":0,"currency":"USD"}`)
	}
	for _, id := range []string{"a", "b", "c"} {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"overdraft":"unlimited"}`)
	}
	page := consoleOf(t, s.System)
	stored := map[string]map[string]any{} // the notes of each transaction, as answers show them
	for kind, p := range posts {
		for name, other := range p.others {
			s.isCompared(kind, p, name, other)
		}
		all, shown := map[string]any{}, map[string]any{}
		for _, f := range p.notes() {
			one, other, over, _ := noteValues(t, f)
			if kind != client.KindRelease { // the second release gets the first answer, whatever it says
				s.isCompared(kind, p, f.JSON, other)
			}
			path, _, _, body := s.request(p, nil)
			if r := s.Send("POST", path, with(body, f.JSON, over)); r.Status != 400 || !strings.HasPrefix(r.Text("errors", 0, "field"), f.JSON) {
				t.Errorf("%s of a %s above its limit: %d %.300s", f.JSON, kind, r.Status, r.Body)
			}
			all[f.JSON], shown[p.shownAs(f.JSON)] = one, one
		}
		has := func(where string, answer caller.Reply, at ...any) {
			t.Helper()
			for name, one := range shown {
				if got := jsonOf(answer.Value(append(at, name)...)); got != jsonOf(one) && !(where == "a dry run" && name == "posted_at") {
					t.Errorf("%s of a %s is %s in %s, not %v", name, kind, got, where, one)
				}
			}
		}
		created := map[bool]int{true: 200, false: 201}[p.endsHold()]
		path, id, of, body := s.request(p, all)
		has("a dry run", s.Must(200, "POST", path+"?dry_run=true", jsonOf(body)))
		has("the answer", s.Must(created, "POST", path, jsonOf(body)))
		has("a replay", s.Must(200, "POST", path, jsonOf(body)))
		has("the transaction", s.Must(200, "GET", "/v1/transactions/"+id, ""))
		stored[id] = shown
		if p.isAbout() {
			body["transaction"] = of
		}
		has("a replay in a batch", s.Must(200, "POST", "/v1/batches", jsonOf(map[string]any{"requests": []any{map[client.Kind]any{kind: body}}})),
			"results", 0, "body")
		s.Project()
		listed := s.Must(200, "GET", "/v1/transactions?limit=100", "")
		i := 0
		for ; listed.Text("data", i, "id") != id; i++ {
			if listed.Value("data", i) == nil {
				t.Fatalf("%s is not listed", id)
			}
		}
		has("the list", listed, "data", i)
		if p.operation.CreatesTransaction() && p.isAbout() {
			has("the list of reversals", s.Must(200, "GET", path, ""), "data", 0)
		}
		help, _, _ := process.Run(t, s.URL, p.command, "--help")
		view, asked := page("/transactions/"+id), page("/do/"+p.form+"?transaction="+of)
		for _, f := range p.notes() {
			one, _, _, isPlain := noteValues(t, f)
			if !strings.Contains(help, "--"+strings.ReplaceAll(f.JSON, "_", "-")+" ") {
				t.Errorf("ledger %s has no flag for %s", p.command, f.JSON)
			}
			if isPlain && !strings.Contains(view, html.EscapeString(fmt.Sprint(one))) {
				t.Errorf("the console's page of a %s lacks its %s", kind, f.JSON)
			}
			if !strings.Contains(asked, fmt.Sprintf(`name="%s"`, f.JSON)) {
				t.Errorf("the console's form of a %s has no %s", kind, f.JSON)
			}
		}
	}
	second := system.New(t, system.Pumped)
	importInto(t, second, s.URL, slices.Collect(maps.Keys(stored)))
	for id, shown := range stored {
		imported := second.Must(200, "GET", "/v1/transactions/"+id, "")
		for name, one := range shown {
			if got := jsonOf(imported.Value(name)); got != jsonOf(one) {
				t.Errorf("%s of %s, exported and imported, is %s, not %v", name, id, got, one)
			}
		}
	}
	report, err := audit.New(audit.Options{Store: second.Plain, Table: second.Table, Findings: 10, Settle: time.Hour}).Run(t.Context())
	if err != nil || !report.Sound() || report.Counts.Transactions < int64(len(stored)) {
		t.Errorf("the audit: %v, %d transactions, %+v", err, report.Counts.Transactions, report.Findings)
	}
	for _, f := range report.Findings {
		if f.Code == audit.FingerprintDiffers {
			t.Errorf("header.said (internal/watch/audit/transactions.go) has not all of %v", jsonNames[client.Annotation]())
			break
		}
	}
}

// jsonNames returns the names of the fields of a type.
func jsonNames[T any]() (names []string) {
	for _, f := range client.FieldsOf(reflect.TypeFor[T]()) {
		names = append(names, f.JSON)
	}
	return names
}

// importInto exports the ledger at a URL once its journal has all transactions, and imports it into another ledger.
func importInto(t *testing.T, into *system.System, url string, transactions []string) {
	from, err := client.New(client.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	to, err := client.New(client.Config{URL: into.URL})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	caller.Eventually(t, time.Minute, "an export of all transactions", func() bool {
		file.Reset()
		if _, err := export.Run(t.Context(), export.Config{Format: "jsonl", Ledger: export.Of(t.Context(), from)}, &file); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(transactions, func(id string) bool { return !strings.Contains(file.String(), `"`+id+`"`) })
	})
	i := importer.New(importer.Config{Ledger: to, Batches: to, Clients: 1, OnFailure: func(f importer.Failure) {
		t.Errorf("line %d: %s %q: %v", f.Line, f.Kind, f.ID, f.Err)
	}})
	if err := i.Run(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
}
