package client

import (
	"context"
	"net/http"
)

// The roles of users, on accounts and in groups.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // also posts
	RoleOwner    = "owner"    // also grants
)

// Me is the identity of the caller, as the API sees it.
type Me struct {
	As   string  `json:"as" names:"own" enum:"administrator,user"` // an administrator may do everything
	User *string `json:"user" is:"ID" names:"user"`                // nil for an administrator
	// Who authenticated: an IAM identity, the subject of an administrator's token, or the issuer of a user's token.
	Service string `json:"service" names:"own"`
	// The name of the caller in events.
	Actor string `json:"actor" is:"Actor" label:"Recorded as"`
}

// UserID names a user. Users are not registered.
type UserID struct {
	User string `path:"user"`
}

// Membership is the role of a user on an account.
type Membership struct {
	Account string `path:"account" json:"account" is:"ID" example:"jane" names:"account"`
	User    string `path:"user" json:"user" is:"ID" example:"u-17" names:"user"`
	Role    string `json:"role" is:"Role" in:"required" example:"viewer"`
}

// Granted is who granted a role, and when. Only owners and administrators see it.
type Granted struct {
	// The actor of the newest grant. Granting the same role again changes nothing.
	GrantedBy string `json:"granted_by,omitempty" is:"Actor" label:"Granted by"`
	// The time of that grant.
	GrantedAt string `json:"granted_at,omitempty" is:"Time" label:"Granted at"`
}

// AccountMember is a user with a role on an account.
type AccountMember struct {
	Membership
	Granted
}

// GroupMember is a user with a role in a group.
type GroupMember struct {
	GroupMembership
	Granted
}

// RevokedMembership is the answer to the revocation of a role on an account.
type RevokedMembership struct {
	Account string `path:"account" json:"account" is:"ID" example:"jane" names:"account"`
	User    string `path:"user" json:"user" is:"ID" example:"u-17" names:"user"`
	// Always null.
	Role *string `json:"role" is:"Role"`
}

// GroupMembership is the role of a user in a group.
type GroupMembership struct {
	Group string `path:"group" json:"group" is:"ID" example:"desk" names:"group"`
	User  string `path:"user" json:"user" is:"ID" example:"u-17" names:"user"`
	Role  string `json:"role" is:"Role" in:"required" example:"operator"`
}

// RevokedGroupMembership is the answer to the revocation of a role in a group.
type RevokedGroupMembership struct {
	Group string `path:"group" json:"group" is:"ID" example:"desk" names:"group"`
	User  string `path:"user" json:"user" is:"ID" example:"u-17" names:"user"`
	// Always null.
	Role *string `json:"role" is:"Role"`
}

// AccountRole is an account on which a user has a role, directly or through a group.
type AccountRole struct {
	Account string `json:"account" is:"ID" example:"jane" names:"account"`
	User    string `json:"user" is:"ID" example:"u-17" label:"-" names:"user"`
	Role    string `json:"role" is:"Role" example:"operator"`
	// The group in which the user has the role. It is null for a role on the account itself.
	Through *string `json:"through" is:"ID" example:"desk" names:"group"`
}

const (
	memberPath      = accountPath + "/members/{user}"
	groupMemberPath = groupPath + "/members/{user}"
)

