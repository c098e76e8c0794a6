package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
	"ledger.example/internal/local/stack"
)

// environment holds the state that the commands share: the standard streams, and the flags that most commands have.
// Each run of the program has one. Commands are its methods. It is not safe for concurrent use.
type environment struct {
	in     io.Reader
	out    *bufio.Writer // data, and nothing else
	err    io.Writer     // messages for people
	screen               // tables on out
	getenv func(string) string
	args   []string // the command line, without the program

	// isRunning is set after the command line is validated. Errors before that are usage errors.
	isRunning bool

	// The flags of commands that call the API. Environment variables set those that are not given.
	url           string
	sign          bool
	token         string   // a secret
	user          string   // for whom a service or an administrator acts; "" for nobody
	minor, strong bool     // of commands that print amounts, and of those that read balances
	limit         int      // of commands that print a list: the most items
	isDryRun      bool     // of commands that post
	zone          string   // of days
	ifAbsent      bool     // of commands that create something: only if there is nothing yet
	legs          []string // the asset of each posting of the transaction that a part is taken of

	given []setter // of the flags that were given times and days: see setDays

	api   *client.Client // of commands that are made by apiCommand
	units *units.Units

	progress *progress // of commands that call watch

	continued []string // names and values of flags with which an interrupted command goes on
}

func newEnvironment(in io.Reader, out, errs io.Writer, getenv func(string) string) *environment {
	env := &environment{in: in, out: bufio.NewWriter(out), err: errs, getenv: getenv}
	env.screen = screenOf(env.out, out, getenv)
	return env
}

// openInput opens a file, or standard input for "-". size is -1 if it is unknown.
func (env *environment) openInput(ctx context.Context, name string) (file io.ReadCloser, size int64, err error) {
	if name == "-" {
		// A read of standard input may block forever. The pipe lets it end with ctx.
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

// openStore opens a store on this machine: it starts DynamoDB Local, connects to one that runs, or creates the built-in
// store. The caller must stop it. Its log goes to standard error.
func (env *environment) openStore(ctx context.Context, o stack.Options) (*stack.Store, error) {
	o.Log = env.logger(slog.LevelInfo)
	return stack.Open(ctx, o)
}

// logger writes to standard error: lines for people on a terminal, otherwise or with --json JSON.
func (env *environment) logger(level slog.Level) *slog.Logger {
	if isTerminal(env.err) && !env.isJSON() {
		return slog.New(linesForPeople(env.err, level))
	}
	return slog.New(slog.NewJSONHandler(env.err, &slog.HandlerOptions{Level: level}))
}

// linesForPeople writes the time of day and then names and values.
func linesForPeople(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
			}
			return a
		},
	})
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

// printFigures prints the results of a run, given as alternating names and values: as a JSON object with --json, else
// one line for each, with spaces for the underscores in names.
func (env *environment) printFigures(namesAndValues ...any) error {
	object := make(map[string]any)
	t := env.newList()
	for i := 0; i < len(namesAndValues); i += 2 {
		name, value := namesAndValues[i].(string), namesAndValues[i+1]
		object[name] = value
		t.row(strings.ReplaceAll(name, "_", " "), fmt.Sprint(value))
	}
	if env.isJSON() {
		return env.printJSON(object)
	}
	return t.flush()
}

// unlessDone returns err, or nil if ctx is done: the work was then stopped on purpose.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// counted returns a number with its noun in the singular or the plural.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
