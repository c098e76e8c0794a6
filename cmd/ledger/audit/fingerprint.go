package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// requests returns what the request may have asked for besides kind and annotation, in the form that its fingerprint is
// made of: there are two such requests when a trade without a cost may have been to settle or not. wrong tells why the
// legs are those of no request of their kind.
func (h header) requests(first definition) (requests [][]byte, wrong string) {
	l := h.legs
	switch h.kind {
	case transfer:
		if !transfers(l) {
			return nil, "from and to: an amount of one asset, taken from one account and given to another"
		}
		return [][]byte{join(text(l[0].account), text(l[1].account), text(l[0].asset), amount(l[1].quantity))}, ""
	case trade:
		if !trades(l, first) {
			return nil, "buyer and seller, and for a cost perhaps their cash in the asset's currency"
		}
		asked := func(settle string) []byte {
			return join(text(l[0].asset), text(l[0].account), text(l[1].account), amount(l[0].quantity), amount(l[0].cost), text(settle))
		}
		switch {
		case len(l) > 2:
			return [][]byte{asked("true")}, ""
		case l[0].cost.Sign() == 0:
			return [][]byte{asked("false"), asked("true")}, ""
		}
		return [][]byte{asked("false")}, ""
	}
	postings := [][]byte{count(len(l))}
	for _, leg := range l {
		postings = append(postings, text(leg.account), text(leg.asset), amount(leg.quantity), amount(leg.cost))
	}
	return [][]byte{join(postings...)}, ""
}

func transfers(l []leg) bool {
	return len(l) == 2 && l[0].asset == l[1].asset && l[0].account != l[1].account && l[1].quantity.Sign() > 0 &&
		opposite(l[0].quantity, l[1].quantity) && l[0].cost.Sign() == 0 && l[1].cost.Sign() == 0
}

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
	return l[0].cost.Sign() > 0 && cash[0].asset == cash[1].asset && (!first.readable || cash[0].asset == first.currency) &&
		cash[0].account == l[0].account && cash[1].account == l[1].account &&
		opposite(cash[0].quantity, l[0].cost) && cash[1].quantity.Cmp(l[0].cost) == 0 &&
		cash[0].cost.Sign() == 0 && cash[1].cost.Sign() == 0
}

func opposite(a, b *big.Int) bool { return new(big.Int).Neg(a).Cmp(b) == 0 }

// fingerprints tells whether the header's fingerprint is that of one of the requests, and what it should be. By rule 1 that
// is SHA-256 over the kind, the description, the metadata by key, and what is asked for; a text stands there after its
// length in bytes and a colon, a number before a semicolon.
func (h header) fingerprints(requests [][]byte) (right string, ok bool) {
	about := [][]byte{text(h.kind), text(h.description), count(len(h.metadata))}
	for _, key := range slices.Sorted(maps.Keys(h.metadata)) {
		about = append(about, text(key), text(h.metadata[key]))
	}
	var all []string
	for _, request := range requests {
		hash := sha256.Sum256(append(join(about...), request...))
		all = append(all, "1:"+base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	return strings.Join(all, " or "), slices.Contains(all, h.fingerprint)
}

func text(s string) []byte        { return fmt.Appendf(nil, "%d:%s", len(s), s) }
func count(n int) []byte          { return fmt.Appendf(nil, "%d;", n) }
func amount(n *big.Int) []byte    { return append(n.Append(nil, 10), ';') }
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func legsText(legs []leg) string {
	parts := make([]string, len(legs))
	for i, l := range legs {
		parts[i] = fmt.Sprintf("%s %s %s cost %s", l.account, l.quantity, l.asset, l.cost)
	}
	s := strings.Join(parts, ", ")
	if len(s) > showChars {
		s = s[:showChars] + "…"
	}
	return s
}
