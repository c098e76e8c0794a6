// Sweeper is the Lambda function that a schedule invokes every minute, to end the holds whose time is over.
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
	app.Start(s.Sweep)
}
