package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
)

// verifyMemoryBytes is the memory limit of the garbage collector.
const verifyMemoryBytes = 160 << 20

// verifyCommand is `ledger verify`. It needs only permissions to read. Package internal/watch/audit implements it.
func (env *environment) verifyCommand() *cobra.Command {
	var o operator
	var options audit.Options
	var rate int
	cmd := &cobra.Command{
		Use:  "verify",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Settle < 0 {
				return usageErrorf("--settle must not be negative")
			}
			options.Rate = float64(rate)
			return env.verify(cmd.Context(), o, options)
		},
	}
	f := cmd.Flags()
	o.flags(cmd)
	numberFlag(f, &options.Segments, "segments", audit.DefaultSegments, 1, audit.MostSegments,
		"parts of the table to read at the same time")
	f.DurationVar(&options.Settle, "settle", audit.DefaultSettle,
		"age below which missing projections are not findings")
	numberFlag(f, &options.Findings, "max", audit.DefaultFindings, 0, math.MaxInt,
		"maximum number of findings to print; all are counted")
	numberFlag(f, &rate, "rate", 0, 0, math.MaxInt, "maximum number of read units in a second (default: no limit)")
	env.formatFlags(cmd)
	return cmd
}

// verify audits the table. An audit that did not read all of it is an error, because it proves nothing.
func (env *environment) verify(ctx context.Context, o operator, options audit.Options) error {
	report, err := env.audit(ctx, o, options)
	if err != nil {
		return err
	}
	err = env.printReport(report, o)
	if n := report.Counts.Findings; n > 0 {
		err = errors.Join(err, fmt.Errorf("the table is not sound: %s", counted(n, "finding", "findings")))
	}
	return err
}

// audit runs an audit of the whole table.
func (env *environment) audit(ctx context.Context, o operator, options audit.Options) (report audit.Report, err error) {
	debug.SetMemoryLimit(verifyMemoryBytes)
	client, keys, err := o.open(ctx)
	if err != nil {
		return report, err
	}
	options.Store, options.Table, options.Indexed = client, o.table, keys
	a := audit.New(options)
	status := func(since time.Duration) (string, int64) {
		n := a.Counts()
		return fmt.Sprintf("%d items (%.0f/s), %s", n.Items, float64(n.Items)/since.Seconds(),
			counted(n.Findings, "finding", "findings")), n.Items
	}
	err = env.watch(itemCount(ctx, client, o.table), status, func() (err error) {
		report, err = a.Run(ctx)
		return err
	})
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		n := a.Counts()
		return report, fmt.Errorf("%w: the audit is not complete, and proves nothing; it read %s with %s, and %d of "+
			"%d parts of the table to the end", err, counted(n.Items, "item", "items"),
			counted(n.Findings, "finding", "findings"), n.Parts, a.Segments)
	}
	return report, nil
}

// itemCount returns the approximate number of items in the table for the progress, or -1 if it is unknown. DynamoDB
// updates it every few hours.
func itemCount(ctx context.Context, client *dynamodb.Client, name string) int64 {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil || out.Table == nil || aws.ToInt64(out.Table.ItemCount) == 0 {
		return -1
	}
	return *out.Table.ItemCount
}

