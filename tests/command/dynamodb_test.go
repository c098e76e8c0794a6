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
	"ledger.example/tests/caller"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
)

// dynamodb is the store with its table, says what may be run beside it, and names the port and the data that it cannot
// have.
func TestDynamoDBIsTheStoreAndNothingElse(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	dir := t.TempDir()
	d := process.Start(t, "dynamodb", "--port", "0", "--data", dir, "--table", "books")
	out, err := dynamolocal.DynamoDB(d.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || !slices.Equal(out.TableNames, []string{"books"}) {
		t.Fatalf("%s: tables %v: %v", d.URL, out, err)
	}
	said := d.Stderr()
	for _, next := range []string{"ledger pump --dynamodb-endpoint " + d.URL + " --table books\n",
		"sam local start-api\n", "functions/local.json"} {
		if !strings.Contains(said, next) {
			t.Errorf("it doesn't say %q: %s", next, said)
		}
	}
	port := d.URL[strings.LastIndex(d.URL, ":")+1:]
	for taken, arguments := range map[string][]string{port: {"--port", port}, dir: {"--port", "0", "--data", dir}} {
		out, problems, status := process.Run(t, "", append([]string{"dynamodb"}, arguments...)...)
		if status != 1 || out != "" || !strings.Contains(problems, taken) {
			t.Errorf("%s: status %d, output %q: %s", taken, status, out, problems)
		}
	}
	wantEnd(t, d, syscall.SIGINT)
	if _, err := http.Get(d.URL); err == nil {
		t.Error("DynamoDB Local still runs")
	}
}

// The store is killed and started again under everything that uses it: the books are there, and the pump and the API
// that ran on find it again.
func TestDynamoDBIsKilledAndComesBack(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	store := []string{"dynamodb", "--port", process.FreePort(t), "--data", t.TempDir()}
	d := process.Start(t, store...)
	pump := process.Start(t, "pump", "--dynamodb-endpoint", d.URL)
	up := process.Start(t, "up", "--port", "0", "--no-pump", "--demo", "--dynamodb-endpoint", d.URL)
	s := caller.New(t, up.URL)
	balance := func() any { return s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("quantity") }
	wantDemo(t, s)

	d.Kill(t)
	caller.Eventually(t, time.Minute, "the pump reports the outage",
		func() bool { return strings.Contains(pump.Stderr(), "cannot be read") })
	d = process.Start(t, store...)
	s.Must(200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong", "")
	s.Must(201, "POST", "/v1/transfers", `{"id":"after","from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
	caller.Eventually(t, time.Minute, "the pump goes on", func() bool { return balance() == "350007" })
	if said := pump.Stderr(); !strings.Contains(said, "can be read again") {
		t.Errorf("the pump doesn't report that the outage is over: %s", said)
	}
	for _, l := range []*process.Process{pump, up, d} {
		wantEnd(t, l, syscall.SIGTERM)
	}
}

// In memory, a store that comes back is a new one, and its table has another stream.
func TestPumpFollowsATableThatIsMadeAnew(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	store := []string{"dynamodb", "--port", process.FreePort(t)}
	d := process.Start(t, store...)
	pump := process.Start(t, "pump", "--dynamodb-endpoint", d.URL)
	for i := range 2 {
		if i > 0 {
			d.Kill(t)
			d = process.Start(t, store...)
		}
		// The API is a new one, too: what the functions know of assets and accounts is of the table that is gone.
		up := process.Start(t, "up", "--port", "0", "--no-pump", "--demo", "--dynamodb-endpoint", d.URL)
		s := caller.New(t, up.URL)
		wantDemo(t, s)
		if i == 1 { // what is under way when the table goes is no dead letter, piece by piece
			s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
		}
		up.Kill(t)
	}

	name := "ledger"
	if _, err := dynamolocal.DynamoDB(d.URL).DeleteTable(t.Context(),
		&dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
	if status := pump.Wait(t); status != 1 {
		t.Errorf("the table is gone for good, and the pump's exit status is %d", status)
	}
	if said := pump.Stderr(); !strings.Contains(said, "there is no such table: ledger") ||
		strings.Contains(said, "dead letter") {
		t.Errorf("the pump says %s", said)
	}
}
