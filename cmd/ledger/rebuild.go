package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/rebuild"
	"ledger.example/events"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// rebuildRate is how many items a second are read unless told otherwise: some 400 read units a second of ordinary postings, a
// thirtieth of what a new on-demand table serves at once.
const rebuildRate = 5000

func (c *cli) rebuildCommand() *cobra.Command {
	var o operator
	var account, asset, from string
	var dryRun bool
	var rate int
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Refold projections from postings and grants, while the ledger serves",
		Long: `rebuild reads the postings of every account and asset, one account's, or one account and asset's, and makes
their balances, segments and summaries what they are to be, and memberships what the newest grants say. It
finds what was never projected, as it goes by the table and not by its stream, and it mends what is wrong,
missing, too much or unreadable, whoever caused that. Events and the guards of what was spent are never
written, and nothing is deleted: what only a deletion could mend is named.

It may run while the ledger serves and the projector runs; every write is on the version that was read.
Each item that was wrong is printed, with what it becomes.

--dry-run writes nothing, and prints what would be mended. Balances that only lack postings of the last
seconds are counted as behind, not as wrong: the projector will come to them.

Ctrl-C or SIGTERM ends it after the balances under way, and it says with which --from to go on; a second one
ends it at once, and so may a crash: nothing is lost, and the progress tells where it was. It is safe to run
again any number of times.

Exit status 0: everything is right now. 1: a dry run found something wrong; or something failed, can't be
mended, or was not come to.`,
		Example: `  ledger rebuild --dry-run --dynamodb-endpoint http://127.0.0.1:8000
  ledger rebuild --table TABLE --region eu-central-1 --account jane --asset USD`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, id := range map[string]string{"--account": account, "--asset": asset, "--from": from} {
				if id != "" && !events.ValidID(id) {
					return wrongUse("%s: %q is not an id", name, id)
				}
			}
			switch {
			case asset != "" && account == "":
				return wrongUse("--asset needs --account")
			case from != "" && account != "":
				return wrongUse("--from goes through all accounts, --account takes one: give one or the other")
			case rate < 0:
				return wrongUse("--rate must not be below 0")
			}
			return c.rebuild(cmd.Context(), o, rebuild.Config{Account: account, Asset: asset, From: from, DryRun: dryRun, Rate: rate})
		},
	}
	f := cmd.Flags()
	o.flags(f)
	f.StringVar(&account, "account", "", "rebuild this account only")
	f.StringVar(&asset, "asset", "", "of --account, rebuild this asset's balance only")
	f.StringVar(&from, "from", "", "go on with this account, in the order of their ids")
	f.BoolVar(&dryRun, "dry-run", false, "write nothing; print what would be mended")
	f.IntVar(&rate, "rate", rebuildRate, "items read a second at most; 0: as many as can be")
	return cmd
}

func (c *cli) rebuild(ctx context.Context, o operator, config rebuild.Config) error {
	client, err := o.open(ctx)
	if err != nil {
		return err
	}
	var p *progress
	config.Views, config.Log = views.NewViews(client, o.table), c.logger(slog.LevelError)
	config.Tell = func(part projections.Part) {
		if part.Err != nil {
			p.say(printable(fmt.Sprintf("%s: %v", partName(part), part.Err)))
		}
		c.printPart(part, config.DryRun)
	}
	run := rebuild.New(config)
	p = startProgress(c.err, -1, func(time.Duration) (string, int64) {
		n := run.Counts()
		text := fmt.Sprintf("%d of %d accounts, %d balances, %d postings, %d items wrong, %d failed", n.Done, n.Accounts, n.Balances, n.Postings, n.Different, n.Failed)
		if next := run.Next(); next != "" {
			text += ", at " + next
		} else if n.Done == 0 && config.Account == "" {
			text = fmt.Sprintf("looking for accounts: %d in %d items", n.Accounts, n.Listed)
		}
		return text, n.Done
	})
	runErr := run.Run(ctx)
	p.stop()
	n := run.Counts()
	if err := c.printRebuilt(n, config.DryRun, run.Next()); err != nil {
		return err
	}
	goOn := "run it again"
	if next := run.Next(); next != "" {
		goOn = "go on with --from " + next
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: " + goOn)
	case runErr != nil:
		return fmt.Errorf("%w; %s", runErr, goOn)
	case n.Failed > 0:
		return fmt.Errorf("%d failed: what they name is not rebuilt", n.Failed)
	case n.Strays > 0:
		return fmt.Errorf("%d items should not be there, and nothing deletes them", n.Strays)
	case config.DryRun && n.Different > 0:
		return fmt.Errorf("%d items are wrong", n.Different)
	case run.Nothing():
		fmt.Fprintln(c.err, "Nothing is posted there, and nothing projected: is the id right?")
	}
	return nil
}

