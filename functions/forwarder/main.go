// Forwarder is the optional Lambda function that sends the events of the journal to an EventBridge bus. A schedule
// invokes it every minute.
package main

import (
	"cmp"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"ledger.example/functions/app"
)

func main() {
	app.Main(func(s *app.Service) {
		name := os.Getenv(app.VariableBus)
		b := &bus{
			client: eventbridge.NewFromConfig(app.BusConfig(os.Getenv)),
			name:   name, source: cmp.Or(os.Getenv(app.VariableSource), "ledger/"+os.Getenv(app.VariableTable)),
		}
		app.Start(s.Forward(name, b.deliver))
	}, app.VariableBus)
}
