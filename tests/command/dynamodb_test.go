package command

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

// dynamodb serves the store with its table, and prints what to run next. Its errors name a port or a directory in use.
// After the store is killed and restarted, the data is there, and the running pump and API reconnect. Without --data, a
// restarted store is empty, and its table has a new stream, which the pump follows until the table is deleted.
func TestDynamoDB(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	dir, port := t.TempDir(), process.FreePort(t)
	empty := []string{"dynamodb", "--port", port, "--table", "books"}
	kept := append(slices.Clone(empty), "--data", dir)
	d := process.Start(t, kept...)
	out, err := dynamolocal.DynamoDB(d.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || !slices.Equal(out.TableNames, []string{"books"}) {
		t.Fatalf("%s: tables %v: %v", d.URL, out, err)
	}
	said := d.Stderr()
	for _, next := range []string{"ledger pump --dynamodb-endpoint " + d.URL + " --table books\n",
		"sam local start-api\n", "functions/local.json"} {
		if !strings.Contains(said, next) {
			t.Errorf("%q is missing: %s", next, said)
		}
	}
	for taken, arguments := range map[string][]string{port: {"--port", port}, dir: {"--port", "0", "--data", dir}} {
		out, problems, status := process.Run(t, "", append([]string{"dynamodb"}, arguments...)...)
		if status != 1 || out != "" || !strings.Contains(problems, taken) {
			t.Errorf("%s: status %d, output %q: %s", taken, status, out, problems)
		}
	}

	pump := process.Start(t, "pump", "--dynamodb-endpoint", d.URL, "--table", "books")
	demo := []string{"up", "--port", "0", "--no-pump", "--demo", "--dynamodb-endpoint", d.URL, "--table", "books"}
	up := process.Start(t, demo...)
	s := caller.New(t, up.URL)
	balance := func() any { return s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("quantity") }
	wantDemo(t, s)
	d.Kill(t)
	caller.Eventually(t, time.Minute, "the pump reports the outage",
		func() bool { return strings.Contains(pump.Stderr(), "cannot be read") })
	d = process.Start(t, kept...)
	s.Must(200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong", "")
	s.Must(201, "POST", "/v1/transfers", `{"id":"after","from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
	caller.Eventually(t, time.Minute, "the pump continues", func() bool { return balance() == "350007" })
	if said := pump.Stderr(); !strings.Contains(said, "can be read again") {
		t.Errorf("the pump does not report the end of the outage: %s", said)
	}
	wantEnd(t, up, syscall.SIGTERM)
	wantEnd(t, d, syscall.SIGINT)
	if _, err := http.Get(d.URL); err == nil {
		t.Error("DynamoDB Local still runs")
	}

	d = process.Start(t, empty...)
	up = process.Start(t, demo...) // another one, because an API caches assets and accounts of the old table
	s = caller.New(t, up.URL)
	wantDemo(t, s)
	// Records in flight when the table is deleted must not become dead letters.
	s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
	up.Kill(t)
	name := "books"
	if _, err := dynamolocal.DynamoDB(d.URL).DeleteTable(t.Context(),
		&dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
	if status := pump.Wait(t); status != 1 {
		t.Errorf("the table is deleted, and the exit status of the pump is %d", status)
	}
	if said := pump.Stderr(); !strings.Contains(said, "table does not exist: books") ||
		strings.Contains(said, "dead letter") {
		t.Errorf("the pump says %s", said)
	}
}
