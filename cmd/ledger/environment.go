package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/local/stack"
	"ledger.example/internal/units"
)

// environment is what the commands share: standard input and output, and the flags that most have. There is one for
// each run of the program. Commands are its methods. Only progress uses it from another goroutine than the command's.
type environment struct {
	in  io.Reader
	out *bufio.Writer // data, and nothing else
	err io.Writer     // messages for people

	// isRunning is set when the command line is right and the command does its work. Errors before are wrong use.
	isRunning bool

	// The flags of commands that call the API, or what the environment variables say in their place.
	url           string
	sign          bool
	token         string // a secret
	user          string // for whom a service or an administrator acts, "" for themselves
	json          bool
	minor, strong bool // of the commands that show amounts, and balances
	isDryRun      bool // of the commands that post

	api   *client.Client // of the commands that apiCommand makes
	units *units.Units

	progress *progress // of the commands that watch
}

// jsonFlag adds the flag of commands that print JSON as well.
func (env *environment) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&env.json, "json", false, "print JSON")
}

// openInput opens a file, or standard input for "-". size is -1 when it is not known.
func (env *environment) openInput(ctx context.Context, name string) (file io.ReadCloser, size int64, err error) {
	if name == "-" {
		// A read of standard input may block for ever, and must end with ctx all the same.
		r, w := io.Pipe()
		go func() {
			_, err := io.Copy(w, env.in)
			w.CloseWithError(err)
		}()
		context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
		return r, -1, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return f, info.Size(), nil
	}
	return f, -1, nil
}

// openStore opens a store on this machine: it starts DynamoDB Local, connects to one that runs, or makes one in memory.
// Stop it. Its log goes to standard error.
func (env *environment) openStore(ctx context.Context, o stack.Options) (*stack.Store, error) {
	o.Log = env.logger(slog.LevelInfo)
	return stack.Open(ctx, o)
}

// logger writes JSON lines to standard error.
func (env *environment) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(env.err, &slog.HandlerOptions{Level: level}))
}

// verbosity is the log level of commands with --verbose.
func verbosity(verbose bool) slog.Level {
	if verbose {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// printJSON prints a value as JSON on a line.
func (env *environment) printJSON(value any) error { return json.NewEncoder(env.out).Encode(value) }

// printFigures prints the results of a run: names, each with its value behind it. People get one line for each, with
// spaces for the underscores of JSON's names.
func (env *environment) printFigures(namesAndValues ...any) error {
	object := make(map[string]any)
	t := newList(env.out)
	for i := 0; i < len(namesAndValues); i += 2 {
		name, value := namesAndValues[i].(string), namesAndValues[i+1]
		object[name] = value
		t.row(strings.ReplaceAll(name, "_", " "), fmt.Sprint(value))
	}
	if env.json {
		return env.printJSON(object)
	}
	return t.flush()
}

// ended returns how a run ended that can be continued: nil unless it was interrupted, or failed with err. again says
// how to continue it.
func ended(ctx context.Context, err error, again string) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: " + again)
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, again)
	}
	return nil
}

// unlessEnded is err, or nil when ctx has ended: then it only reports that the work was stopped on purpose.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// counted returns a number with the noun that goes with it.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
