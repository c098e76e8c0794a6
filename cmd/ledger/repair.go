package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/redrive"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// rebuildRate is the default of --rate, in items a second. For ordinary postings it is about 400 read units a second, a
// thirtieth of the capacity of a new on-demand table.
const rebuildRate = 5000

// errStray is about items that only a deletion would repair.
var errStray = errors.New("that should not exist")

// rebuildCommand is `ledger rebuild`. It needs the permission to put items, but not to delete them. Package
// internal/watch/repair implements it.
func (env *environment) rebuildCommand() *cobra.Command {
	var o operator
	var scope rebuild.Scope
	var config repair.Config
	cmd := &cobra.Command{
		Use:  "rebuild",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if scope.Asset != "" && scope.Account == "" {
				return usageErrorf("--asset needs --account")
			}
			if scope.Account != "" && config.ListsOnly {
				return usageErrorf("--lists and --account cannot be used together")
			}
			config.Scope = scope
			return env.rebuild(cmd.Context(), o, config)
		},
	}
	f := cmd.Flags()
	o.flags(cmd)
	idFlag(f, &scope.Account, "account", "rebuild only this account")
	idFlag(f, &scope.Asset, "asset", "rebuild only this asset of --account")
	idFlag(f, &config.From, "from", "continue with this account, in the order of ids")
	cmd.MarkFlagsMutuallyExclusive("account", "from")
	f.BoolVar(&config.ListsOnly, "lists", false,
		"rebuild only the lists of transactions, of open holds and of accounts by metadata, and the journal")
	f.BoolVar(&scope.DryRun, "dry-run", false, "write nothing; print what rebuild would repair")
	f.BoolVar(&scope.DropMissing, "drop-missing", false,
		"also rebuild balances that count more postings than exist, and void entries that no hold has")
	numberFlag(f, &config.Rate, "rate", rebuildRate, 0, math.MaxInt,
		"maximum number of items to read in a second; 0: no limit")
	env.formatFlags(cmd, formatTable, formatJSON)
	return cmd
}

// rebuild runs a rebuild and prints its findings. It is an error if an item could not be repaired, or if a dry run
// found a wrong one.
func (env *environment) rebuild(ctx context.Context, o operator, config repair.Config) error {
	client, keys, err := o.open(ctx)
	if err != nil {
		return err
	}
	config.Table = table.NewTable(client, o.table)
	config.Indexed, config.Log = keys, env.logger(slog.LevelError)
	config.Append = projections.NewLister(config.Table, keys, nil, config.Log).Append
	dryRun := config.Scope.DryRun
	// Calls of Report never overlap. Wrong items are data, for standard output. Problems are messages.
	config.Report = func(r rebuild.Report) {
		countsMore := slices.ContainsFunc(r.Differences, func(d rebuild.Difference) bool { return d.CountsMore })
		switch {
		case errors.Is(r.Err, rebuild.ErrCountsMore), countsMore && (dryRun || r.Err != nil):
			env.say(printable(fmt.Sprintf("%s: %v; find the cause before you rebuild, see docs/audit.md#audit",
				reportName(r), rebuild.ErrCountsMore)))
		case r.Err != nil:
			env.say(printable(fmt.Sprintf("%s: %v", reportName(r), r.Err)))
		}
		env.printReported(r, dryRun)
	}
	run := repair.New(config)
	// The number of accounts is not known before they are listed, so the progress has no total.
	status := func(time.Duration) (string, int64) {
		n := run.Counts()
		text := fmt.Sprintf("%d of %d accounts, %d balances, %d postings, %d items wrong, %d failed", n.Done,
			n.Accounts, n.Balances, n.Postings, n.Different, n.Failed)
		if n.Transactions > 0 {
			return fmt.Sprintf("%d transactions, %d items wrong, %d failed", n.Transactions, n.Different, n.Failed),
				n.Transactions
		}
		if next := run.Next(); next != "" {
			text += ", at " + next
		} else if n.Done == 0 && config.Scope.Account == "" {
			text = fmt.Sprintf("listing accounts: %d in %d items", n.Accounts, n.Listed)
		}
		return text, n.Done
	}
	runErr := env.watch(-1, status, func() error { return run.Run(ctx) })
	n := run.Counts()
	advice := "run the command again"
	figures := []any{
		"dry_run", dryRun, "accounts", n.Done, "balances", n.Balances, "unchanged", n.Unchanged, "postings", n.Postings,
		"transactions", n.Transactions, "items", n.Different,
		"behind", n.Behind, "strays", n.Strays, "failed", n.Failed,
	}
	figures = append(figures, figuresOf(n.Views)...)
	if next := run.Next(); next != "" {
		advice = "continue with --from " + next
		env.continued = []string{"from", next}
		figures = append(figures, "from", next)
	}
	if err := env.printFigures(figures...); err != nil {
		return err
	}
	if err := resumable(ctx, runErr, advice); err != nil {
		return err
	}
	switch {
	case n.Failed > 0:
		return fmt.Errorf("%d failed, and were not rebuilt", n.Failed)
	case n.Strays > 0:
		return fmt.Errorf("found %s %w; rebuild does not delete items", counted(n.Strays, "item", "items"), errStray)
	case dryRun && n.Different > 0:
		return errors.New(counted(n.Different, "item is wrong", "items are wrong"))
	case run.FoundNothing():
		fmt.Fprintln(env.err, "Found no postings and no projections. Check the id.")
	}
	return nil
}

// figuresOf returns the numbers of targets of views that were checked or updated, each after its name.
func figuresOf(views map[string]int64) (figures []any) {
	for _, name := range projections.Figures() {
		figures = append(figures, name, views[name])
	}
	return figures
}

