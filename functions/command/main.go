// Command is the Lambda function that appends events.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"ledger.example/functions/api"
	"ledger.example/internal/app"
)

func main() {
	log := lambdacontext.NewLogger()
	s, err := app.Open(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	app.Start(api.Gateway(s.Commands()))
}
