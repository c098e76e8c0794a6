package forward_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
	"ledger.example/internal/forward"
)

// secret is the one of the example in the specification of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func entry(id string) client.JournalEntry {
	return client.JournalEntry{ID: id, Type: "transaction.posted", At: "2026-11-21T09:00:00.000000Z", Cursor: "c-" + id,
		Data: json.RawMessage(`{"id":"t"}`), Canonical: `{"ID":"t"}`}
}

// The signature is that of the specification's example, and each secret signs.
func TestSignatures(t *testing.T) {
	w, err := forward.NewWebhook("http://localhost", secretFile(t, secret+"\n"+secret+"\n", 0o640))
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := w.Signatures("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if got != want+" "+want {
		t.Errorf("signed %s", got)
	}
}

// A file that is no secret, or that everybody can read, is refused with what to do. Base64 may have its padding or not.
func TestSecrets(t *testing.T) {
	for _, padding := range []string{"", "="} {
		path := secretFile(t, "whsec_"+strings.Repeat("A", 43)+padding, 0o600)
		if w, err := forward.NewWebhook("http://localhost", path); err != nil || len(w.Secrets[0]) != 32 {
			t.Errorf("%q: %v", padding, err)
		}
	}
	for text, says := range map[string]string{
		"": "has no secret", "secret": "urandom", "whsec_": "urandom", "whsec_c2hvcnQ=": "urandom",
		secret + " whsec_%": "urandom", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "urandom",
	} {
		if _, err := forward.NewWebhook("http://localhost", secretFile(t, text, 0o600)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, mode := range []os.FileMode{0o604, 0o602, 0o666} {
		if _, err := forward.NewWebhook("http://localhost", secretFile(t, secret, mode)); err == nil ||
			!strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if _, err := forward.NewWebhook("http://localhost", "missing"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A delivery has the headers of Standard Webhooks, the same id and body in each delivery, and a type.
func TestDelivery(t *testing.T) {
	var bodies, ids []string
	var w *forward.Webhook
	w = webhook(t, func(answer http.ResponseWriter, r *http.Request, body string) {
		bodies, ids = append(bodies, body), append(ids, r.Header.Get("webhook-id"))
		at := r.Header.Get("webhook-timestamp")
		if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("webhook-signature") != w.Signatures(ids[len(ids)-1], at, []byte(body)) {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		answer.WriteHeader(http.StatusAccepted)
	})
	one := entry("TXN#a.b/TXN#a.b")
	other := one
	other.Cursor = "elsewhere" // the journal lists it twice
	for _, e := range []client.JournalEntry{one, other} {
		if n, err := deliver(t.Context(), w, []client.JournalEntry{e}); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
	if bodies[0] != `{"id":"TXN#a.b/TXN#a.b","type":"transaction.posted","at":"2026-11-21T09:00:00.000000Z",`+
		`"data":{"id":"t"},"canonical":"{\"ID\":\"t\"}"}` {
		t.Error(bodies[0])
	}
	if bodies[0] != bodies[1] || ids[0] != ids[1] || strings.Contains(ids[0], ".") || len(ids[0]) < 20 {
		t.Errorf("%q %q", ids, bodies)
	}
	if forward.ID(entry("TXN#a/OUTCOME")) == forward.ID(entry("TXN#a/TXN#a")) {
		t.Error("two events have one id")
	}
}

// webhook is one to a receiver. Its calls are one at a time.
func webhook(t *testing.T, receive func(w http.ResponseWriter, r *http.Request, body string)) *forward.Webhook {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		receive(w, r, string(body))
	}))
	t.Cleanup(s.Close)
	w, err := forward.NewWebhook(s.URL, secretFile(t, secret, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// deliver delivers events, and returns how many the receiver took.
func deliver(ctx context.Context, w *forward.Webhook, all []client.JournalEntry) (n int, err error) {
	taken, err := w.Deliver(ctx, all)
	for _, is := range taken {
		if is {
			n++
		}
	}
	return n, err
}

// Only 2xx is an acknowledgement. All events but the one that was not taken are delivered. A redirect is not followed.
func TestDeliveryReportsWhatWasTaken(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusNotFound, http.StatusInternalServerError} {
		w := webhook(t, func(answer http.ResponseWriter, r *http.Request, body string) {
			answer.Header().Set("Location", "/elsewhere")
			if strings.Contains(body, `"TXN#3/TXN#3"`) || r.URL.Path == "/elsewhere" {
				answer.WriteHeader(status)
			}
		})
		var all []client.JournalEntry
		for i := range 100 {
			all = append(all, entry(fmt.Sprintf("TXN#%d/TXN#%[1]d", i)))
		}
		taken, err := w.Deliver(t.Context(), all)
		want := slices.Repeat([]bool{true}, 100)
		want[3] = false
		if !slices.Equal(taken, want) || err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("TXN#3/TXN#3: the receiver answered %d", status)) {
			t.Errorf("%d: %v, %v", status, taken, err)
		}
	}
}

// A receiver that refuses everything gets few events in a round.
func TestReceiverThatIsDown(t *testing.T) {
	asked := 0
	w := webhook(t, func(answer http.ResponseWriter, _ *http.Request, _ string) {
		asked++
		answer.WriteHeader(http.StatusBadGateway)
	})
	var all []client.JournalEntry
	for i := range 100 {
		all = append(all, entry(fmt.Sprintf("TXN#%d/TXN#%[1]d", i)))
	}
	if n, err := deliver(t.Context(), w, all); n != 0 || err == nil || asked < 8 || asked > 16 {
		t.Errorf("%d delivered, %d asked, %v", n, asked, err)
	}
}

// A receiver that asks for a pause gets no further event before it, within bounds. The failure is that of the event.
func TestRetryAfter(t *testing.T) {
	began := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) // of every bubble of synctest
	date := func(in time.Duration) string { return began.Add(in).Format(http.TimeFormat) }
	for text, want := range map[string][2]time.Duration{
		"7": {7 * time.Second, 7 * time.Second}, "99999999999": {5 * time.Minute, 5 * time.Minute}, "86400": {5 * time.Minute, 5 * time.Minute},
		strings.Repeat("9", 40): {5 * time.Minute, 5 * time.Minute}, "-" + strings.Repeat("9", 40): {},
		date(time.Minute): {55 * time.Second, time.Minute}, date(time.Hour): {5 * time.Minute, 5 * time.Minute},
		date(-time.Hour): {}, "0": {}, "-1": {}, "soon": {}, "": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			w := &forward.Webhook{URL: "http://receiver", Client: &http.Client{Transport: after(func(*http.Request) (*http.Response, error) {
				answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Retry-After": {text}}, Body: http.NoBody}
				if asked.Add(1) == 1 {
					answer.StatusCode, answer.Status = http.StatusTooManyRequests, "429 Too Many Requests"
				} else {
					time.Sleep(time.Millisecond) // of the bubble: the refusal is the first answer
				}
				return answer, nil
			})}}
			var all []client.JournalEntry
			for i := range 100 {
				all = append(all, entry(fmt.Sprintf("TXN#%d/TXN#%[1]d", i)))
			}
			n, err := deliver(t.Context(), w, all)
			pause, is := errors.AsType[*forward.PauseError](err)
			if is != (want[1] > 0) || is && (pause.For < want[0] || pause.For > want[1] || n > 15) || !is && n != 99 ||
				!strings.Contains(fmt.Sprint(err), "the receiver answered 429") {
				t.Errorf("%q: %d delivered, %+v", text, n, err)
			}
		})
	}
}

// Events of one transaction or account arrive in order, one by one, and none behind one that was refused.
func TestOrderWithinATransaction(t *testing.T) {
	var got []string
	w := webhook(t, func(answer http.ResponseWriter, _ *http.Request, body string) {
		var e client.JournalEntry
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Error(err)
		}
		if e.ID == "ACCOUNT#1/CHANGE#5" {
			answer.WriteHeader(http.StatusInternalServerError)
			return
		}
		got = append(got, e.ID)
	})
	var all []client.JournalEntry
	for i := range 10 {
		for account := range 10 {
			all = append(all, entry(fmt.Sprintf("ACCOUNT#%d/CHANGE#%d", account, i)))
		}
	}
	n, err := deliver(t.Context(), w, all)
	if n != 95 || err == nil {
		t.Error(n, err)
	}
	next := make(map[string]int)
	for _, id := range got {
		account, number, _ := strings.Cut(id, "/CHANGE#")
		if fmt.Sprint(next[account]) != number {
			t.Errorf("%s after %d", id, next[account]-1)
		}
		next[account]++
	}
	if next["ACCOUNT#1"] != 5 {
		t.Errorf("%v", next)
	}
}

// A receiver has 15 seconds. A delivery that began is not broken off when the command ends, but no other begins.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &forward.Webhook{URL: "http://receiver", Client: &http.Client{Transport: silent{}}}
		began := time.Now()
		n, err := deliver(t.Context(), w, []client.JournalEntry{entry("TXN#1/TXN#1")})
		if n != 0 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 15*time.Second {
			t.Error(n, err, time.Since(began))
		}
		ctx, stop := context.WithCancel(t.Context())
		asked := 0
		w.Client.Transport = after(func(r *http.Request) (*http.Response, error) {
			asked++
			stop()
			return &http.Response{StatusCode: 200, Body: http.NoBody}, r.Context().Err()
		})
		all := []client.JournalEntry{entry("TXN#1/TXN#1"), entry("TXN#1/OUTCOME")}
		if n, err := deliver(ctx, w, all); n != 1 || err != nil || asked != 1 {
			t.Error(n, err, asked)
		}
	})
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

