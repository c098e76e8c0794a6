package events

import "time"

// The types of events in the journal.
const (
	TypeAssetRegistered    = "asset.registered"
	TypeAccountOpened      = "account.opened"
	TypeAccountChanged     = "account.changed"
	TypeMemberGranted      = "member.granted"
	TypeMemberRevoked      = "member.revoked"
	TypeGroupRegistered    = "group.registered"
	TypeGroupMemberGranted = "group.member_granted"
	TypeGroupMemberRevoked = "group.member_revoked"
	TypeGrouped            = "account.grouped"
	TypeUngrouped          = "account.ungrouped"
	TypePeriodClosed       = "period.closed"
	TypePosted             = "transaction.posted"
	TypeHeld               = "hold.placed"
	TypeCaptured           = "hold.captured"
	TypeReleased           = "hold.released"
	TypeExpired            = "hold.expired"
)

// Types are the types of events in the journal.
var Types = []string{
	TypeAssetRegistered, TypeAccountOpened, TypeAccountChanged, TypeMemberGranted, TypeMemberRevoked,
	TypeGroupRegistered, TypeGroupMemberGranted, TypeGroupMemberRevoked, TypeGrouped, TypeUngrouped, TypePeriodClosed,
	TypePosted, TypeHeld, TypeCaptured, TypeReleased, TypeExpired,
}

var typesOfEnds = map[Outcome]string{
	OutcomeCaptured: TypeCaptured, OutcomeReleased: TypeReleased, OutcomeExpired: TypeExpired,
}

// TypeOf returns the type of an event in the journal, and when it was recorded. The type is "" for events that the
// journal does not have: postings and the markers of reversals follow from headers and from ends of holds, and growths
// of lanes are about this table, not about the books.
func TypeOf(e Event) (kind string, at time.Time) {
	oneOf := func(first bool, one, other string) string {
		if first {
			return one
		}
		return other
	}
	switch e := e.(type) {
	case TransactionPosted:
		return oneOf(e.IsHold(), TypeHeld, TypePosted), e.Recorded()
	case HoldEnded:
		return typesOfEnds[e.Outcome], e.EndedAt()
	case AssetRegistered:
		return TypeAssetRegistered, e.At
	case AccountOpened:
		return TypeAccountOpened, e.At
	case AccountChanged:
		return TypeAccountChanged, e.At
	case GroupRegistered:
		return TypeGroupRegistered, e.At
	case AccountGrouped:
		return oneOf(e.Removed != "", TypeUngrouped, TypeGrouped), e.At
	case PeriodClosed:
		return TypePeriodClosed, e.At
	case MemberGranted:
		granted, revoked := TypeMemberGranted, TypeMemberRevoked
		if e.Group != "" {
			granted, revoked = TypeGroupMemberGranted, TypeGroupMemberRevoked
		}
		return oneOf(e.Role == NoRole, revoked, granted), e.At
	}
	return "", at
}
