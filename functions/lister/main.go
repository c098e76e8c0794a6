// Lister is the Lambda function that lists the transactions that the table's stream names, and writes the journal.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"ledger.example/internal/app"
)

func main() {
	log := lambdacontext.NewLogger()
	s, err := app.Open(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	app.Start(s.List())
}
