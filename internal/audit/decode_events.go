package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// form is the version of all stored items.
const form = 1

// Names and fields of the stored events, as in the ledger's golden files.
const (
	kindAsset   = "AssetRegistered"
	kindAccount = "AccountOpened"
	kindHeader  = "TransactionPosted"
	kindPosting = "PostingRecorded"
	kindGrant   = "MemberGranted"
	kindRevoke  = "MemberRevoked"

	fieldBackdated   = "Backdated"
	fieldCost        = "Cost"
	fieldFingerprint = "Fingerprint"
	fieldRecorded    = "RecordedAt"
	fieldPeriod      = "Period"
	fieldID          = "ID"
	fieldKind        = "Kind"
	fieldLegs        = "Legs"
	fieldOverdraft   = "Overdraft"
	fieldPending     = "Pending"
	fieldPhase       = "Phase"
	fieldQuantity    = "Quantity"
	fieldTransaction = "Transaction"
)

// Kinds of transactions, by the request that created them.
const (
	transaction = "transaction"
	transfer    = "transfer"
	trade       = "trade"
	reversal    = "reversal"
)

// grantsMax is the highest number of a grant.
const grantsMax = 999_999_999_999

// event is embedded in all events.
type event struct {
	at time.Time // when it was recorded
}

// base makes every type that embeds event a storedEvent.
func (e event) base() event { return e }

// storedEvent is an event of any type.
type storedEvent interface{ base() event }

// asset is the registration of an asset.
type asset struct {
	event
	id, currency string // currency may be ""
}

func readAsset(r *reader, key []string) asset {
	a := asset{id: key[0]}
	r.keys("", store.Asset.PK2())
	r.read(
		keyed(fieldID, a.id),
		must("Name", aName, nil),
		aDescription(nil),
		must("Scale", integer(0, 18), nil),
		anActor,
		must("At", anInstant, &a.at),
		may("Currency", anID, &a.currency),
	)
	if a.currency == a.id {
		r.fault(WrongValue, "Currency", "another asset")
	}
	return a
}

// account is an account with the limits of its balances.
type account struct {
	event
	id        string
	known     bool // false: its opening or a change is missing or unusable
	unlimited bool
	limits    map[string]*big.Int // the highest that it ever had, by asset; 0 for assets that are not in the map

	version   int64     // of its newest change; 1: it was never changed
	changedAt time.Time // of that change
	checksum  string    // of that change; "": it was never changed
	closedAt  time.Time // zero: it is not closed
}

// limit returns how far below zero the balance of an asset may go. It is nil if the account is unlimited or not known.
func (a account) limit(asset string) *big.Int {
	switch limit, ok := a.limits[asset]; {
	case a.unlimited, !a.known:
		return nil
	case ok:
		return limit
	}
	return new(big.Int)
}

func readAccount(r *reader, key []string) account {
	a := account{id: key[0], known: true, version: 1}
	r.keys(store.Account.SK2(), store.Account.PK2())
	r.read(
		keyed(fieldID, a.id),
		may("Name", aName, nil),
		may("Profile", aProfile, nil),
		anOverdraft(r, &a.unlimited, &a.limits),
		anActor,
		must("At", anInstant, &a.at),
	)
	return a
}

// aProfile is a JSON object that is compact and not empty.
var aProfile = valid("a compact, non-empty JSON object of at most 4,096 bytes, with at most 10 addresses",
	func(s string) bool {
		const mostBytes, mostAddresses = 4096, 10
		var compact bytes.Buffer
		var content struct {
			Addresses []map[string]json.RawMessage `json:"addresses"`
		}
		return len(s) <= mostBytes && isText(s, len(`{"":0}`), mostBytes) && s[0] == '{' &&
			json.Compact(&compact, []byte(s)) == nil && compact.String() == s &&
			json.Unmarshal([]byte(s), &content) == nil && len(content.Addresses) <= mostAddresses
	})

