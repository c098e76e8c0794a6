package audit

import (
	"bytes"
	"encoding/json"
	"math/big"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Names and versions of the stored events, and names of the fields that are compared, as the ledger's golden files have
// them.
const (
	kindAsset   = "AssetRegistered"
	kindAccount = "AccountOpened"
	kindHeader  = "TransactionPosted"
	kindPosting = "PostingRecorded"
	kindGrant   = "MemberGranted"
	kindRevoke  = "MemberRevoked"

	firstVersion    = 1
	checksumVersion = 2 // as the first, and a checksum
	lifeVersion     = 3 // of what came with holds, reversals, changes of accounts and effective dates

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

// The kinds of request.
const (
	transaction = "transaction"
	transfer    = "transfer"
	trade       = "trade"
	reversal    = "reversal"
)

// grantsMax is the greatest number of a grant.
const grantsMax = 999_999_999_999

// event is what all events have.
type event struct {
	at     time.Time // when it was written
	sealed bool      // it has a checksum
}

// written makes every event a dated.
func (e event) written() event { return e }

// dated is an event of any kind.
type dated interface{ written() event }

// event reads what all events have beside the time, which a KSUID or a field says.
func (r *reader) event(sk2, pk2 string) event {
	r.keys(sk2, pk2)
	if r.isOfLife() {
		r.version = r.integer(table.AttrEventVersion, lifeVersion, lifeVersion)
	} else {
		r.version = r.integer(table.AttrEventVersion, firstVersion, checksumVersion)
	}
	return event{sealed: r.has(table.AttrChecksum)} // which finishEvent compares
}

// Attributes that several events have. An actor is only checked: nothing is computed from it.
func (r *reader) actor() { r.text("Actor", 1, 2048) }

func (r *reader) description() string { return r.optional().text("Description", 1, 256) }

func (r *reader) kind() string { return r.oneOf(fieldKind, transaction, transfer, trade, reversal) }

// asset is the registration of an asset.
type asset struct {
	event
	id, currency string // currency is "" if there is none
}

// asset reads the attributes of an asset.
func (r *reader) asset(id string) asset {
	a := asset{event: r.event("", table.AssetsPK2), id: id}
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

// account holds the limits of an account's balances. known is false if its opening or a change cannot be read.
type account struct {
	event
	id        string
	known     bool
	unlimited bool
	limits    map[string]*big.Int // the highest that it ever had; an asset absent here has limit 0

	version   int64     // of its newest change; 1: its opening
	changedAt time.Time // of that change
	checksum  string    // of that change; "" of the opening
	closedAt  time.Time // zero: it is not closed
}

// limit returns how far below zero a balance may go; nil if there is no limit, or none is known.
func (a account) limit(asset string) *big.Int {
	switch limit, ok := a.limits[asset]; {
	case a.unlimited, !a.known:
		return nil
	case ok:
		return limit
	}
	return new(big.Int)
}

// account reads the attributes of an account. Without an overdraft, all its limits are 0.
func (r *reader) account(id string) account {
	a := account{event: r.event(table.ProfileSK2, table.AccountsPK2), id: id, known: true, version: 1}
	r.same(fieldID, id)
	r.optional().text("Name", 1, 256)
	r.actor()
	a.at = r.instant("At")
	r.profile("Profile")
	a.unlimited, a.limits = r.overdraft("Overdraft")
	return a
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
		r.fault(WrongValue, name, "a compact JSON object of at most 4,096 bytes that is not empty")
	case json.Unmarshal([]byte(s), &content) != nil, len(content.Addresses) > mostAddresses:
		r.fault(WrongValue, name, "a list of at most 10 addresses")
	}
}

// overdraft reads an optional text or map of limits by asset.
func (r *reader) overdraft(name string) (unlimited bool, limits map[string]*big.Int) {
	if _, isText := r.item[name].(*types.AttributeValueMemberS); isText {
		r.oneOf(name, "unlimited")
		return true, nil
	}
	m, ok := r.optional().nested(name)
	if !ok {
		return false, nil
	}
	if len(m.item) == 0 || len(m.item) > 100 {
		r.fault(WrongValue, name, "1 to 100 assets")
	}
	limits = make(map[string]*big.Int, len(m.item))
	for asset := range m.item {
		limits[asset] = m.amount(asset, postedDigits)
		if !isID(asset) || limits[asset].Sign() < 0 {
			m.fault(WrongValue, asset, "an asset's id, and an amount that is not negative")
		}
	}
	return false, limits
}

// leg is what a header's leg and a posting have in common. The last three are a posting's alone.
type leg struct {
	ksuid, account, asset string
	quantity, cost        *big.Int

	pending *big.Int // what the posting of a hold adds to what is pending, else 0
	phase   string   // of a hold's life; "" of no hold
	kind    string   // of the transaction
}

// legAmount is an amount of a leg, and the attribute that holds it.
type legAmount struct {
	name string
	of   **big.Int
}

// amounts are the rows of a leg's amounts: each is read, and compared between header and posting.
func (l *leg) amounts() [2]legAmount {
	return [...]legAmount{{fieldQuantity, &l.quantity}, {fieldCost, &l.cost}}
}

// amounts reads the amounts of a leg.
func (r *reader) amounts(of *leg) {
	for _, amount := range of.amounts() {
		*amount.of = r.amount(amount.name, postedDigits)
	}
}

// posting is a leg as its own item, in the partition of its account. It repeats a part of its header.
type posting struct {
	event
	leg
	transaction, description string
}

// posting reads the attributes of a posting. Its time is in its KSUID.
func (r *reader) posting(account, asset, ksuid string) posting {
	p := posting{event: r.event(table.PostingSK2(ksuid), ""), leg: leg{ksuid: ksuid, account: account, asset: asset}}
	r.same(table.AttrAccount, account)
	r.same(table.AttrAsset, asset)
	r.same(fieldID, ksuid)
	var ok bool
	if p.at, ok = instantOf(ksuid); !ok {
		r.fault(WrongKey, table.AttrSK, "a KSUID at its end")
	}
	r.amounts(&p.leg)
	r.pending(&p.leg)
	p.transaction, p.kind, p.description = r.id(fieldTransaction), r.kind(), r.description()
	return p
}

// grant gives a user a role on an account or in a group, or takes it away. Those of a user there are numbered from 1.
type grant struct {
	event
	number int64
	role   string // "" of a revocation
}

// granted reads the attributes of a grant, or of a revocation, which has no role. The field owner names the account or
// the group.
func granted(owner string, hasRole bool) func(r *reader, id, user string, number int64) grant {
	return func(r *reader, id, user string, number int64) grant {
		g := grant{event: r.event("", ""), number: r.counted(number, grantsMax)}
		r.same(owner, id)
		r.same(table.AttrUser, user)
		r.actor()
		g.at = r.instant("At")
		if hasRole {
			g.role = r.role()
		}
		return g
	}
}

func (r *reader) role() string { return r.oneOf(table.AttrRole, "viewer", "operator", "owner") }
