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
	"ledger.example/functions/app"
	"ledger.example/internal/desk/units"
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

// callFlags adds the flags that say which API is called, and as whom.
func (env *environment) callFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&env.url, flagURL, client.DefaultURL, "address of the API; or set "+urlVariable)
	f.BoolVar(&env.sign, flagSign, false,
		"sign requests with the AWS credentials of this environment; or set "+signVariable)
	f.StringVar(&env.token, flagToken, "", "bearer token, for an API with a JWT authorizer; or set "+tokenVariable+
		", which other users of this machine cannot see")
	cmd.MarkFlagsMutuallyExclusive(flagSign, flagToken)
	idFlag(f, &env.user, flagUser, "act for this user, with only their roles; needs a service or an administrator")
}

// apiCommand completes a command that calls the API and prints amounts. It sets env.api and env.units before it calls
// do.
//
// A new command is a short file: a cobra.Command with its texts and flags, and a call of apiCommand with a function
// that calls env.api and prints the answer. The arguments are checked against Use unless Args is set. Examples are
// `ledger balance`, which reads, and `ledger transfer`, which posts. It has all formats, unless it called formatFlags.
func (env *environment) apiCommand(
	cmd *cobra.Command, do func(ctx context.Context, args []string) error,
) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = argsOfUse
	}
	env.callFlags(cmd)
	if cmd.Flags().Lookup(flagFormat) == nil {
		env.formatFlags(cmd)
	}
	env.completeIDs(cmd)
	cmd.Flags().BoolVar(&env.minor, "minor", false, "read and print amounts in minor units")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if env.api, err = env.dial(0, units.LoadingAtOnce); err != nil {
			return err
		}
		env.units = units.New(env.api, env.minor)
		if env.ifAbsent {
			env.api = env.api.IfAbsent()
		}
		return do(cmd.Context(), args)
	}
	return cmd
}

// absentFlag adds the flag of commands that create something.
func (env *environment) absentFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&env.ifAbsent, "if-absent", false, "fail if it exists, also if it is the same")
}

// strongFlag adds the flag of commands that read balances.
func (env *environment) strongFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&env.strong, "strong", false, usage)
}

// applyVariables sets flags that are not given from environment variables: those of the API and --indexed-metadata. A
// flag overrides every variable that contradicts it.
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
			return fmt.Errorf("%s must be true or false, not %q", signVariable, signs)
		}
		if env.sign && token != "" {
			return fmt.Errorf("%s and %s cannot both be set: unset one, or give --%s or --%s",
				signVariable, tokenVariable, flagSign, flagToken)
		}
	}
	if !flags.Changed(flagToken) && !env.sign {
		env.token = token
	}
	return nil
}

// signer returns the signer of requests, nil for none.
func (env *environment) signer() (client.Signer, error) {
	switch {
	case env.sign:
		return sign.New(), nil
	case env.token != "":
		bearer, err := client.Bearer(env.token)
		if err != nil {
			return nil, usageErrorf("--%s or %s: %w", flagToken, tokenVariable, err)
		}
		return bearer, nil
	}
	return nil, nil
}

// dial returns a client of the API at --url. A zero argument means the client's default.
func (env *environment) dial(timeout time.Duration, connections int) (*client.Client, error) {
	signer, err := env.signer()
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Config{
		URL: env.url, Timeout: timeout, Connections: connections, Sign: signer, User: env.user,
	})
	if err != nil {
		return nil, usageErrorf("--url or %s: %w", urlVariable, err)
	}
	return api, nil
}

// print prints an answer of the API: raw with --json, else by forPeople, after it has loaded the scales of the assets.
func (env *environment) print(ctx context.Context, raw []byte, assets []string, forPeople func() error) error {
	if env.isJSON() {
		_, err := fmt.Fprintln(env.out, strings.TrimRight(string(raw), "\n"))
		return err
	}
	if err := env.units.Load(ctx, assets...); err != nil {
		return err
	}
	return forPeople()
}

const (
	// completions is the most ids that the shell is offered, and completionTimeout how long it waits for them.
	completions       = 100
	completionTimeout = 2 * time.Second
)

// completeIDs makes the shell complete the ids of accounts, assets and groups from the API: the arguments in the Use of
// a command, and the flags, by their names.
func (env *environment) completeIDs(cmd *cobra.Command) {
	names := strings.Fields(cmd.Use)[1:]
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, text string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return env.idsOf(cmd, names[len(args)], text)
	}
	for _, name := range []string{"account", "asset", "group", "buyer", "seller"} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, func( // it fails only for an unknown flag
			cmd *cobra.Command, _ []string, text string,
		) ([]cobra.Completion, cobra.ShellCompDirective) {
			return env.idsOf(cmd, name, text)
		})
	}
}

// idsOf returns the ids that begin with text, for the name of an argument or a flag, with their names as descriptions.
// Files are offered where the argument is one.
func (env *environment) idsOf(
	cmd *cobra.Command, name, text string,
) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	name = strings.ToUpper(strings.TrimSuffix(strings.Trim(name, "[]"), ",..."))
	if name == "FILE" || name == "DIR" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	// The function that usually reads the environment does not run here. No error may be printed.
	api, err := (*client.Client)(nil), env.applyVariables(cmd.Flags(), env.getenv)
	if err == nil {
		api, err = env.dial(completionTimeout, units.LoadingAtOnce)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTimeout)
	defer cancel()
	switch name {
	case "ACCOUNT", "FROM", "TO", "BUYER", "SELLER":
		found = completed(ctx, api.Accounts(text), func(a client.Account) (string, string) { return a.ID, a.Name })
	case "ASSET":
		found = completed(ctx, api.Assets(text), func(a client.Asset) (string, string) { return a.ID, a.Name })
	case "GROUP":
		found = completed(ctx, api.Groups(text), func(g client.Group) (string, string) { return g.ID, g.Name })
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completed returns the first page of a list. It returns nothing if the API does not answer.
func completed[T any](
	ctx context.Context, list client.Listing[T], describe func(T) (id, name string),
) (found []cobra.Completion) {
	page, err := list.Page(ctx, "", completions)
	if err != nil {
		return nil
	}
	for _, item := range page.Value.Data {
		id, name := describe(item)
		found = append(found, cobra.CompletionWithDesc(id, printable(name)))
	}
	return found
}
