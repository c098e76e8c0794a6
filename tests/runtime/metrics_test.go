package runtime

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledger.example/functions/metrics/metricstest"
	"ledger.example/ledger/table"
)

// Deployed functions write whole lines that CloudWatch takes metrics from, in the namespace that they are told, and beside
// them nothing but other lines of JSON.
func TestMetricsOfFunctions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := with(deployed(s.url, newTable(t, nil)), "LEDGER_METRICS", "Ledger/books")
	series := func(name string) metricstest.Series { return metricstest.Series{Namespace: "Ledger/books", Name: name} }

	commands := launch(t, command, environment)
	openBooks(commands)
	commands.must(http.StatusCreated, "POST", "/v1/transfers", transfer("m-1"))
	commands.must(http.StatusOK, "POST", "/v1/transfers", transfer("m-1"))
	refused := commands.must(http.StatusConflict, "POST", "/v1/transfers", strings.Replace(transfer("m-1"), `"1"}`, `"2"}`, 1))
	if !commands.output.has(refused.Code, "_aws") {
		t.Fatalf("the refusal is not measured: %s", commands.output)
	}
	taken := metricstest.Read(t, commands.output.String())
	refusal := series("Refusals")
	refusal.Dimensions = "Code=" + refused.Code
	for _, want := range []metricstest.Series{series("TransactionsPosted"), series("TransactionsReplayed"), refusal} {
		if len(taken[want]) != 1 {
			t.Errorf("%v: %v", want, taken[want])
		}
	}
	// Found by the invocation, and kept by a function that logs from INFO on.
	if !commands.output.has(`"TransactionsPosted":1`, `"requestId":"`, `"level":"INFO"`, `"timestamp":"`) {
		t.Errorf("what was posted: %s", commands.output)
	}

	projecting := launch(t, projector, environment)
	key := table.PostingKey("jane", "USD", postingOf(t, commands, "m-1"))
	event := fmt.Sprintf(`{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":%q},"SK":{"S":%q}}}}]}`, key.PK, key.SK)
	if a := projecting.invoke([]byte(event), usualTime); a.failed {
		t.Fatalf("%s: %s", a.text, projecting.output)
	}
	if !projecting.output.has("RefoldDepth", "_aws") {
		t.Fatalf("the batch is not measured: %s", projecting.output)
	}
	taken = metricstest.Read(t, projecting.output.String())
	if depth, lag := taken[series("RefoldDepth")], taken[series("ProjectionLag")]; len(depth) != 1 || depth[0] != 1 || len(lag) != 1 {
		t.Errorf("depth %v, lag %v", depth, lag)
	}
}

// postingOf returns the KSUID of the second posting of a transfer, the receiver's.
func postingOf(t *testing.T, f *function, id string) string {
	t.Helper()
	r := f.must(http.StatusOK, "POST", "/v1/transfers", transfer(id))
	parts := strings.Split(r.Body, `"id":"`)
	if len(parts) != 4 {
		t.Fatalf("transaction %s", r.Body)
	}
	ksuid, _, _ := strings.Cut(parts[3], `"`)
	return ksuid
}

// Without a namespace, no line is for CloudWatch.
func TestFunctionsMeasureOnlyWhenTold(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := launch(t, command, with(deployed(s.url, newTable(t, nil)), "LEDGER_METRICS", ""))
	f.must(http.StatusBadRequest, "POST", "/v1/transfers", `{`)
	if !f.output.has(`"message":"request"`) || strings.Contains(f.output.String(), "_aws") {
		t.Errorf("logged: %s", f.output)
	}
}
