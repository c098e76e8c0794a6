package forward

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
)

const (
	// deliveryTimeout is how long a receiver may take to answer.
	deliveryTimeout = 15 * time.Second
	// longestPause bounds what a receiver can ask for by Retry-After.
	longestPause = 5 * time.Minute
	// lanes is how many requests are sent at a time.
	lanes = 8
	// secretPrefix and secretBytes are the form of a secret (Standard Webhooks, "signature scheme").
	secretPrefix = "whsec_"
	secretBytes  = 24
)

// Webhook delivers events by HTTP, with the headers of Standard Webhooks. A receiver takes an event by a status 2xx
// within 15 s. Events of one transaction, account, asset or group arrive in the order of the journal, one by one;
// others may arrive at the same time.
type Webhook struct {
	URL     string
	Secrets [][]byte // a signature for each, so that a receiver can change to a new one
	Client  *http.Client
}

// NewWebhook returns a webhook with the secrets in a file, one a line. Errors say what to do.
func NewWebhook(url, secretFile string) (*Webhook, error) {
	w := &Webhook{URL: url, Client: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect is no answer of the receiver. net/http would follow it with a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	w.Client.Transport.(*http.Transport).MaxIdleConnsPerHost = lanes
	info, err := os.Stat(secretFile)
	if err != nil {
		return nil, err
	}
	if others := fs.FileMode(0o007); info.Mode().IsRegular() && info.Mode()&others != 0 {
		return nil, fmt.Errorf("%s can be used by every user of this machine: run chmod 600 %[1]s", secretFile)
	}
	text, err := os.ReadFile(secretFile) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Fields(string(text)) {
		encoded, ok := strings.CutPrefix(line, secretPrefix)
		secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=")) // padded or not
		if !ok || err != nil || len(secret) < secretBytes {
			return nil, fmt.Errorf("%s: a secret is %s and base64 of at least %d bytes: make one with "+
				"`echo %[2]s$(head -c 32 /dev/urandom | base64)`", secretFile, secretPrefix, secretBytes)
		}
		w.Secrets = append(w.Secrets, secret)
	}
	if len(w.Secrets) == 0 {
		return nil, fmt.Errorf("%s has no secret", secretFile)
	}
	return w, nil
}

// PauseError is a failure after which the receiver asks for a pause.
type PauseError struct {
	error
	For time.Duration // at most longestPause
}

// Unwrap returns the failure.
func (e *PauseError) Unwrap() error { return e.error }

// Deliver is a Target. After a failure, later events of the same partition wait for the next round. A receiver that
// asks for a pause gets no further event in this round, nor does one after as many failures as there are lanes: it is
// down. The error is that of the first event that was not taken.
func (w *Webhook) Deliver(ctx context.Context, all []client.JournalEntry) (taken []bool, err error) {
	var order []string
	lane := make(map[string][]int) // by partition: the indexes of its events
	for i, e := range all {
		partition, _, _ := strings.Cut(e.ID, "/")
		if lane[partition] == nil {
			order = append(order, partition)
		}
		lane[partition] = append(lane[partition], i)
	}
	taken = make([]bool, len(all))
	var mu sync.Mutex
	failures, first, pause := 0, len(all), time.Duration(0)
	begins := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failures < lanes && pause == 0 && ctx.Err() == nil
	}
	fail := func(i int, failure error) {
		mu.Lock()
		defer mu.Unlock()
		failures++
		if asked, ok := errors.AsType[*PauseError](failure); ok {
			pause = max(pause, asked.For)
		}
		if i < first {
			first, err = i, fmt.Errorf("event %s: %w", all[i].ID, failure)
		}
	}
	var running errgroup.Group
	running.SetLimit(lanes)
	for _, partition := range order {
		running.Go(func() error {
			for _, i := range lane[partition] {
				if !begins() {
					return nil
				}
				if failure := w.send(ctx, all[i]); failure != nil {
					fail(i, failure)
					return nil
				}
				taken[i] = true
			}
			return nil
		})
	}
	_ = running.Wait() // the first error is err
	if pause > 0 {
		err = &PauseError{err, pause}
	}
	return taken, err
}

// send sends one event.
func (w *Webhook) send(ctx context.Context, e client.JournalEntry) error {
	body, err := Body(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliveryTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	id, now := ID(e), strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", now)
	r.Header.Set("Webhook-Signature", w.signatures(id, now, body))
	answer, err := w.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		refused := fmt.Errorf("the receiver answered %s", answer.Status)
		if asked := retryAfter(answer.Header); asked > 0 {
			return &PauseError{refused, asked}
		}
		return refused
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // only so that the connection is used again
	return nil
}

// retryAfter returns for how long an answer asks to wait (RFC 9110, 10.2.3: seconds or a date), 0 if it does not.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	seconds, err := strconv.ParseUint(text, 10, 64) // of more digits: the largest number
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), longestPause)
	}
	return 0
}

// signatures returns the value of the header webhook-signature.
func (w *Webhook) signatures(id, timestamp string, body []byte) string {
	all := make([]string, len(w.Secrets))
	for i, secret := range w.Secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
