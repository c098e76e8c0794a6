package main

import (
	"context"
	"encoding/json"
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

	"ledger.example/cmd/ledger/audit"
)

// verifyMemoryBytes is the heap that the collector keeps an audit in, however large the table is.
const verifyMemoryBytes = 160 << 20

type verifyOptions struct {
	operator operator
	segments int
	settle   time.Duration
	findings int
	rate     float64
}

func (c *cli) verifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Audit the table: events, balances and everything else recomputed by other code",
		Long:  verifyHelp(),
		Example: `  ledger verify --dynamodb-endpoint http://127.0.0.1:8000
  ledger verify --region eu-central-1 --table books --rate 500
  ledger verify --dynamodb-endpoint http://127.0.0.1:8000 --json | jq .by_code`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.segments < 1 || o.segments > audit.MostSegments:
				return wrongUse("--segments must be 1 to %d", audit.MostSegments)
			case o.settle < 0:
				return wrongUse("--settle must not be negative")
			case o.findings < 0:
				return wrongUse("--max must not be negative")
			case !(o.rate >= 0) || math.IsInf(o.rate, 0):
				return wrongUse("--rate must be a number of read units a second, or 0 for no limit")
			}
			return c.verify(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	o.operator.flags(f)
	f.IntVar(&o.segments, "segments", audit.DefaultSegments, "parts of the table that are read at the same time")
	f.DurationVar(&o.settle, "settle", audit.DefaultSettle, "what is younger may still be on its way and is not reported as missing")
	f.IntVar(&o.findings, "max", audit.DefaultFindings, "findings to show; all are counted")
	f.Float64Var(&o.rate, "rate", 0, "read units a second at most (default: no limit)")
	return cmd
}

func verifyHelp() string {
	var codes strings.Builder
	for _, code := range audit.Codes() {
		fmt.Fprintf(&codes, "  %-28s %s\n", code.Code, code.Meaning)
	}
	return `verify reads the whole table and proves that it is the fold of its events, by code that shares nothing with
the ledger's but the names of keys and attributes. It may run while the ledger serves: what looks wrong is
read again by itself, a few times, before it is reported. It writes nothing.

It reads everything about twice, strongly consistent: two read units for each 4 KB in all, and once more
where headers and postings don't come out. --rate spreads that. Memory doesn't grow with the table.

A balance that has not counted a posting is a finding once the posting is older than --settle; a younger
one makes the balance "unsettled", which is counted and is no finding. With --settle 0 nothing is too young,
for a table that nothing writes to.

A finding has a code, the item by its two keys, what is stored and what is right by recomputation:

` + codes.String() + `
--json prints one object:

  {"sound":false,
   "counts":{"items":9,"transactions":1,"postings":2,"accounts":2,"findings":1,"unsettled":0},
   "by_code":{"guard_wrong":1},
   "findings":[{"code":"guard_wrong","pk":"…","sk":"…","attribute":"Spent","stored":"5","recomputed":"7"}]}

where findings are the first --max, and attribute is missing when a finding is about the whole item.

Exit status: 0 the table is sound; 1 it is not, or it could not be read to its end; 2 wrong use.`
}

// verify audits the table. Whatever ends it early is an error: only a table that was read to its end is sound.
func (c *cli) verify(ctx context.Context, o verifyOptions) error {
	debug.SetMemoryLimit(verifyMemoryBytes)
	client, err := o.operator.open(ctx)
	if err != nil {
		return err
	}
	a := audit.New(audit.Options{
		Store: client, Table: o.operator.table, Segments: o.segments, Settle: o.settle, Findings: o.findings, Rate: o.rate,
	})
	p := startProgress(c.err, itemCount(ctx, client, o.operator.table), func(since time.Duration) (string, int64) {
		n := a.Counts()
		return fmt.Sprintf("%d items (%.0f/s), %d findings", n.Items, float64(n.Items)/since.Seconds(), n.Findings), n.Items
	})
	report, err := a.Run(ctx)
	p.stop()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: nothing is proved")
	case err != nil:
		return fmt.Errorf("the audit did not come to its end, and nothing is proved: %w", err)
	}
	if err := c.printReport(report); err != nil {
		return err
	}
	if n := report.Counts.Findings; n > 0 {
		return fmt.Errorf("the table is not sound: %d findings", n)
	}
	return nil
}

// itemCount is about how many items the table has, -1 when that is not known.
func itemCount(ctx context.Context, client *dynamodb.Client, name string) int64 {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil || out.Table == nil || aws.ToInt64(out.Table.ItemCount) == 0 {
		return -1
	}
	return *out.Table.ItemCount
}

// reportJSON is a report as --json prints it.
type reportJSON struct {
	Sound    bool                 `json:"sound"`
	Counts   countsJSON           `json:"counts"`
	ByCode   map[audit.Code]int64 `json:"by_code"`
	Findings []findingJSON        `json:"findings"`
}

type countsJSON struct {
	Items        int64 `json:"items"`
	Transactions int64 `json:"transactions"`
	Postings     int64 `json:"postings"`
	Accounts     int64 `json:"accounts"`
	Findings     int64 `json:"findings"`
	Unsettled    int64 `json:"unsettled"`
}

type findingJSON struct {
	Code       audit.Code `json:"code"`
	PK         string     `json:"pk"`
	SK         string     `json:"sk"`
	Attribute  string     `json:"attribute,omitempty"`
	Stored     string     `json:"stored"`
	Recomputed string     `json:"recomputed"`
}

func (c *cli) printReport(r audit.Report) error {
	n := r.Counts
	if c.json {
		shown := reportJSON{
			Sound:    r.Sound(),
			Counts:   countsJSON{n.Items, n.Transactions, n.Postings, n.Accounts, n.Findings, r.Unsettled},
			ByCode:   r.ByCode,
			Findings: make([]findingJSON, len(r.Findings)),
		}
		for i, f := range r.Findings {
			shown.Findings[i] = findingJSON{f.Code, f.Key.PK, f.Key.SK, f.Attribute, f.Stored, f.Recomputed}
		}
		raw, err := json.Marshal(shown)
		if err != nil {
			return err
		}
		return c.printJSON(raw)
	}
	for _, f := range r.Findings {
		what := string(f.Code)
		if f.Attribute != "" {
			what += " (" + f.Attribute + ")"
		}
		fmt.Fprintf(c.out, "%s  %s  %s\n  stored:     %s\n  recomputed: %s\n",
			printable(what), printable(f.Key.PK), printable(f.Key.SK), printable(f.Stored), printable(f.Recomputed))
	}
	if hidden := n.Findings - int64(len(r.Findings)); hidden > 0 {
		fmt.Fprintf(c.out, "and %d more\n", hidden)
	}
	if !r.Sound() {
		fmt.Fprintln(c.out)
		t := newTable(c.out, "FINDING", "COUNT")
		for _, code := range slices.Sorted(maps.Keys(r.ByCode)) {
			t.row(string(code), fmt.Sprint(r.ByCode[code]))
		}
		if err := t.flush(); err != nil {
			return err
		}
		fmt.Fprintln(c.out)
	}
	verdict := "Sound"
	if !r.Sound() {
		verdict = "NOT SOUND"
	}
	fmt.Fprintf(c.out, "%s: %d items, %d transactions, %d postings, %d accounts\n", verdict, n.Items, n.Transactions, n.Postings, n.Accounts)
	if r.Unsettled > 0 {
		fmt.Fprintf(c.out, "%d balances were still on the move: postings on them are younger than the settle age\n", r.Unsettled)
	}
	return nil
}
