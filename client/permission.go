package client

// A Permission says who may use an operation. Services and administrators may use all operations; users need a role.
type Permission struct {
	On   Subject
	Role string // the weakest that suffices; "" if users need none
	Note string // other conditions, for people
}

// Subject is what a user needs a role on. Its text is for people.
type Subject string

// The subjects.
const (
	// OnNothing is for all authenticated callers.
	OnNothing Subject = "nothing"
	// OnLedger is for services and administrators only.
	OnLedger Subject = "the ledger"
	// OnThemselves is for the user of the path.
	OnThemselves Subject = "(the user themselves)"
	// OnAccount needs a role on the account of the path.
	OnAccount Subject = "the account"
	// OnGroup needs a role in the group of the path.
	OnGroup Subject = "the group"
	// OnDebited needs a role on every account that the body debits or gives a cost.
	OnDebited Subject = "every account that the body debits or gives a cost"
	// OnAnyLeg needs a role on an account of the transaction of the path. Legs of other accounts are omitted.
	OnAnyLeg Subject = "an account of the transaction"
	// OnHold needs a role on every account that the hold of the path debits. A user must have placed the hold.
	OnHold Subject = "every account that the hold debits"
	// OnReversed needs a role on every account that the reversal of the transaction of the path debits.
	OnReversed Subject = "every account that the reversal debits"
)

// The permissions of operations.
var (
	everyone     = Permission{On: OnNothing}
	admins       = Permission{On: OnLedger, Role: "administrator"}
	themselves   = Permission{On: OnThemselves}
	viewers      = Permission{On: OnAccount, Role: RoleViewer}
	owners       = Permission{OnAccount, RoleOwner, ownNote}
	groupViewers = Permission{On: OnGroup, Role: RoleViewer}
	groupOwners  = Permission{OnGroup, RoleOwner, ownNote}
	operators    = Permission{OnDebited, RoleOperator, effectiveNote}
	legViewers   = Permission{OnAnyLeg, RoleViewer, "legs of accounts without a role are omitted"}
)

const ownNote = "users cannot change their own role"

// viewersOf is the permission of viewers of the account for a list in which items without a role are omitted.
func viewersOf(what string) Permission {
	return Permission{OnAccount, RoleViewer, what + " without a role are omitted"}
}
