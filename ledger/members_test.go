package ledger_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

func grant(role events.Role) ledger.GrantMember {
	return ledger.GrantMember{Account: "jane", User: "u", Role: role, Actor: "tester"}
}

var revoke = ledger.RevokeMember{Account: "jane", User: "u", Actor: "tester"}

// newest is the newest grant as "number role".
func (r *rig) newest() string {
	r.t.Helper()
	role, number, err := r.another().NewestGrant(r.t.Context(), "jane", "u")
	switch {
	case err != nil:
		r.t.Fatal(err)
	case number == 0:
		return "none"
	}
	return fmt.Sprint(number, " ", cmp.Or(role, "revoked"))
}

// Another request wrote the same grant while the outcome of this one was unknown, so this command did not create it.
func TestUnknownPutThatAnotherRequestMade(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		other := r.another()
		gold := ledger.RegisterAsset{ID: "XAU", Name: "Gold", Actor: "tester"}
		var first events.AssetRegistered
		r.journal.writes = map[string][]put{"Put": {func(func() error) error {
			var err error
			theirs := gold
			theirs.Actor = "another"
			if first, _, err = other.RegisterAsset(t.Context(), theirs); err != nil {
				t.Error(err)
			}
			return errUnknown
		}}}
		if got, created, err := r.RegisterAsset(t.Context(), gold); err != nil || created || got != first {
			t.Errorf("%+v, %v, %v; first was %+v", got, created, err, first)
		}
	})
}

// A grant that is only for a user without a role decides by its write: of two at the same time, one is refused, although
// both saw no role. After an unknown outcome it is answered as what it wrote, and a revoked user has no role.
func TestGrantIfAbsent(t *testing.T) {
	ask := grant("viewer")
	ask.IfAbsent = true
	inBubble(t, func(t *testing.T, r *rig) {
		other := r.another()
		r.journal.writes = map[string][]put{"Put": {func(do func() error) error {
			if created, err := other.Grant(t.Context(), ask); err != nil || !created {
				t.Errorf("%v, %v", created, err)
			}
			return do()
		}}}
		created, err := r.Grant(t.Context(), ask)
		if e, ok := errors.AsType[*ledger.Error](err); !ok || e.Code != ledger.CodePreconditionFailed || created {
			t.Errorf("%v, %v", created, err)
		}
		if err := r.Revoke(t.Context(), revoke); err != nil {
			t.Fatal(err)
		}
		r.journal.writes = map[string][]put{"Put": {func(do func() error) error {
			if err := do(); err != nil {
				t.Error(err)
			}
			return errUnknown
		}}}
		if created, err := r.Grant(t.Context(), ask); err != nil || !created || r.newest() != "3 viewer" {
			t.Errorf("%v, %v, %s", created, err, r.newest())
		}
	})
}

// by is the authority of ann, who owns jane by her first grant.
var by = ledger.Authority{User: "ann", Grant: 1}

// outdate revokes ann.
func outdate(t *testing.T, r *rig) {
	if err := r.another().Revoke(t.Context(), ledger.RevokeMember{Account: "jane", User: "ann", Actor: "tester"}); err != nil {
		t.Error(err)
	}
}

// inBubbleOfAnn is inBubble with ann as an owner of jane.
func inBubbleOfAnn(t *testing.T, f func(t *testing.T, r *rig, wanted ledger.GrantMember)) {
	t.Helper()
	inBubble(t, func(t *testing.T, r *rig) {
		first := grant(events.RoleOwner)
		first.User = "ann"
		if _, err := r.Grant(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		wanted := grant(events.RoleViewer)
		wanted.By = by
		f(t, r, wanted)
	})
}

// G10: the right is revoked while the outcome of the grant is unknown: it was written, it was not, or it arrives later.
func TestUnknownGrantByAnOutdatedRight(t *testing.T) {
	for name, c := range map[string]struct {
		steps  func(t *testing.T, r *rig, keep *func() error) []put
		newest string
	}{
		"written": {func(t *testing.T, r *rig, _ *func() error) []put {
			return []put{func(apply func() error) error {
				err := apply()
				outdate(t, r)
				return errors.Join(err, errUnknown)
			}}
		}, "1 viewer"},
		"not written": {func(t *testing.T, r *rig, _ *func() error) []put {
			return []put{func(func() error) error {
				outdate(t, r)
				return errUnknown
			}}
		}, "none"},
		"written late": {func(t *testing.T, r *rig, first *func() error) []put {
			return []put{func(apply func() error) error {
				*first = apply
				return errUnknown
			}, func(func() error) error { // it met the head before the first attempt came, and ann's grant after that
				err := (*first)()
				outdate(t, r)
				return errors.Join(err, &table.Cancelled{Reasons: []table.Reason{{}, {Is: table.CauseCondition}}})
			}}
		}, "1 viewer"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleOfAnn(t, func(t *testing.T, r *rig, wanted ledger.GrantMember) {
				var first func() error
				r.journal.writes = map[string][]put{"Put": c.steps(t, r, &first)}
				created, err := r.Grant(t.Context(), wanted)
				written := c.newest != "none"
				if created != written || (err == nil) != written || !written && !errors.Is(err, table.ErrOutdated) ||
					r.newest() != c.newest {
					t.Errorf("created %v, %v; newest %s", created, err, r.newest())
				}
			})
		})
	}
}
