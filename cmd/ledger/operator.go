package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/pflag"

	"ledger.example/cmd/ledger/local"
	"ledger.example/ledger/wire"
)

const (
	// operatorTimeout bounds all that is asked before an operator's command begins: who has no credentials or names a wrong
	// table learns it within five seconds.
	operatorTimeout = 4500 * time.Millisecond
	// codeAccessDenied is DynamoDB's answer to who may not ask.
	codeAccessDenied = "AccessDeniedException"
)

// operator says on which table the commands of operators work: verify, rebuild, redrive. They go to the table itself, not
// through the API.
type operator struct {
	table    string
	endpoint string // of DynamoDB Local; "": AWS, by the SDK's standard configuration
	region   string
	profile  string
}

// flags adds the flags that name the table.
func (o *operator) flags(f *pflag.FlagSet) {
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	f.StringVar(&o.endpoint, "dynamodb-endpoint", "", "URL of DynamoDB Local (default: DynamoDB in AWS)")
	f.StringVar(&o.region, "region", "", "AWS region of the table (default: the environment's, or the profile's)")
	f.StringVar(&o.profile, "profile", "", "AWS profile (default: the environment's)")
}

// open returns a client of the store, once it is certain that it has credentials and that the table is the ledger's. Its
// errors say what to set, and come within five seconds. The table is described for that, unless the operator's role may
// not: then the first read tells. It needs no stream: one that was restored from a backup has none.
func (o *operator) open(ctx context.Context) (*dynamodb.Client, error) {
	limited, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	c, err := o.config(limited)
	if err != nil {
		return nil, unlessOver(ctx, err)
	}
	client := wire.NewClient(c)
	if c.Credentials == nil {
		return nil, noCredentials(errors.New("none are configured"))
	}
	if _, err := c.Credentials.Retrieve(limited); err != nil {
		return nil, noCredentials(unlessOver(ctx, err))
	}
	_, err = wire.CheckTable(limited, client, o.table)
	var refused smithy.APIError
	var schema *wire.SchemaError
	switch {
	case errors.As(err, &schema) && schema.OnlyStream:
		return client, nil
	case errors.As(err, &schema): // and no word of deleting it
		return nil, fmt.Errorf("table %s is not a ledger's: %s: name another by --table", schema.Table, strings.Join(schema.Differences, "; "))
	case errors.As(err, &refused) && refused.ErrorCode() == codeAccessDenied:
		return client, nil
	case errors.Is(err, wire.ErrNoTable):
		return nil, fmt.Errorf("%w: name it by --table, and where it is by --dynamodb-endpoint, or --region and --profile", err)
	case err != nil:
		return nil, unlessOver(ctx, err)
	}
	return client, nil
}

// config returns where the store is and how requests to it are signed. An account's credentials are never sent to a local
// endpoint.
func (o *operator) config(ctx context.Context) (aws.Config, error) {
	if o.endpoint != "" {
		if err := checkEndpoint(o.endpoint); err != nil {
			return aws.Config{}, err
		}
		if o.region != "" || o.profile != "" {
			return aws.Config{}, wrongUse("--region and --profile are of AWS, and --dynamodb-endpoint is not: give one or the other")
		}
		return aws.Config{
			Region:       local.Region,
			BaseEndpoint: &o.endpoint,
			Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		}, nil
	}
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})} // what goes wrong is in the errors
	if o.region != "" {
		options = append(options, config.WithRegion(o.region))
	}
	if o.profile != "" {
		options = append(options, config.WithSharedConfigProfile(o.profile))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS's configuration: %w", err)
	}
	if c.Region == "" {
		return aws.Config{}, errors.New("the table's region is not known: give --region, or set AWS_REGION; for DynamoDB Local, give --dynamodb-endpoint")
	}
	if strings.ContainsAny(c.Region, "/:. ") {
		return aws.Config{}, wrongUse("--region: %q is not the name of a region", c.Region)
	}
	return c, nil
}

func noCredentials(err error) error {
	return fmt.Errorf("there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --profile "+
		"(and `aws sso login` where the profile wants it); for DynamoDB Local, give --dynamodb-endpoint: %w", err)
}

// unlessOver is err, or why ctx ended when it has.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
