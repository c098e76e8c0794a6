package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ledger.example/internal/retry"
	"ledger.example/internal/watch/audit"
	"ledger.example/internal/watch/repair"
	"ledger.example/internal/watch/restore"
	"ledger.example/projections/rebuild"
)

// restorePause is the wait between two looks at a table that is being restored, which takes minutes to hours. Tests
// shorten it.
var restorePause = 10 * time.Second

const restoredStack = "ledger-restored"

// restoring holds the flags of `ledger restore`.
type restoring struct {
	operator // its table is the new one
	source   restore.Source
	stack    string // for the import; "" for the default, and for none if the table has a stream
	ownKey   bool
	yes      bool
}

// restoreCommand is `ledger restore`. Package internal/watch/restore implements it.
func (env *environment) restoreCommand() *cobra.Command {
	var o restoring
	cmd := &cobra.Command{
		Use:  "restore",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.restore(cmd.Context(), o) },
	}
	f := cmd.Flags()
	o.flags(cmd)
	env.formatFlags(cmd, formatTable, formatJSON)
	f.Lookup("table").Usage = "name of the new table, which remains"
	f.Lookup("table").DefValue = ""
	textFlag(f, &o.source.Table, "from", "name of the table to restore, which stays as it is", checkTable)
	env.timeFlag(f, &o.source.At, "at", beginOf, "the moment of --from to restore")
	f.StringVar(&o.source.Backup, "backup", "", "ARN of a backup to restore, in place of --from and --at")
	f.StringVar(&o.stack, "stack", "", "name of the new stack, for the commands of the import (default: "+
		restoredStack+")")
	f.BoolVar(&o.ownKey, "own-key", false, "the table is encrypted with your own key (KmsKeyArn)")
	f.BoolVar(&o.yes, "yes", false, "ask nothing: the answer to each question is yes")
	_ = cmd.MarkFlagRequired("table") // it is defined above
	cmd.MarkFlagsRequiredTogether("from", "at")
	cmd.MarkFlagsMutuallyExclusive("from", "backup")
	return cmd
}

// restore does what AWS does not show as done, and ends with a table that is sound, or an error.
func (env *environment) restore(ctx context.Context, o restoring) error {
	limited, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	client, err := o.dial(limited)
	if err != nil {
		return orCause(ctx, err)
	}
	r := &restore.Restorer{
		Client: client, Source: o.source, Table: o.table,
		Pause: func(ctx context.Context) error { return retry.Sleep(ctx, restorePause) },
	}
	ask := env.asker(o.yes)
	for _, step := range []func() error{
		func() error { return env.begin(ctx, r, ask) },
		func() error { return env.await(ctx, r) },
		func() error { return env.project(ctx, r, o, ask) },
	} {
		if err := step(); err != nil {
			return resumable(ctx, err, "run the command again: it goes on here")
		}
	}
	return nil
}

// begin restores the table, unless it exists.
func (env *environment) begin(ctx context.Context, r *restore.Restorer, ask asker) error {
	is, err := r.Find(ctx)
	switch {
	case err != nil:
		return err
	case is != nil:
		env.tell("The table %s exists: going on with it.", r.Table)
		return nil
	case r.Source == (restore.Source{}):
		return fmt.Errorf("the table %s does not exist: give --from and --at, or --backup", r.Table)
	}
	if err := r.Check(ctx); err != nil {
		return err
	}
	env.tell("Stop posting to the old table first, or what is posted from now on is not in the new one: " +
		"docs/recovery.md.")
	question := fmt.Sprintf("Restore %s into the new table %s? AWS charges for its size", r.Source, r.Table)
	if err := ask(ctx, question); err != nil {
		return err
	}
	if err := r.Begin(ctx); err != nil {
		return err
	}
	env.tell("AWS restores %s into %s.", r.Source, r.Table)
	return nil
}

