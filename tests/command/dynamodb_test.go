package command

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/cmd/ledger/local"
	"ledger.example/tests/caller"
	"ledger.example/tests/process"
)

// freePort is a port that nobody listens on, so that what is restarted can be found where it was.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestDynamoDBIsTheStoreAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		d := process.Start(t, "dynamodb", "--port", "0", "--table", "books")
		out, err := local.DynamoDB(d.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if err != nil || !slices.Equal(out.TableNames, []string{"books"}) {
			t.Fatalf("%s: tables %v: %v", d.URL, out, err)
		}
		said := d.Said()
		for _, next := range []string{"ledger pump --dynamodb-endpoint " + d.URL + " --table books\n", "sam local start-api\n", "functions/local.json"} {
			if !strings.Contains(said, next) {
				t.Errorf("it doesn't tell of %q: %s", next, said)
			}
		}
		if status := d.Stop(t, signal); status != 0 {
			t.Errorf("%v: exit status %d: %s", signal, status, d.Said())
		}
		if _, err := http.Get(d.URL); err == nil {
			t.Errorf("%v: DynamoDB Local still runs", signal)
		}
	}
}

func TestDynamoDBNamesWhatIsTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := process.Start(t, "dynamodb", "--port", "0", "--data", dir)
	port := d.URL[strings.LastIndex(d.URL, ":")+1:]
	for _, c := range []struct {
		what      string
		arguments []string
		says      []string
	}{
		{"the port", []string{"dynamodb", "--port", port}, []string{port, "--port"}},
		{"the data", []string{"dynamodb", "--port", "0", "--data", dir}, []string{"in use", dir}},
	} {
		out, problems, status := process.Run(t, "", c.arguments...)
		if status != 1 || out != "" {
			t.Errorf("%s: status %d, output %q", c.what, status, out)
		}
		for _, says := range c.says {
			if !strings.Contains(problems, says) {
				t.Errorf("%s: %q is missing in %s", c.what, says, problems)
			}
		}
	}
}

// The store is killed and started again under everything that uses it: the books are there, and the pump and the API that
// ran on find it again.
func TestDynamoDBIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	store := []string{"dynamodb", "--port", freePort(t), "--data", t.TempDir()}
	d := process.Start(t, store...)
	pump := process.Start(t, "pump", "--dynamodb-endpoint", d.URL)
	up := process.Start(t, "up", "--port", "0", "--no-pump", "--demo", "--dynamodb-endpoint", d.URL)
	s := caller.New(t, up.URL)
	balance := func() any { return s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("quantity") }
	caller.Eventually(t, time.Minute, "the demo is projected", func() bool { return balance() == "350000" })

	d.Kill(t)
	caller.Eventually(t, time.Minute, "the pump tells of the outage", func() bool { return strings.Contains(pump.Said(), "cannot be read") })
	d = process.Start(t, store...)
	s.Must(200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong", "")
	s.Must(201, "POST", "/v1/transfers", `{"id":"after","from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
	caller.Eventually(t, time.Minute, "the pump goes on", func() bool { return balance() == "350007" })
	if said := pump.Said(); !strings.Contains(said, "can be read again") {
		t.Errorf("the pump doesn't tell that the outage is over: %s", said)
	}
	for _, l := range []*process.Process{pump, up, d} {
		if status := l.Stop(t, syscall.SIGTERM); status != 0 {
			t.Errorf("exit status %d: %s", status, l.Said())
		}
	}
}

// In memory, a store that comes back is a new one, and its table has another stream.
func TestPumpFollowsATableThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	store := []string{"dynamodb", "--port", freePort(t)}
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
		caller.Eventually(t, time.Minute, fmt.Sprintf("table %d is projected", i), func() bool {
			return s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("quantity") == "350000"
		})
		if i == 1 { // what is under way when the table goes is not set aside, piece by piece
			s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"7"}`)
		}
		up.Kill(t)
	}

	name := "ledger"
	if _, err := local.DynamoDB(d.URL).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
	if status := pump.Wait(t); status != 1 {
		t.Errorf("the table is gone for good, and the pump's exit status is %d", status)
	}
	if said := pump.Said(); !strings.Contains(said, "there is no such table: ledger") || strings.Contains(said, "set aside") {
		t.Errorf("the pump says %s", said)
	}
}
