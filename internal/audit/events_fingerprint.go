package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// requests returns the requests that the header may have answered, without kind and annotation, in the form that a
// fingerprint covers. There are two if a trade without a cost may have been settled or not. wrong says why the legs
// belong to no request of their kind.
func (h header) requests(first definition) (requests []string, wrong string) {
	l := h.legs
	switch h.kind {
	case transfer:
		if !transfers(l) {
			return nil, "from and to: an amount of one asset, taken from one account and given to another"
		}
		return []string{text(l[0].account) + text(l[1].account) + text(l[0].asset) + amount(l[1].quantity)}, ""
	case trade:
		if !trades(l, first) {
			return nil, "buyer and seller, and for a cost perhaps their cash in the asset's currency"
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

// trades reports whether these are the legs of a trade: the asset of the buyer and of the seller, and if it was
// settled, the cash of both. first is the definition of the asset.
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

// askedToHold returns requests with the rest that a fingerprint of rule 2 covers, as those of a hold: with a time of
// expiry or without, and reversing nothing.
func (h header) askedToHold(requests []string) (all []string) {
	for _, request := range requests {
		for _, expires := range [...]string{"", h.expires} {
			all = append(all, request+text("true")+text(expires)+text("")+text(""))
		}
	}
	return all
}

// askedToReverse returns the requests that a reversing transaction may have answered, which took that back: all that
// was left, a quantity of a transfer or a trade, or of each leg an amount.
func (h header) askedToReverse(taken []leg) []string {
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

// fingerprints returns the right fingerprints, and whether the header's is one of them. Rule 1 is SHA-256 over the
// kind, the description, the metadata sorted by key, and the request: a text is preceded by its length in bytes and a
// colon, a number is followed by a semicolon. Rule 2 is the same of holds, reversals and effective dates, whose
// requests say more.
func (h header) fingerprints(requests []string) (right string, ok bool) {
	about := text(h.kind) + text(h.description) + count(len(h.metadata))
	for _, key := range slices.Sorted(maps.Keys(h.metadata)) {
		about += text(key) + text(h.metadata[key])
	}
	rule := "1:"
	if h.isHold() {
		requests = h.askedToHold(requests)
	}
	if h.effective != "" && h.kind != reversal {
		requests = withRest(requests, text("false")+text("")+text("")+text(""))
	}
	if h.effective != "" {
		requests = withRest(requests, text(h.effective))
	}
	if h.isHold() || h.effective != "" || h.kind == reversal {
		rule = "2:"
	}
	var all []string
	for _, request := range requests {
		hash := sha256.Sum256([]byte(about + request))
		all = append(all, rule+base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	return strings.Join(all, " or "), slices.Contains(all, h.fingerprint)
}

// withRest returns requests with what else they ask for.
func withRest(requests []string, rest string) (all []string) {
	for _, request := range requests {
		all = append(all, request+rest)
	}
	return all
}

// Parts of a request in the form that a fingerprint covers.
func text(s string) string     { return fmt.Sprintf("%d:%s", len(s), s) }
func count(n int) string       { return fmt.Sprintf("%d;", n) }
func amount(n *big.Int) string { return n.String() + ";" }

func legsText(legs []leg) string {
	parts := make([]string, len(legs))
	for i, l := range legs {
		of := strings.Fields(fmt.Sprintf("%s %s %s cost %s", l.account, l.quantity, l.asset, l.cost))
		parts[i] = strings.Join(of, " ") // what a reversal took names no accounts
	}
	return shortened(strings.Join(parts, ", "))
}
