// Projector is the Lambda function that folds what the table's stream points at.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"ledger.example/functions/service"
)

func main() {
	log := lambdacontext.NewLogger()
	s, err := service.Open(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	service.Start(s.Stream())
}
