// Lister is the Lambda function that writes lists and the journal from the table's stream.
package main

import "ledger.example/functions/app"

func main() {
	app.Main(func(s *app.Service) { app.Start(s.List()) })
}
