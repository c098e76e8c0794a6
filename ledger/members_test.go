package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

// puts scripts the writes of single events beneath a ledger: each takes the next step, and goes through when none is left.
type puts struct {
	*script
	steps   []put
	forever put
	made    int
}

// put stands for what one write does; apply writes.
type put func(apply func() error) error

func (p *puts) next(apply func() error) error {
	p.mu.Lock()
	p.made++
	step := p.forever
	if len(p.steps) > 0 {
		step, p.steps = p.steps[0], p.steps[1:]
	}
	p.mu.Unlock()
	if step == nil {
		return apply()
	}
	return step(apply)
}

func (p *puts) RegisterAsset(ctx context.Context, e events.AssetRegistered) (events.AssetRegistered, error) {
	var answer held[events.AssetRegistered]
	err := p.next(func() error {
		stored, err := p.script.RegisterAsset(ctx, e)
		answer.set(stored)
		return err
	})
	return answer.get(), err
}

func (p *puts) OpenAccount(ctx context.Context, e events.AccountOpened) (events.AccountOpened, error) {
	var answer held[events.AccountOpened]
	err := p.next(func() error {
		stored, err := p.script.OpenAccount(ctx, e)
		answer.set(stored)
		return err
	})
	return answer.get(), err
}

func (p *puts) NewestGrant(ctx context.Context, account, user string) (events.Event, error) {
	if err := p.called("NewestGrant"); err != nil {
		return nil, err
	}
	return p.script.NewestGrant(ctx, account, user)
}

func (p *puts) PutGrant(ctx context.Context, e events.Event) (events.Event, error) {
	var answer held[events.Event]
	err := p.next(func() error {
		stored, err := p.script.PutGrant(context.WithoutCancel(ctx), e)
		answer.set(stored)
		return err
	})
	return answer.get(), err
}

// held is an answer that may come when nobody waits for it any more.
type held[T any] struct {
	mu    sync.Mutex
	value T
}

func (h *held[T]) set(value T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.value = value
}

func (h *held[T]) get() T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.value
}

func putAnswers(err error) put { return func(func() error) error { return err } }

func putApplied(err error) put {
	return func(apply func() error) error { apply(); return err }
}

func putLate(after time.Duration) put {
	return func(apply func() error) error {
		go func() { time.Sleep(after); apply() }()
		return errUnknown
	}
}

func (r *rig) withPuts() *puts {
	p := &puts{script: r.journal}
	r.Ledger = ledger.New(ledger.Config{Journal: p, Projections: r.journal, Now: storeNow})
	return p
}

func grant(role events.Role) ledger.GrantMember {
	return ledger.GrantMember{Account: "jane", User: "u", Role: role, Actor: "tester"}
}

var revoke = ledger.RevokeMember{Account: "jane", User: "u", Actor: "tester"}

// newest is the newest grant as "number role".
func (r *rig) newest() string {
	r.t.Helper()
	switch e, err := r.journal.NewestGrant(r.t.Context(), "jane", "u"); e := e.(type) {
	case events.MemberGranted:
		return fmt.Sprint(e.Number, " ", e.Role)
	case events.MemberRevoked:
		return fmt.Sprint(e.Number, " revoked")
	default:
		if !errors.Is(err, table.ErrAbsent) {
			r.t.Fatal(err)
		}
		return "none"
	}
}

func TestGrants(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.withPuts()
		for i, step := range []struct {
			role    events.Role // "": revoke
			created bool
			newest  string
			writes  int
		}{
			{"", false, "none", 0},
			{events.RoleViewer, true, "1 viewer", 1},
			{events.RoleViewer, false, "1 viewer", 0},
			{events.RoleOwner, false, "2 owner", 1},
			{"", false, "3 revoked", 1},
			{"", false, "3 revoked", 0},
			{events.RoleOwner, true, "4 owner", 1},
		} {
			p.made = 0
			var created bool
			var err error
			if step.role == "" {
				err = r.Revoke(t.Context(), revoke)
			} else {
				created, err = r.Grant(t.Context(), grant(step.role))
			}
			if err != nil || created != step.created || r.newest() != step.newest || p.made != step.writes {
				t.Errorf("step %d: created %v, %v; newest %s; %d writes", i, created, err, r.newest(), p.made)
			}
		}
	})
}

func TestGrantRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		_, err := r.Grant(t.Context(), ledger.GrantMember{Account: "no one", User: "u", Role: "king"})
		sameFields(t, r.refused(err, ledger.CodeInvalidRequest).Fields, "account", "role")
		sameFields(t, r.refused(r.Revoke(t.Context(), ledger.RevokeMember{Account: "jane"}), ledger.CodeInvalidRequest).Fields, "user")
		_, err = r.Grant(t.Context(), ledger.GrantMember{Account: "nobody", User: "u", Role: events.RoleOwner, Actor: "tester"})
		if e := r.refused(err, ledger.CodeAccountNotFound); !e.OfPath {
			t.Error("the account stands in the path")
		}
		_, err = r.Grant(t.Context(), ledger.GrantMember{Account: "jane", User: "u", Role: events.RoleOwner})
		r.refused(err, ledger.CodeInternal)
		if got := r.newest(); got != "none" {
			t.Errorf("newest %s", got)
		}
	})
}

