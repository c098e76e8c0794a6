// Command ledger calls a ledger's API, runs a ledger on this machine, and audits and repairs a ledger's table.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// main gives the command the process's arguments, environment and streams, and a context that a signal ends.
func main() {
	// The first signal ends the command in good order; then the signals do again what they do by default, so that a
	// second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
