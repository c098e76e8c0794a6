package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
	"ledger.example/events"
)

// newestShown is how many postings show brings, as the API's own page does.
const newestShown = 10

func (c *cli) showCommand() *cobra.Command {
	var minor, strong bool
	cmd := &cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show an account: who it is, what it holds, its newest postings",
		Long: `show prints an account with its summary, all its balances and its newest postings.

Balances are those of the projection, which may be behind for a moment. With --strong they include
every transaction acknowledged before; the summary and the postings stay those of the projection.`,
		Example: `  ledger show jane
  ledger show jane --strong
  ledger show jane --json`,
		Args: ids("ACCOUNT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial(0, loadingAtOnce)
			if err != nil {
				return err
			}
			return c.show(cmd.Context(), api, args[0], minor, strong)
		},
	}
	cmd.Flags().BoolVar(&minor, "minor", false, "amounts in whole minor units")
	cmd.Flags().BoolVar(&strong, "strong", false, "balances that include every acknowledged transaction")
	return cmd
}

func (c *cli) show(ctx context.Context, api *client.Client, account string, minor, strong bool) error {
	r, err := api.Page(ctx, account, newestShown)
	if err != nil {
		return err
	}
	page, raw := r.Value, r.Raw
	if strong {
		page.Balances = client.List[client.Balance]{}
		page.Balances.Data, err = balancesFrom(ctx, api, account, "", true)
		if err == nil && c.json {
			raw, err = withBalances(raw, page.Balances)
		}
	} else if next := page.Balances.NextCursor; next != nil && !c.json {
		var rest []client.Balance
		rest, err = balancesFrom(ctx, api, account, *next, false)
		page.Balances.Data = append(page.Balances.Data, rest...)
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(raw)
	}
	limits, unlimited := overdraftOf(page.Account)
	u := newUnits(api, minor)
	if err := u.load(ctx, assetsOf(page, limits)...); err != nil {
		return err
	}
	c.printAccount(page, u, limits, unlimited)
	if err := c.printBalances(page.Balances.Data, u); err != nil {
		return err
	}
	if len(page.Postings.Data) == 0 {
		return nil
	}
	fmt.Fprintln(c.out)
	return c.printPostings(page.Postings.Data, u, true)
}

// balancesFrom reads all of an account's balances from cursor on.
func balancesFrom(ctx context.Context, api *client.Client, account, cursor string, strong bool) ([]client.Balance, error) {
	var all []client.Balance
	for {
		r, err := api.Balances(ctx, account, cursor, strong)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Value.Data...)
		if r.Value.NextCursor == nil {
			return all, nil
		}
		cursor = *r.Value.NextCursor
	}
}

// withBalances puts other balances into an account's page, the rest of which stays as the API gave it.
func withBalances(page []byte, balances client.List[client.Balance]) ([]byte, error) {
	var parts struct {
		Account  json.RawMessage             `json:"account"`
		Summary  json.RawMessage             `json:"summary"`
		Balances client.List[client.Balance] `json:"balances"`
		Postings json.RawMessage             `json:"postings"`
	}
	if err := json.Unmarshal(page, &parts); err != nil {
		return nil, err
	}
	parts.Balances = balances
	return json.Marshal(parts)
}

// overdraftOf reads an account's policy: unlimited, or an amount for each asset.
func overdraftOf(a client.Account) (limits map[string]events.Amount, unlimited bool) {
	if a.Unlimited() {
		return nil, true
	}
	if err := json.Unmarshal(a.Overdraft, &limits); err != nil {
		return nil, false // none is set
	}
	return limits, false
}

func assetsOf(p client.Page, limits map[string]events.Amount) []string {
	var ids []string
	for asset := range limits {
		ids = append(ids, asset)
	}
	for _, b := range p.Balances.Data {
		ids = append(ids, b.Asset)
	}
	for _, posting := range p.Postings.Data {
		ids = append(ids, posting.Asset)
	}
	return ids
}

func (c *cli) printAccount(p client.Page, u *units, limits map[string]events.Amount, unlimited bool) {
	overdraft := "none"
	if unlimited {
		overdraft = "unlimited"
	} else if len(limits) > 0 {
		var parts []string
		for asset, limit := range limits {
			parts = append(parts, u.quantity(asset, limit)+" "+asset)
		}
		slices.Sort(parts)
		overdraft = strings.Join(parts, ", ")
	}
	t := newTable(c.out)
	t.row("Account", p.Account.ID)
	t.row("Name", p.Account.Name)
	t.row("Overdraft", overdraft)
	t.row("Opened", p.Account.CreatedAt)
	if profile := string(p.Account.Profile); profile != "" && profile != "{}" {
		t.row("Profile", profile)
	}
	t.row("Holdings", fmt.Sprintf("%d, of %d assets ever held", p.Summary.Holdings, p.Summary.Assets))
	t.row("Postings", fmt.Sprintf("first %s, last %s", orNone(p.Summary.FirstPostingAt), orNone(p.Summary.LastPostingAt)))
	_ = t.flush() // a broken standard output is told when the last of it is written
	fmt.Fprintln(c.out)
}

func (c *cli) printBalances(balances []client.Balance, u *units) error {
	t := newTable(c.out, "ASSET", "QUANTITY", "NET EXPENDITURE", "CREDITS", "DEBITS", "POSTINGS")
	for _, b := range balances {
		t.row(b.Asset, u.quantity(b.Asset, b.Quantity), u.costCell(b.Asset, b.NetExpenditure),
			u.quantity(b.Asset, b.Credits), u.quantity(b.Asset, b.Debits), fmt.Sprint(b.Postings))
	}
	return t.flush()
}
