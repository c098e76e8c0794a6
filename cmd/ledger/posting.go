package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
	"ledger.example/events"
)

// flagDescription is the one flag whose text may be empty.
const flagDescription = "description"

// annotation is what transfer and trade share.
type annotation struct {
	id, description string
	metadata        []string // key=value
	minor           bool
}

func (a *annotation) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.id, "id", "", "id of the transaction; the same id again posts nothing twice (default: a new KSUID)")
	f.StringVar(&a.description, flagDescription, "", "what it is about")
	f.StringArrayVar(&a.metadata, "metadata", nil, "key=value to keep with it; may be repeated")
	f.BoolVar(&a.minor, "minor", false, "amounts in whole minor units")
}

// complete checks the flags, and makes an id where none is given: before anything is sent, so that the request can be sent
// again without posting it twice.
func (a *annotation) complete() (id string, metadata map[string]string, err error) {
	for _, pair := range a.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return "", nil, wrongUse("--metadata: %q is not key=value", pair)
		}
		if _, twice := metadata[key]; twice {
			return "", nil, wrongUse("--metadata: %q is given twice", key)
		}
		if metadata == nil {
			metadata = make(map[string]string)
		}
		metadata[key] = value
	}
	if a.id != "" {
		if err := checkID("--id", a.id); err != nil {
			return "", nil, usageError{err}
		}
		return a.id, metadata, nil
	}
	minted, _, err := events.NewMinter(nil, nil).Mint(1)
	if err != nil {
		return "", nil, err
	}
	return string(minted[0]), metadata, nil
}

// printPosted prints what a post was answered.
func (c *cli) printPosted(ctx context.Context, t client.Transaction, w client.Written, err error, u *units) error {
	var unknown *client.UnknownError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w\nrun the same command again with --id %s", err, unknown.ID)
	}
	if err != nil {
		return u.inDecimals(ctx, err)
	}
	if !w.New {
		fmt.Fprintf(c.err, "%s had been posted before, with the same content: nothing was posted now\n", t.ID)
	}
	return c.printTransaction(ctx, t, w.Raw, u)
}
