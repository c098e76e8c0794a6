package cost

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/setup"
)

// A process that has reversed a transaction before reads only the reversals that were written since, and not all before
// it. Another process reads all once.
func TestReversalsReadOnlyNewerOnes(t *testing.T) {
	const books = "reversals"
	db, read := setup.Memory(memdb.Options{}), 0
	setup.Table(t, db.Client(), books)
	items := table.Observe("items", func(_ context.Context, _, out any, _ error) {
		if page, ok := out.(*dynamodb.QueryOutput); ok && page != nil {
			read += int(page.Count)
		}
	})
	process := func() *caller.Caller {
		return caller.NewDirect(t, setup.Service(t, db.Client(items), books, api.LocalCaller).API())
	}
	first, second := process(), process()
	first.Must(http.StatusCreated, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	for _, account := range []string{"bank", "jane"} {
		first.Must(http.StatusCreated, "PUT", "/v1/accounts/"+account, `{"name":"x","overdraft":"unlimited"}`)
	}
	first.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"t","from":"bank","to":"jane","asset":"USD","quantity":"900"}`)
	reverse := func(c *caller.Caller, id string) int {
		read = 0
		c.Must(http.StatusCreated, "POST", "/v1/transactions/t/reversals", `{"id":"`+id+`","quantity":"1"}`)
		return read
	}
	for i := range 50 {
		if n, most := reverse(first, fmt.Sprint("r-", i)), 2; n > most { // at first header and newest reversal, then this one
			t.Fatalf("reversal %d reads %d items, want at most %d", i, n, most)
		}
	}
	if n := reverse(second, "other"); n != 51 {
		t.Errorf("another process reads %d items", n)
	}
	if n := reverse(first, "last"); n != 2 {
		t.Errorf("after a reversal by another process it reads %d items", n)
	}
	// A user's request reads their role and the header before that, and none of the reversals.
	first.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/ann", `{"role":"operator"}`)
	read = 0
	first.Must(http.StatusCreated, "POST", "/v1/transactions/t/reversals", `{"id":"ann","quantity":"1"}`, "Ledger-User", "ann")
	if read > 3 {
		t.Errorf("a user's reversal reads %d items", read)
	}
}
