// Package acceptance tests a ledger through its API. Only it finds that the deployed functions, or any other ledger at
// a URL, break the contract of the API. The tests need only its URL. They run against `ledger up`, and
// against the Lambda functions behind an emulated gateway. With -args -url=URL they run against any other ledger, for
// example against `sam local start-api` with a process that feeds the table's stream to the projections. With -sign
// they sign their requests, for a ledger in AWS.
//
// In ids, ~ is replaced by a prefix that is unique to the test and the run, so the suite can run repeatedly on a table
// with other data. The tests wait for projections and indexes.
//
// sam local delays each answer by up to a second, because it first reads the function's log. The scenarios are
// independent, and eight run in parallel, which takes a third of the time of -parallel=2.
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

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/openapi"
	"ledger.example/tests/harness/process"
)

const (
	// timeToProject is the timeout for projections. In AWS they take about a second.
	timeToProject = time.Minute
	// prefixChars is the length of a test's prefix. It leaves most of an id's 64 characters to the test.
	prefixChars = 7
)

// scenario is one test of the suite.
type scenario struct {
	name string
	run  func(t *testing.T, s *caller.Caller)
}

// scenarios returns the independent tests of the suite, the longest first.
func scenarios() []scenario {
	return []scenario{
		{"Journal", journalFollowed},
		{"IDs", badIDsAnywhere},
		{"AccountPage", accountPage},
		{"BadHolds", badHolds},
		{"Holds", lifeOfHolds},
		{"Changes", accountsChange},
		{"Splits", splits},
		{"Fits", fits},
		{"SplitFits", splitFits},
		{"Conditions", conditions},
		{"EffectiveDates", effectiveDates},
		{"Batches", batchesOfRequests},
		{"BatchesOfEnds", batchesOfEnds},
		{"DryRuns", dryRuns},
		{"Rates", rates},
		{"Queries", badQueries},
		{"Amounts", badAmounts},
		{"Errors", errorsInTheirOrder},
		{"History", history},
		{"Past", past},
		{"Finding", finding},
		{"Lists", listsByPrefix},
		{"ListsByMetadata", listsByMetadata},
		{"Fields", badFields},
		{"Cursors", badCursors},
		{"Books", importedBooks},
		{"ETags", etags},
		{"Malformed", malformedBodies},
		{"RequestIDs", requestIDs},
		{"Head", head},
		{"Definitions", repeatedDefinitions},
		{"ReusedIDs", reusedIDs},
		{"Replays", replaysByMeaning},
		{"Callers", callersAndRoles},
		{"Groups", groupsBothWays},
		{"Granted", grantedToOwners},
		{"ActorsAndTimes", actorsAndTimes},
		{"Holders", holders},
		{"Transactions", badTransactions},
		{"Draws", drawsAtOnce},
		{"SameID", sameIDAtOnce},
		{"StrongReads", strongReads},
		{"Unicode", unicodeTexts},
		{"Sizes", bodySizes},
	}
}

// ofTheStore names a scenario for each thing in which stores may differ: transactions, indexes, and the stream. Package
// conformance compares the stores themselves.
var ofTheStore = []string{"Draws", "Finding", "Groups"}

// suite runs the named scenarios, or all if none are named, against the ledger at url. It reports whether all scenarios
// ran: -run may select some.
func suite(t *testing.T, url string, names ...string) (all bool) {
	seen := &coverage{scenarios: map[string]bool{}, done: map[[2]string]bool{}, codes: map[string]bool{}}
	document := openapi.Read(t, newCaller(t, url).Must(200, "GET", "/openapi.json", "").Body)
	t.Run("Scenarios", func(t *testing.T) {
		for _, one := range scenarios() {
			if len(names) > 0 && !slices.Contains(names, one.name) {
				continue
			}
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				s := newCaller(t, url)
				s.Prefix = strings.ToLower(rand.Text()[:prefixChars-1]) + "."
				s.Answered = func(method, path string, r caller.Reply) {
					seen.answer(one.name, method, path, r)
					sent := strings.ReplaceAll(string(r.Body), "~", s.Prefix)
					document.CheckAnswer(t, method, path, r.Status, r.Header.Get("Content-Type"), []byte(sent))
				}
				one.run(t, s)
			})
		}
	})
	if all = len(seen.scenarios) == len(scenarios()); all {
		seen.check(t, document)
	}
	return all
}

