package cost

import (
	"fmt"
	"strings"
	"testing"

	"ledger.example/tests/harness/system"
)

// Lists of holds take few requests, however many holds there are.
func TestAccessPatternsOfHolds(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	for i := range 12 {
		id := fmt.Sprintf("h-%d", i)
		s.Must(201, "POST", "/v1/trades", strings.Replace(trade(id, "jane", 10, 1500, false), "{", `{"hold":{},`, 1))
		if i%5 == 0 {
			s.Must(200, "POST", "/v1/transactions/"+id+"/capture", "{}")
		}
	}
	s.DeliverAll()
	checkPatterns(t, s, "holds.txt")
}
