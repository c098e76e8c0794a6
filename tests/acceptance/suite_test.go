// Package acceptance is what a ledger must do, whoever runs it: everything here knows nothing of it but a URL. It is run
// against `ledger up --memory`, against the three functions behind a gateway as in AWS, and, with -args -url=URL, against any
// other: `sam local start-api` with a pump beside it, for example.
//
// Ids are written with a ~, which stands for a prefix that no other test and no other run has: the suite may be run again
// on one table, and beside other data. What is projected, or in an index, is waited for.
//
// sam local holds back an answer for up to a second, until it has read the function's log in one piece. The scenarios don't
// wait for one another: with -parallel=8 the suite takes it a third of the time that it takes with two at once.
package acceptance

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

const (
	// timeToProject is how long a projection may take: in AWS it is there in about a second.
	timeToProject = time.Minute
	// prefixChars is the length of a test's prefix, of which ids of 64 characters leave most for the test.
	prefixChars = 7
)

// scenario is one part of what a ledger must do.
type scenario struct {
	name string
	run  func(t *testing.T, s *caller.Caller)
}

// scenarios are independent of one another. The longest come first, as two run at once.
func scenarios() []scenario {
	return []scenario{
		{"IDs", badIDsAnywhere},
		{"AccountPage", accountPage},
		{"Queries", badQueries},
		{"Amounts", badAmounts},
		{"Errors", errorsInTheirOrder},
		{"History", history},
		{"Lists", listsByPrefix},
		{"Fields", badFields},
		{"Cursors", badCursors},
		{"Books", importedBooks},
		{"ETags", etags},
		{"Malformed", malformedBodies},
		{"RequestIDs", requestIDs},
		{"Head", head},
		{"Definitions", definitionsAgain},
		{"OtherBodies", otherBodies},
		{"Replays", replaysByMeaning},
		{"Members", membersBothWays},
		{"Shapes", shapesOfAnswers},
		{"Holders", holders},
		{"Transactions", badTransactions},
		{"Draws", drawsAtOnce},
		{"SameID", sameIDAtOnce},
		{"StrongReads", strongReads},
		{"TwoIDs", twoIDs},
		{"Grants", grantsAgain},
		{"Unicode", unicodeTexts},
		{"Register", tradingRegister},
		{"Sizes", bodySizes},
	}
}

// suite runs everything against the ledger at url, and tells whether it has: -run may have chosen some of it.
func suite(t *testing.T, url string) (whole bool) {
	began := time.Now()
	seen := newCoverage()
	t.Run("Scenarios", func(t *testing.T) {
		for _, one := range scenarios() {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				s := caller.New(t, url)
				s.Prefix = strings.ToLower(rand.Text()[:prefixChars-1]) + "."
				s.Answered = func(method, path string, r caller.Reply) { seen.answer(one.name, method, path, r) }
				began := time.Now()
				one.run(t, s)
				t.Logf("%d requests in %v", seen.of(one.name), time.Since(began).Round(time.Millisecond))
			})
		}
	})
	t.Logf("%d requests in %v", seen.all(), time.Since(began).Round(100*time.Millisecond))
	if whole = seen.scenarios() == len(scenarios()); whole {
		seen.check(t, caller.New(t, url))
	}
	return whole
}

// refuse sends each request and holds the answer to what the API promises of an error.
func refuse(t *testing.T, s *caller.Caller, all []caller.Refusal) {
	t.Helper()
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) { s.Refuse(t, r) })
	}
}

// projected waits until the projections of accounts say what strong reads do.
func projected(s *caller.Caller, accounts ...string) {
	s.T.Helper()
	for _, account := range accounts {
		path := "/v1/accounts/" + account + "/balances"
		var wanted strings.Builder
		for _, balance := range s.All(path+"?consistency=strong", 100) {
			write(&wanted, balance)
		}
		caller.Eventually(s.T, timeToProject, account+" is projected", func() bool {
			var shown strings.Builder
			for _, balance := range s.All(path, 100) {
				write(&shown, balance)
			}
			return shown.String() == wanted.String()
		})
	}
}
