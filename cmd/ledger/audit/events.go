package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// Names and the version of the stored events, and of their fields, as the ledger's golden files have them.
const (
	kindAsset   = "AssetRegistered"
	kindAccount = "AccountOpened"
	kindHeader  = "TransactionPosted"
	kindPosting = "PostingRecorded"
	kindGrant   = "MemberGranted"
	kindRevoke  = "MemberRevoked"

	eventVersion = 1

	fieldAccount     = table.AttrAccount
	fieldAsset       = table.AttrAsset
	fieldUser        = table.AttrUser
	fieldRole        = table.AttrRole
	fieldNumber      = table.AttrNumber
	fieldActor       = "Actor"
	fieldAt          = "At"
	fieldCost        = "Cost"
	fieldCurrency    = "Currency"
	fieldDescription = "Description"
	fieldFingerprint = "Fingerprint"
	fieldID          = "ID"
	fieldKind        = "Kind"
	fieldLegs        = "Legs"
	fieldMetadata    = "Metadata"
	fieldName        = "Name"
	fieldOverdraft   = "Overdraft"
	fieldProfile     = "Profile"
	fieldQuantity    = "Quantity"
	fieldScale       = "Scale"
	fieldTransaction = "Transaction"
)

// Limits of the fields.
const (
	nameChars        = 256
	descriptionChars = 256
	actorChars       = 2048
	scaleMax         = 18
	profileBytes     = 4096
	addressesMax     = 10
	overdraftAssets  = 100
	legsMin, legsMax = 2, 48
	metadataPairs    = 20
	metadataKey      = 40
	metadataValue    = 256
	metadataBytes    = 4096
	grantsMax        = 999_999_999_999
)

// The kinds of request.
const (
	transaction = "transaction"
	transfer    = "transfer"
	trade       = "trade"
)

type asset struct{ id, currency string }

// account is what bears on its balances. Of one that cannot be read nothing is known.
type account struct {
	id        string
	known     bool
	unlimited bool
	limits    map[string]*big.Int // an asset absent here has limit 0
}

// limit is how far below zero the account may go; nil when there is no limit, or none known.
func (a account) limit(asset string) *big.Int {
	switch limit, ok := a.limits[asset]; {
	case a.unlimited, !a.known:
		return nil
	case ok:
		return limit
	}
	return new(big.Int)
}

type leg struct {
	ksuid, account, asset string
	quantity, cost        *big.Int
}

type posting struct {
	leg
	transaction, kind, description string
}

type header struct {
	id, kind, description string
	metadata              map[string]string
	legs                  []leg
	fingerprint           string
}

// postings are what the items of the header's legs must say.
func (h header) posting(i int) posting {
	return posting{leg: h.legs[i], transaction: h.id, kind: h.kind, description: h.description}
}

type grant struct {
	account, user string
	number        int64
	role          string // "" of a revocation
	at            string
}

// version takes the version of an event's form.
func (r *reader) version() { r.integer(table.AttrEventVersion, eventVersion, eventVersion) }

func (r *reader) actorAndTime() (at string) {
	r.text(fieldActor, 1, actorChars)
	return r.instant(fieldAt)
}

func decodeAsset(r *reader, id string) asset {
	r.keys(kindAsset, "", table.AssetsPK2)
	r.version()
	r.is(fieldID, id)
	r.text(fieldName, 1, nameChars)
	r.optionalText(fieldDescription, descriptionChars)
	r.integer(fieldScale, 0, scaleMax)
	r.actorAndTime()
	a := asset{id: id}
	if r.has(fieldCurrency) {
		if a.currency = r.id(fieldCurrency); a.currency == id {
			r.fault(WrongValue, fieldCurrency, "another asset")
		}
	}
	r.finish()
	return a
}

func decodeAccount(r *reader, id string) account {
	r.keys(kindAccount, table.ProfileSK2, table.AccountsPK2)
	r.version()
	r.is(fieldID, id)
	r.optionalText(fieldName, nameChars)
	r.actorAndTime()
	if r.has(fieldProfile) {
		r.profile()
	}
	a := account{id: id}
	if r.has(fieldOverdraft) {
		a.unlimited, a.limits = r.overdraft()
	}
	r.finish()
	a.known = !r.broken
	return a
}

// profile checks a compact JSON object that is not empty.
func (r *reader) profile() {
	s, ok := r.string(fieldProfile)
	if !ok {
		return
	}
	var compact bytes.Buffer
	var content struct {
		Addresses *[]map[string]json.RawMessage `json:"addresses"`
	}
	switch {
	case len(s) > profileBytes, !isText(s, len(`{"":0}`), profileBytes), s[0] != '{',
		json.Compact(&compact, []byte(s)) != nil, compact.String() != s:
		r.fault(WrongValue, fieldProfile, "a compact JSON object of at most 4,096 bytes that is not empty")
	case json.Unmarshal([]byte(s), &content) != nil, content.Addresses != nil && len(*content.Addresses) > addressesMax:
		r.fault(WrongValue, fieldProfile, "a list of at most 10 addresses")
	}
}