// partName names what a part is of.
func partName(p projections.Part) string {
	switch {
	case p.Asset != "":
		return fmt.Sprintf("account %s, asset %s", p.Account, p.Asset)
	case p.User != "":
		return fmt.Sprintf("account %s, user %s", p.Account, p.User)
	}
	return "account " + p.Account
}

// differenceJSON is one line for programs.
type differenceJSON struct {
	PK     string      `json:"pk"`
	SK     string      `json:"sk"`
	Absent bool        `json:"absent,omitempty"`
	Fault  string      `json:"fault,omitempty"`
	Fields []fieldJSON `json:"fields,omitempty"`
	Stray  string      `json:"stray,omitempty"`
	Mended bool        `json:"mended"`
}

type fieldJSON struct {
	Name    string `json:"name"`
	Stored  string `json:"stored"`
	Becomes string `json:"becomes"`
}

// printPart prints what was amiss, an item a line: an error shows when the rest is printed.
func (c *cli) printPart(p projections.Part, dryRun bool) {
	for _, d := range p.Differences {
		if d.Behind {
			continue
		}
		line := differenceJSON{PK: d.Key.PK, SK: d.Key.SK, Absent: d.Absent, Fault: d.Fault, Mended: !dryRun}
		for _, f := range d.Fields {
			line.Fields = append(line.Fields, fieldJSON(f))
		}
		c.printDifference(line)
	}
	for _, s := range p.Strays {
		c.printDifference(differenceJSON{PK: s.Key.PK, SK: s.Key.SK, Stray: s.Why})
	}
	_ = c.out.Flush()
}

func (c *cli) printDifference(d differenceJSON) {
	if c.json {
		if raw, err := json.Marshal(d); err == nil {
			_ = c.printJSON(raw)
		}
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
			what = append(what, fmt.Sprintf("%s %s becomes %s", f.Name, orDash(f.Stored), orDash(f.Becomes)))
		}
	}
	fmt.Fprintln(c.out, printable(fmt.Sprintf("%s %s: %s", d.PK, d.SK, strings.Join(what, ", "))))
}

// orDash shows a text that may be empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (c *cli) printRebuilt(n rebuild.Counts, dryRun bool, next string) error {
	if c.json {
		raw, err := json.Marshal(struct {
			DryRun      bool   `json:"dry_run"`
			Accounts    int64  `json:"accounts"`
			Balances    int64  `json:"balances"`
			Unchanged   int64  `json:"unchanged"`
			Memberships int64  `json:"memberships"`
			Postings    int64  `json:"postings"`
			Items       int64  `json:"items"`
			Behind      int64  `json:"behind"`
			Strays      int64  `json:"strays"`
			Failed      int64  `json:"failed"`
			From        string `json:"from,omitempty"`
		}{dryRun, n.Done, n.Balances, n.Unchanged, n.Memberships, n.Postings, n.Different, n.Behind, n.Strays, n.Failed, next})
		if err != nil {
			return err
		}
		return c.printJSON(raw)
	}
	items := "ITEMS MENDED"
	if dryRun {
		items = "ITEMS WRONG"
	}
	t := newTable(c.out, "ACCOUNTS", "BALANCES", "UNCHANGED", "MEMBERSHIPS", "POSTINGS READ", items, "BEHIND", "NOT TO BE MENDED", "FAILED")
	var cells []string
	for _, v := range []int64{n.Done, n.Balances, n.Unchanged, n.Memberships, n.Postings, n.Different, n.Behind, n.Strays, n.Failed} {
		cells = append(cells, fmt.Sprint(v))
	}
	t.row(cells...)
	return t.flush()
}
