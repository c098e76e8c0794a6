package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// signatureAge is the most that the time of a signature may differ from the gateway's clock (AWS, "Elements of an AWS
// API request signature").
const signatureAge = 5 * time.Minute

// messageRunes is the most that is shown of a gateway's message.
const messageRunes = 300

// Signer authenticates requests. It must be safe for concurrent use. Bearer returns one, and so does package sign.
type Signer interface {
	// Sign adds credentials to a request with the given body, right before each attempt. at is the current time. An
	// error ends the call with a DeniedError.
	Sign(ctx context.Context, r *http.Request, body []byte, at time.Time) error
}

// DeniedError means that the gateway in front of the API refused the caller, or that the request could not be signed.
// The request wrote nothing. A retry does not help.
type DeniedError struct {
	Status  int    // 401 or 403; 0 if nothing was sent
	Message string // the gateway's message, "" if it has none
	Advice  string // what to do, for people
	Err     error  // why the request could not be signed; nil if it was sent
}

// Error returns the status, the message of the gateway, and the advice.
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

// Unwrap returns why the request could not be signed.
func (e *DeniedError) Unwrap() error { return e.Err }

// denied returns the error of a gateway's 401 or 403.
func (c *Client) denied(resp *http.Response, text []byte) *DeniedError {
	e := &DeniedError{Status: resp.StatusCode, Message: message(text)}
	if c.sign == nil {
		e.Advice = "the request had no credentials, and the API may require a signature, as a deployed one does, or " +
			"a bearer token"
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
			e.Advice = fmt.Sprintf("this machine's clock is %s %s the gateway's, and a signature is valid for %s: "+
				"set the clock", ahead.Abs(), way, signatureAge)
			return e
		}
	}
	e.Advice = "the credentials that signed it need the permission execute-api:Invoke on this API, in its region; " +
		"temporary ones may have expired, and must be renewed"
	return e
}

// challenge returns the error_description of a WWW-Authenticate header (RFC 6750, 3), "" if it has none.
func challenge(h http.Header) string {
	_, rest, _ := strings.Cut(h.Get("WWW-Authenticate"), `error_description="`)
	text, _, _ := strings.Cut(rest, `"`)
	return printable(text)
}

// message returns the message of a gateway's reply, such as {"message":"Forbidden"}, or "" if it is not of this form.
// It drops all lines but the first: API Gateway may repeat the signed request in them, with the session token.
func message(text []byte) string {
	var reply struct{ Message string }
	_ = json.Unmarshal(text, &reply)
	line, _, _ := strings.Cut(reply.Message, "\n")
	return printable(line)
}

// printable returns at most messageRunes of a text, with spaces in place of control characters.
func printable(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	return string(runes[:min(len(runes), messageRunes)])
}

// mayBeSigned reports whether a signed request may be sent to a host: over https, or to this machine. Over plain http,
// others could read the request and send it again.
func mayBeSigned(scheme, host string) bool {
	ip := net.ParseIP(host)
	return scheme == "https" || host == "localhost" || ip != nil && ip.IsLoopback()
}

// ErrToken is returned by Bearer if the string cannot be a bearer token.
var ErrToken = errors.New("a bearer token is letters, digits and - . _ ~ + / =, without spaces and line ends")

const tokenBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

// bearer authenticates with a token. Its String and GoString hide the token.
type bearer struct{ token string }

// Bearer returns a Signer that adds a bearer token (RFC 6750) to each request. Error: ErrToken.
func Bearer(token string) (Signer, error) {
	if token == "" || strings.Trim(token, tokenBytes) != "" {
		return nil, ErrToken
	}
	return bearer{token}, nil
}

// Sign implements Signer.
func (b bearer) Sign(_ context.Context, r *http.Request, _ []byte, _ time.Time) error {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return nil
}

func (bearer) String() string   { return "a bearer token" }
func (bearer) GoString() string { return "a bearer token" }
