package acceptance

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"ledger.example/tests/caller"
)

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

// beyondCallers are the codes that no request can bring about by itself: they tell of the store, of a fault, or of a
// gateway without an authorizer.
var beyondCallers = []string{"throttled", "contention", "unavailable", "outcome_unknown", "internal", "unauthenticated"}

// check fails t unless every operation of the API's own description was done, and every code that a caller can bring about
// was answered.
func (c *coverage) check(t *testing.T, s *caller.Caller) {
	t.Helper()
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct{ Enum []any }
		}
	}
	if err := json.Unmarshal(s.Must(200, "GET", "/openapi.json", "").Body, &document); err != nil {
		t.Fatal(err)
	}
	codes := document.Components.Schemas["Code"].Enum
	if len(document.Paths) == 0 || len(codes) == 0 {
		t.Fatal("the API doesn't describe its paths and codes")
	}
	for pattern, operations := range document.Paths {
		for method := range operations {
			method = strings.ToUpper(method)
			if !slices.Contains([]string{"GET", "PUT", "POST", "DELETE"}, method) {
				continue // what all of a path's operations share
			}
			done := slices.ContainsFunc(slices.Collect(maps.Keys(c.asked)), func(asked [2]string) bool {
				return asked[0] == method && fits(pattern, asked[1])
			})
			if !done {
				t.Errorf("nothing was done by %s %s", method, pattern)
			}
		}
	}
	for _, code := range codes {
		if name, _ := code.(string); !c.codes[name] && !slices.Contains(beyondCallers, name) {
			t.Errorf("nothing was answered with %v", code)
		}
	}
}

// fits tells whether a path is one of a pattern's, in which names in braces stand for ids.
func fits(pattern, path string) bool {
	wanted, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(wanted, given, func(wanted, given string) bool {
		return strings.HasPrefix(wanted, "{") && given != "" || wanted == given
	})
}