// anOverdraft is a row for the optional limits of an account: "unlimited", or a map by asset.
func anOverdraft(r *reader, unlimited *bool, limits *map[string]*big.Int) row {
	if _, isText := r.item[fieldOverdraft].(*types.AttributeValueMemberS); isText {
		*unlimited = true
		return must(fieldOverdraft, oneOf("unlimited"), nil)
	}
	return aLimit(fieldOverdraft, 100, limits)
}

// aLimit is a row for optional limits by asset.
func aLimit(name string, most int, to *map[string]*big.Int) row {
	return dictionary(name, natural(postedDigits), isID, func(all map[string]*big.Int) bool { return len(all) <= most },
		to, fmt.Sprintf("amounts that are not negative, of 1 to %d assets", most))
}

// leg is a leg of a header or of an end, or the part of a posting that repeats it.
type leg struct {
	ksuid, account, asset string
	quantity, cost        *big.Int

	// Set in postings only.
	pending   *big.Int // the posting's change of the pending amount; 0 if the transaction is not a hold
	phase     string   // of the hold; "" if the transaction is not a hold
	kind      string   // of the transaction
	backdated bool     // the transaction has an effective date
}

// amounts are the rows for the amounts of a leg.
func (l *leg) amounts() []row {
	return []row{must(fieldQuantity, anAmount, &l.quantity), must(fieldCost, anAmount, &l.cost)}
}

// posting is a leg as an item in the partition of its account. It repeats a part of its header.
type posting struct {
	event
	leg
	transaction, description string
}

// readPosting reads a posting. Its time is in its KSUID.
func readPosting(r *reader, key []string) posting {
	p := posting{leg: leg{account: key[0], asset: key[1], ksuid: key[2]}}
	r.keys(store.Posting.SK2(p.ksuid), "")
	p.at = r.instantInKey(p.ksuid)
	r.read(
		keyed(store.AttrAccount, p.account),
		keyed(store.AttrAsset, p.asset),
		keyed(fieldID, p.ksuid),
		must(fieldTransaction, anID, &p.transaction),
		must(fieldKind, aKind, &p.kind),
		aDescription(&p.description),
	)
	r.readFigures(&p.leg)
	return p
}

// readFigures reads the attributes of a posting that folds need. A capture posts at most the held amounts, with the
// same signs. The other phases post nothing. Only postings of holds have a phase.
func (r *reader) readFigures(l *leg) {
	l.pending = new(big.Int)
	r.read(l.amounts()...)
	r.read(may(fieldBackdated, aTrueFlag, &l.backdated))
	if !r.has(fieldPhase) && !r.has(fieldPending) {
		return
	}
	r.read(must(fieldPhase, aPhase, &l.phase), must(fieldPending, anAmount, &l.pending))
	if r.broken {
		return
	}
	isNothing := l.quantity.Sign() == 0 && l.cost.Sign() == 0
	if !isNothing && !(l.phase == captured && within(l.quantity, new(big.Int).Neg(l.pending))) {
		r.fault(WrongValue, fieldPending, "the held amount; quantity and cost within it if captured, else 0")
	}
	if l.backdated {
		r.fault(WrongValue, fieldBackdated, absent)
	}
}

var aPhase = oneOf(placed, captured, released, expired)

// grant gives a user a role on an account or in a group, or revokes it. The grants of a user are numbered from 1.
type grant struct {
	event
	number int64
	role   string // "" in a revocation
}

func readGrant(r *reader, key []string) grant      { return readGranted(r, store.AttrAccount, key) }
func readGroupGrant(r *reader, key []string) grant { return readGranted(r, "Group", key) }

// readGranted reads a grant, or a revocation, which has no role. owner is the name of the attribute with the id of the
// account or the group.
func readGranted(r *reader, owner string, key []string) (g grant) {
	r.read(
		keyed(owner, key[0]),
		keyed(store.AttrUser, key[1]),
		must(store.AttrNumber, aGrant, &g.number),
		anActor,
		must("At", anInstant, &g.at),
	)
	g.number = r.numbered(g.number, key)
	if textOf(r.item[store.AttrType]) == kindGrant {
		r.read(must(store.AttrRole, aRole, &g.role))
	}
	return g
}
