package main

import (
	"context"
	"fmt"

	"ledger.example/client"
)

// demo returns the commands of the README. They are idempotent.
func demo() []client.Command {
	return []client.Command{
		{Kind: client.KindAsset, ID: "USD", Body: []byte(`{"name":"US dollar","scale":2}`)},
		{Kind: client.KindAsset, ID: "AAPL", Body: []byte(`{"name":"Apple Inc.","scale":0,"currency":"USD"}`)},
		{Kind: client.KindAccount, ID: "jane", Body: []byte(`{"name":"Jane Doe"}`)},
		{Kind: client.KindAccount, ID: "market", Body: []byte(`{"name":"Market","overdraft":"unlimited"}`)},
		{Kind: client.KindAccount, ID: "bank", Body: []byte(`{"name":"Bank","overdraft":"unlimited"}`)},
		{Kind: client.KindTransfer, ID: "deposit-1",
			Body: []byte(`{"id":"deposit-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)},
		{Kind: client.KindTrade, ID: "t-1", Body: []byte(`{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market",
			"quantity":"10","cost":"150000","settle":true}`)},
	}
}

// loadDemo sends the demo through the API, with its week if week is set. The week needs a running projector. The last
// transactions may not be projected yet when loadDemo returns.
func loadDemo(ctx context.Context, api *client.Client, week bool) error {
	if err := sendAll(ctx, api, demo()); err != nil || !week {
		return err
	}
	return loadDemoWeek(ctx, api)
}

// sendAll sends commands one after the other, because later ones use the assets and accounts of earlier ones.
func sendAll(ctx context.Context, api *client.Client, commands []client.Command) error {
	for _, cmd := range commands {
		if _, err := api.Send(ctx, cmd); err != nil {
			return fmt.Errorf("the demo: %s %s: %w", cmd.Kind, cmd.ID, err)
		}
	}
	return nil
}
