package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"ledger.example/internal/console"
	"ledger.example/internal/local/stack"
	"ledger.example/internal/units"
)

// consolePort is the default of --port.
const consolePort = 8081

// consoleCommand is `ledger console`.
func (env *environment) consoleCommand() *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:  "console",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			api, err := env.dial(0, units.LoadingAtOnce)
			if err != nil {
				return err
			}
			listener, err := stack.Listen("127.0.0.1", port)
			if err != nil {
				return err
			}
			defer listener.Close()
			fmt.Fprintf(env.out, "http://%s%s\n", listener.Addr(), console.Path)
			if err := env.out.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(env.err, "The console of the ledger at %s is ready. Press Ctrl-C to stop it.\n", env.url)
			at := console.Address{URL: env.url, Curl: env.curl(), User: env.user}
			return stack.Serve(ctx, "the console", listener, console.New(ctx, api, at), env.logger(slog.LevelWarn))
		},
	}
	env.callFlags(cmd)
	portFlag(cmd.Flags(), &port, consolePort)
	return cmd
}

// curl returns the arguments in bash or zsh with which curl sends the credentials of this command. They name
// environment variables and contain no secret. The shell passes the values in a file, because other users of the
// machine can read the arguments of a process.
func (env *environment) curl() string {
	switch {
	case env.sign:
		return `--aws-sigv4 "aws:amz:$AWS_REGION:execute-api" ` +
			`-K <(printf 'user="%s:%s"\nheader="X-Amz-Security-Token: %s"\n' "$AWS_ACCESS_KEY_ID" ` +
			`"$AWS_SECRET_ACCESS_KEY" "${AWS_SESSION_TOKEN-}")`
	case env.token != "":
		return `-K <(printf 'header="Authorization: Bearer %s"\n' "$` + tokenVariable + `")`
	}
	return ""
}
