package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// sumBytes is the length of a checksum: a prefix of the hash.
const sumBytes = 16

// outsideChecksum are the attributes of an event's item that its checksum does not cover.
var outsideChecksum = []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrChecksum}

// checksumOf computes an event's checksum from its item: the first 16 bytes of SHA-256 over the canonical form of all
// its attributes but the keys and the checksum, including unknown ones.
func checksumOf(item attributes) string {
	var buffer [1024]byte
	hash := sha256.Sum256(appendObject(buffer[:0], item, outsideChecksum))
	return base64.RawURLEncoding.EncodeToString(hash[:sumBytes])
}

// appendJSON appends the canonical form of a value to b: RFC 8785, with the digits of a number as a string.
func appendJSON(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return appendString(b, v.Value)
	case *types.AttributeValueMemberN:
		return appendString(b, v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value)
	case *types.AttributeValueMemberM:
		return appendObject(b, v.Value, nil)
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for i, element := range v.Value {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, element)
		}
		return append(b, ']')
	}
	return fmt.Appendf(b, "%T", v) // events have no values of other types
}

// appendObject appends a map without some names.
func appendObject(b []byte, m attributes, without []string) []byte {
	var room [32]string // more than most items have
	names := slices.AppendSeq(room[:0], maps.Keys(m))
	slices.SortFunc(names, byUnits)
	before := byte('{')
	for _, name := range names {
		if !slices.Contains(without, name) {
			b = append(appendString(append(b, before), name), ':')
			b, before = appendJSON(b, m[name]), ','
		}
	}
	if before == '{' {
		b = append(b, before)
	}
	return append(b, '}')
}

// byUnits compares texts by their UTF-16 code units. Up to U+FFFF that is the order of their bytes.
func byUnits(a, b string) int {
	isBeyond := func(r rune) bool { return utf16.RuneLen(r) > 1 }
	if !strings.ContainsFunc(a, isBeyond) && !strings.ContainsFunc(b, isBeyond) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendString appends a JSON string. Only what must be escaped is.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for s != "" {
		plain := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
		if plain < 0 {
			b = append(b, s...)
			break
		}
		b = append(b, s[:plain]...)
		if short, ok := escapes[s[plain]]; ok {
			b = append(b, short...)
		} else {
			b = fmt.Appendf(b, `\u%04x`, s[plain])
		}
		s = s[plain+1:]
	}
	return append(b, '"')
}

// escapes are the characters that have a short escape.
var escapes = map[byte]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

// compareChecksum compares the checksum of an event only if the item has no other fault: another fault says more.
func (r *reader) compareChecksum(sum string) {
	if len(r.found) > 0 {
		return
	}
	if right := checksumOf(r.item); sum != right {
		r.fault(ChecksumDiffers, table.AttrChecksum, strconv.Quote(right))
	}
}

// requests returns the requests that can have created the header, encoded for the fingerprint, without kind,
// description and metadata. A trade without a cost has two: with settlement and without. wrong describes the right legs
// if no request of this kind can have created the legs.
func (h header) requests(first definition) (requests []string, wrong string) {
	l := h.Legs
	switch h.Kind {
	case transfer:
		if !transfers(l) {
			return nil, "two legs that move an amount of one asset from one account to another"
		}
		return []string{text(l[0].Account) + text(l[1].Account) + text(l[0].Asset) + amount(l[1].Quantity)}, ""
	case trade:
		if !trades(l, first) {
			return nil, "the legs of buyer and seller, then for a settled cost their cash legs in the asset's currency"
		}
		asked := text(l[0].Asset) + text(l[0].Account) + text(l[1].Account) + amount(l[0].Quantity) + amount(l[0].Cost)
		if len(l) == 2 {
			requests = append(requests, asked+text("false"))
		}
		if len(l) == 4 || l[0].Cost.Sign() == 0 {
			requests = append(requests, asked+text("true"))
		}
		return requests, ""
	}
	if h.isMade() && !splits(l) {
		return nil, "for a split, debits, and then credits of other accounts in the same asset, without costs"
	}
	asked := count(len(l))
	for _, leg := range l {
		asked += text(leg.Account) + text(leg.Asset) + amount(leg.Quantity) + amount(leg.Cost)
	}
	return []string{asked}, ""
}

// transfers reports whether these are the legs of a transfer: first the debit, then the credit.
func transfers(l []leg) bool {
	return len(l) == 2 && l[0].Asset == l[1].Asset && l[0].Account != l[1].Account && l[1].Quantity.Sign() > 0 &&
		opposite(l[0].Quantity, l[1].Quantity) && l[0].Cost.Sign() == 0 && l[1].Cost.Sign() == 0
}

// madeRule begins the fingerprint of a split, and of a transfer of as much as fits. After it are the hash of the
// request, which said more than the legs, and the hash of one with these legs.
const madeRule = "2:"

// isMade reports whether the legs were made by the ledger, from what the request said.
func (h header) isMade() bool {
	return (h.Kind == transaction || h.Kind == transfer) && strings.HasPrefix(h.Fingerprint, madeRule)
}

