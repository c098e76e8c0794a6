// Package acceptance tests a ledger through its API. The tests need only its URL. They run against `ledger up` and
// against the three functions behind a gateway, as in AWS. With -args -url=URL they run against any other ledger, for
// example `sam local start-api` with a pump.
//
// In ids, ~ stands for a prefix that is unique to the test and the run. The suite may therefore run repeatedly on one
// table that has other data. The tests wait for what is projected or in an index.
//
// sam local delays each answer by up to a second, because it first reads the function's log. The scenarios are
// independent, and eight run at once: so the suite takes a third of the time that it takes with -parallel=2.
package acceptance

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/tests/caller"
	"ledger.example/tests/full"
	"ledger.example/tests/openapi"
	"ledger.example/tests/process"
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

// scenarios are independent of one another. The longest come first.
func scenarios() []scenario {
	return []scenario{
		{"Journal", followed},
		{"IDs", badIDsAnywhere},
		{"AccountPage", accountPage},
		{"BadHolds", badHolds},
		{"Holds", lifeOfHolds},
		{"Changes", accountsChange},
		{"EffectiveDates", effectiveDates},
		{"Batches", batchesOfRequests},
		{"DryRuns", dryRuns},
		{"Queries", badQueries},
		{"Amounts", badAmounts},
		{"Errors", errorsInTheirOrder},
		{"History", history},
		{"Past", past},
		{"Finding", finding},
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
		{"Callers", callersAndRoles},
		{"Groups", groupsBothWays},
		{"WhoAndWhen", whoAndWhen},
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

// ofTheStore are the scenarios that depend on the store: on its conditions, its transactions, its indexes and its
// stream.
var ofTheStore = []string{"History", "Past", "Books", "Draws", "SameID", "StrongReads", "Grants", "Register", "Holds",
	"Finding", "Groups"}

// suite runs scenarios against the ledger at url, all unless some are named. It reports whether it ran all: -run may
// have chosen some, too.
func suite(t *testing.T, url string, names ...string) (all bool) {
	began := time.Now()
	seen := newCoverage()
	document := openapi.Read(t, caller.New(t, url).Must(200, "GET", "/openapi.json", "").Body)
	t.Run("Scenarios", func(t *testing.T) {
		for _, one := range scenarios() {
			if len(names) > 0 && !slices.Contains(names, one.name) {
				continue
			}
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				s := caller.New(t, url)
				s.Prefix = strings.ToLower(rand.Text()[:prefixChars-1]) + "."
				s.Answered = func(method, path string, r caller.Reply) {
					seen.answer(one.name, method, path, r)
					sent := strings.ReplaceAll(string(r.Body), "~", s.Prefix)
					document.CheckAnswer(t, method, path, r.Status, r.Header.Get("Content-Type"), []byte(sent))
				}
				began := time.Now()
				one.run(t, s)
				t.Logf("%d requests in %v", seen.of(one.name), time.Since(began).Round(time.Millisecond))
			})
		}
	})
	t.Logf("%d requests in %v", seen.all(), time.Since(began).Round(100*time.Millisecond))
	if all = seen.scenarios() == len(scenarios()); all {
		seen.check(t, document)
	}
	return all
}

// refusal is a request with a body, if that is not empty, that is answered with a status and a code, and names fields.
func refusal(name, request, body string, status int, code string, fields ...string) caller.Refusal {
	method, path, _ := strings.Cut(request, " ")
	return caller.Refusal{
		Name: name, Method: method, Path: path, Body: body, Status: status, Code: code, Fields: fields,
	}
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

// sideBySide is how many scenarios run at once, unless -parallel says how many: most of their time they wait.
const sideBySide = "8"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", sideBySide)
	os.Exit(process.Main(m))
}

// anyURL is where a ledger runs that somebody else has started, and something that projects beside it.
var anyURL = flag.String("url", "",
	"run the suite against the ledger at this URL, instead of one that is started for it")

// TestAcceptance runs the suite against the ledger at -url, else against `ledger up` on DynamoDB Local: of that, the
// short run takes the scenarios that depend on the store.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	switch {
	case *anyURL != "":
		suite(t, *anyURL)
	case full.Enabled():
		suite(t, process.Start(t, "up", "--port", "0").URL)
	default:
		suite(t, process.Start(t, "up", "--port", "0").URL, ofTheStore...)
	}
}

// TestAcceptanceInMemory runs the suite against `ledger up --memory`.
func TestAcceptanceInMemory(t *testing.T) {
	t.Parallel()
	full.Only(t, "runs the same suite against ledger up --memory")
	suite(t, process.Start(t, "up", "--memory", "--port", "0").URL)
}

// coverage is what the suite has asked for and been answered. It is safe for concurrent use.
type coverage struct {
	mu       sync.Mutex
	requests map[string]int     // by scenario
	asked    map[[2]string]bool // method and path of what was done
	codes    map[string]bool
}

func newCoverage() *coverage {
	return &coverage{requests: make(map[string]int), asked: make(map[[2]string]bool), codes: make(map[string]bool)}
}

// of is how many requests a scenario has made so far, and all how many they have made together.
func (c *coverage) of(scenario string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[scenario]
}

func (c *coverage) all() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.requests {
		n += one
	}
	return n
}

// scenarios is how many of them have made requests.
func (c *coverage) scenarios() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests)
}

// answer notes one answer. A path counts as asked for once something was done there.
func (c *coverage) answer(scenario, method, path string, r caller.Reply) {
	code := r.Code()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[scenario]++
	if r.Status < http.StatusMultipleChoices {
		c.asked[[2]string{method, path}] = true
	}
	c.codes[code] = true
}

// beyondCallers are the codes that no request can bring about by itself: they are about the store, a fault, or a
// gateway without an authorizer. One takes a thousand accounts.
var beyondCallers = []string{"throttled", "contention", "unavailable", "outcome_unknown", "internal", "unauthenticated",
	"group_too_large"}

// check fails t unless every operation of the API's own description was done, and every code that a caller can bring
// about was answered.
func (c *coverage) check(t *testing.T, d *openapi.Document) {
	t.Helper()
	var codes struct{ Enum []string }
	if err := json.Unmarshal(d.Components.Schemas["Code"], &codes); err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) == 0 || len(codes.Enum) == 0 {
		t.Fatal("the API doesn't describe its paths and codes")
	}
	for pattern, operations := range d.Paths {
		for method := range operations {
			method = strings.ToUpper(method)
			done := slices.ContainsFunc(slices.Collect(maps.Keys(c.asked)), func(asked [2]string) bool {
				return asked[0] == method && openapi.Fits(pattern, asked[1])
			})
			if !done {
				t.Errorf("nothing was done by %s %s", method, pattern)
			}
		}
	}
	for _, code := range codes.Enum {
		if !c.codes[code] && !slices.Contains(beyondCallers, code) {
			t.Errorf("nothing was answered with %v", code)
		}
	}
}
