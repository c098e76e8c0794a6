// Package roundtrip exports random histories of one ledger, imports them into another one, and compares the two.
package roundtrip

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/export"
	"ledger.example/internal/desk/importer"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/system"
)

var began = time.Date(2026, time.November, 2, 0, 0, 0, 0, time.UTC)

// ledger is a ledger in memory with a client, connected by pipes, so that it runs in a bubble of synctest.
type ledger struct {
	*system.System
	api *client.Client
}

// pipes is a network: the listeners by their hosts.
type pipes map[string]pipe

type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.IPAddr{} }

func (p pipes) start(t *testing.T, host string) *ledger {
	l := &ledger{System: system.New(t, system.Direct, system.Pumped)}
	p[host] = make(pipe)
	server := &http.Server{Handler: l.Service.API()}
	go server.Serve(p[host])
	t.Cleanup(func() {
		close(p[host])
		server.Close()
	})
	var err error
	if l.api, err = client.New(client.Config{URL: "http://" + host, Timeout: 3 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *ledger) sweep(t *testing.T) {
	if _, err := l.Service.Sweep(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

func (l *ledger) export(t *testing.T) string {
	var out bytes.Buffer
	result, err := export.Run(t.Context(), export.Config{Format: "jsonl", Ledger: export.Of(t.Context(), l.api)}, &out)
	if err != nil {
		t.Fatal(result, err)
	}
	return out.String()
}

// continues continues a file of each format but JSON lines. It is then what a whole export writes.
func (l *ledger) continues(t *testing.T, dir string) {
	for _, format := range []string{"csv", "hledger", "beancount"} {
		c, path := export.Config{Format: format, Ledger: export.Of(t.Context(), l.api)}, filepath.Join(dir, format)
		f, err := export.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Continue(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var whole bytes.Buffer
		if _, err := export.Run(t.Context(), c, &whole); err != nil {
			t.Fatal(err)
		}
		compare(t, "the continued "+format, strings.Split(string(got), "\n"), strings.Split(whole.String(), "\n"))
	}
}

// imports imports a file, with bad lines or none.
func (l *ledger) imports(t *testing.T, file string, isBad bool) importer.Counts {
	i := importer.New(importer.Config{Ledger: l.api, Batches: l.api, Clients: 4, OnFailure: func(f importer.Failure) {
		if !isBad {
			t.Errorf("line %d: %s %q: %v", f.Line, f.Kind, f.ID, f.Err)
		}
	}})
	if err := i.Run(t.Context(), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if isBad && i.Counts().NotTried == 0 {
		t.Errorf("every change was tried: %+v", i.Counts())
	}
	return i.Counts()
}

// A ledger that imports an export is the same, but for what is its own. Importing the file again changes nothing, and
// an import that was cut off, or that had bad lines, goes on. The export of the second ledger has the same lines. Files
// that are continued while the first ledger lives are whole exports.
func TestAnImportedExportIsTheSameLedger(t *testing.T) {
	for seed := range full.Count(1, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(began))
				network := make(pipes)
				transport := http.DefaultTransport.(*http.Transport)
				proxy, dial := transport.Proxy, transport.DialContext
				t.Cleanup(func() { transport.Proxy, transport.DialContext = proxy, dial })
				transport.Proxy = nil
				transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					host, _, _ := net.SplitHostPort(address)
					network[host] <- theirs
					return ours, nil
				}
				first, second := network.start(t, "first"), network.start(t, "second")
				dir := t.TempDir()
				h := &history{ledger: first, Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
				h.now = func(t *testing.T) { first.continues(t, dir) }
				h.live(t, 120)
				first.continues(t, dir)
				file := first.export(t)
				lines := strings.SplitAfter(file, "\n")
				changes := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"change"`) })
				cut := h.IntN(changes)
				second.imports(t, strings.Join(lines[:cut], ""), false)
				second.imports(t, "nonsense\n"+strings.Join(lines[changes:], ""), true)
				second.imports(t, file, false)
				time.Sleep(time.Minute)
				want, got := first.state(t, h.ids), second.state(t, h.ids)
				compare(t, "the second ledger", got, want)
				if again := second.imports(t, file, false); again.New > 0 || again.Failed > 0 {
					t.Errorf("again: %+v", again)
				}
				compare(t, "after importing it again", second.state(t, h.ids), want)
				time.Sleep(time.Minute)
				again := strings.SplitAfter(second.export(t), "\n")
				slices.Sort(lines)
				slices.Sort(again)
				compare(t, "the export of the second ledger", again, lines)
			})
		})
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s differs:\n%s\nwant\n%s", what, strings.Join(got[min(i, len(got)):min(i+3, len(got))], "\n"),
				strings.Join(want[min(i, len(want)):min(i+3, len(want))], "\n"))
		}
	}
}

// state returns what must be the same in both ledgers.
func (l *ledger) state(t *testing.T, ids []string) (all []string) {
	ctx := t.Context()
	say := func(what ...any) { all = append(all, strings.TrimSpace(fmt.Sprintln(what...))) }
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	list(t, l.api.Assets("").All(ctx), func(a client.Asset) { // lists leave fields out
		r, err := l.api.Asset(ctx, a.ID)
		must(err)
		say(text(client.Line[client.Asset]{Request: r.Value}))
	})
	list(t, l.api.Groups("").All(ctx), func(g client.Group) {
		r, err := l.api.Group(ctx, g.ID)
		must(err)
		say(text(client.Line[client.Group]{Request: r.Value}))
		list(t, l.api.GroupMembers(g.ID).All(ctx), func(m client.GrantedMember) { say(" ", m.Member) })
	})
	list(t, l.api.Accounts("").All(ctx), func(a client.Account) {
		r, err := l.api.Account(ctx, a.ID)
		must(err)
		say(text(client.Line[client.Account]{Request: r.Value}), r.Value.State)
		list(t, l.api.Members(a.ID).All(ctx), func(m client.GrantedMember) { say(" ", m.Member) })
		list(t, l.api.AccountGroups(a.ID).All(ctx), func(g client.GroupedAccount) { say(" ", g) })
		for _, asset := range assets {
			b, err := l.api.Balance(ctx, a.ID, asset, true)
			must(err)
			sums := b.Value.Sums
			sums.Postings = 0
			say(" ", a.ID, asset, text(sums), text(b.Value.Available))
			for days := range 4 {
				at, err := l.api.BalanceAt(ctx, a.ID, asset, began.AddDate(0, 0, -days), false)
				must(err)
				say("  at", -days, text(at.Value.Quantity), text(at.Value.NetExpenditure), text(at.Value.Credits), text(at.Value.Debits))
			}
			query := client.StatementQuery{Account: a.ID, Asset: asset, From: began.AddDate(0, 0, -9), To: time.Now()}
			for page, err := range l.api.StatementPages(ctx, query) {
				must(err)
				for _, p := range page.Value.Data {
					if !p.Quantity.IsZero() || !p.Cost.IsZero() {
						kind := p.Kind
						if kind == "trade" { // if only its cost was captured, it is a transaction in the second ledger
							kind = "transaction"
						}
						say("  statement", p.Transaction, p.PostedAt, kind, p.Description, text(p.Quantity), text(p.Cost), text(p.BalanceAfter))
					}
				}
			}
		}
	})
	for _, id := range ids {
		r, err := l.api.Transaction(ctx, id)
		must(err)
		say(text(portable(r.Value)))
	}
	return all
}

// portable returns a transaction without what the second ledger cannot have: see docs/books.md.
func portable(t client.Transaction) client.Transaction {
	isHold := t.ExpiresAt != ""
	switch t.Status {
	case client.StatusCaptured:
		t.PostedAt, t.Status, t.Postings = t.EndedAt, client.StatusPosted, t.Captured
		if t.Kind == "trade" && t.Captured[0].Quantity.IsZero() {
			t.Kind = "transaction"
		}
		isHold = false
	case client.StatusExpired:
		t.Status, t.EndDescription = client.StatusReleased, "Expired at "+t.EndedAt
	}
	if isHold {
		t.PostedAt = ""
	}
	if t.Status != client.StatusHeld {
		t.ExpiresAt = ""
	}
	t.EndedAt, t.EndedBy, t.Captured, t.RecordedAt, t.Actor = "", "", nil, "", ""
	legs, reversed := t.Postings, t.Reversed
	t.Postings, t.Reversed = nil, nil
	for i, leg := range legs {
		if leg.ID = ""; !leg.Quantity.IsZero() || !leg.Cost.IsZero() {
			t.Postings = append(t.Postings, leg)
			if reversed != nil {
				t.Reversed = append(t.Reversed, reversed[i])
			}
		}
	}
	return t
}

func text(v any) string {
	t, _ := json.Marshal(v)
	return string(t)
}

func list[T any](t *testing.T, all func(func(T, error) bool), do func(T)) {
	t.Helper()
	for item, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		do(item)
	}
}