type after func(*http.Request) (*http.Response, error)

func (f after) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A file's cursor belongs to its filter, and to one process. A crash leaves the cursor before or the one after.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cursor")
	f := openFile(t, path, forward.Filter{Type: "hold.placed"})
	if c, err := f.Load(t.Context()); err != nil || c != (forward.Cursor{}) {
		t.Errorf("a new one: %v, %v", c, err)
	}
	want := forward.Cursor{After: "c", At: time.Date(2026, 11, 21, 9, 0, 0, 1000, time.UTC)}
	if err := f.Store(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if _, err := forward.OpenFile(path, forward.Filter{}); err == nil || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("opened twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := openFile(t, path, forward.Filter{Type: "hold.placed"}).Load(t.Context()); err != nil || c != want {
		t.Errorf("%v, %v", c, err)
	}
	if names, _ := filepath.Glob(path + "*"); !slices.Equal(names, []string{path, path + ".lock"}) {
		t.Errorf("files %q", names)
	}
}

// What is no cursor, and that of other events, is refused with what to do.
func TestFilesThatAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                                "give another file",
		"{":                               "give another file",
		`{"secret":"x"}`:                  "give another file",
		`{"after":7}`:                     "give another file",
		`{"type":"a","after":"c"}`:        `type "a", account ""`,
		`{"account":"jane","after":"c"}`:  `type "", account "jane"`,
		`{"from":"yesterday","after":""}`: "give another file",
	} {
		path := secretFile(t, text, 0o600)
		f := openFile(t, path, forward.Filter{})
		if c, err := f.Load(t.Context()); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

func openFile(t *testing.T, path string, filter forward.Filter) *forward.File {
	t.Helper()
	f, err := forward.OpenFile(path, filter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A status 2xx is the answer. What follows it does not matter: a body that breaks off, or has no end.
func TestAnswerThatBreaksOff(t *testing.T) {
	w := webhook(t, func(answer http.ResponseWriter, _ *http.Request, _ string) {
		answer.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(answer, "ok")
	})
	if n, err := deliver(t.Context(), w, []client.JournalEntry{entry("TXN#1/TXN#1")}); n != 1 || err != nil {
		t.Error(n, err)
	}
}
