package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// ErrToken is returned for a text that cannot be a bearer token.
var ErrToken = errors.New("a bearer token is letters, digits and - . _ ~ + / =, without spaces and line ends")

const tokenBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

// bearer authenticates by a token. Its text is shown nowhere.
type bearer struct{ token string }

// Bearer returns a signer that sends a bearer token (RFC 6750) with each request. Error: ErrToken.
func Bearer(token string) (Signer, error) {
	if token == "" || strings.Trim(token, tokenBytes) != "" {
		return nil, ErrToken
	}
	return bearer{token}, nil
}

// Sign adds the token.
func (b bearer) Sign(_ context.Context, r *http.Request, _ []byte, _ time.Time) error {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return nil
}

func (bearer) String() string   { return "a bearer token" }
func (bearer) GoString() string { return "a bearer token" }
