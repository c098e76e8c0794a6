// Lister is the Lambda function that lists the transactions that the table's stream names, and writes the journal.
package main

import "ledger.example/internal/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.List()) })
}
