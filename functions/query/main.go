// Query is the Lambda function that reads projections and events.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"ledger.example/functions/api"
	"ledger.example/functions/service"
)

func main() {
	log := lambdacontext.NewLogger()
	s, err := service.Open(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	service.Start(api.Gateway(s.Queries()))
}
