package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

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
