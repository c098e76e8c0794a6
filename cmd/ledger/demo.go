package main

import (
	"context"
	_ "embed" // for the demo's lines
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"ledger.example/client"
	"ledger.example/internal/importer"
)

// demoAdvisor is a user of the demo who reaches accounts through a group.
const demoAdvisor = "u-advisor"

// The demo as lines of an import, which can be sent again. demoLines are the requests of the README. demoWeek is a week
// of a small trading platform: deposits, trades, holds, a reversal, a frozen account, and roles. In it, {{at D H}} is
// hour H of the day that is D days before the last one.
var (
	//go:embed demo.jsonl
	demoLines string
	//go:embed demo_week.jsonl.tmpl
	demoWeek string
)

// loadDemo sends the demo through the API, with its week if week is set. The week needs a running projector: its
// deposits are backdated, so they can be spent only after they are projected. The last transactions may not be
// projected yet when loadDemo returns.
func loadDemo(ctx context.Context, api *client.Client, week bool) error {
	if err := sendDemo(ctx, api, strings.NewReader(demoLines)); err != nil || !week {
		return err
	}
	// The week ends on the day on which its first account was opened, so that a second run sends the same requests.
	first, _, err := api.OpenAccount(ctx, client.Account{ID: "ann", Name: "Ann Poe"})
	if err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	opened, err := time.Parse(time.RFC3339Nano, first.CreatedAt)
	if err != nil {
		return err
	}
	at := func(days, hour int) string {
		day := opened.UTC().Truncate(24*time.Hour).AddDate(0, 0, -days)
		return day.Add(time.Duration(hour) * time.Hour).Format(time.RFC3339)
	}
	lines, err := template.New("week").Funcs(template.FuncMap{"at": at}).Parse(demoWeek)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := lines.Execute(&text, nil); err != nil {
		return err
	}
	return sendDemo(ctx, api, strings.NewReader(text.String()))
}

// sendDemo imports lines, one after the other. The first that fails is the error.
func sendDemo(ctx context.Context, api *client.Client, lines io.Reader) error {
	var failed error
	err := importer.New(importer.Config{Ledger: api, Clients: 1, Failures: 1, OnFailure: func(f importer.Failure) {
		failed = fmt.Errorf("the demo: %s %s: %w", f.Kind, f.ID, f.Err)
	}}).Run(ctx, lines)
	if failed != nil {
		return failed
	}
	return err
}
