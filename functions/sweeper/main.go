// Sweeper is the Lambda function that ends the holds that are due. A schedule invokes it every minute.
package main

import "ledger.example/functions/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.Sweep) })
}
