package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"ledger.example/internal/app"
	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/projections"
)

const (
	// operatorTimeout bounds all that is asked before an operator's command begins: who has no credentials or names a
	// wrong table learns it within five seconds.
	operatorTimeout = 4500 * time.Millisecond
	// codeAccessDenied is DynamoDB's answer to who may not ask.
	codeAccessDenied = "AccessDeniedException"
)

// operator says on which table the commands of operators work: verify, rebuild, redrive. They go to the table itself,
// not through the API.
type operator struct {
	table    string // must exist: no operator's command creates one
	endpoint string // of DynamoDB Local; "": AWS, by the SDK's standard configuration
	region   string
	profile  string
	indexed  string // metadata keys, with commas between them
}

// flags adds the flags that name the table.
func (o *operator) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	tableFlag(f, &o.table)
	endpointFlag(f, &o.endpoint, "", "URL of DynamoDB Local (default: DynamoDB in AWS)")
	f.StringVar(&o.region, "region", "", "AWS region of the table (default: the environment's, or the profile's)")
	f.StringVar(&o.profile, "profile", "", "AWS profile (default: the environment's)")
	f.StringVar(&o.indexed, flagIndexed, "", "the ledger's indexed metadata keys, with commas between them (default: "+
		app.VariableIndexed+")")
	cmd.MarkFlagsMutuallyExclusive("dynamodb-endpoint", "region")
	cmd.MarkFlagsMutuallyExclusive("dynamodb-endpoint", "profile")
}

// arguments are the flags that name the same table again, each after a space. verify adds them to the commands that it
// suggests, so that they can be pasted.
func (o *operator) arguments() string {
	text := ""
	for _, f := range [][2]string{
		{"--table", o.table}, {"--dynamodb-endpoint", o.endpoint}, {"--region", o.region}, {"--profile", o.profile},
		{"--" + flagIndexed, o.indexed},
	} {
		if f[1] != "" {
			text += " " + f[0] + " " + f[1]
		}
	}
	return text
}

// open returns a client of the store and the indexed metadata keys, once it is certain that the client has credentials
// and that the table is the ledger's. Its errors say what to set, and come within five seconds. The table is described
// for that, unless the operator's role may not: then the first read shows it. It needs no stream: one that was restored
// from a backup has none.
func (o *operator) open(ctx context.Context) (client *dynamodb.Client, keys []string, err error) {
	if keys, err = projections.ParseIndexed(o.indexed); err != nil {
		return nil, nil, wrongUse("--%s %v", flagIndexed, err)
	}
	limited, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	c, err := o.config(limited)
	if err != nil {
		return nil, nil, unlessOver(ctx, err)
	}
	client = ddb.NewClient(c)
	if _, err := c.Credentials.Retrieve(limited); err != nil {
		return nil, nil, noCredentials(unlessOver(ctx, err))
	}
	// The table's description shows whether it is a ledger's, before anything is read or written.
	_, err = ddb.CheckTable(limited, client, o.table)
	schema, isSchema := errors.AsType[*ddb.SchemaError](err)
	refused, isRefused := errors.AsType[smithy.APIError](err)
	switch {
	case err == nil, isSchema && schema.OnlyStream, isRefused && refused.ErrorCode() == codeAccessDenied:
		return client, keys, nil
	case isSchema: // and no word of deleting it
		return nil, nil, fmt.Errorf("table %s is not a ledger's: %s: name another by --table", schema.Table,
			strings.Join(schema.Differences, "; "))
	case errors.Is(err, ddb.ErrNoTable):
		return nil, nil, fmt.Errorf("%w: name it by --table, and where it is by --dynamodb-endpoint, or --region and "+
			"--profile", err)
	}
	return nil, nil, unlessOver(ctx, err)
}

// config returns where the store is and how requests to it are signed. An account's credentials are never sent to a
// local endpoint.
func (o *operator) config(ctx context.Context) (aws.Config, error) {
	if o.endpoint != "" {
		return dynamolocal.Config(o.endpoint), nil
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(o.region), config.WithSharedConfigProfile(o.profile),
		config.WithLogger(logging.Nop{})) // what goes wrong is in the errors
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS's configuration: %w", err)
	}
	if c.Region == "" {
		return aws.Config{}, errors.New("the table's region is not known: give --region, or set AWS_REGION; for " +
			"DynamoDB Local, give --dynamodb-endpoint")
	}
	return c, nil
}

// noCredentials says which credentials to set. The SDK's own errors name none of these ways.
func noCredentials(err error) error {
	return fmt.Errorf("there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give "+
		"--profile (and `aws sso login` where the profile wants it); for DynamoDB Local, give "+
		"--dynamodb-endpoint: %w", err)
}

// unlessOver is err, or why ctx ended when it has.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