// Whatever becomes of a write: the answer is true, and the newest grant says what was asked for last.
func TestGrantUnderFaults(t *testing.T) {
	for name, test := range map[string]struct {
		steps   []put
		created bool
		newest  string
	}{
		"throttled":               {[]put{putAnswers(errThrottled), putAnswers(errUnavailable), putAnswers(errConflict)}, true, "1 owner"},
		"unknown, not applied":    {[]put{putAnswers(errUnknown)}, true, "1 owner"},
		"unknown, applied":        {[]put{putApplied(errUnknown)}, true, "1 owner"},
		"unknown, applied late":   {[]put{putLate(5 * time.Millisecond), putAnswers(errThrottled), putAnswers(errThrottled)}, true, "1 owner"},
		"unknown, twice":          {[]put{putAnswers(errUnknown), putApplied(errUnknown)}, true, "1 owner"},
		"unknown, late and twice": {[]put{putLate(100 * time.Millisecond), putLate(10 * time.Millisecond)}, true, "1 owner"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.withPuts().steps = test.steps
				created, err := r.Grant(t.Context(), grant(events.RoleOwner))
				if err != nil || created != test.created {
					t.Errorf("created %v, %v", created, err)
				}
				time.Sleep(time.Minute)
				if got := r.newest(); got != test.newest {
					t.Errorf("newest %s, want %s", got, test.newest)
				}
			})
		})
	}
}

// Somebody else's grant comes first: theirs is seen, and this one follows it.
func TestGrantAfterAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.withPuts()
		other := func(role events.Role) put {
			return func(apply func() error) error {
				if _, err := ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Now: storeNow}).Grant(t.Context(), grant(role)); err != nil {
					t.Error(err)
				}
				return apply()
			}
		}
		p.steps = []put{other(events.RoleViewer), other(events.RoleOperator)}
		if created, err := r.Grant(t.Context(), grant(events.RoleOwner)); created || err != nil {
			t.Errorf("created %v, %v: the first role was another's", created, err)
		}
		if got := r.newest(); got != "3 owner" {
			t.Errorf("newest %s", got)
		}
		// The same role from another at the same time: nothing is left to do.
		if err := r.Revoke(t.Context(), revoke); err != nil {
			t.Fatal(err)
		}
		p.steps = []put{other(events.RoleViewer)}
		if created, err := r.Grant(t.Context(), grant(events.RoleViewer)); created || err != nil || r.newest() != "5 viewer" {
			t.Errorf("created %v, %v; newest %s", created, err, r.newest())
		}
	})
}

// A grant whose answer was lost stays one grant: what was decided on seeing it is not undone by asking what became of it.
func TestGrantIsNotMadeTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.withPuts()
		p.steps = []put{func(apply func() error) error {
			if err := apply(); err != nil {
				t.Error(err)
			}
			if err := ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Now: storeNow}).Revoke(t.Context(), revoke); err != nil {
				t.Error(err)
			}
			return errUnknown
		}}
		if created, err := r.Grant(t.Context(), grant(events.RoleOwner)); !created || err != nil {
			t.Errorf("created %v, %v", created, err)
		}
		if got := r.newest(); got != "2 revoked" {
			t.Errorf("newest %s", got)
		}
	})
}

func TestGrantGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		forever put
		code    ledger.Code
		least   time.Duration
	}{
		"throttled":   {putAnswers(errThrottled), ledger.CodeThrottled, 0},
		"unavailable": {putAnswers(errUnavailable), ledger.CodeUnavailable, 0},
		"others":      {putAnswers(table.ErrExists), ledger.CodeContention, 5 * time.Second},
		"unknown":     {putAnswers(errUnknown), ledger.CodeOutcomeUnknown, 5 * time.Second},
		"a bug":       {putAnswers(errors.New("a bug")), ledger.CodeInternal, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.withPuts().forever = test.forever
				start := time.Now()
				_, err := r.Grant(t.Context(), grant(events.RoleOwner))
				r.refused(err, test.code)
				if d := time.Since(start); d < test.least || d > 8*time.Second {
					t.Errorf("said after %v", d)
				}
			})
		})
	}
	t.Run("unknown, then throttled", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.withPuts()
			p.steps = []put{putLate(30 * time.Second)}
			p.forever = putAnswers(errThrottled)
			start := time.Now()
			_, err := r.Grant(t.Context(), grant(events.RoleOwner))
			r.refused(err, ledger.CodeOutcomeUnknown)
			if d := time.Since(start); d < 7*time.Second {
				t.Errorf("given up after %v", d)
			}
			time.Sleep(time.Minute)
			if got := r.newest(); got != "1 owner" {
				t.Errorf("newest %s", got)
			}
		})
	})
	t.Run("another's, then unreadable", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.withPuts()
			p.steps = []put{func(apply func() error) error {
				r.journal.fail = func(string) error { return errUnavailable }
				return table.ErrExists
			}}
			_, err := r.Grant(t.Context(), grant(events.RoleOwner))
			r.refused(err, ledger.CodeUnavailable)
		})
	})
}
