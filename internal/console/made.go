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

// commands are lines for a POSIX shell that read a transaction, and that asked for it and for its end.
type commands struct {
	Read, Made, Ended string // "" where there is none, or where it cannot be told
}

// commandsOf returns the commands of a transaction. Sent again, they are answered as the first time. Errors: those of
// a read.
func (c *Console) commandsOf(ctx context.Context, t client.Transaction) (all commands, err error) {
	all.Read = c.curl("/v1/transactions/"+url.QueryEscape(t.ID), "")
	if t.Hidden > 0 {
		return all, nil
	}
	requests, err := c.requestsFor(ctx, t)
	if err != nil {
		return all, err
	}
	all.Made = c.replayed(ctx, requests...)
	if end := endOf(t); end != nil {
		all.Ended = c.replayed(ctx, end)
	}
	return all, nil
}

// replayed returns the command of the first request to which the ledger would give the first answer again, "" if there
// is none: the others are refused, as is whatever a user may not send who may only look.
func (c *Console) replayed(ctx context.Context, requests ...client.Post) string {
	for _, r := range requests {
		if _, err := c.api.DryRun(ctx, r); err == nil {
			return c.command(r)
		}
	}
	return ""
}

// requestsFor returns the requests that post a transaction. What a default stood for is not stored, so there may be
// several. Errors: those of a read.
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
				all = append(all, trade) // a cost of zero has no legs
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

// reversalsFor is requestsFor of a reversal: of all that was left, or of a part that was named.
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
	for _, leg := range of.Value.Postings { // a reversal has no leg for a leg of which it takes nothing
		if len(rest) == 0 || !takes(rest[0], leg) {
			taken = append(taken, client.Taken{})
			continue
		}
		taken = append(taken, client.Taken{Quantity: rest[0].Quantity.Neg(), Cost: rest[0].Cost.Neg()})
		rest = rest[1:]
	}
	part.Part = partOf(of.Value.Kind, taken)
	return []client.Post{whole, part}, nil
}

// takes reports whether a leg of a reversal can be that which takes back another leg.
func takes(back, leg client.Posting) bool {
	return back.Account == leg.Account && back.Asset == leg.Asset &&
		back.Quantity.Sign()*leg.Quantity.Sign() <= 0 && back.Cost.Sign()*leg.Cost.Sign() <= 0
}

// partOf names what is taken of each leg of a transaction, as its kind wants it.
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

// endOf returns the request that ended a hold, nil when none did.
func endOf(t client.Transaction) client.Post {
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

// command returns the line that sends a request.
func (c *Console) command(r client.Post) string {
	path, body, err := client.Sent(r)
	if err != nil {
		return "" // cannot be: the ledger has answered it
	}
	return c.curl(path, string(body))
}

// curl returns the line that reads a path, or that posts a body of JSON to it.
func (c *Console) curl(path, body string) string {
	words := []string{"curl"}
	if c.at.Curl != "" {
		words = append(words, c.at.Curl)
	}
	if c.user != "" {
		words = append(words, "-H", quoted("Ledger-User: "+c.user))
	}
	if body != "" {
		words = append(words, "-H", quoted("Content-Type: application/json"), "-d", quoted(ascii(body)))
	}
	return strings.Join(append(words, quoted(strings.TrimRight(c.at.URL, "/")+path)), " ")
}

// plain matches a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9_/.:@%+,-]+$`)

// quoted writes a text without NUL as one word for a POSIX shell. Between single quotes only a single quote means
// anything, so each is written outside of them.
func quoted(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ascii escapes what is not ASCII in JSON. What is shown is then what is copied: nothing in it turns the line around or
// is invisible, and every terminal takes it.
func ascii(text string) string { return escaped(text, func(r rune) bool { return r < 0x7f }) }

// escaped writes what is not kept of a text as JSON escapes it.
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
