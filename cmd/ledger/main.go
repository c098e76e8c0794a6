// Command ledger calls a ledger's API, runs a ledger on this machine, and audits and repairs a ledger's table.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // certificate roots, for a container that has none
)

func main() {
	// The first signal cancels ctx and restores the default behavior, so that a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
