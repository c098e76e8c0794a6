package table

import (
	"slices"
	"strings"

	"ledger.example/events"
)

// An ItemType declares one kind of item. This is the only place that says how its keys are built, parsed and
// documented: docs/design.md shows the declarations.
//
// A key is a fixed text, then at most three {parts} with '#' between them. A part is an id or another text without '#',
// and is not empty. {number} is a Number, {lane} a lane (see Lanes), and {x...} any text.
type ItemType struct {
	What  string // in a few words
	Class Class
	Type  string // the value of AttrType; events have several, with spaces between
	PK    string // the pattern of the partition key
	SK    string // of the sort key
	SK2   string // of the sort key in IndexHistory, "" if the item is not in it
	PK2   string // of the partition key in IndexInverse, likewise
	By    string // who writes it

	Grows  Growth // of PK, in the table and in IndexHistory
	Grows2 Growth // of PK2

	// Implied: the journal leaves the event out, which follows from another one of its commit, or is not of the books.
	Implied bool
}

// A Class says how a kind of item is used.
type Class string

const (
	event      Class = "event" // never changes; package projections says which are projected
	guard      Class = "guard"
	copied     Class = "copy"
	projection Class = "projection"
	position   Class = "cursor" // what was done with the journal outside the ledger
)

// A Growth says what a partition key's units grow with. A partition of DynamoDB serves 1,000 write units and 3,000 read
// units a second, so only keys that grow by party never end how far the ledger scales. tests/cost measures each.
type Growth string

const (
	ByParty   Growth = ""            // one for each account or transaction: more of them, more keys
	ByName    Growth = "by a name"   // one for all that has the same name: an asset, a group, a value of metadata
	InLanes   Growth = "in lanes"    // one for each lane, and growths make more of them
	OneForAll Growth = "one for all" // one for the whole ledger
)

const command, operator, projector, lister = "command", "operator", "projector", "lister"

// The items of the table.
var (
	Transaction = one(ItemType{What: "transaction posted or held, its *header*", Class: event,
		Type: "TransactionPosted TransactionHeld", By: command, PK: "TXN#{transaction}", SK: "TXN#{transaction}"})
	Posting = three[string](ItemType{What: "posting recorded", Class: event, Type: "PostingRecorded",
		By: command + ", sweeper", PK: "ACCOUNT#{account}", SK: "POSTING#{asset}#{ksuid}",
		SK2: "POSTING#{ksuid}", Implied: true})
	Outcome = one(ItemType{What: "end of a hold, its *outcome*", Class: event,
		Type: "HoldCaptured HoldReleased HoldExpired", By: command + ", sweeper",
		PK: "TXN#{transaction}", SK: "OUTCOME"})
	Reversal = two[int64](ItemType{What: "transaction reversed", Class: event, Type: "TransactionReversed", By: command,
		PK: "TXN#{transaction}", SK: "REVERSAL#{number}", Implied: true})
	Asset = one(ItemType{What: "asset registered", Class: event, Type: "AssetRegistered", By: command,
		PK: "ASSET#{asset}", SK: "ASSET#{asset}", PK2: "ASSETS", Grows2: OneForAll})
	// PROFILE sorts after each posting of the account.
	Account = one(ItemType{What: "account opened", Class: event, Type: "AccountOpened", By: command,
		PK: "ACCOUNT#{account}", SK: "ACCOUNT#{account}", SK2: "PROFILE", PK2: "ACCOUNTS", Grows2: OneForAll})
	Change = two[int64](ItemType{What: "change that made a version of an account, from 2", Class: event,
		Type: "AccountChanged", By: command, PK: "ACCOUNT#{account}", SK: "CHANGE#{number}"})
	// Current sorts between the account's opening and its summary.
	Current = one(ItemType{What: "copy of an account's newest change", Class: copied, Type: "AccountCurrent",
		By: command, PK: "ACCOUNT#{account}", SK: "ACCOUNT_CURRENT"})
	Grant = three[int64](ItemType{What: "member granted or revoked", Class: event,
		Type: "MemberGranted MemberRevoked", By: command, PK: "ACCOUNT#{account}", SK: "GRANT#{user}#{number}"})
	Group = one(ItemType{What: "group registered", Class: event, Type: "GroupRegistered", By: command,
		PK: "GROUP#{group}", SK: "GROUP#{group}", PK2: "GROUPS",
		Grows: ByName, Grows2: OneForAll})
	GroupGrant = three[int64](ItemType{What: "member of a group granted or revoked", Class: event,
		Type: "MemberGranted MemberRevoked", By: command,
		PK: "GROUP#{group}", SK: "GRANT#{user}#{number}", Grows: ByName})
	Grouping = two[int64](ItemType{What: "account put into a group or taken out", Class: event,
		Type: "AccountGrouped", By: command, PK: "ACCOUNT#{account}", SK: "GROUPS#{number}"})
	Period = one(ItemType{What: "books closed before a time", Class: event, Type: "PeriodClosed", By: command,
		PK: "PERIODS", SK: "PERIOD#{number}", Grows: OneForAll})
	// Growths are about this table, not about the books, so the journal leaves them out.
	LanesGrown = one(ItemType{What: "growth of the number of lanes", Class: event, Type: "LanesGrown", By: operator,
		PK: "LANES", SK: "LANES#{number}", Grows: OneForAll, Implied: true})
	Spend = two[string](ItemType{What: "sum of all debits and holds ever made", Class: guard, Type: "Spend",
		By: command, PK: "ACCOUNT#{account}", SK: "SPEND#{asset}"})
	Balance = two[string](ItemType{What: "balance", Class: projection, Type: "Balance", By: projector,
		PK: "ACCOUNT#{account}", SK: "BALANCE#{asset}", PK2: "ASSET#{asset}",
		Grows2: ByName})
	Segment = three[string](ItemType{What: "segment, by its last posting", Class: projection,
		Type: "Segment", By: projector, PK: "ACCOUNT#{account}", SK: "SEGMENT#{asset}#{ksuid}"})
	Summary = one(ItemType{What: "summary of an account", Class: projection, Type: "AccountSummary", By: projector,
		PK: "ACCOUNT#{account}", SK: "ACCOUNT_SUMMARY"})
	Membership = two[string](ItemType{What: "membership, with `PK2` while it has a role", Class: projection,
		Type: "Membership", By: projector,
		PK: "ACCOUNT#{account}", SK: "MEMBER#{user}", PK2: "USER#{user}", Grows2: ByName})
	GroupMembership = two[string](ItemType{What: "membership of a group, likewise", Class: projection,
		Type: "Membership", By: projector,
		PK: "GROUP#{group}", SK: "MEMBER#{user}", PK2: "USER#{user}", Grows: ByName, Grows2: ByName})
	Grouped = two[string](ItemType{What: "place in a group, with `PK2` while the account is in it", Class: projection,
		Type: "Grouped", By: projector,
		PK: "ACCOUNT#{account}", SK: "GROUPED#{group}", PK2: "GROUP#{group}", Grows2: ByName})
	Hold = two[string](ItemType{What: "hold of an account, by its first leg", Class: projection,
		Type: "Hold", By: projector, PK: "ACCOUNT#{account}", SK: "HOLD#{ksuid}", SK2: "HOLD#{status}#{ksuid}"})
	// expires is a text that sorts by time.
	OpenHold = two[string](ItemType{What: "hold by expiry, with `PK2` while it is open", Class: projection,
		Type: "OpenHold", By: lister,
		PK: "HOLD#{expires}#{transaction}", SK: "OPEN_HOLD", PK2: "OPEN_HOLDS#{lane}",
		Grows2: InLanes})
	Listed = three[string](ItemType{What: "transaction in the list by time, by its first leg", Class: projection,
		Type: "TransactionListed", By: lister, PK: "TRANSACTIONS#{lane}", SK: "LISTED#{ksuid}#{transaction}",
		Grows: InLanes})
	ListedMetadata = five(ItemType{What: "transaction in a list by metadata, likewise", Class: projection,
		Type: "TransactionListed", By: lister, PK: "METADATA#{lane}#{key}#{value...}",
		SK: "LISTED#{ksuid}#{transaction}", Grows: InLanes})
	Tagged = two[string](ItemType{What: "account in a list by metadata, with `PK2` while it has the key",
		Class: projection, Type: "AccountTagged", By: lister, PK: "TAGGED#{account}", SK: "TAGGED#{key}",
		PK2: "TAGGED#{key}#{value...}", Grows2: ByName})
	Journal = two[string](ItemType{What: "page of the journal, by when it was written", Class: projection,
		Type: "JournalPage", By: lister, PK: "JOURNAL#{lane}", SK: "ENTRIES#{ksuid}", Grows: InLanes})
	Forwarded = one(ItemType{What: "how far a target got in the journal", Class: position,
		Type: "ForwardCursor", By: "forwarder", PK: "FORWARD#{target}", SK: "CURSOR", Grows: ByName})
)

