package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signatureAge is the maximum difference between the time of a signature and the gateway's clock.
const signatureAge = 5 * time.Minute

// IAM accepts requests that one identity has signed for a region with Signature Version 4.
type IAM struct {
	aws.Credentials
	Region string
}

// Authorize implements Authorizer. Like an HTTP API, it gives no reason for a refusal.
func (i IAM) Authorize(r *http.Request, body []byte) (*Identity, error) {
	if err := i.Verify(r, body); err != nil {
		refusal := Message(http.StatusForbidden, "Forbidden")
		refusal.Reason = err.Error()
		return nil, refusal
	}
	return &Identity{IAM: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
		AccessKey: i.AccessKeyID, UserARN: "arn:aws:iam::111122223333:user/clerk", UserID: "AIDACKCEVSQ6C2EXAMPLE",
	}}, nil
}

// Verify checks the signature of a request. It signs the received request with AWS's own signer and compares. The error
// says how the signatures differ.
func (i IAM) Verify(r *http.Request, body []byte) error {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > signatureAge {
		return fmt.Errorf("signed at %q: %v", r.Header.Get("X-Amz-Date"), err)
	}
	if i.CanExpire && time.Now().After(i.Expires) {
		return fmt.Errorf("the credentials expired at %s", i.Expires)
	}
	if got := r.Header.Get("X-Amz-Security-Token"); got != i.SessionToken {
		return fmt.Errorf("session token %q, want %q", got, i.SessionToken)
	}
	// A gateway may use the path as received or decode it first. Both give the same signature only if each segment has
	// the canonical escaping.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if decoded, err := url.PathUnescape(segment); err != nil || url.QueryEscape(decoded) != segment {
			return fmt.Errorf("path %s: %q is not canonical", path, segment)
		}
	}
	resigned, err := http.NewRequest(r.Method, "http://"+r.Host+r.RequestURI, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signed := signedHeaders(r)
	for _, needed := range []string{"Host", "X-Amz-Date"} {
		if !slices.Contains(signed, needed) {
			return fmt.Errorf("%s is not signed: %s", needed, signed)
		}
	}
	for _, name := range signed {
		if name != "Host" && name != "Content-Length" {
			resigned.Header[name] = r.Header.Values(name)
		}
	}
	if !slices.Contains(signed, "Content-Length") { // curl leaves it out
		resigned.ContentLength = 0
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	err = v4.NewSigner().SignHTTP(r.Context(), i.Credentials, resigned, payload, "execute-api", i.Region, at)
	if err != nil {
		return err
	}
	if got, want := r.Header.Get("Authorization"), resigned.Header.Get("Authorization"); got != want {
		return fmt.Errorf("authorization %s, want %s", got, want)
	}
	return nil
}

// signedHeaders returns the names of the headers that a request's signature covers.
func signedHeaders(r *http.Request) (names []string) {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ := strings.Cut(rest, ",")
	for name := range strings.SplitSeq(list, ";") {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names
}

// Everybody accepts every request, as one identity.
type Everybody Identity

// Authorize implements Authorizer.
func (e Everybody) Authorize(*http.Request, []byte) (*Identity, error) { return (*Identity)(&e), nil }

// Tokens accepts requests with one of these bearer tokens, and maps each token to its claims. A token with the claim
// "expired" is refused.
type Tokens map[string]map[string]string

// Authorize implements Authorizer.
func (tokens Tokens) Authorize(r *http.Request, _ []byte) (*Identity, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims, isKnown := tokens[token]
	_, isExpired := claims["expired"]
	if isKnown && !isExpired {
		return &Identity{JWT: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims}}, nil
	}
	refusal := Message(http.StatusUnauthorized, "Unauthorized")
	refusal.Reason = "the token is unknown"
	if isExpired {
		refusal.Reason = "the token has expired"
	}
	refusal.Header = http.Header{"Www-Authenticate": {
		fmt.Sprintf(`Bearer scope="" error="invalid_token" error_description=%q`, refusal.Reason)}}
	return nil, refusal
}
