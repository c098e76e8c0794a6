package events

import "time"

const (
	memberGranted = "MemberGranted"
	memberRevoked = "MemberRevoked"
)

// MemberGranted: a user was granted a role on an account or in a group. With NoRole, the user's role was revoked, and
// the event is stored as MemberRevoked.
type MemberGranted struct {
	Account string    // id of the account; "" for a grant in a group
	Group   string    // id of the group; "" for a grant on an account
	User    string    // id of the user, see ValidID; users are not registered
	Role    Role      // replaces the previous role
	Number  int64     // counts this user's grants and revocations there: 1, 2 … MemberNumberMax
	Actor   string    // who granted it, 1 to ActorChars characters
	At      time.Time // UTC, whole microseconds; set by the command. Order is that of Number, not of At
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
		return memberRevoked
	}
	return memberGranted
}

func (e MemberGranted) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *MemberGranted) fields(c *coder) {
	text(c, "Account", &e.Account, optionalID)
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "Group", &e.Group, optionalID)
	integer(c, "Number", &e.Number, 1, MemberNumberMax)
	if e.Role != NoRole || c.has("Role") {
		text(c, "Role", &e.Role, role)
	}
	text(c, "User", &e.User, requiredID)
	if c.out == nil {
		c.either("Account", e.Account, "Group", e.Group)
	}
}

var role = oneOf(RoleViewer, RoleOperator, RoleOwner)
