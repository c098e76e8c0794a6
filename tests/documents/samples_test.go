package documents

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/system"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/setup"
)

// samplesDir has one payload in each JSON file. The file name begins with the name of its function.
const samplesDir = root + "/events"

// samCommand runs the samples in containers, after `sam build`: -args -sam=sam. The containers reach DynamoDB Local on
// this machine through Docker's network.
var samCommand = flag.String("sam", "",
	"the SAM CLI, to run events/*.json by `sam local invoke` rather than in this process")

// samTimeout limits `sam local invoke`. It is longer than the function's own timeout, because SAM first builds an
// image.
const samTimeout = 2 * time.Minute

// sample has the expected result of a payload, and the samples that must be sent before it.
type sample struct {
	before []string // other samples of the command function

	// Results of a request.
	status int
	local  int            // the status with LEDGER_LOCAL, without an authorizer; 0 if it is the same
	shows  map[string]any // some fields of the reply's body

	// Results of a batch, whose items are in the table.
	failed string // sort key of the reported batch item failure; "" for none
	state  string // as sampleRun.state; "" if no item may change
}

var (
	registered = []string{"command-register-currency", "command-register-asset", "command-open-account", "command-open-issuer"}
	funded     = append(slices.Clone(registered), "command-post-transfer")
	traded     = append(slices.Clone(funded), "command-post-trade")
)

// States after the transfer and the first trade, after the second trade too, and without the posting of the shares to
// jane.
const (
	afterTrade  = "350000 10 -350000 -10"
	afterTrades = "412000 6 -412000 -6"
	withoutLeg  = "350000 0 -350000 -10"
	noLists     = " <nil> <nil> <nil> <nil>"
)

type shown = map[string]any

// samples has the samples by file name.
var samples = map[string]sample{
	"command-register-currency":       {status: 201, shows: shown{"id": "USD"}},
	"command-register-asset":          {before: registered[:1], status: 201, shows: shown{"id": "AAPL", "currency": "USD"}},
	"command-open-account":            {status: 201, shows: shown{"id": "jane"}},
	"command-open-issuer":             {status: 201, shows: shown{"overdraft": "unlimited"}},
	"command-post-transfer":           {before: registered, status: 201, shows: shown{"id": "deposit-1", "kind": "transfer"}},
	"command-post-trade":              {before: funded, status: 201, shows: shown{"id": "t-1", "kind": "trade"}},
	"command-post-trade-in-base64":    {before: funded, status: 201, shows: shown{"id": "t-1", "kind": "trade"}},
	"command-post-trade-uncovered":    {before: traded, status: 422, shows: shown{"code": "insufficient_funds", "available": "350000"}},
	"command-post-unbalanced":         {before: registered, status: 422, shows: shown{"code": "unbalanced"}},
	"command-post-malformed":          {before: registered, status: 400, shows: shown{"code": "malformed_body"}},
	"command-post-amount-as-number":   {before: registered, status: 400, shows: shown{"code": "invalid_request"}},
	"command-post-without-authorizer": {before: funded, status: 401, local: 201},
	"command-grant-member":            {before: registered, status: 201, shows: shown{"user": "joe@example.com", "role": "viewer"}},

	"query-health":                    {status: 200},
	"query-read-balance":              {before: traded, status: 200, shows: shown{"quantity": "350000", "consistency": "strong"}},
	"query-read-page":                 {before: traded, status: 200},
	"query-read-history":              {before: traded, status: 200},
	"query-read-unknown-account":      {before: registered, status: 404, shows: shown{"code": "account_not_found"}},
	"query-read-repeated-parameter":   {before: registered, status: 400, shows: shown{"code": "invalid_request"}},
	"query-read-percent-encoded-path": {before: registered, status: 400, shows: shown{"code": "invalid_request"}},
	"query-read-without-authorizer":   {before: registered, status: 401, local: 200},

	"lister-trade":   {before: registered, state: "0 0 0 0 <nil> <nil> t-1 deposit-1"},
	"sweeper-minute": {before: registered},

	"projector-trade":               {before: registered, state: afterTrade + noLists},
	"projector-duplicates":          {before: registered, state: afterTrade + noLists},
	"projector-out-of-order":        {before: registered, state: afterTrades + noLists},
	"projector-grants-out-of-order": {before: registered, state: "0 0 0 0 joe@example.com operator <nil> <nil>"},
	"projector-own-records":         {before: registered},
	"projector-removed":             {before: registered},
	"projector-missing-keys":        {before: registered, state: afterTrade + noLists},
	"projector-removed-items":       {before: registered},
	"projector-altered":             {before: registered},
	"projector-poison-key":          {before: registered, state: afterTrade + noLists},
	"projector-poison-first":        {before: registered, state: "500000 0 -500000 0" + noLists},
	"projector-undecodable":         {before: registered, state: withoutLeg + noLists},
	"projector-unknown-type":        {before: registered, state: withoutLeg + noLists},
	"projector-newer-version":       {before: registered, state: withoutLeg + noLists, failed: "POSTING#AAPL#3MQ938EI1e6ynh0vtk9EVcPRA03"},
}

