package main

import (
	"context"
	"fmt"
	"time"

	"ledger.example/cmd/ledger/client"
)

const (
	// demoTrade is the trade of the demo: posted again, it is replayed.
	demoTrade = `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`
	// demoProjection is how long the demo waits until its trade is projected; demoPoll how often it looks.
	demoProjection = 10 * time.Second
	demoPoll       = 50 * time.Millisecond
)

// demo is a small trading register, the one of the README: sent again, all of it is replayed.
func demo() []client.Command {
	return []client.Command{
		{Kind: client.KindAsset, ID: "USD", Body: []byte(`{"name":"US dollar","scale":2}`)},
		{Kind: client.KindAsset, ID: "AAPL", Body: []byte(`{"name":"Apple Inc.","description":"Common stock","scale":0,"currency":"USD"}`)},
		{Kind: client.KindAccount, ID: "jane", Body: []byte(`{"name":"Jane Doe","profile":{"email":"jane@example.com","addresses":[
			{"street":"1 Main St","city":"Springfield","country":"US"},
			{"street":"2 Lake Rd","city":"Shelbyville","country":"US"}]}}`)},
		{Kind: client.KindAccount, ID: "market", Body: []byte(`{"name":"Market","overdraft":"unlimited"}`)},
		{Kind: client.KindAccount, ID: "bank", Body: []byte(`{"name":"Bank","overdraft":"unlimited"}`)},
		{Kind: client.KindTransfer, ID: "deposit-1", Body: []byte(`{"id":"deposit-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)},
		{Kind: client.KindTrade, ID: "t-1", Body: []byte(demoTrade)},
	}
}

// loadDemo sends the demo through the API. With projected it returns when jane's balance shows the trade, so that whoever
// looks first doesn't find an empty page; it doesn't insist.
func loadDemo(ctx context.Context, api *client.Client, projected bool) error {
	for _, cmd := range demo() {
		if _, err := api.Send(ctx, cmd); err != nil {
			return fmt.Errorf("%s %s: %w", cmd.Kind, cmd.ID, err)
		}
	}
	if !projected {
		return nil
	}
	deadline := time.After(demoProjection)
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	for {
		r, err := api.Page(ctx, "jane", 0)
		if err != nil {
			return err
		}
		if r.Value.Summary.Holdings >= 2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return nil
		case <-tick.C:
		}
	}
}
