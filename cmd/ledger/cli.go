package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/cmd/ledger/client"
	"ledger.example/cmd/ledger/sign"
	"ledger.example/events"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitWrongUse = 2
)

// The environment variables that --url and --sign override.
const (
	urlVariable  = "LEDGER_URL"
	signVariable = "LEDGER_SIGN"
)

// cli is what the commands share.
type cli struct {
	in  io.Reader
	out *bufio.Writer // data, and nothing else
	err io.Writer     // what people are told

	url  string
	sign bool
	json bool
}

// failure marks an error of a command that was used rightly.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// usageError marks an error of a command that was used wrongly, found while it ran.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func wrongUse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, in io.Reader, out, errs io.Writer) int {
	c := &cli{in: in, out: bufio.NewWriter(out), err: errs}
	root := c.root(getenv)
	markFailures(root)
	root.SetArgs(args)
	used, err := root.ExecuteContextC(ctx)
	if flushed := c.out.Flush(); err == nil && flushed != nil {
		err = failure{fmt.Errorf("standard output: %w", flushed)}
	}
	var failed failure
	var unknown *client.UnknownError
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &unknown) {
		err = failure{errors.New("interrupted")}
	}
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &failed):
		fmt.Fprintln(errs, err)
		return exitFailed
	default:
		fmt.Fprintf(errs, "%v\nTry '%s --help'.\n", err, used.CommandPath())
		return exitWrongUse
	}
}

// markFailures tells the errors of commands that ran from cobra's own, which are all wrong use.
func markFailures(cmd *cobra.Command) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := inner(cmd, args)
			var usage usageError
			if err == nil || errors.As(err, &usage) {
				return err
			}
			return failure{err}
		}
	}
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
}

func (c *cli) root(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ledger",
		Short: "A double-entry ledger: exact balances from immutable postings",
		Long: `ledger runs a double-entry ledger on this machine (up; dynamodb and pump beside "sam local"), is a client of
one that runs anywhere (import, show, history, balance, transaction, transfer, trade), and audits and mends
the table of one, here or in AWS (verify, rebuild, redrive).

An API in an AWS account wants signed requests: --sign takes the credentials that every AWS tool takes
(environment, AWS_PROFILE, single sign-on, a role) and the region from the API's address.

Amounts are entered and shown in decimals by the asset's scale; --minor takes and gives whole minor
units. --json gives the API's own JSON, always in minor units.

Exit status: 0 done, 1 failed, 2 wrong use. Standard output carries data and nothing else.`,
		Example: `  ledger up --demo
  ledger show jane
  ledger transfer jane shop 25.00 USD --id order-1001`,
		Args:          cobra.NoArgs,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return wrongUse("a command is missing")
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if url := getenv(urlVariable); url != "" && !cmd.Flags().Changed("url") {
				c.url = url
			}
			if value := getenv(signVariable); value != "" && !cmd.Flags().Changed("sign") {
				var err error
				if c.sign, err = strconv.ParseBool(value); err != nil {
					return wrongUse("%s is %q, and must be true or false", signVariable, value)
				}
			}
			return noEmptyFlags(cmd.Flags())
		},
	}
	root.SetVersionTemplate("ledger {{.Version}}\n")
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.url, "url", client.DefaultURL, "address of the API; else the environment's "+urlVariable)
	root.PersistentFlags().BoolVar(&c.sign, "sign", false, "sign requests with AWS credentials; else the environment's "+signVariable)
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON")
	root.AddCommand(
		c.showCommand(), c.historyCommand(), c.balanceCommand(), c.transactionCommand(),
		c.transferCommand(), c.tradeCommand(), c.importCommand(), c.upCommand(), c.dynamodbCommand(), c.pumpCommand(),
		c.verifyCommand(),
		c.redriveCommand(), c.rebuildCommand(), c.benchCommand(),
	)
	return root
}

// noEmptyFlags refuses a flag that is given an empty text, as --id "$ORDER" is where ORDER isn't set: it is not the same as no
// flag. A description may be empty.
func noEmptyFlags(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != flagDescription {
			errs = append(errs, fmt.Errorf("--%s is given, and empty", f.Name))
		}
	})
	return errors.Join(errs...)
}

// dial returns a client of the API that --url or the environment names.
func (c *cli) dial(patience time.Duration, connections int) (*client.Client, error) {
	config := client.Config{URL: c.url, Patience: patience, Connections: connections}
	if c.sign {
		config.Sign = sign.New()
	}
	api, err := client.New(config)
	if err != nil {
		return nil, wrongUse("--url or %s: %w", urlVariable, err)
	}
	return api, nil
}

// printJSON prints the API's JSON, ended by a line feed.
func (c *cli) printJSON(raw []byte) error {
	_, err := fmt.Fprintln(c.out, strings.TrimRight(string(raw), "\n"))
	return err
}

// ids is for arguments that are ids, exactly one for each name.
func ids(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fmt.Errorf("it takes %s, and %d arguments were given", strings.Join(names, " "), len(args))
		}
		for i, arg := range args {
			if err := checkID(names[i], arg); err != nil {
				return err
			}
		}
		return nil
	}
}

func checkID(what, id string) error {
	if !events.ValidID(id) {
		return fmt.Errorf("%s: %q is not an id: %w", what, id, client.ErrID)
	}
	return nil
}