// printReport prints a report: as JSON, as CSV, or as text with the next step for each finding.
func (env *environment) printReport(r audit.Report, o operator) error {
	n := r.Counts
	if env.isJSON() {
		findings := make([]map[string]string, len(r.Findings))
		for i, f := range r.Findings {
			findings[i] = map[string]string{
				"code": string(f.Code), "pk": f.Key.PK, "sk": f.Key.SK, "stored": f.Stored, "recomputed": f.Recomputed,
			}
			if f.Attribute != "" {
				findings[i]["attribute"] = f.Attribute
			}
		}
		return env.printJSON(map[string]any{
			"sound": r.Sound(), "by_code": r.ByCode, "by_kind": r.ByKind, "findings": findings,
			"counts": map[string]int64{
				"items": n.Items, "transactions": n.Transactions, "postings": n.Postings, "accounts": n.Accounts,
				"findings": n.Findings, "unsettled": r.Unsettled, "overdue_holds": r.Overdue,
			},
		})
	}
	if env.format == formatCSV {
		return env.printFindings(r, o)
	}
	// Texts in findings come from users of the ledger, and must not control the terminal.
	for _, f := range r.Findings {
		what := string(f.Code)
		if f.Attribute != "" {
			what += " (" + f.Attribute + ")"
		}
		fmt.Fprintf(env.out, "%s  %s  %s\n  stored:     %s\n  recomputed: %s\n  next:       %s\n",
			printable(what), printable(f.Key.PK), printable(f.Key.SK), printable(f.Stored), printable(f.Recomputed),
			printable(o.nextStep(r, f)))
	}
	if hidden := n.Findings - int64(len(r.Findings)); hidden > 0 {
		fmt.Fprintf(env.out, "and %d more\n", hidden)
	}
	if !r.Sound() {
		fmt.Fprintln(env.out)
		t := env.newTable(words("FINDING"), numbers("COUNT"))
		for _, code := range slices.Sorted(maps.Keys(r.ByCode)) {
			t.row(string(code), fmt.Sprint(r.ByCode[code]))
		}
		if err := t.flush(); err != nil {
			return err
		}
		fmt.Fprintln(env.out)
	}
	verdict := "Sound"
	if !r.Sound() {
		verdict = "NOT SOUND"
	}
	fmt.Fprintf(env.out, "%s: %d items, %d transactions, %d postings, %d accounts\n", verdict, n.Items, n.Transactions,
		n.Postings, n.Accounts)
	if r.Unsettled > 0 {
		fmt.Fprintf(env.out, "Unsettled: %s without postings younger than --settle\n",
			counted(r.Unsettled, "projection", "projections"))
	}
	if r.Overdue > 0 {
		fmt.Fprintf(env.out, "Open holds that should have expired more than 15 minutes ago: %d. Check that the "+
			"sweeper runs\n",
			r.Overdue)
	}
	return nil
}

// printFindings prints a table of the findings, and on standard error how many there are.
func (env *environment) printFindings(r audit.Report, o operator) error {
	t := env.newTable(words("CODE"), words("ATTRIBUTE"), words("PK"), words("SK"), words("STORED"),
		words("RECOMPUTED"), words("NEXT"))
	for _, f := range r.Findings {
		t.row(string(f.Code), f.Attribute, f.Key.PK, f.Key.SK, f.Stored, f.Recomputed, o.nextStep(r, f))
	}
	env.tell("%s, of which %d are printed", counted(r.Counts.Findings, "finding", "findings"), len(r.Findings))
	return t.flush()
}

// nextStep returns the command that repairs a finding, or where to read what to do.
func (o *operator) nextStep(r audit.Report, f audit.Finding) string {
	known := maps.Clone(r.ByCode)
	delete(known, audit.EventUnseen)
	if f.Code == audit.EventUnseen && (audit.Report{ByCode: known}).Rebuildable() {
		return "look before you rebuild: see docs/audit.md#audit. Somebody may have added this event"
	}
	if !r.Rebuildable() {
		return "see docs/audit.md#audit, and do not rebuild before: events may have been altered, added or deleted"
	}
	switch lists := "ledger rebuild --lists" + o.arguments(); {
	case strings.HasPrefix(string(f.Code), "list"):
		return lists
	case strings.HasPrefix(string(f.Code), "journal"):
		return lists + "; if an auditor keeps a digest, see docs/proof.md#before-a-rebuild first"
	}
	account, ok := table.Account.Owner(f.Key)
	if !ok { // an entry of the list of holds by expiry, which has no account
		return "ledger rebuild" + o.arguments()
	}
	step := "ledger rebuild --account " + account
	if _, asset, ok := table.Balance.Parse(f.Key); ok {
		step += " --asset " + asset
	}
	return step + o.arguments()
}
