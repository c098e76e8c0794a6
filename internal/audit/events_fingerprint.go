package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"ledger.example/internal/store"
)

// requests returns the requests that can have created the header, encoded for the fingerprint, without kind,
// description and metadata. A trade without a cost has two: with settlement and without. wrong describes the right legs
// if no request of this kind can have created the legs.
func (h header) requests(first definition) (requests []string, wrong string) {
	l := h.legs
	switch h.kind {
	case transfer:
		if !transfers(l) {
			return nil, "two legs that move an amount of one asset from one account to another"
		}
		return []string{text(l[0].account) + text(l[1].account) + text(l[0].asset) + amount(l[1].quantity)}, ""
	case trade:
		if !trades(l, first) {
			return nil, "the legs of buyer and seller, then for a settled cost their cash legs in the asset's currency"
		}
		asked := text(l[0].asset) + text(l[0].account) + text(l[1].account) + amount(l[0].quantity) + amount(l[0].cost)
		if len(l) == 2 {
			requests = append(requests, asked+text("false"))
		}
		if len(l) == 4 || l[0].cost.Sign() == 0 {
			requests = append(requests, asked+text("true"))
		}
		return requests, ""
	}
	asked := count(len(l))
	for _, leg := range l {
		asked += text(leg.account) + text(leg.asset) + amount(leg.quantity) + amount(leg.cost)
	}
	return []string{asked}, ""
}

// transfers reports whether these are the legs of a transfer: first the debit, then the credit.
func transfers(l []leg) bool {
	return len(l) == 2 && l[0].asset == l[1].asset && l[0].account != l[1].account && l[1].quantity.Sign() > 0 &&
		opposite(l[0].quantity, l[1].quantity) && l[0].cost.Sign() == 0 && l[1].cost.Sign() == 0
}

// trades reports whether these are the legs of a trade: the asset of the buyer and of the seller, and after a
// settlement the cash of both. first is the definition of the asset.
func trades(l []leg, first definition) bool {
	if len(l) != 2 && len(l) != 4 || l[0].asset != l[1].asset || l[0].account == l[1].account ||
		l[0].quantity.Sign() <= 0 || !opposite(l[0].quantity, l[1].quantity) ||
		l[0].cost.Sign() < 0 || !opposite(l[0].cost, l[1].cost) {
		return false
	}
	if len(l) == 2 {
		return true
	}
	cash := l[2:]
	return l[0].cost.Sign() > 0 && cash[0].asset == cash[1].asset &&
		(!first.readable || cash[0].asset == first.currency) &&
		cash[0].account == l[0].account && cash[1].account == l[1].account &&
		opposite(cash[0].quantity, l[0].cost) && cash[1].quantity.Cmp(l[0].cost) == 0 &&
		cash[0].cost.Sign() == 0 && cash[1].cost.Sign() == 0
}

func opposite(a, b *big.Int) bool { return new(big.Int).Neg(a).Cmp(b) == 0 }

// reversalRequests returns the requests that can have created a reversing transaction with these reversed amounts:
// reverse all that is left, reverse a quantity of a transfer or of a trade, or reverse an amount of each leg.
func (h header) reversalRequests(taken []leg) []string {
	asked := text("false") + text("") + text(h.reverses)
	of := text("postings") + count(len(taken))
	for _, leg := range taken {
		of += amount(leg.quantity) + amount(leg.cost)
	}
	bought, given := taken[0], taken[1]
	return []string{
		asked + text(""), asked + of,
		asked + text("quantity") + amount(bought.quantity) + amount(bought.cost), // of a trade
		asked + text("quantity") + amount(given.quantity) + amount(given.cost),   // of a transfer
	}
}

// checkFingerprint compares the header's fingerprint with those of some possible requests.
//
// It is SHA-256 over the kind, the description, the metadata sorted by key, the request, whether it is for a hold, its
// time of expiry, the reversed transaction, the part of it, and the effective date. A string follows its length in
// bytes and a colon; a semicolon follows a number.
func (h header) checkFingerprint(requests []string) []Finding {
	about := text(h.kind) + text(h.description) + count(len(h.metadata))
	for _, key := range slices.Sorted(maps.Keys(h.metadata)) {
		about += text(key) + text(h.metadata[key])
	}
	nothing := text("") + text("")
	switch {
	case h.isHold(): // the request has a time of expiry, or none
		requests = append(withRest(requests, text("true")+text("")+nothing),
			withRest(requests, text("true")+text(h.expires)+nothing)...)
	case h.kind != reversal:
		requests = withRest(requests, text("false")+text("")+nothing)
	}
	requests = withRest(requests, text(h.effective))
	var all []string
	for _, request := range requests {
		hash := sha256.Sum256([]byte(about + request))
		all = append(all, "1:"+base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	if slices.Contains(all, h.fingerprint) {
		return nil
	}
	return []Finding{{FingerprintDiffers, store.Transaction.Key(h.id), fieldFingerprint, h.fingerprint,
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
		parts[i] = fmt.Sprintf("%s %s %s cost %s", l.account, l.quantity, l.asset, l.cost)
		if l.account == "" { // of a reversal
			parts[i] = fmt.Sprintf("quantity %s cost %s", l.quantity, l.cost)
		}
	}
	return truncated(strings.Join(parts, ", "))
}
