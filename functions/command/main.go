// Command is the Lambda function for requests that write.
package main

import (
	"ledger.example/functions/api"
	"ledger.example/functions/app"
)

func main() {
	app.Main(func(s *app.Service) { app.Start(api.Gateway(s.Commands())) })
}
