// Package access says who calls, and which roles a user has. It decides by what the journal says at that moment: it
// knows no projection and keeps nothing in memory.
package access

import (
	"strings"

	"ledger.example/events"
)

// Caller is who sends a request, as an authorizer vouches for it. The zero Caller is nobody, and may do nothing.
type Caller struct {
	// Service is the identity that authenticated: that of IAM, or of a token. Of a user with a token it is the issuer.
	Service string
	// User is the id of the user on whose roles the request relies, "" for none.
	User string
	// Admin may do everything, without a role. An administrator has no User.
	Admin bool
}

// via stands between a user and the service that acts for them. No service's name has it behind a valid id.
const via = " via "

// Actor returns the name under which events record the caller: that of the service, or "<user> via <service>".
func (c Caller) Actor() string {
	if c.User == "" {
		return c.Service
	}
	return c.User + via + c.Service
}

// UserOf returns the user who acted under an actor's name. ok is false for services and administrators.
func UserOf(actor string) (user string, ok bool) {
	user, _, ok = strings.Cut(actor, via)
	if !ok || !events.ValidID(user) {
		return "", false
	}
	return user, true
}

// Role is what a caller may do: each role includes those before it.
type Role int

// The roles. None sees nothing. Administrator is no role that is granted: services have it, and tokens with a scope.
const (
	None Role = iota
	Viewer
	Operator
	Owner
	Administrator
)

var names = [...]string{"", string(events.RoleViewer), string(events.RoleOperator), string(events.RoleOwner),
	"administrator"}

func (r Role) String() string { return names[r] }

// Right is a role on an account or in a group, and what gives it.
type Right struct {
	Role   Role
	Group  string // through which group; "": by a grant on the account itself
	Grant  int64  // the number of the newest grant or revocation, on the account or in Group
	Groups int64  // of an account, through Group: the number of the newest change of its groups
}

// RoleOf returns the role of a grant. An unknown one allows nothing.
func RoleOf(granted events.Role) Role {
	switch granted {
	case events.RoleViewer:
		return Viewer
	case events.RoleOperator:
		return Operator
	case events.RoleOwner:
		return Owner
	}
	return None
}
