// Package sign signs requests to an API Gateway API with AWS Signature Version 4, which a deployed ledger requires.
//
// It uses the default credential chain of the AWS SDK: the environment, the shared configuration and its profiles, IAM
// Identity Center, and the role of a container or an instance. Credentials are loaded when the first request is
// signed, cached, and refreshed before they expire.
package sign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

const (
	// service is the name of API Gateway in signatures.
	service = "execute-api"
	// credentialsTimeout bounds the retrieval of credentials. The program of a profile may ask a person for a code.
	credentialsTimeout = time.Minute
	// renewal is how long before their expiry credentials are refreshed, so that they do not expire on the way.
	renewal = time.Minute
)

// Error means that a request could not be signed. Nothing was sent. Its text says which setting is missing.
type Error struct{ Err error }

// Error implements error.
func (e *Error) Error() string { return "the request cannot be signed: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Signer signs requests. It implements client.Signer, and is safe for concurrent use.
type Signer struct {
	v4     *v4.Signer
	config func() (aws.Config, error) // loaded once
}

// New returns a signer. It loads no configuration until the first request is signed.
func New() *Signer {
	return &Signer{
		v4: v4.NewSigner(),
		config: sync.OnceValues(func() (aws.Config, error) {
			return config.LoadDefaultConfig(context.Background(),
				config.WithLogger(logging.Nop{}), // errors are returned
				config.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewal }))
		}),
	}
}

// Sign adds a signature of the given time to a request with the given body. Error: *Error, or the cause of ctx.
func (s *Signer) Sign(ctx context.Context, r *http.Request, body []byte, at time.Time) error {
	c, err := s.config()
	if err != nil {
		return &Error{fmt.Errorf("AWS's configuration: %w", err)}
	}
	region := region(r, c)
	if region == "" {
		return &Error{fmt.Errorf("the API's region is not known, as %s does not name it: set AWS_REGION, or a "+
			"region in the profile", r.URL.Hostname())}
	}
	limited, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	credentials, err := c.Credentials.Retrieve(limited)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &Error{fmt.Errorf("there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "+
			"AWS_PROFILE (and `aws sso login` where the profile wants it): %w", err)}
	}
	sum := sha256.Sum256(body)
	if err := s.v4.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, region, at); err != nil {
		return &Error{err}
	}
	return nil
}

// region returns the region in the host name of an API Gateway, such as abc123.execute-api.eu-central-1.amazonaws.com.
// A custom domain has none. Then region returns the configured region.
func region(r *http.Request, c aws.Config) string {
	labels := strings.Split(strings.ToLower(r.URL.Hostname()), ".")
	for i, label := range labels {
		if label == service && i > 0 && i+2 < len(labels) {
			return labels[i+1]
		}
	}
	return c.Region
}