// dueHold is the id of the hold that a sample of the sweeper ends.
const dueHold = "h-1"

// TestSamplePayloads passes each payload to the handler of its function, or with `sam local invoke` to the function. It
// uses the deployed configuration, and also the local one if the result differs.
func TestSamplePayloads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samplesDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(samples)); !slices.Equal(names, want) {
		t.Fatalf("payloads in %s: %q; the test has results for %q", samplesDir, names, want)
	}
	for name, want := range samples {
		for _, local := range []bool{false, true} {
			if local && want.local == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/local=%t", name, local), func(t *testing.T) {
				t.Parallel()
				want, r := want, newSampleRun(t)
				for _, earlier := range want.before {
					r.request(earlier, samples[earlier], r.inProcess)
				}
				r.local = local
				invoke := r.inProcess
				if *samCommand != "" {
					invoke = r.withSAM
				}
				switch function, _, _ := strings.Cut(name, "-"); function {
				case "projector", "lister":
					r.batch(name, want, invoke)
				case "sweeper":
					r.sweep(name, invoke)
				default:
					if local {
						want.status = want.local
					}
					r.request(name, want, invoke)
				}
			})
		}
	}
}

// sampleRun sends samples to a new table.
type sampleRun struct {
	*system.System
	local bool // whether the functions run with LEDGER_LOCAL
}

func newSampleRun(t *testing.T) *sampleRun {
	t.Helper()
	db := system.Memory(system.Tampered)
	if *samCommand != "" {
		db = system.Local(t)
	}
	return &sampleRun{System: system.New(t, system.On(db))}
}

// invocation invokes a function with a sample. failure is the message of the function's error, "" if there is none.
type invocation func(name string) (answer []byte, failure string)

// payload reads a sample.
func (r *sampleRun) payload(name string) []byte {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(samplesDir, name+".json"))
	if err != nil {
		r.T.Fatal(err)
	}
	return text
}

// inProcess invokes a function's handler in this process.
func (r *sampleRun) inProcess(name string) (answer []byte, failure string) {
	r.T.Helper()
	parts, err := app.New(app.Config{Client: r.Client, Table: r.Table, Version: "test", Local: r.local,
		Caller: api.GatewayCaller(api.Callers{Local: r.local})})
	if err != nil {
		r.T.Fatal(err)
	}
	function, _, _ := strings.Cut(name, "-")
	handler := map[string]lambda.Handler{
		"command":   lambda.NewHandler(api.Gateway(parts.Commands())),
		"query":     lambda.NewHandler(api.Gateway(parts.Queries())),
		"projector": lambda.NewHandler(parts.Stream()),
		"lister":    lambda.NewHandler(parts.List()),
		"sweeper":   lambda.NewHandler(parts.Sweep),
	}[function]
	if handler == nil {
		r.T.Fatalf("%s: there is no function %s", name, function)
	}
	answer, err = handler.Invoke(r.T.Context(), r.payload(name))
	if err != nil {
		return nil, err.Error()
	}
	return answer, ""
}

// withSAM invokes a function with `sam local invoke`. Table, endpoint and LEDGER_LOCAL differ from
// functions/local.json.
func (r *sampleRun) withSAM(name string) (answer []byte, failure string) {
	r.T.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(r.Store.Endpoint, "http://"), ":")
	variables, err := json.Marshal(map[string]map[string]string{"Parameters": {
		app.VariableTable: r.Table, app.VariableLocal: fmt.Sprint(r.local),
		"AWS_ENDPOINT_URL_DYNAMODB": "http://host.docker.internal:" + port,
	}})
	if err != nil {
		r.T.Fatal(err)
	}
	file := filepath.Join(r.T.TempDir(), "local.json")
	if err := os.WriteFile(file, variables, 0o600); err != nil {
		r.T.Fatal(err)
	}
	function, _, _ := strings.Cut(name, "-")
	function = strings.ToUpper(function[:1]) + function[1:] + "Function"
	ctx, cancel := context.WithTimeout(r.T.Context(), samTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, *samCommand, "local", "invoke", function, "--event", "events/"+name+".json",
		"--env-vars", file)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil && len(bytes.TrimSpace(out)) == 0 {
		r.T.Fatalf("%s: %v: %s", command, err, stderr.Bytes())
	}
	var failed struct {
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(out, &failed); err != nil {
		r.T.Fatalf("%s: %v in %s: %s", command, err, out, stderr.Bytes())
	}
	return out, failed.Message
}

