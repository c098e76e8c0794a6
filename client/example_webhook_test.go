package client_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/forward"
)

// receiver takes the events that `ledger forward` sends. handle must store what it does together with the id, in one
// transaction of your database, in place of the map here: then each event has its effect once.
type receiver struct {
	secret []byte // that of --secret-file: base64 after whsec_
	handle func(e client.JournalEntry) error
	mu     sync.Mutex
	seen   map[string]bool // the ids of handled events
}

// ServeHTTP answers 2xx only for an event that is handled, now or before. The ledger sends any other event again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	id, at := q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp")
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	if err != nil || !r.isSigned(q.Header.Get("webhook-signature"), id+"."+at+"."+string(body)) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	seconds, _ := strconv.ParseInt(at, 10, 64)
	if time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute { // somebody sends what he recorded
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var e client.JournalEntry
	if err = json.Unmarshal(body, &e); err == nil && !r.seen[id] {
		err = r.handle(e)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.seen[id] = true
}

// isSigned compares in constant time, so that nobody can guess a signature byte by byte.
func (r *receiver) isSigned(signatures, text string) bool {
	mac := hmac.New(sha256.New, r.secret)
	mac.Write([]byte(text))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for one := range strings.FieldsSeq(signatures) { // one for each secret of the sender
		if hmac.Equal([]byte(one), []byte(want)) {
			return true
		}
	}
	return false
}

// A receiver of webhooks checks the signature and the time, and drops what it has handled before.
func Example_receiver() {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	fails := true
	r := &receiver{secret: key, seen: make(map[string]bool), handle: func(e client.JournalEntry) error {
		if fails {
			return fmt.Errorf("the database is down")
		}
		fmt.Println(e.Type, e.ID)
		return nil
	}}
	server := httptest.NewServer(r)
	defer server.Close()

	sent := []client.JournalEntry{{ID: "TXN#t-1/TXN#t-1", Type: events.TypePosted, At: "2026-11-21T09:00:00.000000Z"}}
	deliver := func(secret string) {
		taken, err := webhookTo(server.URL, secret, sent)
		fmt.Println(taken, err)
	}
	deliver("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") // a stranger
	deliver(secret)
	fails = false
	deliver(secret)
	deliver(secret) // the ledger was rewound
	// Output:
	// [false] event TXN#t-1/TXN#t-1: the receiver answered 401 Unauthorized
	// [false] event TXN#t-1/TXN#t-1: the receiver answered 500 Internal Server Error
	// transaction.posted TXN#t-1/TXN#t-1
	// [true] <nil>
	// [true] <nil>
}

// webhookTo sends events as `ledger forward` does.
func webhookTo(url, secret string, all []client.JournalEntry) (taken []bool, err error) {
	dir, err := os.MkdirTemp("", "webhook-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		return nil, err
	}
	w, err := forward.NewWebhook(url, file)
	if err != nil {
		return nil, err
	}
	return w.Deliver(context.Background(), all)
}

// A recorded request is refused later, and so is one whose id or time was changed, or that is not signed.
func TestReceiverRefuses(t *testing.T) {
	key := []byte("a secret of at least 24 bytes")
	unchanged := func(http.Header) {}
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set("webhook-"+name, value) }
	}
	now := time.Now()
	for _, c := range []struct {
		age    time.Duration
		change func(http.Header)
		status int
	}{
		{0, unchanged, 200}, {4 * time.Minute, unchanged, 200}, {6 * time.Minute, unchanged, 401},
		{-6 * time.Minute, unchanged, 401}, {0, set("id", "other"), 401}, {0, set("signature", ""), 401},
		{time.Hour, set("timestamp", strconv.FormatInt(now.Unix(), 10)), 401},
		{0, func(h http.Header) { // an older version
			h.Set("webhook-signature", strings.ReplaceAll(h.Get("webhook-signature"), "v1,", "v0,"))
		}, 401},
	} {
		const body = `{"id":"TXN#t-1/TXN#t-1"}`
		seconds := strconv.FormatInt(now.Add(-c.age).Unix(), 10)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("id." + seconds + "." + body))
		q := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		q.Header.Set("webhook-id", "id")
		q.Header.Set("webhook-timestamp", seconds)
		q.Header.Set("webhook-signature", "v1,b3RoZXI= v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		c.change(q.Header)
		w := httptest.NewRecorder()
		handle := func(client.JournalEntry) error { return nil }
		(&receiver{secret: key, seen: make(map[string]bool), handle: handle}).ServeHTTP(w, q)
		if w.Code != c.status {
			t.Errorf("%s old with %v: %d", c.age, q.Header, w.Code)
		}
	}
}