// The operations on the roles of users.
var (
	// Services and administrators may do everything. Users may do what their roles allow.
	GetMe = Op[struct{}, Me]{ID: "getMe", Path: "/v1/me", Summary: "Get the caller's identity", May: everyone}
	// The users who have a role on the account, by user. Owners and administrators also see who granted it, and when.
	ListMembers = Op[AccountID, List[AccountMember]]{
		ID: "listMembers", Path: accountPath + "/members", Summary: "List an account's members", May: viewers,
	}
	// The role replaces the user's earlier role immediately. Users need the role owner, and cannot change their own
	// role.
	GrantMember = Op[Membership, Membership]{
		ID: "grantMember", Method: http.MethodPut, Path: memberPath, Summary: "Grant a user a role", May: owners,
		OK: "The user already had a role.", Created: "The user's first role.",
	}
	// The answer is the same if the user has no role.
	RevokeMember = Op[RevokedMembership, RevokedMembership]{
		ID: "revokeMember", Method: http.MethodDelete, Path: memberPath, Summary: "Revoke a user's role", May: owners,
		OK: "The user has no role.",
	}
	// First the accounts with direct roles, then the accounts of each group. An account is listed once for each of
	// these roles. The list is empty for a user without roles. A page covers at most 10 groups, and may be short.
	ListMemberships = Op[UserID, List[AccountRole]]{
		ID: "listMemberships", Path: "/v1/users/{user}/accounts",
		Summary: "List a user's accounts, direct and through groups", May: themselves,
	}
	// The role replaces the user's earlier role in the group.
	GrantGroupMember = Op[GroupMembership, GroupMembership]{
		ID: "grantGroupMember", Method: http.MethodPut, Path: groupMemberPath,
		Summary: "Grant a user a role in a group", May: groupOwners, OK: "The user already had a role.",
		Created: "The user's first role.",
	}
	// The answer is the same if the user has no role.
	RevokeGroupMember = Op[RevokedGroupMembership, RevokedGroupMembership]{
		ID: "revokeGroupMember", Method: http.MethodDelete, Path: groupMemberPath,
		Summary: "Revoke a user's role in a group", May: groupOwners, OK: "The user has no role.",
	}
	// The users who have a role in the group, by user. Owners and administrators also see who granted it, and when.
	ListGroupMembers = Op[GroupID, List[GroupMember]]{
		ID: "listGroupMembers", Path: groupPath + "/members", Summary: "List a group's members", May: groupViewers,
	}
	// By group. The list is empty for a user without groups.
	ListGroupsOf = Op[UserID, List[GroupMembership]]{
		ID: "listGroupsOf", Path: "/v1/users/{user}/groups", Summary: "List a user's groups", May: themselves,
	}
)

// Member is the role of a user on an account or in a group. Exactly one of Account and Group is set.
type Member struct {
	User    string `json:"user"`
	Role    string `json:"role" none:"none"` // "" after a revocation
	Account string `json:"account,omitempty"`
	Group   string `json:"group,omitempty"`
}

// GrantedMember is a Member with who granted the role, and when; "" for callers who may not know it.
type GrantedMember struct {
	Member
	Granted
}

// Me returns the identity of the caller, as the API sees it.
func (c *Client) Me(ctx context.Context) (Reply[Me], error) {
	return GetMe.Call(ctx, c, struct{}{})
}

// Grant grants a role on an account or in a group. It replaces the role that the user has there. Errors: those of Send,
// with the codes account_not_found and group_not_found.
func (c *Client) Grant(ctx context.Context, m Member) (Member, Written, error) {
	k := GrantMember.request(Membership{m.Account, m.User, m.Role})
	if m.Group != "" {
		k = GrantGroupMember.request(GroupMembership{m.Group, m.User, m.Role})
	}
	return written(send[Member](ctx, c, k))
}

// Revoke revokes a user's role on an account or in a group, and ignores m.Role. It succeeds if the user has no role
// there. Errors: those of Grant.
func (c *Client) Revoke(ctx context.Context, m Member) (Member, Written, error) {
	k := RevokeMember.request(RevokedMembership{Account: m.Account, User: m.User})
	if m.Group != "" {
		k = RevokeGroupMember.request(RevokedGroupMembership{Group: m.Group, User: m.User})
	}
	return written(send[Member](ctx, c, k))
}

// GroupMembers lists the members of a group, by user.
func (c *Client) GroupMembers(group string) Listing[GrantedMember] {
	return Listing[GrantedMember]{c, ListGroupMembers.request(GroupID{group})}
}

// Members lists the members of an account, by user.
func (c *Client) Members(account string) Listing[GrantedMember] {
	return Listing[GrantedMember]{c, ListMembers.request(AccountID{account})}
}

// UserGroups lists the groups of a user, by id.
func (c *Client) UserGroups(user string) Listing[Member] {
	return Listing[Member]{c, ListGroupsOf.request(UserID{user})}
}

// UserAccounts lists the accounts on which a user has a role: first the direct roles, by account, then the roles
// through groups, by group and account. An account is listed once for each of these roles.
func (c *Client) UserAccounts(user string) Listing[AccountRole] {
	return Listing[AccountRole]{c, ListMemberships.request(UserID{user})}
}
