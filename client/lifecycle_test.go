package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// New is right for both kinds of write: a capture is answered with 200, and only a header marks a replay; a reversal is
// answered with 201 the first time.
func TestNewDistinguishesReplays(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		isNew  bool
	}{
		"first":  {status(200, posted), true},
		"replay": {status(200, posted, "Idempotent-Replayed", "true"), false},
	} {
		client, _ := newClient(t, newScript(t, c.answer).URL)
		_, w, err := client.Post(t.Context(), Capture{Transaction: "t-1"})
		if err != nil || w.New != c.isNew {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	client, _ := newClient(t, newScript(t, status(201, posted)).URL)
	if _, w, err := client.Post(t.Context(), Reversal{Transaction: "t-0", ID: "t-1"}); err != nil || !w.New {
		t.Errorf("%+v, %v", w, err)
	}
}

// If-Match is sent as an entity tag. After an attempt without an answer, that attempt may be the cause of a mismatch.
func TestVersionMismatchAfterUnansweredChangeIsUnknown(t *testing.T) {
	var tags []string
	answers := func(first int) transport {
		n := 0
		return func(r *http.Request) (*http.Response, error) {
			tags = append(tags, r.Header.Get("If-Match"))
			if n++; n <= first {
				return nil, errCut
			}
			return response(http.StatusPreconditionFailed, `{"code":"version_mismatch","detail":"Another version."}`)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := newFakeClient(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != 412 || e.Code != CodeVersionMismatch {
			t.Errorf("%v", err)
		}
		_, err = newFakeClient(t, answers(1)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen, IfMatch: 3})
		if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.ID != "jane" {
			t.Errorf("%v", err)
		}
		_, _ = newFakeClient(t, answers(0)).PatchAccount(t.Context(), "jane", AccountPatch{State: StateFrozen})
	})
	if want := []string{`"3"`, `"3"`, `"3"`, ""}; !slices.Equal(tags, want) {
		t.Errorf("If-Match %q, want %q", tags, want)
	}
}

// A dry run writes nothing, so its failure is never an UnknownError. An answer without dry_run is rejected.
func TestDryRunIsNoWrite(t *testing.T) {
	client, k := newClient(t, newScript(t, problem(504, "outcome_unknown")).URL)
	_, err := client.DryRun(t.Context(), transfer)
	var unknown *UnknownError
	if _, ok := errors.AsType[*Error](err); !ok || errors.As(err, &unknown) || len(k.pauses) == 0 {
		t.Errorf("%v", err)
	}
	client, _ = newClient(t, newScript(t, status(201, posted)).URL)
	if r, err := client.DryRun(t.Context(), transfer); err == nil {
		t.Errorf("%s passes for a dry run", r.Raw)
	}
	client, _ = newClient(t, newScript(t, status(502, ""), status(200, `{"dry_run":true,"status":"held"}`)).URL)
	if r, err := client.DryRun(t.Context(), transfer); err != nil || r.Value.Status != StatusHeld || !r.Value.DryRun {
		t.Errorf("%+v, %v", r.Value, err)
	}
}

// The iterator over the journal begins at the given position, reads on after an empty page, and stops at the newest
// entry.
func TestJournalStopsAtNewestEntry(t *testing.T) {
	page := func(next string, cursors ...string) answer {
		entries := []string{}
		for _, c := range cursors {
			entries = append(entries, `{"type":"transaction.posted","cursor":"`+c+`","data":{"id":"t"}}`)
		}
		return status(200, `{"data":[`+strings.Join(entries, ",")+`],"next_cursor":"`+next+`"}`)
	}
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for first, from := range map[string]JournalQuery{
		"": {}, "after=c0&": {After: "c0", From: day}, "from=2026-11-22T00%3A00%3A00Z&": {From: day},
	} {
		s := newScript(t, page("c2", "c1", "c2"), page("c3"), page("c4", "c4"), page("c4"))
		c, _ := newClient(t, s.URL)
		read := ""
		for e, err := range c.Journal(t.Context(), from) {
			if err != nil {
				t.Error(err)
			}
			read += e.Cursor + " "
		}
		const journal = "GET /v1/journal?"
		wanted := []string{journal + first + "limit=100 ", journal + "after=c2&limit=100 ",
			journal + "after=c3&limit=100 ", journal + "after=c4&limit=100 "}
		if read != "c1 c2 c4 " || !slices.Equal(s.asked, wanted) {
			t.Errorf("%+v: read %q by %q", from, read, s.asked)
		}
	}
}
