package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// signatureAge is how far a signature's time may be from the gateway's clock (AWS, "Elements of an AWS API request
// signature").
const signatureAge = 5 * time.Minute

// messageRunes bounds what is shown of a gateway's own words.
const messageRunes = 300

// Signer authenticates requests. It is safe for concurrent use.
type Signer interface {
	// Sign adds a signature made at the given time to a request with this body, right before it is sent.
	Sign(ctx context.Context, r *http.Request, body []byte, at time.Time) error
}

// DeniedError says that this request wrote nothing and that asking again won't help: the gateway in front of the API
// does not let the caller in, or the request could not be signed.
type DeniedError struct {
	Status  int    // 401 or 403; 0: nothing was sent
	Message string // the gateway's own, "" when it said nothing
	Advice  string
	Err     error // why it could not be signed
}

func (e *DeniedError) Error() string {
	if e.Status == 0 {
		return e.Err.Error()
	}
	text := fmt.Sprintf("the gateway refused the request: %d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += fmt.Sprintf(" (%s)", e.Message)
	}
	return text + "; " + e.Advice
}

func (e *DeniedError) Unwrap() error { return e.Err }

// denied reads a gateway's 401 or 403.
func (c *Client) denied(resp *http.Response, text []byte) *DeniedError {
	e := &DeniedError{Status: resp.StatusCode, Message: message(text)}
	if c.sign == nil {
		e.Advice = "if the API asks for signed requests, as a deployed one does, give --sign or set " +
			"LEDGER_SIGN=true; if it asks for a token, set LEDGER_TOKEN"
		return e
	}
	if _, isToken := c.sign.(bearer); isToken {
		e.Message = cmp.Or(challenge(resp.Header), e.Message)
		e.Advice = "the token may have expired, be of another issuer or audience, or lack the scope of this request: " +
			"get a new one"
		return e
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if ahead := c.now().Sub(at).Round(time.Second); ahead.Abs() >= signatureAge {
			way := "ahead of"
			if ahead < 0 {
				way = "behind"
			}
			e.Advice = fmt.Sprintf("this machine's clock is %s %s the gateway's, and a signature is good for %s: "+
				"set the clock", ahead.Abs(), way, signatureAge)
			return e
		}
	}
	e.Advice = "the credentials that signed it need the permission execute-api:Invoke on this API, in its region; " +
		"temporary ones may have expired, and must be renewed"
	return e
}

// challenge returns what a gateway says about a token (RFC 6750, 3), "" for nothing.
func challenge(h http.Header) string {
	_, rest, _ := strings.Cut(h.Get("WWW-Authenticate"), `error_description="`)
	text, _, _ := strings.Cut(rest, `"`)
	return printable(text)
}

// message is what a gateway says in JSON, as {"message":"Forbidden"}. Only the first line is shown: behind it, API
// Gateway may repeat what was signed, with the session token.
func message(text []byte) string {
	var said struct{ Message string }
	_ = json.Unmarshal(text, &said) // not JSON: it said nothing that is known how to show
	line, _, _ := strings.Cut(said.Message, "\n")
	return printable(line)
}

// printable returns the beginning of a text, with nothing in it that a terminal would act upon.
func printable(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	return string(runes[:min(len(runes), messageRunes)])
}

// mayBeSigned reports whether signed requests may go to a host over plain http: only to this machine. Anybody on the
// way to another could read them, and send them again for some minutes.
func mayBeSigned(scheme, host string) bool {
	ip := net.ParseIP(host)
	return scheme == "https" || host == "localhost" || ip != nil && ip.IsLoopback()
}
