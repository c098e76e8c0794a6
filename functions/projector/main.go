// Projector is the Lambda function that updates balances and other projections from the table's stream.
package main

import "ledger.example/functions/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.Stream()) })
}
