package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells say it of a program that Ctrl-C ended
)

// run executes one command line and returns the exit code. Tests call it with their own streams. Standard output is
// buffered, and a failure to write it is a failure of the command.
//
// An error before the command starts its work is a usage error. So are errors of usageErrorf. A command that has an end
// and is interrupted says how to go on.
func run(ctx context.Context, args []string, getenv func(string) string, in io.Reader, out, errs io.Writer) int {
	env := newEnvironment(in, out, errs, getenv)
	env.args = args
	root := rootCommand(env, getenv)
	root.SetArgs(args)
	used, err := root.ExecuteContextC(ctx)
	_, isUsage := errors.AsType[usageError](err)
	_, isNoAmount := errors.AsType[units.AmountError](err)
	failed := env.isRunning && !isUsage && !isNoAmount
	if flushed := env.out.Flush(); err == nil && flushed != nil {
		err, failed = fmt.Errorf("standard output: %w", flushed), true
	}
	if wasInterrupted(ctx, err) {
		if _, isEndless := used.Annotations[endlessKey]; isEndless {
			return exitDone
		}
		env.sayInterrupted(err)
		return exitInterrupted
	}
	switch {
	case err == nil:
		return exitDone
	case env.isJSON() || asksJSON(args):
		fmt.Fprintf(errs, "%s\n", problemOf(err, failed))
	case failed:
		fmt.Fprintln(errs, err)
		if _, ok := errors.AsType[*client.UnreachableError](err); ok {
			fmt.Fprintf(errs, "Start a ledger with `ledger up`, or name another with --url or %s.\n", urlVariable)
		}
		if e, ok := errors.AsType[*client.DeniedError](err); ok && e.Status != 0 && !env.sign && env.token == "" {
			fmt.Fprintf(errs, "To sign requests, give --sign or set %s=true. To send a token, set %s.\n", signVariable,
				tokenVariable)
		}
	default:
		fmt.Fprintln(errs, strings.TrimRight(err.Error(), "\n"))
		if slices.Index(args, "bench") == 0 {
			fmt.Fprintln(errs, "The benchmark is the program ledger-bench.")
		}
		fmt.Fprintf(errs, "Try '%s --help'.\n", used.CommandPath())
	}
	if failed {
		return exitFailed
	}
	return exitUsage
}

// problemOf returns the problem object (RFC 9457) of an error, on one line: that of the API, or one with the same
// members code and detail.
func problemOf(err error, failed bool) []byte {
	const outcomeUnknown = "outcome_unknown"
	unknown, isUnknown := errors.AsType[*client.UnknownError](err)
	refused, isAnswer := errors.AsType[*client.Error](err)
	if isUnknown && isAnswer { // the last answer may say that nothing was written, which is true of its attempt only
		isAnswer = refused.Code == outcomeUnknown
	}
	if isAnswer && refused.Raw != nil {
		var line bytes.Buffer
		if json.Compact(&line, refused.Raw) == nil {
			return line.Bytes()
		}
	}
	problem := map[string]string{"code": "usage", "detail": strings.TrimSpace(err.Error())}
	switch {
	case errors.Is(err, errInterrupted):
		problem["code"] = "interrupted"
	case failed:
		problem["code"] = "failed"
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		problem["code"] = "unreachable"
	}
	if isUnknown {
		problem["code"], problem["transaction_id"] = outcomeUnknown, unknown.ID
	}
	line, _ := json.Marshal(problem) // of texts, it never fails
	return line
}

// rootCommand returns `ledger` with all its commands. getenv reads environment variables. To add a command, write its
// file and its page in help, and add it to one of the groups below.
func rootCommand(env *environment, getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:           "ledger",
		Version:       buildText(buildInfo()),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			// Cobra validates required and exclusive flags only after this function. They are validated here too,
			// before isRunning is set.
			flags := cmd.Flags()
			err := errors.Join(noEmptyFlags(flags), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups(),
				env.applyVariables(flags, getenv), env.setDays(flags, getenv), env.checkFormat())
			env.isRunning = err == nil
			return err
		},
	}
	// Cobra's default is "ledger version …".
	root.SetVersionTemplate("ledger {{.Version}}\n")
	// Cobra's default template, with wrapped descriptions of flags.
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", columnsMax)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	root.SetIn(env.in)
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.SetFlagErrorFunc(explainFlagError)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Read and post, through the API:", []*cobra.Command{
			env.showCommand(), env.balanceCommand(), env.historyCommand(), env.statementCommand(),
			env.trialBalanceCommand(),
			env.transactionCommand(), env.findCommand(), env.refusalsCommand(), env.tailCommand(), env.forwardCommand(),
			env.transferCommand(), env.tradeCommand(), env.splitCommand(), env.postCommand(), env.reverseCommand(),
			env.importCommand(), env.exportCommand(), env.closeBooksCommand(), env.mcpCommand(),
		}},
		{"Capture and release holds, through the API:", []*cobra.Command{
			env.holdCommand(), env.captureCommand(), env.releaseCommand(),
		}},
		{"Assets, accounts and users, through the API:", []*cobra.Command{
			env.assetCommand(), env.accountCommand(), env.groupCommand(), env.memberCommand(), env.meCommand(),
		}},
		{"Run a ledger on this machine:", []*cobra.Command{
			env.upCommand(), env.healthCommand(), env.consoleCommand(), env.dynamodbCommand(), env.pumpCommand(),
		}},
		{"Audit and repair a table:", []*cobra.Command{
			env.verifyCommand(), env.rebuildCommand(), env.redriveCommand(), env.restoreCommand(),
			env.digestCommand(), env.proveCommand(), env.lanesCommand(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(env.versionCommand())
	explain(root)
	refuseUnknownTopics(root)
	return root
}

// refuseUnknownTopics makes `ledger help` fail for an unknown command. By default, cobra prints the usage and succeeds.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it was just added
	}
	help.Args = func(_ *cobra.Command, topic []string) error {
		found, rest, err := root.Find(topic)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
		}
		return err
	}
}

// versionCommand is `ledger version`, which prints the same as --version.
func (env *environment) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.out, "ledger", buildText(buildInfo()))
			return err
		},
	}
}

// version returns the version of the module, which the go command takes from version control.
func version() string { return buildInfo().Main.Version }

// buildInfo returns how this program was built. It always has a version.
func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	info.Main.Version = cmp.Or(info.Main.Version, "(devel)")
	return info
}

// buildText returns the version of a build, and its commit with the time, if the build has one.
func buildText(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := info.Main.Version
	if commit := settings["vcs.revision"]; commit != "" {
		text += ", commit " + commit + " of " + settings["vcs.time"]
	}
	if settings["vcs.modified"] == "true" {
		text += ", modified"
	}
	return text
}
