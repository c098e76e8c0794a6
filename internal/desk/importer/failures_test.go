package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
)

func TestBadLinesAreReportedAndOthersContinue(t *testing.T) {
	b := newBook()
	counts, failed, err := run(t.Context(), b, 4, strings.NewReader(opening+`
{"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}}
{"transfer":{"from":"bank","to":"jane","asset":"USD","quantity":"5"}}
{"transfer":{"id":"t-2","from":"jane","to":"bank","asset":"USD","quantity":"6"}}
{"transfer":{"id":"t-3","from":"jane","to":"nobody","asset":"USD","quantity":"1"}}
nonsense
`+strings.Repeat("x", maxLineBytes+1)+`
{"transfer":{"id":"t-4","from":"jane","to":"bank","asset":"USD","quantity":"5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if counts.New != 5 || counts.Failed != 5 || counts.Replayed != 0 || b.balances[[2]string{"jane", "USD"}] != 0 {
		t.Errorf("%+v, balances %v", counts, b.balances)
	}
	got := failed.lines()
	for line, says := range map[int]string{6: "transfer.id: is missing", 7: "insufficient_funds", 8: "account_not_found", 9: "not a JSON object", 10: "longer than 1 MiB"} {
		if !strings.Contains(got[line], says) {
			t.Errorf("line %d: %q, want %q", line, got[line], says)
		}
	}
	if len(got) != 5 {
		t.Errorf("failures: %v", got)
	}
}

// An import ends after Config.Failures bad lines, malformed or refused, and sends no line after that.
func TestTooManyBadLinesEndTheImport(t *testing.T) {
	const most = 20
	for name, bad := range map[string]string{
		"unreadable": "nonsense",
		"refused":    `{"transfer":{"id":"t","from":"nobody","to":"bank","asset":"USD","quantity":"1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			// All lines have the same id, so that they wait for each other. A line with another id could be sent in
			// between.
			file := opening + strings.Repeat(bad+"\n", 1000) +
				`{"transfer":{"id":"t","from":"bank","to":"bank","asset":"USD","quantity":"1"}}`
			for _, c := range []struct{ failures, failed, last int64 }{{most, most, 0}, {1, 1, 0}, {0, 1000, 1}} {
				b := newBook()
				var f failures
				i := New(Config{Ledger: b, Clients: 1, OnFailure: f.add, Failures: c.failures})
				err := i.Run(t.Context(), strings.NewReader(file))
				if errors.Is(err, ErrFailures) != (c.failures > 0) {
					t.Errorf("at %d: %v", c.failures, err)
				}
				_, last := b.posted["transfer t"]
				if n := i.Counts(); n.Failed != c.failed || int64(len(f.list)) != c.failed || last != (c.last == 1) {
					t.Errorf("at %d: %+v, %d reported, the last line was sent: %t", c.failures, n, len(f.list), last)
				}
			}
		})
	}
}

// slow is a ledger that answers some time after it has executed a command. ctx may end before the answer.
type slow struct{ *book }

func (s slow) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	w, err := s.book.Send(ctx, cmd)
	if err != nil {
		return w, err
	}
	select {
	case <-ctx.Done():
		return client.Written{}, ctx.Err()
	case <-time.After(time.Second):
		return w, nil
	}
}

