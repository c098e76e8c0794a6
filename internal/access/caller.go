// Package access identifies callers and resolves the roles of users. It reads the grants themselves for every request,
// not projections or a cache, so that a revocation applies at once.
package access

import (
	"strings"

	"ledger.example/events"
)

// Caller is the authenticated sender of a request. The zero Caller has no rights.
type Caller struct {
	// Service is the authenticated identity: an IAM identity, or that of a token. For a user with a token, it is the
	// issuer.
	Service string
	// User is the id of the user whose roles apply, "" for none.
	User string
	// Admin allows everything without a role. An administrator has no User.
	Admin bool
}

// via separates a user from the service that acts for them. No name of a service has a valid id before it.
const via = " via "

// Actor returns the caller's name in events: that of the service, or "<user> via <service>".
func (c Caller) Actor() string {
	if c.User == "" {
		return c.Service
	}
	return c.User + via + c.Service
}

// UserOf returns the user in an actor's name. ok is false for services and administrators.
func UserOf(actor string) (user string, ok bool) {
	user, _, ok = strings.Cut(actor, via)
	if !ok || !events.ValidID(user) {
		return "", false
	}
	return user, true
}

// Role is the role of a caller. Each role includes the lower ones.
type Role int

// The roles. None has no access. Administrator cannot be granted: services have it, and tokens with a scope.
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

// Right is a role on an account or in a group, with the grant that gives it.
type Right struct {
	Role   Role
	Group  string // the group that gives the role; "" for a grant on the account itself
	Grant  int64  // number of the newest grant or revocation, on the account or in Group
	Groups int64  // if Group gives a role on an account: number of the newest change of the account's groups
}

// RoleOf returns the role of a grant, None for an unknown role.
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
