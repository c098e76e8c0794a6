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

	"ledger.example/functions/app"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// operatorTimeout bounds the requests before an operator's command begins, so that missing credentials or a wrong
	// table are reported within five seconds.
	operatorTimeout  = 4500 * time.Millisecond
	codeAccessDenied = "AccessDeniedException"
)

// operator holds the flags that name the table of verify, rebuild and redrive. These commands use the table directly,
// not the API.
type operator struct {
	table    string // must exist
	endpoint string // of DynamoDB Local; "" for AWS
	region   string
	profile  string
	indexed  string // metadata keys, separated by commas
}

func (o *operator) flags(cmd *cobra.Command) {
	o.tableFlags(cmd)
	cmd.Flags().StringVar(&o.indexed, flagIndexed, "", "the ledger's indexed metadata keys, separated by commas "+
		"(default: "+app.VariableIndexed+")")
}

// tableFlags are the flags that name the table.
func (o *operator) tableFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	tableFlag(f, &o.table)
	endpointFlag(f, &o.endpoint, "", "URL of DynamoDB Local (default: DynamoDB in AWS)")
	f.StringVar(&o.region, "region", "", "AWS region of the table (default: that of the environment or the profile)")
	f.StringVar(&o.profile, "profile", "", "AWS profile (default: that of the environment)")
	cmd.MarkFlagsMutuallyExclusive("dynamodb-endpoint", "region")
	cmd.MarkFlagsMutuallyExclusive("dynamodb-endpoint", "profile")
}

// arguments returns the flags of o, each after a space, for the commands that verify suggests.
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

// open returns a client of the store and the indexed metadata keys. It checks the credentials and, by DescribeTable,
// that the table is a ledger's. A role without the permission for DescribeTable skips that check. A table without a
// stream is accepted, because a table that was restored from a backup has none. It then compares the clocks, before the
// command concludes or writes anything. Errors say what to set, and come within five seconds.
func (o *operator) open(ctx context.Context) (client *dynamodb.Client, keys []string, err error) {
	if keys, err = projections.ParseIndexed(o.indexed); err != nil {
		return nil, nil, usageErrorf("--%s %v", flagIndexed, err)
	}
	limited, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	if client, err = o.dial(limited); err != nil {
		return nil, nil, orCause(ctx, err)
	}
	_, err = table.CheckTable(limited, client, o.table)
	schema, isSchema := errors.AsType[*table.SchemaError](err)
	refused, isRefused := errors.AsType[smithy.APIError](err)
	switch {
	case err == nil, isSchema && schema.OnlyStream, isRefused && refused.ErrorCode() == codeAccessDenied:
		if err := compareClock(limited, client, o.table); err != nil {
			return nil, nil, orCause(ctx, err)
		}
		return client, keys, nil
	case isSchema: // the error's own text suggests deleting the table, so it is not used
		return nil, nil, fmt.Errorf("table %s is not a ledger's table: %s: give another one with --table", schema.Table,
			strings.Join(schema.Differences, "; "))
	case errors.Is(err, table.ErrNoTable):
		return nil, nil, fmt.Errorf("%w: give its name with --table, and its place with --dynamodb-endpoint, or with "+
			"--region and --profile", err)
	}
	return nil, nil, orCause(ctx, err)
}

// dial returns a client of the store. It checks that there are credentials.
func (o *operator) dial(ctx context.Context) (*dynamodb.Client, error) {
	c, err := o.config(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, noCredentials(err)
	}
	return table.NewClient(c), nil
}

// compareClock compares this machine's clock with the store's: by a wrong one, a command would take new for old, or the
// reverse. A role that may not read the item skips the check; what the command reads will be refused.
func compareClock(ctx context.Context, client *dynamodb.Client, name string) error {
	sent := time.Now()
	_, at, err := table.NewTable(client, name).Get(ctx, table.Journal.Key("0", ""), table.Strong)
	if refused, ok := errors.AsType[smithy.APIError](err); ok && refused.ErrorCode() == codeAccessDenied {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the store's clock: %w", err)
	}
	return table.CompareClock(time.Now, at, sent)
}

// config returns the SDK's configuration. Credentials of an AWS account are never sent to --dynamodb-endpoint.
func (o *operator) config(ctx context.Context) (aws.Config, error) {
	if o.endpoint != "" {
		return dynamolocal.Config(o.endpoint), nil
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(o.region), config.WithSharedConfigProfile(o.profile),
		config.WithLogger(logging.Nop{})) // errors are returned
	if err != nil {
		return aws.Config{}, fmt.Errorf("the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return aws.Config{}, errors.New("the AWS region is not known: give --region, or set AWS_REGION; for " +
			"DynamoDB Local, give --dynamodb-endpoint")
	}
	return c, nil
}

// noCredentials adds to an error of the SDK how to set credentials.
func noCredentials(err error) error {
	return fmt.Errorf("there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give "+
		"--profile (with SSO, run `aws sso login` first); for DynamoDB Local, give "+
		"--dynamodb-endpoint: %w", err)
}

// orCause returns the cause of the end of ctx, or err if ctx is not done.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
