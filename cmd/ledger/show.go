package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// newestShown is the number of postings that show prints.
const newestShown = 10

// showCommand is `ledger show`. It reads the account page with one request, and balances that are not on it with more.
func (env *environment) showCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show ACCOUNT"}
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
	if env.strong || page.Balances.NextCursor != nil && !env.json {
		page.Balances = client.List[client.Balance]{}
		list := env.api.Balances(account, env.strong)
		page.Balances.Data, err = collect(ctx, list, func(b client.Balance) client.Balance { return b })
		if err != nil {
			return err
		}
	}
	if env.strong && env.json {
		if raw, err = withBalances(raw, page.Balances); err != nil {
			return err
		}
	}
	assets := slices.AppendSeq(assetsOf(page.Postings.Data), maps.Keys(page.Account.Overdraft.Limits))
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
	t.row("Postings", fmt.Sprintf("first %s, last %s", orNone(p.Summary.FirstPostingAt),
		orNone(p.Summary.LastPostingAt)))
	_ = t.flush() // a later flush returns the error
	fmt.Fprintln(env.out)
}

// printBalances prints balances as a table. It adds a column for the available amounts if one differs from its
// quantity, and a second table for pending amounts if there are any.
func (env *environment) printBalances(balances []client.Balance) error {
	u := env.units
	columns := []column{words("ASSET"), numbers("QUANTITY"), numbers("NET EXPENDITURE"), numbers("CREDITS"),
		numbers("DEBITS"), numbers("POSTINGS")}
	hasAvailable := slices.ContainsFunc(balances, func(b client.Balance) bool {
		return b.Available != nil && *b.Available != b.Quantity
	})
	if hasAvailable {
		columns = append(columns, numbers("AVAILABLE"))
	}
	t := env.newTable(columns...)
	pending := env.newTable(words("ASSET"), numbers("PENDING DEBITS"), numbers("PENDING CREDITS"))
	for _, b := range balances {
		cells := []string{b.Asset, u.Quantity(b.Asset, b.Quantity), u.CostCell(b.Asset, b.NetExpenditure),
			u.Quantity(b.Asset, b.Credits), u.Quantity(b.Asset, b.Debits), fmt.Sprint(b.Postings)}
		if hasAvailable {
			cells = append(cells, u.Available(b))
		}
		t.row(cells...)
		if !b.PendingDebits.IsZero() || !b.PendingCredits.IsZero() {
			pending.row(b.Asset, u.Quantity(b.Asset, b.PendingDebits), u.Quantity(b.Asset, b.PendingCredits))
		}
	}
	return t.flushWith(pending)
}

// collect reads a whole list, and returns what of returns for each item.
func collect[T, V any](ctx context.Context, list client.Listing[T], of func(T) V) (all []V, err error) {
	for item, err := range list.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, of(item))
	}
	return all, nil
}
