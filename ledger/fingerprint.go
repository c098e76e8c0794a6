package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"ledger.example/events"
)

// A fingerprint tells a repeated request from another one under the same id. It is stored in the header with the
// number of the rule that it was made by, and compared by that rule, also years and deployments later: rule 1 is never
// changed, only followed by others. The request is what is compared, not what it expands to.
const fingerprintRule = "1"

// fingerprint returns the fingerprint of r by the newest rule.
func fingerprint(r PostingRequest) string { return fingerprint1(r) }

// sameRequest tells whether a stored fingerprint is that of r. An unknown rule is an error, never a difference.
func sameRequest(stored string, r PostingRequest) (bool, error) {
	switch rule, _, _ := strings.Cut(stored, ":"); rule {
	case fingerprintRule:
		return fingerprint1(r) == stored, nil
	default:
		return false, fmt.Errorf("fingerprint %q is by an unknown rule", stored)
	}
}

// fingerprint1 is SHA-256 over the kind, description, metadata sorted by key, and the request's own fields in the
// order of its type. A text is written as its length in bytes, a colon and itself, an amount and the number of elements of
// a list as decimals and a semicolon, a truth value as the text "true" or "false". The id and the actor don't count. A given default and an omitted one are the same value here.
func fingerprint1(r PostingRequest) string {
	a := r.annotation()
	c := canonical(make([]byte, 0, 512)).text(string(r.kind())).text(a.Description).count(len(a.Metadata))
	for _, key := range keysOf(a.Metadata) {
		c = c.text(key).text(a.Metadata[key])
	}
	c = r.canonical(c)
	hash := sha256.Sum256(c)
	return string(base64.RawURLEncoding.AppendEncode(append(c[:0], fingerprintRule+":"...), hash[:]))
}

// canonical is a request in a form without ambiguity. Its methods append to it.
type canonical []byte

func (c canonical) count(n int) canonical { return append(strconv.AppendInt(c, int64(n), 10), ';') }

func (c canonical) text(s string) canonical {
	return append(append(strconv.AppendInt(c, int64(len(s)), 10), ':'), s...)
}

func (c canonical) amount(a events.Amount) canonical {
	c, _ = a.AppendText(c) // never fails
	return append(c, ';')
}

func (r PostTransaction) canonical(c canonical) canonical {
	c = c.count(len(r.Postings))
	for _, leg := range r.Postings {
		c = c.text(leg.Account).text(leg.Asset).amount(leg.Quantity).amount(leg.Cost)
	}
	return c
}

func (r PostTransfer) canonical(c canonical) canonical {
	return c.text(r.From).text(r.To).text(r.Asset).amount(r.Quantity)
}

func (r PostTrade) canonical(c canonical) canonical {
	return c.text(r.Asset).text(r.Buyer).text(r.Seller).amount(r.Quantity).amount(r.Cost).text(strconv.FormatBool(r.Settle))
}
