package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
)

// lagging is a book in which a backdated credit can be spent only after some time.
func lagging(lag time.Duration) *book {
	b := newBook()
	since := make(map[string]time.Time) // account to its newest backdated credit
	b.before = func(_ context.Context, cmd client.Command) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for account, at := range since {
			if strings.Contains(string(cmd.Body), `"from":"`+account+`"`) && time.Since(at) < lag {
				return refusal(client.CodeInsufficientFunds)
			}
		}
		if strings.Contains(string(cmd.Body), "effective_at") {
			_, to, _ := strings.Cut(string(cmd.Body), `"to":"`)
			to, _, _ = strings.Cut(to, `"`)
			since[to] = time.Now()
		}
		return nil
	}
	return b
}

func lagFile(date string) string {
	file := opening + `{"account":{"id":"joe"}}` + "\n" + `{"account":{"id":"bank2","overdraft":"unlimited"}}` + "\n" +
		transfer("t-1", "bank", "jane", 10, date) + transfer("t-2", "jane", "joe", 7, date) +
		transfer("t-3", "joe", "bank", 7, date) + transfer("t-4", "jane", "bank", 3, "")
	for n := range 200 {
		file += transfer(fmt.Sprint("o-", n), "bank", "bank2", 1, "")
	}
	return file
}

// A line that spends a backdated credit is retried until the credit is projected, as long as other lines make progress.
// It does not block other lines.
func TestLinesAreRetriedForBackdatedCredits(t *testing.T) {
	for _, together := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := lagging(15 * time.Second)
			var inBatches Batches
			if together {
				inBatches = newBatches(b)
			}
			if c := imports(t, b, inBatches, 4, lagFile(`,"effective_at":"2020-01-01T00:00:00Z"`)); c.New < 204 || b.posted["transfer t-3"] == "" || b.sent[len(b.sent)-1] != "t-3" {
				t.Errorf("%+v, the last are %v", c, b.sent[len(b.sent)-3:])
			}
		})
	}
}

// An uncovered line is reported once, at the end. Without backdated lines, it is reported immediately.
func TestUncoveredLinesFail(t *testing.T) {
	for date, wait := range map[string]time.Duration{`,"effective_at":"2020-01-01T00:00:00Z"`: lagTime, "": 0} {
		synctest.Test(t, func(t *testing.T) {
			b := newBook()
			tries := 0
			b.before = func(_ context.Context, cmd client.Command) error {
				if cmd.ID == "t-2" {
					tries++
					return refusal(client.CodeInsufficientFunds)
				}
				return nil
			}
			began := time.Now()
			counts, f, err := run(t.Context(), b, 4, strings.NewReader(lagFile(date)))
			took := time.Since(began)
			if err != nil || counts.Failed != 2 || len(f.list) != 2 || f.list[0].ID != "t-2" || f.list[1].ID != "t-3" {
				t.Errorf("%+v, %v, %v", counts, f.list, err)
			}
			if took < wait || took > wait+2*lagPause || tries > 2+int(wait/lagPause) {
				t.Errorf("it took %v and %d tries", took, tries)
			}
		})
	}
}

// A cancelled import does not wait for its deferred lines.
func TestCancelledImportDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		counts, f, err := run(ctx, lagging(time.Hour), 4, strings.NewReader(lagFile(`,"effective_at":"2020-01-01T00:00:00Z"`)))
		if !errors.Is(err, context.DeadlineExceeded) || counts.Failed != 0 || len(f.list) != 0 || time.Since(began) > 4*time.Second {
			t.Errorf("%+v, %v, %v, after %v", counts, f.list, err, time.Since(began))
		}
	})
}

// Lines that end or reverse a deferred line are deferred, too.
func TestEndsOfDeferredHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := lagging(5 * time.Second)
		file := opening + transfer("t-1", "bank", "jane", 10, `,"effective_at":"2020-01-01T00:00:00Z"`) +
			transfer("h", "jane", "bank", 10, `,"hold":{}`) + `{"capture":{"transaction":"h"}}`
		if imports(t, b, nil, 4, file); b.moved["h"].state != client.StatusCaptured {
			t.Errorf("%+v", b.moved["h"])
		}
	})
}

// Ends and reversals of transactions of an earlier file may depend on each other.
func TestEndsOfAnEarlierFile(t *testing.T) {
	for n := range 10 {
		synctest.Test(t, func(t *testing.T) {
			b := newBook()
			b.moved["old-0"], b.moved["old-1"] = moved{"jane", "joe", "USD", "held", 3}, moved{"bank", "jane", "USD", "posted", 3}
			b.before = func(_ context.Context, c client.Command) error {
				if c.Kind == client.KindRelease {
					time.Sleep(5 * time.Millisecond) // the reversal's request is quicker
				}
				return nil
			}
			file := opening + `{"account":{"id":"joe"}}` + strings.Repeat("\n", n+1) + `{"release":{"transaction":"old-0"}}
{"reversal":{"id":"r-1","transaction":"old-1"}}
`
			imports(t, b, nil, 4, file)
		})
	}
}

// An account is closed when its last postings are projected.
func TestClosingIsRetriedForBackdatedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBook(), time.Now()
		b.before = func(_ context.Context, cmd client.Command) error {
			if cmd.Kind == client.KindChange && time.Since(began) < 5*time.Second {
				return refusal(client.CodeInvalidChange)
			}
			return nil
		}
		file := lagFile(`,"effective_at":"2020-01-01T00:00:00Z"`) + `{"change":{"id":"jane","state":"closed"}}`
		if imports(t, b, nil, 4, file); b.sent[len(b.sent)-1] != "jane" {
			t.Errorf("the last is %s", b.sent[len(b.sent)-1])
		}
	})
}

// Groupings and roles wait for the groups and accounts that they name, and for nothing else.
func TestGroupingsWait(t *testing.T) {
	for line, after := range map[string]time.Duration{
		`{"grouping":{"group":"slow","account":"quick"}}`: 5 * time.Second, `{"grouping":{"group":"quick","account":"slow"}}`: 5 * time.Second,
		`{"member":{"account":"slow","user":"u","role":"viewer"}}`:     5 * time.Second,
		`{"group_member":{"group":"slow","user":"u","role":"viewer"}}`: 5 * time.Second, `{"grouping":{"group":"quick","account":"quick"}}`: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			b, began, sent := newBook(), time.Now(), time.Duration(-1)
			b.before = func(_ context.Context, cmd client.Command) error {
				switch {
				case cmd.Of != "":
					sent = time.Since(began)
				case cmd.ID == "slow":
					time.Sleep(5 * time.Second)
				}
				return nil
			}
			file := `{"group":{"id":"slow"}}` + "\n" + `{"account":{"id":"slow"}}` + "\n" + `{"group":{"id":"quick"}}` + "\n" + `{"account":{"id":"quick"}}` + "\n" + line
			if imports(t, b, nil, 6, file); sent != after {
				t.Errorf("%s: sent after %v", line, sent)
			}
		})
	}
}
