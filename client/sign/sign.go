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
	// service is API Gateway's name in a signature, whichever kind of API it is.
	service = "execute-api"
	// credentialsTimeout bounds the search for credentials: a profile's own program may ask a person for a code.
	credentialsTimeout = time.Minute
	// renewal is how long before their end credentials are fetched anew: a request must arrive with good ones.
	renewal = time.Minute
)

// Error says why a request could not be signed, and what to set. Nothing was sent.
type Error struct{ Err error }

func (e *Error) Error() string { return "the request cannot be signed: " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	v4     *v4.Signer
	config func() (aws.Config, error) // read once
}

// New returns a signer. It reads nothing yet.
func New() *Signer {
	return &Signer{
		v4: v4.NewSigner(),
		config: sync.OnceValues(func() (aws.Config, error) {
			return config.LoadDefaultConfig(context.Background(),
				config.WithLogger(logging.Nop{}), // what goes wrong is in the errors
				config.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewal }))
		}),
	}
}

// Sign adds a signature made at the given time to a request whose body is given. Error: *Error, or that of ctx.
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

// region is the one that the host of an API Gateway names, such as abc123.execute-api.eu-central-1.amazonaws.com. A
// custom domain names none; then it is the configured one.
func region(r *http.Request, c aws.Config) string {
	labels := strings.Split(strings.ToLower(r.URL.Hostname()), ".")
	for i, label := range labels {
		if label == service && i > 0 && i+2 < len(labels) {
			return labels[i+1]
		}
	}
	return c.Region
}
