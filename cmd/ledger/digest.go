package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/events"
	"ledger.example/internal/durable"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/digest"
	"ledger.example/internal/watch/proof"
	"ledger.example/projections"
)

// digestCommand is `ledger digest`. It needs only permissions to read. Package internal/watch/digest implements it.
func (env *environment) digestCommand() *cobra.Command {
	var o operator
	var newKey, check, resume bool
	var entries string
	cmd := &cobra.Command{
		Use:  "digest DIR",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := digest.Config{Dir: args[0], Resume: resume}
			if newKey {
				if err := digest.NewKey(c.Dir, originOf(o.table)); err != nil {
					return err
				}
				env.forget("new-key") // it is made
			}
			do := env.digest
			switch {
			case check:
				do = env.checkDigest
			case entries != "":
				do = func(ctx context.Context, c digest.Config) error { return env.entries(ctx, c, entries) }
			}
			return env.digesting(cmd.Context(), o, c, do)
		},
	}
	o.tableFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&newKey, "new-key", false, "make a key in DIR first")
	f.BoolVar(&check, "check", false, "compare all notes with the table")
	f.BoolVar(&resume, "resume", false, "go on from the newest note that still holds")
	f.StringVar(&entries, "entries", "", "file to which the sealed entries are written")
	cmd.MarkFlagsMutuallyExclusive("new-key", "check", "resume", "entries")
	env.formatFlags(cmd, formatTable, formatJSON)
	return cmd
}

// originOf is the name of a ledger in the notes of a new key. It stays, whatever its table is called later.
func originOf(table string) string { return "ledger-journal/" + table }

// digesting opens the table, and shows the progress of do.
func (env *environment) digesting(
	ctx context.Context, o operator, c digest.Config, do func(context.Context, digest.Config) error,
) error {
	client, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	var read atomic.Int64
	c.Table, c.Progress = table.NewTable(client, o.table), read.Store
	status := func(time.Duration) (string, int64) {
		return counted(read.Load(), "entry", "entries") + " read", read.Load()
	}
	return env.watch(-1, status, func() error { return do(ctx, c) })
}

func (env *environment) digest(ctx context.Context, c digest.Config) error {
	r, err := digest.Run(ctx, c)
	if err != nil {
		return err
	}
	for _, lost := range r.Lost {
		env.say(fmt.Sprintf("The note of %s does not hold any more: it is kept as %s.",
			counted(lost.Size, "entry", "entries"), lost.File))
	}
	if r.Note.Size == 0 {
		env.say(fmt.Sprintf("The journal has no entry yet that is older than %v.", projections.JournalTrail))
		return env.printFigures("entries", 0, "new", 0)
	}
	return env.printFigures("entries", r.Note.Size, "new", r.New, "root", r.Note.Root.String(), "page", r.Note.Page)
}

func (env *environment) checkDigest(ctx context.Context, c digest.Config) error {
	r, err := digest.Check(ctx, c)
	if err != nil {
		return err
	}
	found := int64(len(r.Findings)) + r.More
	if env.isJSON() {
		err = env.printJSON(map[string]any{"entries": r.Entries, "notes": r.Notes, "findings": found,
			"found": append([]string{}, r.Findings...)})
	} else {
		err = env.printFigures("entries", r.Entries, "notes", r.Notes, "findings", found)
		for _, f := range r.Findings {
			fmt.Fprintln(env.out, printable(f))
		}
	}
	if found > 0 {
		err = errors.Join(err, fmt.Errorf("%s: the ledger is not what was sealed",
			counted(found, "finding", "findings")))
	}
	return err
}

func (env *environment) entries(ctx context.Context, c digest.Config, path string) error {
	var n proof.Note
	err := newFile(path, 0o600, func(w io.Writer) (err error) {
		n, err = digest.Entries(ctx, c, w)
		return err
	})
	if err != nil {
		return err
	}
	return env.printFigures("entries", n.Size, "root", n.Root.String(), "page", n.Page)
}

// unfinished is the suffix of a file that is being written.
const unfinished = ".new"

// newFile writes a file that does not exist yet. It appears when it is whole.
func newFile(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, error(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}))
	}
	f, err := durable.Create(path, path+unfinished, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	if err := write(out); err != nil {
		return err
	}
	if err := errors.Join(out.Flush(), f.Sync()); err != nil {
		return err
	}
	return f.Name()
}

// proveCommand is `ledger prove`.
func (env *environment) proveCommand() *cobra.Command {
	var o operator
	var event, out string
	cmd := &cobra.Command{
		Use:  "prove DIR [ID]",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var key table.Key
			switch parsed, ok := table.ParseJournaled(event); {
			case (len(args) == 2) == (event != ""):
				return usageErrorf("give the ID of a transaction or --event")
			case event != "" && !ok:
				return usageErrorf("--event must be the id of an entry of the journal")
			case event != "":
				key = parsed
			case !events.ValidID(args[1]):
				return usageErrorf("ID %s", events.IDRule)
			default:
				key = table.Transaction.Key(args[1])
			}
			return env.prove(cmd.Context(), o, args[0], key, out)
		},
	}
	o.tableFlags(cmd)
	cmd.Flags().StringVar(&event, "event", "", "id of an entry of the journal")
	outputFlag(cmd.Flags(), &out, "out")
	return cmd
}

func (env *environment) prove(ctx context.Context, o operator, dir string, event table.Key, out string) error {
	return env.digesting(ctx, o, digest.Config{Dir: dir}, func(ctx context.Context, c digest.Config) error {
		p, err := digest.Prove(ctx, c, event)
		if err != nil {
			return err
		}
		if out != "" {
			return durable.WriteFile(out, out+unfinished, p.Text(), 0o644) // a proof is to be given away
		}
		if _, err := env.out.Write(p.Text()); err != nil {
			return err
		}
		return env.out.Flush()
	})
}