// refusal returns a Refusal of a request such as "GET /v1/assets".
func refusal(name, request, body string, status int, code string, fields ...string) caller.Refusal {
	method, path, _ := strings.Cut(request, " ")
	return caller.Refusal{
		Name: name, Method: method, Path: path, Body: body, Status: status, Code: code, Fields: fields,
	}
}

// refuse sends each request and checks the answer.
func refuse(t *testing.T, s *caller.Caller, all []caller.Refusal) {
	t.Helper()
	for _, r := range all {
		if !canBeSent(t, r) {
			continue
		}
		t.Run(r.String(), func(t *testing.T) { s.Refuse(t, r) })
	}
}

// projected waits until the projected balances of accounts equal the strong reads.
func projected(s *caller.Caller, accounts ...string) {
	s.T.Helper()
	for _, account := range accounts {
		path := "/v1/accounts/" + account + "/balances"
		var wanted strings.Builder
		for _, balance := range s.All(path+"?consistency=strong", 100) {
			writeBalance(&wanted, balance)
		}
		caller.Eventually(s.T, timeToProject, account+" is projected", func() bool {
			var shown strings.Builder
			for _, balance := range s.All(path, 100) {
				writeBalance(&shown, balance)
			}
			return shown.String() == wanted.String()
		})
	}
}

// parallel is the default of -parallel. It exceeds the number of processors, because scenarios mostly wait.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", parallel)
	os.Exit(process.Main(m))
}

// anyURL is the URL of a running ledger with a running projector.
var anyURL = flag.String("url", "",
	"run the suite against the ledger at this URL, instead of one that is started for it")

// TestAcceptance runs the suite against the ledger at -url. By default it runs the scenarios that depend on the store
// against `ledger up` on DynamoDB Local, because .ci/sam runs all on it, in containers.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	if *anyURL != "" {
		suite(t, *anyURL)
	} else {
		suite(t, process.Start(t, "up", "--port", "0").URL, ofTheStore...)
	}
}

// TestAcceptanceInMemory runs the suite against `ledger up --memory`.
func TestAcceptanceInMemory(t *testing.T) {
	t.Parallel()
	full.Only(t, "runs the same suite against ledger up --memory")
	suite(t, process.Start(t, "up", "--memory", "--port", "0").URL)
}

// coverage records the requests and answers of the suite. It is safe for concurrent use.
type coverage struct {
	mu        sync.Mutex
	scenarios map[string]bool    // that made requests
	done      map[[2]string]bool // method and path of successful requests
	codes     map[string]bool
}

// answer records an answer. A path counts as covered after one success.
func (c *coverage) answer(scenario, method, path string, r caller.Reply) {
	code := r.Code()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scenarios[scenario] = true
	if r.Status < http.StatusMultipleChoices {
		c.done[[2]string{method, path}] = true
	}
	c.codes[code] = true
}

// beyondCallers returns the codes that the suite does not cause. They need a failing store, a bug, a gateway without an
// authorizer, or the time of the full run.
func beyondCallers() []string {
	codes := []string{"throttled", "contention", "unavailable", "outcome_unknown", "internal", "unauthenticated"}
	if !full.Enabled() {
		codes = append(codes, "hold_expired")
	}
	return codes
}

// check fails t unless every operation in the API's openapi.json succeeded once, and every code that callers can cause
// was answered.
func (c *coverage) check(t *testing.T, d *openapi.Document) {
	t.Helper()
	var codes struct{ Enum []string }
	if err := json.Unmarshal(d.Components.Schemas["Code"], &codes); err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) == 0 || len(codes.Enum) == 0 {
		t.Fatal("openapi.json has no paths or no codes")
	}
	for pattern, operations := range d.Paths {
		for method := range operations {
			method = strings.ToUpper(method)
			done := slices.ContainsFunc(slices.Collect(maps.Keys(c.done)), func(r [2]string) bool {
				return r[0] == method && openapi.Fits(pattern, r[1])
			})
			if !done {
				t.Errorf("no successful request %s %s", method, pattern)
			}
		}
	}
	for _, code := range codes.Enum {
		if !c.codes[code] && !slices.Contains(beyondCallers(), code) {
			t.Errorf("no answer with the code %v", code)
		}
	}
}