// await waits for the table, and turns its protections on.
func (env *environment) await(ctx context.Context, r *restore.Restorer) error {
	status := "looking"
	var is *types.TableDescription
	show := make(chan string, 1)
	err := env.watch(-1, func(since time.Duration) (string, int64) {
		select {
		case status = <-show:
		default:
		}
		return fmt.Sprintf("%s: %s for %v; AWS says no more, and it may take hours", r.Table, status,
			since.Round(time.Second)), 0
	}, func() (err error) {
		is, err = r.Wait(ctx, func(now string) {
			select {
			case <-show:
			default:
			}
			show <- now
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := restore.IsLedger(is); err != nil {
		return err
	}
	done, err := r.Protect(ctx)
	for _, what := range done {
		env.tell("Turned on: %s of %s.", what, r.Table)
	}
	return err
}

// project audits the table, prints the commands of the import, and rebuilds what the audit found.
func (env *environment) project(ctx context.Context, r *restore.Restorer, o restoring, ask asker) error {
	is, err := r.Find(ctx)
	if err != nil || is == nil {
		return errors.Join(err, fmt.Errorf("the table %s", r.Table))
	}
	streams := is.StreamSpecification != nil && aws.ToBool(is.StreamSpecification.StreamEnabled)
	options := audit.Options{Segments: audit.DefaultSegments, Findings: audit.DefaultFindings}
	if streams {
		options.Settle = audit.DefaultSettle // the ledger may already serve
	}
	env.tell("Auditing %s.", r.Table)
	report, err := env.audit(ctx, o.operator, options)
	if err != nil {
		return err
	}
	if !report.OnlyProjections() {
		return errors.Join(env.printReport(report, o.operator), errors.New("events or guards do not agree with "+
			"each other: the last transactions are not whole, or somebody changed the table. Restore an earlier "+
			"moment into another table, or repair this one: docs/recovery.md#incomplete-transactions"))
	}
	if !streams || o.stack != "" {
		if err := env.printImport(ctx, r, is, o); err != nil {
			return err
		}
	}
	if !report.Sound() {
		if err := env.rebuildRestored(ctx, o, report, ask); err != nil {
			return err
		}
		if report, err = env.audit(ctx, o.operator, options); err != nil {
			return err
		}
	}
	if err := env.printReport(report, o.operator); err != nil {
		return err
	}
	if !report.Sound() {
		return errors.New("the table is not sound after its rebuild: docs/audit.md#audit")
	}
	return env.printLeft(ctx, r, is)
}

// rebuildRestored rebuilds the projections, also those that show more than the events.
func (env *environment) rebuildRestored(ctx context.Context, o restoring, report audit.Report, ask asker) error {
	question := fmt.Sprintf("Rebuild the projections of %s?", o.table)
	if !report.Rebuildable() {
		if err := env.printReport(report, o.operator); err != nil {
			return err
		}
		question = fmt.Sprintf("Some projections of %s show more than its events, or other: a backup may have a "+
			"projection, but not yet its event. If the old table had such findings before, answer no, and see "+
			"docs/audit.md#audit. Make the projections what the events say?", o.table)
	}
	if err := ask(ctx, question); err != nil {
		return err
	}
	err := env.rebuild(ctx, o.operator, repair.Config{
		Scope: rebuild.Scope{DropMissing: !report.Rebuildable()}, Rate: rebuildRate,
	})
	if errors.Is(err, errStray) { // such as a balance without postings: the audit says whether that matters
		return nil
	}
	return err
}

// printImport prints the commands that give the table a stack.
func (env *environment) printImport(
	ctx context.Context, r *restore.Restorer, is *types.TableDescription, o restoring,
) error {
	template, err := r.Template(ctx, is, o.ownKey)
	if err != nil {
		return err
	}
	commands := restore.Commands(r.Table, cmp.Or(o.stack, restoredStack), template)
	if env.isJSON() {
		err = env.printJSON(map[string]string{"import": commands})
	} else {
		_, err = fmt.Fprintf(env.out, "# A new stack for the table: run this in the folder of the ledger's source, at "+
			"any time from now on.\n# What each step does is in docs/recovery.md.\n%s\n", commands)
	}
	return cmp.Or(err, env.out.Flush())
}

// printLeft prints the settings that a restore does not bring, and what else is left to do.
func (env *environment) printLeft(ctx context.Context, r *restore.Restorer, is *types.TableDescription) error {
	settings, err := r.Settings(ctx)
	if err != nil {
		return err
	}
	since, known := "the moment of the backup", any(nil)
	if s := is.RestoreSummary; s != nil && s.RestoreDateTime != nil {
		since = s.RestoreDateTime.UTC().Format(time.RFC3339)
		known = since
	}
	if env.isJSON() {
		return env.printJSON(map[string]any{"table": r.Table, "restored_to": known, "settings": settingsJSON(settings)})
	}
	left := false
	t := env.newTable(words("A RESTORE DOES NOT BRING"), words("IS NOW"), words("SET BY"), words("LEFT TO DO"))
	for _, s := range settings {
		todo := ""
		if !s.Right {
			todo, left = "yes", true
		}
		t.row(s.Name, s.Is, s.By, todo)
	}
	t.row("alarms", "not known", "the stack of watch.yaml, deployed again", "look")
	t.row("policies of roles that name the table", "not known", "you, if you wrote some", "look")
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintf(env.out, "\nThe ledger is the one of %s. Cursors and digests that are newer are refused:\n"+
		"  ledger forward --rewind %[1]s …   ledger digest DIR --resume --table %[2]s\n"+
		"Let the callers send again, with the same ids, what they posted since then.\n", since, r.Table)
	if left {
		fmt.Fprintf(env.out, "After the deployment, run this to see whether all is set:\n  %s\n",
			env.again())
	}
	return nil
}

// settingsJSON returns settings for JSON.
func settingsJSON(settings []restore.Setting) []map[string]any {
	all := make([]map[string]any, len(settings))
	for i, s := range settings {
		all[i] = map[string]any{"name": s.Name, "is": s.Is, "right": s.Right, "set_by": s.By}
	}
	return all
}

// tell writes a message for people.
func (env *environment) tell(format string, values ...any) {
	fmt.Fprintf(env.err, format+"\n", values...)
}

// asker asks a question. Error: the answer is not yes.
type asker func(ctx context.Context, question string) error

// asker returns an asker that reads standard input, or one that takes yes for each answer.
func (env *environment) asker(yes bool) asker {
	if yes {
		return func(_ context.Context, question string) error {
			env.tell("%s: yes, by --yes", question)
			return nil
		}
	}
	var lines *bufio.Reader
	return func(ctx context.Context, question string) error {
		if lines == nil {
			in, _, err := env.openInput(ctx, "-")
			if err != nil {
				return err
			}
			lines = bufio.NewReader(in)
		}
		fmt.Fprintf(env.err, "%s [yes/no] ", question)
		answer, err := lines.ReadString('\n')
		if ctx.Err() != nil {
			return errInterrupted
		}
		if strings.TrimSpace(answer) == "yes" {
			return nil
		}
		if err != nil {
			env.tell("")
		}
		return errors.New("stopped, because the answer is not yes (--yes answers all questions)")
	}
}
