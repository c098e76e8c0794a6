package acceptance

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ledger.example/client/sign"
	"ledger.example/tests/gateway"
	"ledger.example/tests/harness/caller"
)

// signs says whether the requests of the suite are signed, as a deployed ledger requires.
var signs = flag.Bool("sign", false, "with -url: sign requests with the AWS credentials of this environment")

// newCaller returns a caller of the ledger at url, which signs its requests with -sign.
func newCaller(t *testing.T, url string) *caller.Caller {
	s := caller.New(t, url)
	if *signs {
		s.HTTP.Transport = signing{sign.New(), s.HTTP.Transport}
	}
	return s
}

// signing signs each request before it sends it.
type signing struct {
	*sign.Signer
	to http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	signed := r.Clone(r.Context())
	signed.Body, signed.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if err := s.Sign(r.Context(), signed, body, time.Now()); err != nil {
		return nil, err
	}
	return s.to.RoundTrip(signed)
}

// canBeSent reports whether a request can be sent. A signature covers the parsed query, and AWS's signer drops what does
// not parse, so such requests cannot be signed.
func canBeSent(t *testing.T, r caller.Refusal) bool {
	_, query, _ := strings.Cut(r.Path, "?")
	_, err := url.ParseQuery(query)
	if err != nil && *signs {
		t.Logf("not sent, because it cannot be signed: %s", r)
	}
	return err == nil || !*signs
}

func TestSignedRequests(t *testing.T) {
	who := aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "secret"}
	t.Setenv("AWS_ACCESS_KEY_ID", who.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", who.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_REGION", "us-east-1")
	checks := gateway.IAM{Credentials: who, Region: "us-east-1"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := checks.Verify(r, body); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	s := caller.New(t, server.URL)
	if r := s.Send("POST", "/v1/transfers", `{"quantity":"1"}`); r.Status != http.StatusForbidden {
		t.Errorf("without a signature: %d %s", r.Status, r.Body)
	}
	s.HTTP.Transport = signing{sign.New(), s.HTTP.Transport}
	for _, body := range []string{`{"quantity":"1"}`, ""} {
		if r := s.Send("POST", "/v1/transfers", body); r.Status != http.StatusOK {
			t.Errorf("signed, body %q: %d %s", body, r.Status, r.Body)
		}
	}
}
