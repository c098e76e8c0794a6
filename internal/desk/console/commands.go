package console

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"

	"ledger.example/client"
	"ledger.example/events"
)

// commands has the POSIX shell commands that read a transaction, created it, and ended its hold.
type commands struct {
	Read, Created, Ended string // "" if there is no such command, or if it cannot be reconstructed
}

// commandsOf returns the commands of a transaction. Each is a replay: it gets the first answer again. Errors: those of
// reads.
func (v *visit) commandsOf(t client.Transaction) (all commands, err error) {
	all.Read = v.curl("/v1/transactions/"+url.QueryEscape(t.ID), "")
	if t.Hidden > 0 {
		return all, nil
	}
	requests, err := v.requestsFor(t)
	all.Created, all.Ended = v.replayCommand(requests), v.replayCommand(endRequests(t))
	return all, err
}

// replayCommand returns the command of the first request that would be a replay, "" if none would. It finds out with
// dry runs, which also refuse requests that the user may not send.
func (v *visit) replayCommand(requests []client.Request) string {
	for _, r := range requests {
		if _, err := v.api.DryRun(v.ctx, r); err == nil {
			path, body, _ := client.Sent(r) // the ledger has accepted it
			return v.curl(path, string(body))
		}
	}
	return ""
}

// requestsFor returns the requests that may have posted a transaction. There can be several, because the ledger does
// not store whether a field was sent or left to its default. Errors: those of reads.
func (v *visit) requestsFor(t client.Transaction) (all []client.Request, err error) {
	var effective time.Time
	if t.PostedAt != t.RecordedAt {
		effective = timeOf(t.PostedAt)
	}
	if t.Kind == string(events.KindReversal) {
		return v.reversalsFor(t, effective)
	}
	holds := []*client.Hold{nil}
	if t.ExpiresAt != "" {
		holds = []*client.Hold{{}, {ExpiresAt: timeOf(t.ExpiresAt)}}
	}
	first, second := t.Postings[0], t.Postings[1]
	for _, hold := range holds {
		switch t.Kind {
		case string(events.KindTransfer):
			all = append(all, client.Transfer{
				ID: t.ID, Annotation: t.Annotation(), From: first.Account, To: second.Account,
				Asset: second.Asset, Quantity: second.Quantity, Hold: hold, EffectiveAt: effective,
			})
		case string(events.KindTrade):
			trade := client.Trade{
				ID: t.ID, Annotation: t.Annotation(), Buyer: first.Account,
				Seller: second.Account, Asset: first.Asset, Quantity: first.Quantity, Cost: first.Cost,
				Settle: len(t.Postings) > 2, Hold: hold, EffectiveAt: effective,
			}
			all = append(all, trade)
			if trade.Settle = true; trade.Cost.IsZero() {
				all = append(all, trade) // a settled trade with a cost of zero has no cash legs
			}
		default:
			all = append(all, client.TransactionRequest{
				ID: t.ID, Annotation: t.Annotation(), Postings: client.Legs(t.Postings),
				Hold: hold, EffectiveAt: effective,
			})
		}
	}
	return all, nil
}

// reversalsFor is requestsFor for a reversal: of everything that was left, or of a named part.
func (v *visit) reversalsFor(t client.Transaction, effective time.Time) ([]client.Request, error) {
	of, err := v.api.Transaction(v.ctx, t.Reverses)
	if err != nil {
		return nil, err
	}
	taken, rest := make([]client.Taken, len(of.Value.Postings)), t.Postings
	for i, leg := range of.Value.Postings { // a reversal has no posting where it takes nothing back
		taken[i].Cost = new(events.Amount)
		if len(rest) > 0 && isReversalOf(rest[0], leg) {
			taken[i], rest = client.Taken{Quantity: rest[0].Quantity.Neg(), Cost: new(rest[0].Cost.Neg())}, rest[1:]
		}
	}
	whole := client.Reversal{
		Transaction: t.Reverses, ID: t.ID, Annotation: t.Annotation(), EffectiveAt: effective,
	}
	part := whole
	part.Part = partOf(of.Value.Kind, taken)
	requests := []client.Request{whole, part}
	if !hasParts(of.Value) && hasOneAsset(of.Value) {
		quantity := events.Amount{}
		for _, p := range taken {
			if p.Quantity.Sign() > 0 { // a part of what was posted: no overflow
				quantity, _ = quantity.Add(p.Quantity)
			}
		}
		side := whole
		side.Quantity = &quantity
		requests = append(requests, side)
	}
	return requests, nil
}

// isReversalOf reports whether back can be the leg of a reversal that takes back leg.
func isReversalOf(back, leg client.Posting) bool {
	return back.Account == leg.Account && back.Asset == leg.Asset &&
		back.Quantity.Sign()*leg.Quantity.Sign() <= 0 && back.Cost.Sign()*leg.Cost.Sign() <= 0
}

// partOf returns the part that takes the given amounts of each leg, in the form that the transaction's kind requires.
func partOf(kind string, taken []client.Taken) client.Part {
	quantity := taken[0].Quantity.Abs()
	var cost *events.Amount
	if taken[0].Cost != nil {
		cost = new(taken[0].Cost.Abs())
	}
	switch kind {
	case string(events.KindTransfer):
		return client.Part{Quantity: &quantity}
	case string(events.KindTrade):
		return client.Part{Quantity: &quantity, Cost: cost}
	}
	return client.Part{Postings: taken}
}

// endRequests returns the requests that may have ended a hold.
func endRequests(t client.Transaction) []client.Request {
	switch t.Status {
	case client.StatusReleased:
		return []client.Request{client.Release{Transaction: t.ID, Description: t.EndDescription}}
	case client.StatusCaptured:
		var taken []client.Taken
		for _, p := range t.Captured {
			taken = append(taken, client.Taken{Quantity: p.Quantity, Cost: &p.Cost})
		}
		whole := client.Capture{Transaction: t.ID}
		return []client.Request{whole, client.Capture{Transaction: t.ID, Part: partOf(t.Kind, taken)}}
	}
	return nil
}

// curl returns the command that reads a path or, with a body, posts JSON to it.
func (v *visit) curl(path, body string) string {
	words := []string{"curl"}
	if v.address.Curl != "" {
		words = append(words, v.address.Curl)
	}
	if v.user != "" {
		words = append(words, "-H", shellWord("Ledger-User: "+v.user))
	}
	if body != "" {
		words = append(words, "-H", shellWord("Content-Type: application/json"), "-d", shellWord(ascii(body)))
	}
	return strings.Join(append(words, shellWord(strings.TrimRight(v.address.URL, "/")+path)), " ")
}

// shellSafe matches a word that needs no quotes in a shell.
var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_/.:@%+,-]+$`)

// shellWord quotes a text without NUL as one word for a POSIX shell. Only a single quote is special between single
// quotes, so each one is written outside of them.
func shellWord(text string) string {
	if shellSafe.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ascii escapes all non-ASCII characters of JSON. No character is then invisible or changes the text direction, so the
// text that people see is the text that they copy.
func ascii(text string) string { return escaped(text, func(r rune) bool { return r < 0x7f }) }

// escaped replaces each rune that is not kept by its JSON escape.
func escaped(text string, isKept func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case isKept(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