// reportName names the subject of a report: an account, a group, a membership of either, a balance, a place in a group,
// another view of an account, or the lists.
func reportName(p rebuild.Report) string {
	switch {
	case p.Asset != "":
		return fmt.Sprintf("account %s, asset %s", p.Account, p.Asset)
	case p.Group != "" && p.User != "":
		return fmt.Sprintf("group %s, user %s", p.Group, p.User)
	case p.Group != "" && p.Account != "":
		return fmt.Sprintf("account %s, group %s", p.Account, p.Group)
	case p.Group != "":
		return "group " + p.Group
	case p.User != "":
		return fmt.Sprintf("account %s, user %s", p.Account, p.User)
	case p.Account == "":
		return "lists"
	case p.View != nil:
		return fmt.Sprintf("account %s, %s", p.Account, p.View.Name)
	}
	return "account " + p.Account
}

// differenceJSON is an item that was wrong, with its two keys, as one line of JSON. Either Stray says why a rebuild
// cannot repair it, or the other fields say what was wrong. Mended is false in a dry run.
type differenceJSON struct {
	PK     string          `json:"pk"`
	SK     string          `json:"sk"`
	Absent bool            `json:"absent,omitempty"`
	Fault  string          `json:"fault,omitempty"`
	Fields []rebuild.Field `json:"fields,omitempty"`
	Stray  string          `json:"stray,omitempty"`
	Mended bool            `json:"mended"`
}

// printReported prints the wrong items, one on each line. A write error is returned by a later flush of env.out.
func (env *environment) printReported(p rebuild.Report, dryRun bool) {
	for _, d := range p.Differences {
		if d.Behind {
			continue
		}
		env.printDifference(differenceJSON{
			PK: d.Key.PK, SK: d.Key.SK, Absent: d.Absent, Fault: d.Fault, Fields: d.Fields, Mended: !dryRun,
		})
	}
	for _, s := range p.Strays {
		env.printDifference(differenceJSON{PK: s.Key.PK, SK: s.Key.SK, Stray: s.Why})
	}
	_ = env.out.Flush()
}

// printDifference prints one wrong item on one line: its keys, the fault, and the stored and the new value of each
// field that changes. "-" is a missing value.
func (env *environment) printDifference(d differenceJSON) {
	if env.isJSON() {
		_ = env.printJSON(d)
		return
	}
	var what []string
	switch {
	case d.Stray != "":
		what = append(what, d.Stray)
	case d.Absent:
		what = append(what, "is missing")
	case d.Fault != "":
		what = append(what, d.Fault)
	}
	for _, f := range d.Fields {
		if d.Absent {
			what = append(what, fmt.Sprintf("%s %s", f.Name, f.Becomes))
		} else {
			what = append(what, fmt.Sprintf("%s %s becomes %s", f.Name, cmp.Or(f.Stored, "-"), cmp.Or(f.Becomes, "-")))
		}
	}
	fmt.Fprintln(env.out, printable(fmt.Sprintf("%s %s: %s", d.PK, d.SK, strings.Join(what, ", "))))
}

// redriveCommand is `ledger redrive`. It uses only the keys of the records, because the table has the current data.
// Package internal/watch/redrive implements it.
func (env *environment) redriveCommand() *cobra.Command {
	var o operator
	var dryRun bool
	cmd := &cobra.Command{
		Use:  "redrive FILE...",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.redrive(cmd.Context(), o, args, dryRun)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; print the balances that are behind")
	env.formatFlags(cmd, formatTable, formatJSON)
	return cmd
}

// redrive processes the files and directories of names, and prints the counts. A problem is printed when it is found.
// It does not stop the run, but makes it fail.
func (env *environment) redrive(ctx context.Context, o operator, names []string, dryRun bool) error {
	files, err := redrive.Files(names)
	if err != nil {
		return err
	}
	client, keys, err := o.open(ctx)
	if err != nil {
		return err
	}
	t := table.NewTable(client, o.table)
	run := redrive.New(redrive.Config{
		Table: t, DryRun: dryRun,
		List: projections.NewLister(t, keys, nil, env.logger(slog.LevelError)).List,
		Open: func(ctx context.Context, name string) (io.ReadCloser, error) {
			f, _, err := env.openInput(ctx, name)
			return f, err
		},
		OnProblem: func(at redrive.Place, err error) { env.say(printable(fmt.Sprintf("%s: %v", at, err))) },
		OnRefold: func(pair projections.Target) {
			switch { // a later flush of env.out returns the error
			case dryRun && env.isJSON():
				_ = env.printJSON(map[string]string{"account": pair.Account, "asset": pair.Asset})
			case dryRun:
				fmt.Fprintln(env.out, "behind:", pair)
			}
		},
	})
	status := func(time.Duration) (string, int64) {
		n := run.Counts()
		return fmt.Sprintf("%d records, %d balances, %d refolded, %d failed", n.Records, n.Balances, n.Refolded,
			n.Failed), n.Files
	}
	runErr := env.watch(int64(len(files)), status, func() error { return run.Run(ctx, files) })
	n := run.Counts()
	figures := []any{"dry_run", dryRun, "files", n.Files, "records", n.Records, "skipped", n.Skipped,
		"balances", n.Balances, "refolded", n.Refolded, "counted", n.Counted, "listed", n.Listed, "failed", n.Failed}
	if err := env.printFigures(append(figures, figuresOf(n.Views)...)...); err != nil {
		return err
	}
	if err := resumable(ctx, runErr, "run the command again to continue"); err != nil {
		return err
	}
	if n.Failed > 0 {
		return fmt.Errorf("%s: these records were not processed", counted(n.Failed, "problem", "problems"))
	}
	return nil
}
