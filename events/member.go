package events

import "time"

const (
	memberGranted = "MemberGranted"
	memberRevoked = "MemberRevoked"
)

// MemberGranted: a user was given a role on an account or in a group.
type MemberGranted struct {
	Account string    // id of the account; "": it is a group
	Group   string    // id of the group; "": it is an account
	User    string    // id of the user, see ValidID; users are not registered
	Role    Role      // replaces any role granted before
	Number  int64     // of this user's grants and revocations there: 1, 2 … MemberNumberMax
	Actor   string    // who granted it, 1 to ActorChars characters
	At      time.Time // UTC, whole microseconds; set by the command. Order is that of Number, not of At
}

// MemberRevoked: a user's role was taken away. Its fields are those of MemberGranted.
type MemberRevoked struct {
	Account string
	Group   string
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
func (e MemberGranted) EventName() (string, int) { return memberGranted, memberVersion(e.Group) }

// EventName implements Event.
func (e MemberRevoked) EventName() (string, int) { return memberRevoked, memberVersion(e.Group) }

// memberVersion returns the version of a grant or revocation: groups came later than accounts.
func memberVersion(group string) int {
	if group == "" {
		return plainVersion
	}
	return lifeVersion
}

func (e MemberGranted) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *MemberGranted) fields(c *coder) {
	text(c, "Account", &e.Account, optionalID)
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "Group", &e.Group, optionalID)
	integer(c, "Number", &e.Number, 1, MemberNumberMax)
	text(c, "Role", &e.Role, role)
	text(c, "User", &e.User, requiredID)
	if c.out == nil {
		c.either("Account", e.Account, "Group", e.Group)
	}
}

func (e MemberRevoked) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *MemberRevoked) fields(c *coder) {
	text(c, "Account", &e.Account, optionalID)
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "Group", &e.Group, optionalID)
	integer(c, "Number", &e.Number, 1, MemberNumberMax)
	text(c, "User", &e.User, requiredID)
	if c.out == nil {
		c.either("Account", e.Account, "Group", e.Group)
	}
}

var role = oneOf(RoleViewer, RoleOperator, RoleOwner)
