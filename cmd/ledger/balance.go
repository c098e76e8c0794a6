package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
)

// balanceCommand is `ledger balance`, the simplest command that calls the API: flags, one call, and a list for people.
func (env *environment) balanceCommand() *cobra.Command {
	var at time.Time
	cmd := &cobra.Command{Use: "balance ACCOUNT ASSET"}
	env.atFlag(cmd.Flags(), &at, "print the balance at this time, or at the end of this day")
	env.strongFlag(cmd, "include every acknowledged transaction")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if !at.IsZero() {
			return env.balanceAt(ctx, args[0], args[1], at)
		}
		r, err := env.api.Balance(ctx, args[0], args[1], env.strong)
		if err != nil {
			return err
		}
		b := r.Value
		return env.print(ctx, r.Raw, []string{b.Asset}, func() error {
			t := env.newList()
			t.row("Account", b.Account)
			t.row("Asset", b.Asset)
			env.sumRows(t, b.Asset, b.Sums)
			t.row("Available", env.units.Available(b))
			t.row("Postings", fmt.Sprint(b.Postings))
			t.row("As of", orNone(b.AsOfTime))
			return t.flush()
		})
	})
}

// balanceAt prints an account's balance of one asset at a time in the past.
func (env *environment) balanceAt(ctx context.Context, account, asset string, at time.Time) error {
	r, err := env.api.BalanceAt(ctx, account, asset, at, env.strong)
	if err != nil {
		return err
	}
	b := r.Value
	return env.print(ctx, r.Raw, []string{b.Asset}, func() error {
		t := env.newList()
		t.row("Account", b.Account)
		t.row("Asset", b.Asset)
		t.row("At", b.At)
		env.sumRows(t, b.Asset, b.Sums)
		t.row("Newest posting", orNone(b.AsOfTime))
		t.row("Revision", fmt.Sprint(b.Revision))
		t.row("Settled", map[bool]string{true: "yes", false: "no"}[b.Settled])
		return t.flush()
	})
}

// sumRows adds the rows of the sums of an asset.
func (env *environment) sumRows(t *grid, asset string, s client.Sums) {
	t.row("Quantity", env.units.Quantity(asset, s.Quantity))
	for i, c := range env.costColumns("Net expenditure") {
		t.row(c.heading, env.costCells(asset, s.NetExpenditure)[i])
	}
	t.row("Credits", env.units.Quantity(asset, s.Credits))
	t.row("Debits", env.units.Quantity(asset, s.Debits))
	t.row("Pending debits", env.units.Quantity(asset, s.PendingDebits))
	t.row("Pending credits", env.units.Quantity(asset, s.PendingCredits))
}

// costColumns returns the columns of a cost: in CSV, its currency has one of its own.
func (env *environment) costColumns(heading string) []column {
	if env.format == formatCSV {
		return []column{numbers(heading), words("CURRENCY")}
	}
	return []column{numbers(heading)}
}

// costCells returns the cells for costColumns.
func (env *environment) costCells(asset string, cost events.Amount) []string {
	if env.format == formatCSV {
		amount, currency := env.units.Cost(asset, cost)
		return []string{amount, currency}
	}
	return []string{env.units.CostCell(asset, cost)}
}

// sums is a line of a table of sums.
type sums struct {
	asset string
	client.Sums
	cells []string // of more columns
}

// printSums prints sums as a table, and pending amounts, if there are any, as a second one. In CSV, the pending amounts
// are in columns.
func (env *environment) printSums(lines []sums, more ...column) error {
	u, isCSV := env.units, env.format == formatCSV
	columns := slices.Concat([]column{words("ASSET"), numbers("QUANTITY")}, env.costColumns("NET EXPENDITURE"),
		[]column{numbers("CREDITS"), numbers("DEBITS")}, more)
	pendingColumns := []column{numbers("PENDING DEBITS"), numbers("PENDING CREDITS")}
	if isCSV {
		columns = append(columns, pendingColumns...)
	}
	t := env.newTable(columns...)
	pending := env.newTable(append([]column{words("ASSET")}, pendingColumns...)...)
	for _, l := range lines {
		cells := slices.Concat([]string{l.asset, u.Quantity(l.asset, l.Quantity)},
			env.costCells(l.asset, l.NetExpenditure),
			[]string{u.Quantity(l.asset, l.Credits), u.Quantity(l.asset, l.Debits)}, l.cells)
		if isCSV {
			cells = append(cells, u.Quantity(l.asset, l.PendingDebits), u.Quantity(l.asset, l.PendingCredits))
		}
		t.row(cells...)
		if !isCSV && (!l.PendingDebits.IsZero() || !l.PendingCredits.IsZero()) {
			pending.row(l.asset, u.Quantity(l.asset, l.PendingDebits), u.Quantity(l.asset, l.PendingCredits))
		}
	}
	if err := t.flush(); err != nil || len(pending.rows) == 0 {
		return err
	}
	fmt.Fprintln(env.out)
	return pending.flush()
}

