package acceptance

import (
	"flag"
	"testing"

	"ledger.example/tests/process"
)

// anyURL is where a ledger runs that somebody else has started, and something that projects beside it.
var anyURL = flag.String("url", "", "run the suite against the ledger at this URL, instead of one that is started for it")

// TestAcceptance runs the suite against the ledger at -url, else against `ledger up`.
func TestAcceptance(t *testing.T) {
	url := *anyURL
	if url == "" {
		binary, err := process.Build(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		url = process.Start(t, binary, "up", "--port", "0").URL
	}
	suite(t, url)
}
