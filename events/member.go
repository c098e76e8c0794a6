package events

import "time"

// MemberGranted: a user was granted a role on an account or in a group. With NoRole, the user's role was revoked, and
// the event is stored as MemberRevoked. Order is that of Number, not of At.
type MemberGranted struct {
	Account string    `stored:"id,optional"`   // id of the account; "" for a grant in a group
	Group   string    `stored:"id,optional"`   // id of the group; "" for a grant on an account
	User    string    `stored:"id"`            // id of the user, see ValidID; users are not registered
	Role    Role      `stored:"role,optional"` // replaces the previous role
	Number  int64     `stored:"number"`        // of this user's grants and revocations there: 1, 2 … MemberNumberMax
	Actor   string    `stored:"actor"`         // who granted it, 1 to ActorChars characters
	At      time.Time `stored:"time"`          // UTC, whole microseconds; set by the command
}

// Role is what a member may do.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // also posts
	RoleOwner    Role = "owner"    // also grants
)

// NoRole is the role of a user without a grant, or whose role was revoked.
const NoRole Role = ""

// EventName implements Event.
func (e MemberGranted) EventName() string {
	if e.Role == NoRole {
		return "MemberRevoked"
	}
	return "MemberGranted"
}

func (e MemberGranted) check() (field, rule string) {
	return either("Account", e.Account, "Group", e.Group)
}
