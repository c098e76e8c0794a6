package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/internal/app"
	"ledger.example/internal/units"
)

// The flags of commands that call the API, and the environment variables that are their defaults.
const (
	flagURL   = "url"
	flagSign  = "sign"
	flagToken = "token"
	flagUser  = "user"

	urlVariable   = "LEDGER_URL"
	signVariable  = "LEDGER_SIGN"
	tokenVariable = "LEDGER_TOKEN"
)

// apiFlags adds the flags that say which API is called, as whom, and whether its JSON is printed.
func (env *environment) apiFlags(cmd *cobra.Command) {
	env.callFlags(cmd)
	env.jsonFlag(cmd)
}

// callFlags adds the flags that say which API is called, and as whom.
func (env *environment) callFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&env.url, flagURL, client.DefaultURL, "address of the API; else "+urlVariable)
	f.BoolVar(&env.sign, flagSign, false,
		"sign requests with the AWS credentials of this environment; else "+signVariable)
	f.StringVar(&env.token, flagToken, "", "bearer token, for an API with a JWT authorizer; else "+tokenVariable+
		", which other users of this machine cannot see")
	cmd.MarkFlagsMutuallyExclusive(flagSign, flagToken)
	idFlag(f, &env.user, flagUser, "act for this user, with their roles alone; services and administrators may")
}

// apiCommand completes a command that calls the API and shows amounts. do finds env.api and env.units set.
//
// A new command is a short file: a cobra.Command with its texts, flags of its own, and apiCommand with a function that
// calls env.api and prints the answer. It needs Args only if its arguments are not those that Use names. An example
// that reads is `ledger balance`, one that posts `ledger transfer`.
func (env *environment) apiCommand(
	cmd *cobra.Command, do func(ctx context.Context, args []string) error,
) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = named
	}
	// The flags that every such command has come last, so that a command can add its own before.
	env.apiFlags(cmd)
	cmd.Flags().BoolVar(&env.minor, "minor", false, "amounts in whole minor units")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if env.api, err = env.dial(0, units.LoadingAtOnce); err != nil {
			return err
		}
		env.units = units.New(env.api, env.minor)
		return do(cmd.Context(), args)
	}
	return cmd
}

// strongFlag adds the flag of commands that read balances. usage is what it does there.
func (env *environment) strongFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&env.strong, "strong", false, usage)
}

// applyVariables sets the flags of the API, and that of indexed metadata, that are not given from environment
// variables. A variable that excludes a flag that is given has no effect.
func (env *environment) applyVariables(flags *pflag.FlagSet, getenv func(string) string) (err error) {
	if f, keys := flags.Lookup(flagIndexed), getenv(app.VariableIndexed); f != nil && !f.Changed && keys != "" {
		if err := f.Value.Set(keys); err != nil {
			return err
		}
	}
	if flags.Lookup(flagURL) == nil {
		return nil
	}
	url, signs, token := getenv(urlVariable), getenv(signVariable), getenv(tokenVariable)
	if url != "" && !flags.Changed(flagURL) {
		env.url = url
	}
	if signs != "" && !flags.Changed(flagSign) && !flags.Changed(flagToken) {
		if env.sign, err = strconv.ParseBool(signs); err != nil {
			return fmt.Errorf("%s is %q, and must be true or false", signVariable, signs)
		}
		if env.sign && token != "" {
			return fmt.Errorf("%s and %s are both set, and exclude each other: unset one, or give --%s or --%s",
				signVariable, tokenVariable, flagSign, flagToken)
		}
	}
	if !flags.Changed(flagToken) && !env.sign {
		env.token = token
	}
	return nil
}

// signer returns what authenticates requests, nil for nothing.
func (env *environment) signer() (client.Signer, error) {
	switch {
	case env.sign:
		return sign.New(), nil
	case env.token != "":
		bearer, err := client.Bearer(env.token)
		if err != nil {
			return nil, wrongUse("--%s or %s: %w", flagToken, tokenVariable, err)
		}
		return bearer, nil
	}
	return nil, nil
}

// dial returns a client of the API that --url or the environment names. Zeros are the client's defaults.
func (env *environment) dial(timeout time.Duration, connections int) (*client.Client, error) {
	signer, err := env.signer()
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Config{
		URL: env.url, Timeout: timeout, Connections: connections, Sign: signer, User: env.user,
	})
	if err != nil {
		return nil, wrongUse("--url or %s: %w", urlVariable, err)
	}
	return api, nil
}

// print prints an answer of the API: as it came with --json, else by forPeople, once the assets' scales are known.
func (env *environment) print(ctx context.Context, raw []byte, assets []string, forPeople func() error) error {
	if env.json {
		_, err := fmt.Fprintln(env.out, strings.TrimRight(string(raw), "\n"))
		return err
	}
	if err := env.units.Load(ctx, assets...); err != nil {
		return err
	}
	return forPeople()
}