func one(i ItemType) One                          { return One{declare(i, 1)} }
func two[L string | int64](i ItemType) Two[L]     { return Two[L]{declare(i, 2)} }
func three[L string | int64](i ItemType) Three[L] { return Three[L]{declare(i, 3)} }
func five(i ItemType) Five                        { return Five{declare(i, 5)} }

// ItemTypes returns all declarations.
func ItemTypes() []*Pattern { return slices.Clone(patterns) }

// IsEvent reports whether an item with this SK is an event.
func IsEvent(sk string) bool { return is(sk, (*Pattern).isEvent) }

// IsJournaled reports whether an item with this SK is an event that the journal has.
func IsJournaled(sk string) bool {
	return is(sk, func(p *Pattern) bool { return p.isEvent() && !p.Implied })
}

// ParseJournaled parses the ID of an event's key, if the journal has such events.
func ParseJournaled(id string) (k Key, ok bool) {
	k, ok = ParseKey(id)
	return k, ok && IsJournaled(k.SK) && IsEventKey(k)
}

// JournaledTypes returns the types of the events that the journal has.
func JournaledTypes() (types []string) {
	for _, p := range patterns {
		if p.isEvent() && !p.Implied {
			types = append(types, strings.Fields(p.Type)...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types) // grants on accounts and in groups have the same
}

// IsEventKey reports whether an event can have this key. Each of its ids must be valid.
func IsEventKey(k Key) bool {
	return slices.ContainsFunc(patterns, func(p *Pattern) bool {
		parts, ok := p.Parts(k)
		isInvalid := func(part string) bool { return !events.ValidID(part) }
		return ok && p.isEvent() && !slices.ContainsFunc(parts, isInvalid)
	})
}

func is(sk string, suits func(*Pattern) bool) bool {
	return slices.ContainsFunc(patterns, func(p *Pattern) bool { return p.Is(sk) && suits(p) })
}

func (p *Pattern) isEvent() bool { return p.Class == event }

// FirstID returns the part of an SK at the position of its first id, even if it is not a valid id.
func FirstID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// LastID returns the text after the second '#' of an SK, even if it is not a valid id. In a segment's SK it is the
// KSUID of the segment's end.
func LastID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	_, last, _ := strings.Cut(rest, "#")
	return last
}
