package acceptance

import (
	"flag"
	"os"
	"testing"

	"ledger.example/tests/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// anyURL is where a ledger runs that somebody else has started, and something that projects beside it.
var anyURL = flag.String("url", "", "run the suite against the ledger at this URL, instead of one that is started for it")

// TestAcceptance runs the suite against the ledger at -url, else against `ledger up --memory`; TestFunctions is on DynamoDB
// Local.
func TestAcceptance(t *testing.T) {
	url := *anyURL
	if url == "" {
		url = process.Start(t, "up", "--memory", "--port", "0").URL
	}
	suite(t, url)
}