func (r *reader) overdraft() (unlimited bool, limits map[string]*big.Int) {
	if _, ok := r.item[fieldOverdraft].(*types.AttributeValueMemberS); ok {
		r.oneOf(fieldOverdraft, "unlimited")
		return true, nil
	}
	m, ok := r.nested(fieldOverdraft)
	if !ok {
		return false, nil
	}
	if len(m.item) == 0 || len(m.item) > overdraftAssets {
		r.fault(WrongValue, fieldOverdraft, fmt.Sprintf("1 to %d assets", overdraftAssets))
	}
	limits = make(map[string]*big.Int, len(m.item))
	for asset := range m.item {
		limit := m.amount(asset, postedDigits)
		if !isID(asset) || limit.Sign() < 0 {
			m.fault(WrongValue, asset, "an asset's id, and an amount that is not negative")
		}
		limits[asset] = limit
	}
	return false, limits
}

// leg takes what header and posting have in common.
func (r *reader) leg() leg {
	return leg{
		quantity: r.amount(fieldQuantity, postedDigits),
		cost:     r.amount(fieldCost, postedDigits),
	}
}

func decodePosting(r *reader, account, asset, ksuid string) posting {
	r.keys(kindPosting, table.PostingSK2(ksuid), "")
	r.version()
	r.is(fieldAccount, account)
	r.is(fieldAsset, asset)
	r.is(fieldID, ksuid)
	if _, ok := instantOf(ksuid); !ok {
		r.fault(WrongKey, table.AttrSK, "a KSUID at its end")
	}
	p := posting{
		leg:         r.leg(),
		transaction: r.id(fieldTransaction),
		kind:        r.oneOf(fieldKind, transaction, transfer, trade),
		description: r.optionalText(fieldDescription, descriptionChars),
	}
	p.account, p.asset, p.ksuid = account, asset, ksuid
	r.finish()
	return p
}

func decodeHeader(r *reader, id string) header {
	r.keys(kindHeader, "", "")
	r.version()
	r.is(fieldID, id)
	h := header{
		id:          id,
		kind:        r.oneOf(fieldKind, transaction, transfer, trade),
		description: r.optionalText(fieldDescription, descriptionChars),
		metadata:    r.metadata(),
		legs:        r.legs(),
	}
	h.fingerprint, _ = r.string(fieldFingerprint)
	r.text(fieldActor, 1, actorChars)
	r.finish()
	return h
}

func (r *reader) metadata() map[string]string {
	if !r.has(fieldMetadata) {
		return nil
	}
	m, ok := r.nested(fieldMetadata)
	if !ok {
		return nil
	}
	metadata, size := make(map[string]string, len(m.item)), 0
	for key := range m.item {
		value := m.text(key, 0, metadataValue)
		if !isText(key, 1, metadataKey) {
			m.fault(WrongValue, key, fmt.Sprintf("a key of 1 to %d characters", metadataKey))
		}
		metadata[key] = value
		size += len(key) + len(value)
	}
	if len(metadata) == 0 || len(metadata) > metadataPairs || size > metadataBytes {
		r.fault(WrongValue, fieldMetadata, fmt.Sprintf("1 to %d pairs of at most %d bytes in all", metadataPairs, metadataBytes))
	}
	return metadata
}

// legs takes the list of legs: KSUIDs increasing and of one instant.
func (r *reader) legs() []leg {
	list, ok := take[*types.AttributeValueMemberL](r, fieldLegs, "a list")
	if !ok {
		return nil
	}
	if len(list.Value) < legsMin || len(list.Value) > legsMax {
		r.fault(WrongValue, fieldLegs, fmt.Sprintf("%d to %d legs", legsMin, legsMax))
	}
	legs := make([]leg, len(list.Value))
	var instant time.Time
	for i, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			r.fault(WrongType, fieldLegs, "a list of maps")
			return nil
		}
		one := &reader{item: m.Value, at: fieldLegs + "[" + strconv.Itoa(i) + "].", faults: r.faults}
		ksuid := one.ksuid(fieldID)
		at, ok := instantOf(ksuid)
		switch {
		case !ok:
		case i == 0:
			instant = at
		case ksuid <= legs[i-1].ksuid, !at.Equal(instant):
			one.fault(WrongValue, fieldID, "a KSUID after the one before, of the instant of the first")
		}
		legs[i] = one.leg()
		legs[i].ksuid, legs[i].account, legs[i].asset = ksuid, one.id(fieldAccount), one.id(fieldAsset)
		one.finish()
	}
	return legs
}

func decodeGrant(r *reader, kind, account, user string, number int64) grant {
	r.keys(kind, "", "")
	r.version()
	r.is(fieldAccount, account)
	r.is(fieldUser, user)
	g := grant{account: account, user: user, number: number}
	if n := r.integer(fieldNumber, 1, grantsMax); n != number && !r.broken {
		r.fault(WrongKey, fieldNumber, strconv.FormatInt(number, 10))
	}
	if kind == kindGrant {
		g.role = r.oneOf(fieldRole, roles...)
	}
	g.at = r.actorAndTime()
	r.finish()
	return g
}

var roles = []string{"viewer", "operator", "owner"}