// Lines in flight when too many bad lines end an import are finished and counted. Lines that wait are not sent.
func TestLinesInFlightAreCounted(t *testing.T) {
	const good, most = 10, 20
	refused := `{"transfer":{"id":"t","from":"nobody","to":"bank","asset":"USD","quantity":"1"}}` + "\n"
	for name, bad := range map[string]string{
		"unreadable": "nonsense\n", "refused": refused, "denied": `{"account":{"id":"denied"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook()
				b.before = func(_ context.Context, cmd client.Command) error {
					if cmd.ID == "denied" {
						return &client.DeniedError{Status: http.StatusForbidden}
					}
					return nil
				}
				var file strings.Builder
				for n := range good {
					fmt.Fprintf(&file, `{"account":{"id":"a-%d"}}`+"\n", n)
				}
				file.WriteString(strings.Repeat(bad, most))
				i := New(Config{Ledger: slow{b}, Clients: good + most, OnFailure: func(Failure) {}, Failures: most})
				err := i.Run(t.Context(), strings.NewReader(file.String()))
				if _, isDenied := errors.AsType[*client.DeniedError](err); isDenied != (name == "denied") {
					t.Errorf("it ended with %v", err)
				}
				if c := i.Counts(); err == nil || c.New != int64(len(b.posted)) || c.CutOff != 0 || c.Failed < 1 {
					t.Errorf("%v: %+v, %d lines were posted", err, c, len(b.posted))
				}
				i = New(Config{Ledger: slow{newBook()}, Clients: 1, OnFailure: func(Failure) {}, Failures: 1})
				_ = i.Run(t.Context(), strings.NewReader(file.String()))
				if c := i.Counts(); name == "unreadable" && c.New > 1 {
					t.Errorf("%+v, with one client", c)
				}
			})
		})
	}
}

// A line without an answer ends the import, because the client has already retried it. A refusal is an answer.
func TestALineWithoutAnAnswerEndsTheImport(t *testing.T) {
	file := opening + strings.Repeat(`{"account":{"id":"a"}}`+"\n", 1000)
	for _, c := range []struct {
		err  error
		most int64 // lines that are sent
	}{
		{&client.UnknownError{ID: "a", Err: &client.Error{Status: 504, Code: "outcome_unknown"}}, 4},
		{&client.Error{Status: 503, Code: "throttled"}, 4},
		{&client.UnreachableError{Err: errors.New("refused")}, 4},
		{&client.DeniedError{Status: http.StatusForbidden}, 4},
		{refusal("invalid_request"), 1003},
	} {
		b := newBook()
		var sent atomic.Int64
		b.before = func(context.Context, client.Command) error { sent.Add(1); return c.err }
		_, _, err := run(t.Context(), b, 2, strings.NewReader(file))
		if isRefusal := c.most > 4; isRefusal != (err == nil) || err != nil && !errors.Is(err, c.err) || sent.Load() > c.most || isRefusal && sent.Load() < c.most {
			t.Errorf("%v: it ended with %v after %d lines", c.err, err, sent.Load())
		}
	}
}

// After a bad line, no change of an account is tried, because it may refuse what the corrected file still posts. A run
// of the corrected file does the rest.
func TestChangesAreNotTriedAfterABadLine(t *testing.T) {
	good := `{"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}}` + "\n"
	file := func(bad string) io.Reader {
		return strings.NewReader(opening + `{"change":{"id":"bank","name":"Bank"}}` + "\n" + bad +
			`{"transfer":{"id":"t-2","from":"bank","to":"jane","asset":"USD","quantity":"6"}}
{"change":{"id":"bank","state":"frozen"}}
{"change":{"id":"jane","state":"frozen"}}
`)
	}
	for name, bad := range map[string]string{"unreadable": "nonsense\n", "refused": strings.ReplaceAll(good, "USD", "EUR")} {
		b := newBook()
		counts, failed, err := run(t.Context(), b, 4, file(bad))
		if err != nil || counts != (Counts{New: 5, Failed: 1, NotTried: 2, Bytes: counts.Bytes}) || counts.Lines() != 8 {
			t.Errorf("%s: %+v, %v", name, counts, err)
		}
		if said := failed.lines(); len(said) != 2 || said[7] != "not tried: 1 line before failed" {
			t.Errorf("%s: reported %v", name, said)
		}
		counts, failed, err = run(t.Context(), b, 4, file(good))
		if err != nil || counts != (Counts{New: 3, Replayed: 5, Bytes: counts.Bytes}) {
			t.Errorf("%s: corrected: %+v, %v, %v", name, counts, failed.lines(), err)
		}
	}
}

// A change of an account waits for the change right before it, and is not tried if that failed: a closed account refuses
// the corrected line. Changes of other accounts, which stand together, do not wait.
func TestChangesOfOneAccountAreNotTriedAfterABadOne(t *testing.T) {
	changes := `{"change":{"id":"bank","name":"Bank"}}
{"change":{"id":"jane","name":"Jane"}}
{"change":{"id":"bank","state":"closed"}}
{"change":{"id":"jane","state":"frozen"}}
`
	b := newBook()
	b.before = func(_ context.Context, c client.Command) error {
		if strings.Contains(string(c.Body), "Bank") {
			return refusal("invalid_request")
		}
		return nil
	}
	counts, failed, err := run(t.Context(), b, 4, strings.NewReader(opening+changes))
	if err != nil || counts.Failed != 1 || counts.NotTried != 2 || failed.lines()[6] != "not tried: 1 line before failed" {
		t.Errorf("%+v, %v, %v", counts, failed.lines(), err)
	}
}