// request sends a sample of a gateway request, and checks the reply.
func (r *sampleRun) request(name string, want sample, invoke invocation) {
	r.T.Helper()
	answer, failure := invoke(name)
	if failure != "" {
		r.T.Fatalf("%s: the function failed: %s", name, failure)
	}
	var out lambdaevents.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(answer, &out); err != nil {
		r.T.Fatalf("%s: %v in %s", name, err, answer)
	}
	if out.StatusCode != want.status {
		r.T.Fatalf("%s: status %d, not %d: %s", name, out.StatusCode, want.status, out.Body)
	}
	caller.Reply{Status: out.StatusCode, Body: []byte(out.Body)}.Shows(r.T, want.shows)
}

// batch puts the items of a sample's records into the table, sends the sample, and checks the projections.
func (r *sampleRun) batch(name string, want sample, invoke invocation) {
	r.T.Helper()
	var e lambdaevents.DynamoDBEvent
	if err := json.Unmarshal(r.payload(name), &e); err != nil {
		r.T.Fatal(err)
	}
	numbers := map[string]string{} // by sort key
	for _, record := range e.Records {
		if record.Change.NewImage == nil {
			continue
		}
		item := table.Item{}
		for attribute, v := range record.Change.NewImage {
			item[attribute] = attributeValue(r.T, v)
		}
		r.Put(item)
		numbers[record.Change.NewImage["SK"].String()] = record.Change.SequenceNumber
	}
	before := r.Contents()

	answer, failure := invoke(name)
	if failure != "" {
		r.T.Errorf("%s: the function failed: %s", name, failure)
	} else {
		expected := lambdaevents.DynamoDBEventResponse{BatchItemFailures: []lambdaevents.DynamoDBBatchItemFailure{}}
		if want.failed != "" {
			expected.BatchItemFailures = append(expected.BatchItemFailures,
				lambdaevents.DynamoDBBatchItemFailure{ItemIdentifier: numbers[want.failed]})
		}
		var out lambdaevents.DynamoDBEventResponse
		if err := json.Unmarshal(answer, &out); err != nil || !reflect.DeepEqual(out, expected) {
			r.T.Errorf("%s: the function answered %s, %v, want %v", name, answer, err, expected)
		}
	}

	if want.state == "" {
		if after := r.Contents(); !reflect.DeepEqual(after, before) {
			r.T.Errorf("%s: the table was changed from %v to %v", name, before, after)
		}
	} else if got := r.state(); got != want.state {
		r.T.Errorf("%s: the ledger has %q, want %q", name, got, want.state)
	}
}

// state returns what the projections have: jane's and market's USD and AAPL, jane's first member and role, and the ids
// of the two newest transactions.
func (r *sampleRun) state() string {
	r.T.Helper()
	var all []string
	show := func(path string, at ...any) {
		all = append(all, fmt.Sprint(r.Must(200, "GET", "/v1/"+path, "").Value(at...)))
	}
	for _, balance := range []string{"jane/balances/USD", "jane/balances/AAPL", "market/balances/USD", "market/balances/AAPL"} {
		show("accounts/"+balance, "quantity")
	}
	show("accounts/jane/members", "data", 0, "user")
	show("accounts/jane/members", "data", 0, "role")
	show("transactions", "data", 0, "id")
	show("transactions", "data", 1, "id")
	return strings.Join(all, " ")
}

// sweep sends a sample to the sweeper, which must end a due hold.
func (r *sampleRun) sweep(name string, invoke invocation) {
	r.T.Helper()
	setup.DueHold(r.T, r.Client, r.Table, dueHold, time.Minute)
	answer, failure := invoke(name)
	var swept ledger.Swept
	if err := json.Unmarshal(answer, &swept); failure != "" || err != nil || swept.Expired != 1 || swept.Due != 1 {
		r.T.Errorf("%s: answered %s, %s, %v", name, answer, failure, err)
	}
	if status := r.Must(200, "GET", "/v1/transactions/"+dueHold, "").Value("status"); status != "expired" {
		r.T.Errorf("%s: the hold is %v", name, status)
	}
}

// attributeValue converts a record's value to the SDK's type.
func attributeValue(t testing.TB, v lambdaevents.DynamoDBAttributeValue) types.AttributeValue {
	t.Helper()
	switch v.DataType() {
	case lambdaevents.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case lambdaevents.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case lambdaevents.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case lambdaevents.DataTypeMap:
		m := map[string]types.AttributeValue{}
		for name, member := range v.Map() {
			m[name] = attributeValue(t, member)
		}
		return &types.AttributeValueMemberM{Value: m}
	case lambdaevents.DataTypeList:
		l := []types.AttributeValue{}
		for _, member := range v.List() {
			l = append(l, attributeValue(t, member))
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	t.Fatalf("a value of type %d", v.DataType())
	return nil
}
