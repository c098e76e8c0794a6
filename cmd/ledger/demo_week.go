package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// demoTimeout bounds the wait until the deposits of the week can be spent. They are backdated, so they can be spent
// only after they are projected.
const demoTimeout = 30 * time.Second

// demoAdvisor is a user of the demo who reaches accounts through a group.
const demoAdvisor = "u-advisor"

// demoWeek is a week of a small trading platform. It ends on the day on which the first account was opened, so that a
// second run sends the same requests, which are replayed.
type demoWeek struct {
	api *client.Client
	day time.Time // the last day of the week
}

// loadDemoWeek sends the week through the API: deposits, trades, holds, a reversal, a frozen account, and roles. It
// waits until the backdated deposits are projected.
func loadDemoWeek(ctx context.Context, api *client.Client) error {
	if err := sendAll(ctx, api, []client.Command{
		{Kind: client.KindAsset, ID: "TSLA", Body: []byte(`{"name":"Tesla, Inc.","scale":0,"currency":"USD"}`)},
		{Kind: client.KindAccount, ID: "ann", Body: []byte(`{"name":"Ann Poe"}`)},
		{Kind: client.KindAccount, ID: "ben", Body: []byte(`{"name":"Ben Roe"}`)},
		{Kind: client.KindAccount, ID: "cara", Body: []byte(`{"name":"Cara Moe"}`)},
		{Kind: client.KindAccount, ID: "shop", Body: []byte(`{"name":"Coffee shop"}`)},
		{Kind: client.KindAccount, ID: "fees", Body: []byte(`{"name":"Fees of the platform"}`)},
	}); err != nil {
		return err
	}
	first, err := api.Account(ctx, "ann")
	if err != nil {
		return err
	}
	opened, err := time.Parse(time.RFC3339Nano, first.Value.CreatedAt)
	if err != nil {
		return err
	}
	w := demoWeek{api: api, day: opened.UTC().Truncate(24 * time.Hour)}
	for _, part := range []func(context.Context) error{w.deposit, w.trade, w.pay, w.freeze, w.grant} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("the demo: %w", err)
		}
	}
	return nil
}

// at returns an hour of the day that is the given number of days before the last day.
func (w demoWeek) at(days, hour int) time.Time {
	return w.day.AddDate(0, 0, -days).Add(time.Duration(hour) * time.Hour)
}

// deposit credits the customers' accounts, and waits until the credits are projected.
func (w demoWeek) deposit(ctx context.Context) error {
	for i, customer := range []string{"ann", "ben", "cara"} {
		if err := w.post(ctx, client.Transfer{
			ID: "week-deposit-" + customer, From: "bank", To: customer, Asset: "USD", Quantity: minor(2_500_000),
			Description: "Monthly deposit", EffectiveAt: w.at(7, 8+i),
		}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	for _, customer := range []string{"ann", "ben", "cara"} {
		for {
			b, err := w.api.Balance(ctx, customer, "USD", true)
			if err != nil {
				return err
			}
			if b.Value.Credits.Cmp(minor(2_500_000)) >= 0 {
				break
			}
			select {
			case <-ctx.Done():
				return errors.New("the deposits are not projected")
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// trade buys shares on each day, at changing prices.
func (w demoWeek) trade(ctx context.Context) error {
	prices := []int64{15_000, 15_120, 14_890, 15_240, 15_310, 15_180}
	for i, price := range prices {
		for j, buyer := range []string{"ann", "ben"} {
			asset := []string{"AAPL", "TSLA"}[(i+j)%2]
			shares := int64(2 + (i*3+j*5)%7)
			if err := w.post(ctx, client.Trade{
				ID: fmt.Sprintf("week-trade-%d-%s", i+1, buyer), Asset: asset, Buyer: buyer, Seller: "market",
				Quantity: minor(shares), Cost: minor(shares * price), Settle: true,
				Metadata:    map[string]string{"order": fmt.Sprint(1001 + 2*i + j)},
				EffectiveAt: w.at(6-i, 10+j),
			}); err != nil {
				return err
			}
		}
		if err := w.post(ctx, client.Transfer{
			ID: fmt.Sprintf("week-fee-%d", i+1), From: "ann", To: "fees", Asset: "USD", Quantity: minor(100),
			Description: "Fee of an order", EffectiveAt: w.at(6-i, 12),
		}); err != nil {
			return err
		}
	}
	return nil
}

// pay posts card payments as holds: one stays open, one is captured in part and refunded in part, one is released.
func (w demoWeek) pay(ctx context.Context) error {
	expires := w.day.AddDate(0, 0, 31)
	for _, p := range []struct {
		id, from string
		amount   int64
	}{
		{"card-1", "ann", 5_000}, {"card-2", "ben", 1_250}, {"card-3", "ben", 990},
	} {
		if err := w.post(ctx, client.Transfer{
			ID: p.id, From: p.from, To: "shop", Asset: "USD", Quantity: minor(p.amount), Description: "Card payment",
			Hold: &client.Hold{ExpiresAt: expires},
		}); err != nil {
			return err
		}
	}
	captured, refunded := minor(1_100), minor(300)
	for _, p := range []client.Request{
		client.Capture{Transaction: "card-2", Part: client.Part{Quantity: &captured}},
		client.Release{Transaction: "card-3", Description: "The customer walked away"},
		client.Reversal{Transaction: "card-2", ID: "refund-1", Description: "Cold coffee",
			Part: client.Part{Quantity: &refunded}},
	} {
		if err := w.post(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (w demoWeek) freeze(ctx context.Context) error {
	_, err := w.api.PatchAccount(ctx, "cara", client.AccountPatch{State: client.StateFrozen})
	return err
}

// grant puts the customers into a group, and grants users roles in the group and on single accounts.
func (w demoWeek) grant(ctx context.Context) error {
	const branch = "springfield"
	if _, _, err := w.api.RegisterGroup(ctx, client.Group{
		ID: branch, Name: "Springfield", Description: "Customers of the branch",
	}); err != nil {
		return err
	}
	for _, customer := range []string{"ann", "ben", "cara"} {
		if _, _, err := w.api.PutInGroup(ctx, branch, customer); err != nil {
			return err
		}
	}
	for _, m := range []client.Member{
		{Group: branch, User: demoAdvisor, Role: client.RoleOperator},
		{Account: "ann", User: "u-ann", Role: client.RoleOwner},
		{Account: "ann", User: "u-accountant", Role: client.RoleViewer},
		{Account: "shop", User: "u-accountant", Role: client.RoleViewer},
	} {
		if _, _, err := w.api.Grant(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (w demoWeek) post(ctx context.Context, p client.Request) error {
	_, _, err := w.api.Post(ctx, p)
	return err
}

func minor(n int64) events.Amount { return events.NewAmount(n) }
