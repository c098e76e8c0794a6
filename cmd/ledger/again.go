package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// errInterrupted means that a signal ended a command before it was done.
var errInterrupted = errors.New("interrupted")

// endlessKey is the annotation of commands that run until a signal ends them, which is success.
const endlessKey = "endless"

// endless marks a command that runs until a signal ends it.
func endless(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{endlessKey: ""}
	return cmd
}

// wasInterrupted reports whether err is that of an interruption.
func wasInterrupted(ctx context.Context, err error) bool {
	_, isUnknown := errors.AsType[*client.UnknownError](err)
	return ctx.Err() != nil && (isUnknown || errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.Cause(ctx))) // the signal
}

// sayInterrupted prints on standard error that the command was interrupted, and the command that goes on. With --json,
// both are in the problem object.
func (env *environment) sayInterrupted(err error) {
	command := env.again(env.continued...)
	if _, isUnknown := errors.AsType[*client.UnknownError](err); isUnknown {
		err = fmt.Errorf("%w: %w", errInterrupted, err)
	} else if !errors.Is(err, errInterrupted) {
		err = errInterrupted
	}
	if !env.isJSON() {
		fmt.Fprintf(env.err, "%v\nTo go on, run:\n  %s\n", err, command)
		return
	}
	problem := make(map[string]any)
	_ = json.Unmarshal(problemOf(err, true), &problem) // it is an object
	problem["continue"] = command
	_ = json.NewEncoder(env.err).Encode(problem)
}

// resumable adds advice on how to resume a run to its error err, or returns the interruption of ctx. It returns nil if
// there was neither.
func resumable(ctx context.Context, err error, advice string) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return nil
}

// forget removes a flag without a value from the command line that goes on: what it asked for is done.
func (env *environment) forget(name string) { env.args = without(env.args, name, false) }

// again returns the command line with other flags, given as alternating names and values. The value "" stands for a
// flag without one. The text is for a shell. It has no token.
func (env *environment) again(namesAndValues ...string) string {
	words, rest := slices.Clone(env.args), []string(nil)
	if end := slices.Index(words, "--"); end >= 0 {
		words, rest = words[:end], words[end:]
	}
	if slices.ContainsFunc(words, func(w string) bool { return isFlag(w, flagToken) }) {
		namesAndValues = append(namesAndValues, flagToken, "TOKEN")
	}
	for i := 0; i < len(namesAndValues); i += 2 {
		name, value := namesAndValues[i], namesAndValues[i+1]
		words = without(words, name, value != "")
		if words = append(words, "--"+name); value != "" {
			words = append(words, value)
		}
	}
	words = append(words, rest...)
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(append([]string{"ledger"}, words...), " ")
}

// connection returns the flags of the command line that say which ledger is called, and as whom, each after a space.
// The text is for a shell. It has no token.
func (env *environment) connection() (flags string) {
	for i, w := range env.args {
		switch name, value, hasValue := strings.Cut(w, "="); {
		case w == "--":
			return flags
		case name == "--"+flagSign:
			flags += " " + w
		case name == "--"+flagToken:
			flags += " --" + flagToken + " TOKEN"
		case name != "--"+flagURL && name != "--"+flagUser:
		case hasValue:
			flags += " " + name + " " + quoted(value)
		case i+1 < len(env.args):
			flags += " " + name + " " + quoted(env.args[i+1])
		}
	}
	return flags
}

func isFlag(word, name string) bool {
	return word == "--"+name || strings.HasPrefix(word, "--"+name+"=")
}

// without removes a flag, and its value if it has one.
func without(words []string, name string, hasValue bool) (kept []string) {
	for i := 0; i < len(words); i++ {
		switch {
		case !isFlag(words[i], name):
			kept = append(kept, words[i])
		case hasValue && words[i] == "--"+name:
			i++
		}
	}
	return kept
}

// plainWord has the characters that no shell interprets.
const plainWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,+@%"

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	if word != "" && strings.Trim(word, plainWord) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