// splits reports whether these are the legs of a split: debits of different accounts, and then credits of others.
func splits(l []leg) bool {
	given, gotten := map[string]bool{}, false
	for _, leg := range l {
		isDebit := leg.Quantity.Sign() < 0
		if leg.Asset != l[0].Asset || leg.Cost.Sign() != 0 || leg.Quantity.Sign() == 0 || given[leg.Account] ||
			isDebit && gotten {
			return false
		}
		given[leg.Account], gotten = isDebit, gotten || !isDebit
	}
	return len(given) > 0 && gotten
}

// trades reports whether these are the legs of a trade: the asset of the buyer and of the seller, and after a
// settlement the cash of both. first is the definition of the asset.
func trades(l []leg, first definition) bool {
	if len(l) != 2 && len(l) != 4 || l[0].Asset != l[1].Asset || l[0].Account == l[1].Account ||
		l[0].Quantity.Sign() <= 0 || !opposite(l[0].Quantity, l[1].Quantity) ||
		l[0].Cost.Sign() < 0 || !opposite(l[0].Cost, l[1].Cost) {
		return false
	}
	if len(l) == 2 {
		return true
	}
	cash := l[2:]
	return l[0].Cost.Sign() > 0 && cash[0].Asset == cash[1].Asset &&
		(!first.readable || cash[0].Asset == first.currency) &&
		cash[0].Account == l[0].Account && cash[1].Account == l[1].Account &&
		opposite(cash[0].Quantity, l[0].Cost) && cash[1].Quantity.Cmp(l[0].Cost) == 0 &&
		cash[0].Cost.Sign() == 0 && cash[1].Cost.Sign() == 0
}

func opposite(a, b *big.Int) bool { return new(big.Int).Neg(a).Cmp(b) == 0 }

// reversalRequests returns the requests that can have created a reversing transaction with these reversed amounts:
// reverse all that is left, reverse a quantity of a trade or of what has one asset and no costs, or reverse an amount
// of each leg.
func (h header) reversalRequests(taken []leg) []string {
	asked := text("false") + text("") + text(h.Reverses)
	of, bought, credits, hasCost := text("postings")+count(len(taken)), taken[0], new(big.Int), false
	for _, leg := range taken {
		of += amount(leg.Quantity) + amount(leg.Cost)
		if hasCost = hasCost || leg.Cost.Sign() != 0; leg.Quantity.Sign() > 0 {
			credits.Add(credits, leg.Quantity)
		}
	}
	requests := []string{
		asked + text(""), asked + of,
		asked + text("quantity") + amount(bought.Quantity) + amount(bought.Cost), // of a trade
	}
	if !hasCost {
		requests = append(requests, asked+text("quantity")+amount(credits)+amount(new(big.Int)))
	}
	return requests
}

// checkFingerprint compares the header's fingerprint with those of some possible requests.
//
// It is SHA-256 over the kind, the description, the metadata sorted by key, the request, whether it is for a hold, its
// time of expiry, the reversed transaction, the part of it, and the effective date. See also said. A string follows its
// length in bytes and a colon; a semicolon follows a number.
func (h header) checkFingerprint(requests []string) []Finding {
	first, last := h.said()
	nothing := text("") + text("")
	switch {
	case h.isHold(): // the request has a time of expiry, or none
		requests = append(withRest(requests, text("true")+text("")+nothing),
			withRest(requests, text("true")+text(h.ExpiresAt)+nothing)...)
	case h.Kind != reversal:
		requests = withRest(requests, text("false")+text("")+nothing)
	}
	requests = withRest(requests, text(h.effective)+last)
	stored := h.Fingerprint
	if h.isMade() {
		_, made, _ := strings.Cut(strings.TrimPrefix(stored, madeRule), ":")
		stored = "1:" + made
	}
	var all []string
	for _, request := range requests {
		hash := sha256.Sum256([]byte(text(h.Kind) + first + request))
		all = append(all, "1:"+base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	if slices.Contains(all, stored) {
		return nil
	}
	return []Finding{{FingerprintDiffers, table.Transaction.Key(h.ID), "Fingerprint", h.Fingerprint,
		strings.Join(all, " or ")}}
}

// withRest appends further fields to all requests.
func withRest(requests []string, rest string) (all []string) {
	for _, request := range requests {
		all = append(all, request+rest)
	}
	return all
}

// Fields of a request in the encoding of fingerprints.
func text(s string) string     { return fmt.Sprintf("%d:%s", len(s), s) }
func count(n int) string       { return fmt.Sprintf("%d;", n) }
func amount(n *big.Int) string { return n.String() + ";" }

func legsText(legs []leg) string {
	parts := make([]string, len(legs))
	for i, l := range legs {
		parts[i] = fmt.Sprintf("%s %s %s cost %s", l.Account, l.Quantity, l.Asset, l.Cost)
		if l.Account == "" { // of a reversal
			parts[i] = fmt.Sprintf("quantity %s cost %s", l.Quantity, l.Cost)
		}
	}
	return truncated(strings.Join(parts, ", "))
}
