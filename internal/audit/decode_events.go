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
	fieldID          = "ID"
	fieldKind        = "Kind"
	fieldLegs        = "Legs"
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

// event checks the keys of an event. The caller sets the time, from a KSUID or an attribute.
func (r *reader) event(sk2, pk2 string) event {
	r.keys(sk2, pk2)
	return event{}
}

// actor checks the actor of an event. Nothing is computed from it.
func (r *reader) actor() { r.text("Actor", 1, 2048) }

func (r *reader) description() string { return r.optional().text("Description", 1, 256) }

func (r *reader) kind() string { return r.oneOf(fieldKind, transaction, transfer, trade, reversal) }

// asset is the registration of an asset.
type asset struct {
	event
	id, currency string // currency may be ""
}

// asset reads the attributes of an asset.
func (r *reader) asset(id string) asset {
	a := asset{event: r.event("", store.Asset.PK2()), id: id}
	r.same(fieldID, id)
	r.text("Name", 1, 256)
	r.description()
	r.integer("Scale", 0, 18)
	r.actor()
	a.at = r.instant("At")
	if a.currency = r.optional().id("Currency"); a.currency == id {
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

// account reads the attributes of an account.
func (r *reader) account(id string) account {
	a := account{event: r.event(store.Account.SK2(), store.Account.PK2()), id: id, known: true, version: 1}
	a.at, a.unlimited, a.limits = r.definition(id)
	return a
}

// definition reads the attributes that the opening and the changes of an account have in common.
func (r *reader) definition(account string) (at time.Time, unlimited bool, limits map[string]*big.Int) {
	r.same(fieldID, account)
	r.optional().text("Name", 1, 256)
	r.actor()
	at = r.instant("At")
	r.profile("Profile")
	unlimited, limits = r.overdraft("Overdraft")
	return at, unlimited, limits
}

// profile checks an optional JSON object that is compact and not empty.
func (r *reader) profile(name string) {
	s, ok := r.optional().string(name)
	if !ok {
		return
	}
	const mostBytes, mostAddresses = 4096, 10
	var compact bytes.Buffer
	var content struct {
		Addresses []map[string]json.RawMessage `json:"addresses"`
	}
	switch {
	case len(s) > mostBytes, !isText(s, len(`{"":0}`), mostBytes), s[0] != '{',
		json.Compact(&compact, []byte(s)) != nil, compact.String() != s:
		r.fault(WrongValue, name, "a compact, non-empty JSON object of at most 4,096 bytes")
	case json.Unmarshal([]byte(s), &content) != nil, len(content.Addresses) > mostAddresses:
		r.fault(WrongValue, name, "a JSON object with at most 10 addresses")
	}
}

// overdraft reads the optional limits of an account: "unlimited", or a map by asset.
func (r *reader) overdraft(name string) (unlimited bool, limits map[string]*big.Int) {
	if _, isText := r.item[name].(*types.AttributeValueMemberS); isText {
		r.oneOf(name, "unlimited")
		return true, nil
	}
	return false, r.limits(name, 100)
}

// limits reads optional limits by asset.
func (r *reader) limits(name string, most int) map[string]*big.Int {
	m, ok := r.optional().nested(name)
	if !ok {
		return nil
	}
	if len(m.item) == 0 || len(m.item) > most {
		r.fault(WrongValue, name, fmt.Sprintf("1 to %d assets", most))
	}
	limits := make(map[string]*big.Int, len(m.item))
	for asset := range m.item {
		limits[asset] = m.amount(asset, postedDigits)
		if !isID(asset) || limits[asset].Sign() < 0 {
			m.fault(WrongValue, asset, "the id of an asset, and an amount that is not negative")
		}
	}
	return limits
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

// amounts reads the amounts of a leg.
func (r *reader) amounts(l *leg) {
	l.quantity, l.cost = r.amount(fieldQuantity, postedDigits), r.amount(fieldCost, postedDigits)
}

// posting is a leg as an item in the partition of its account. It repeats a part of its header.
type posting struct {
	event
	leg
	transaction, description string
}

// posting reads the attributes of a posting. Its time is in its KSUID.
func (r *reader) posting(account, asset, ksuid string) posting {
	p := posting{event: r.event(store.Posting.SK2(ksuid), ""), leg: leg{ksuid: ksuid, account: account, asset: asset}}
	r.same(store.AttrAccount, account)
	r.same(store.AttrAsset, asset)
	r.same(fieldID, ksuid)
	var ok bool
	if p.at, ok = instantOf(ksuid); !ok {
		r.fault(WrongKey, store.AttrSK, "a key that ends with a KSUID")
	}
	r.amounts(&p.leg)
	r.pending(&p.leg)
	p.transaction, p.kind, p.description = r.id(fieldTransaction), r.kind(), r.description()
	if p.backdated = r.flag(fieldBackdated); p.backdated && p.phase != "" {
		r.fault(WrongValue, fieldBackdated, absent)
	}
	return p
}

// grant gives a user a role on an account or in a group, or revokes it. The grants of a user are numbered from 1.
type grant struct {
	event
	number int64
	role   string // "" in a revocation
}

// granted reads the attributes of a grant, or of a revocation, which has no role. owner is the name of the attribute
// with the id of the account or the group.
func granted(owner string, hasRole bool) func(r *reader, id, user string, number int64) grant {
	return func(r *reader, id, user string, number int64) grant {
		g := grant{event: r.event("", ""), number: r.counted(number, 1, grantsMax)}
		r.same(owner, id)
		r.same(store.AttrUser, user)
		r.actor()
		g.at = r.instant("At")
		if hasRole {
			g.role = r.role()
		}
		return g
	}
}

func (r *reader) role() string { return r.oneOf(store.AttrRole, "viewer", "operator", "owner") }
