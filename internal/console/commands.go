package console

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
func (c *Console) commandsOf(ctx context.Context, t client.Transaction) (all commands, err error) {
	all.Read = c.curl("/v1/transactions/"+url.QueryEscape(t.ID), "")
	if t.Hidden > 0 {
		return all, nil
	}
	requests, err := c.requestsFor(ctx, t)
	if err != nil {
		return all, err
	}
	all.Created = c.replayCommand(ctx, requests...)
	if end := endRequest(t); end != nil {
		all.Ended = c.replayCommand(ctx, end)
	}
	return all, nil
}

// replayCommand returns the command of the first request that would be a replay, "" if none would. It finds out with
// dry runs, which also refuse requests that the user may not send.
func (c *Console) replayCommand(ctx context.Context, requests ...client.Post) string {
	for _, r := range requests {
		if _, err := c.api.DryRun(ctx, r); err == nil {
			return c.command(r)
		}
	}
	return ""
}

// requestsFor returns the requests that may have posted a transaction. There can be several, because the ledger does
// not store whether a field was sent or left to its default. Errors: those of reads.
func (c *Console) requestsFor(ctx context.Context, t client.Transaction) (all []client.Post, err error) {
	var effective time.Time
	if t.PostedAt != t.RecordedAt {
		if effective, err = time.Parse(time.RFC3339Nano, t.PostedAt); err != nil {
			return nil, err
		}
	}
	holds := []*client.Hold{nil}
	if t.ExpiresAt != "" {
		at, err := time.Parse(time.RFC3339Nano, t.ExpiresAt)
		if err != nil {
			return nil, err
		}
		holds = []*client.Hold{{}, {ExpiresAt: at}}
	}
	if t.Kind == string(events.KindReversal) {
		return c.reversalsFor(ctx, t, effective)
	}
	first, second := t.Postings[0], t.Postings[1]
	for _, hold := range holds {
		switch t.Kind {
		case string(events.KindTransfer):
			all = append(all, client.Transfer{
				ID: t.ID, Description: t.Description, Metadata: t.Metadata, From: first.Account, To: second.Account,
				Asset: second.Asset, Quantity: second.Quantity, Hold: hold, EffectiveAt: effective,
			})
		case string(events.KindTrade):
			trade := client.Trade{
				ID: t.ID, Description: t.Description, Metadata: t.Metadata, Buyer: first.Account,
				Seller: second.Account, Asset: first.Asset, Quantity: first.Quantity, Cost: first.Cost,
				Settle: len(t.Postings) > 2, Hold: hold, EffectiveAt: effective,
			}
			all = append(all, trade)
			if trade.Settle = true; trade.Cost.IsZero() {
				all = append(all, trade) // a settled trade with a cost of zero has no cash legs
			}
		default:
			all = append(all, client.TransactionRequest{
				ID: t.ID, Description: t.Description, Metadata: t.Metadata, Postings: client.Legs(t.Postings),
				Hold: hold, EffectiveAt: effective,
			})
		}
	}
	return all, nil
}

// reversalsFor is requestsFor for a reversal: of everything that was left, or of a named part.
func (c *Console) reversalsFor(ctx context.Context, t client.Transaction, effective time.Time) ([]client.Post, error) {
	of, err := c.api.Transaction(ctx, t.Reverses)
	if err != nil {
		return nil, err
	}
	whole := client.Reversal{
		Transaction: t.Reverses, ID: t.ID, Description: t.Description, Metadata: t.Metadata, EffectiveAt: effective,
	}
	part := whole
	var taken []client.Taken
	rest := t.Postings
	for _, leg := range of.Value.Postings { // a reversal has no posting where it takes nothing back
		if len(rest) == 0 || !isReversalOf(rest[0], leg) {
			taken = append(taken, client.Taken{})
			continue
		}
		taken = append(taken, client.Taken{Quantity: rest[0].Quantity.Neg(), Cost: rest[0].Cost.Neg()})
		rest = rest[1:]
	}
	part.Part = partOf(of.Value.Kind, taken)
	return []client.Post{whole, part}, nil
}

// isReversalOf reports whether back can be the leg of a reversal that takes back leg.
func isReversalOf(back, leg client.Posting) bool {
	return back.Account == leg.Account && back.Asset == leg.Asset &&
		back.Quantity.Sign()*leg.Quantity.Sign() <= 0 && back.Cost.Sign()*leg.Cost.Sign() <= 0
}

// partOf returns the part that takes the given amounts of each leg, in the form that the transaction's kind requires.
func partOf(kind string, taken []client.Taken) client.Part {
	quantity, cost := taken[0].Quantity.Abs(), taken[0].Cost.Abs()
	switch kind {
	case string(events.KindTransfer):
		return client.Part{Quantity: &quantity}
	case string(events.KindTrade):
		return client.Part{Quantity: &quantity, Cost: &cost}
	}
	return client.Part{Postings: taken}
}

// endRequest returns the request that ended a hold, nil if no request did.
func endRequest(t client.Transaction) client.Post {
	switch t.Status {
	case client.StatusReleased:
		return client.Release{Transaction: t.ID, Description: t.EndDescription}
	case client.StatusCaptured:
		whole := slices.EqualFunc(t.Captured, t.Postings, func(a, b client.Posting) bool {
			return a.Quantity == b.Quantity && a.Cost == b.Cost
		})
		if whole {
			return client.Capture{Transaction: t.ID}
		}
		var taken []client.Taken
		for _, p := range t.Captured {
			taken = append(taken, client.Taken{Quantity: p.Quantity, Cost: p.Cost})
		}
		return client.Capture{Transaction: t.ID, Part: partOf(t.Kind, taken)}
	}
	return nil
}

// command returns the command that sends a request.
func (c *Console) command(r client.Post) string {
	path, body, err := client.Sent(r)
	if err != nil {
		return "" // cannot happen: the ledger has accepted it
	}
	return c.curl(path, string(body))
}

// curl returns the command that reads a path or, with a body, posts JSON to it.
func (c *Console) curl(path, body string) string {
	words := []string{"curl"}
	if c.address.Curl != "" {
		words = append(words, c.address.Curl)
	}
	if c.user != "" {
		words = append(words, "-H", shellWord("Ledger-User: "+c.user))
	}
	if body != "" {
		words = append(words, "-H", shellWord("Content-Type: application/json"), "-d", shellWord(ascii(body)))
	}
	return strings.Join(append(words, shellWord(strings.TrimRight(c.address.URL, "/")+path)), " ")
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