// newestShown is the number of postings that show prints.
const newestShown = 10

// showCommand is `ledger show`. It reads the account page with one request, and balances that are not on it with more.
func (env *environment) showCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show ACCOUNT"}
	env.formatFlags(cmd, formatTable, formatJSON) // it prints several tables
	env.strongFlag(cmd, "include every acknowledged transaction in the balances")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error { return env.show(ctx, args[0]) })
}

// show prints an account's page. With --strong, it reads all balances with strong reads.
func (env *environment) show(ctx context.Context, account string) error {
	r, err := env.api.AccountPage(ctx, account, newestShown)
	if err != nil {
		return err
	}
	page, raw := r.Value, r.Raw
	// The page has only the first balances, from the projection. JSON is printed unchanged, with the cursor of the
	// rest.
	if env.strong || page.Balances.NextCursor != nil && !env.isJSON() {
		page.Balances = client.List[client.Balance]{}
		for b, err := range env.api.Balances(account, env.strong).All(ctx) {
			if err != nil {
				return err
			}
			page.Balances.Data = append(page.Balances.Data, b)
		}
	}
	if env.strong && env.isJSON() {
		if raw, err = withBalances(raw, page.Balances); err != nil {
			return err
		}
	}
	assets := append(assetsOf(page.Postings.Data), assetsOfAccount(page.Account)...)
	for _, b := range page.Balances.Data {
		assets = append(assets, b.Asset)
	}
	return env.print(ctx, raw, assets, func() error { return env.printPage(page) })
}

func (env *environment) printPage(page client.AccountPage) error {
	env.printPageHead(page)
	if err := env.printBalances(page.Balances.Data); err != nil {
		return err
	}
	if len(page.Postings.Data) == 0 {
		return nil
	}
	fmt.Fprintln(env.out)
	if err := env.printPostings(page.Postings.Data, true); err != nil {
		return err
	}
	if stale := staleAssets(page); len(stale) > 0 {
		fmt.Fprintf(env.err, "These balances do not include the newest postings yet: %s.\n"+
			"Use --strong to include them.\n", strings.Join(stale, ", "))
	}
	return nil
}

// staleAssets returns the assets whose balances do not include a posting that is on the same page.
func staleAssets(p client.AccountPage) []string {
	counted := make(map[string]string) // the newest posting in the balance, by asset
	for _, b := range p.Balances.Data {
		if b.AsOf != nil {
			counted[b.Asset] = *b.AsOf
		}
	}
	var stale []string
	for _, posting := range p.Postings.Data {
		if posting.ID > counted[posting.Asset] && !slices.Contains(stale, posting.Asset) {
			stale = append(stale, posting.Asset)
		}
	}
	slices.Sort(stale)
	return stale
}

// withBalances replaces the balances in the JSON of an account's page.
func withBalances(page []byte, balances client.List[client.Balance]) ([]byte, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(page, &parts); err != nil {
		return nil, err
	}
	var err error
	if parts["balances"], err = json.Marshal(balances); err != nil {
		return nil, err
	}
	return json.Marshal(parts)
}

// printPageHead prints the fields of an account, and its summary.
func (env *environment) printPageHead(p client.AccountPage) {
	t := env.newList()
	env.accountRows(t, p.Account)
	t.row("Holdings", fmt.Sprintf("%d, of %d assets ever held", p.Summary.Holdings, p.Summary.Assets))
	if first, last := p.Summary.FirstPostingAt, p.Summary.LastPostingAt; first != nil && last != nil {
		t.row("Postings", fmt.Sprintf("first %s, last %s", *first, *last))
	} else {
		t.row("Postings", "none")
	}
	_ = t.flush() // a later flush returns the error
	fmt.Fprintln(env.out)
}

// printBalances prints balances as a table. It adds a column for the available amounts if one differs from its
// quantity.
func (env *environment) printBalances(balances []client.Balance) error {
	columns := []column{numbers("POSTINGS")}
	if slices.ContainsFunc(balances, func(b client.Balance) bool {
		return b.Available != nil && *b.Available != b.Quantity
	}) {
		columns = append(columns, numbers("AVAILABLE"))
	}
	var lines []sums
	for _, b := range balances {
		cells := []string{fmt.Sprint(b.Postings), env.units.Available(b)}
		lines = append(lines, sums{b.Asset, b.Sums, cells[:len(columns)]})
	}
	return env.printSums(lines, columns...)
}
