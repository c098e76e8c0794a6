// Projector is the Lambda function that refolds the balances and memberships that the table's stream names.
package main

import "ledger.example/internal/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.Stream()) })
}
