// Sweeper is the Lambda function that a schedule invokes every minute, to end the holds whose time is over.
package main

import "ledger.example/internal/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.Sweep) })
}
