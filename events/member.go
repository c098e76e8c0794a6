package events

import "time"

const (
	memberGranted = "MemberGranted"
	memberRevoked = "MemberRevoked"
)

// MemberGranted: a user was given a role on an account.
type MemberGranted struct {
	Account string    // id of the account
	User    string    // id of the user, see ValidID; users are not registered
	Role    Role      // replaces any role granted before
	Number  int64     // 1 for the first grant or revocation of this user on this account, then the next; at most MemberNumberMax
	Actor   string    // who granted it, 1 to ActorChars characters
	At      time.Time // UTC, whole microseconds; set by the command. Order is that of Number, not of At
}

// MemberRevoked: a user's role on an account was taken away. Its fields are those of MemberGranted.
type MemberRevoked struct {
	Account string
	User    string
	Number  int64
	Actor   string
	At      time.Time
}

// Role is what a member may do.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // also posts
	RoleOwner    Role = "owner"    // also grants
)

// EventName implements Event.
func (MemberGranted) EventName() (string, int) { return memberGranted, 1 }

// EventName implements Event.
func (MemberRevoked) EventName() (string, int) { return memberRevoked, 1 }

func (e MemberGranted) write(f Form) {
	MemberRevoked{Account: e.Account, User: e.User, Number: e.Number, Actor: e.Actor, At: e.At}.write(f)
	f.Text(fieldRole, string(e.Role))
}

func (e MemberRevoked) write(f Form) {
	f.Text(fieldAccount, e.Account)
	f.Text(fieldUser, e.User)
	f.Number(fieldNumber, NewAmount(e.Number))
	f.Text(fieldActor, e.Actor)
	f.Text(fieldAt, FormatTime(e.At))
}

func decodeMemberGranted(f Fields) (MemberGranted, error) {
	r := reader{stored: f}
	e := MemberGranted{
		Account: r.id(fieldAccount),
		User:    r.id(fieldUser),
		Role:    r.role(fieldRole),
		Number:  r.integer(fieldNumber, 1, MemberNumberMax),
		Actor:   r.text(fieldActor, ActorChars),
		At:      r.time(fieldAt),
	}
	return e, r.finishEvent(memberGranted)
}

func decodeMemberRevoked(f Fields) (MemberRevoked, error) {
	r := reader{stored: f}
	e := MemberRevoked{
		Account: r.id(fieldAccount),
		User:    r.id(fieldUser),
		Number:  r.integer(fieldNumber, 1, MemberNumberMax),
		Actor:   r.text(fieldActor, ActorChars),
		At:      r.time(fieldAt),
	}
	return e, r.finishEvent(memberRevoked)
}

func (r *reader) role(field string) Role {
	role := Role(take[string](r, field))
	switch role {
	case RoleViewer, RoleOperator, RoleOwner:
	default:
		r.fail(field, ruleUnknown)
	}
	return role
}
