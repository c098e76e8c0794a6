package runtime

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/tests/gateway"
)

const (
	// timeout is how long a test waits for something that must happen, on a busy machine, too.
	timeout = time.Minute
	// defaultTime is the default deadline of an invocation.
	defaultTime = 10 * time.Second
)

// function is one process of a function, with a runtime API of its own.
type function struct {
	*lambda
	t       testing.TB
	command *exec.Cmd
	output  *output
	exited  chan struct{} // closed when the process has exited
}

// deployedEnvironment returns the environment of a deployed function, with the endpoint of a store.
func deployedEnvironment(endpoint, table string) map[string]string {
	return map[string]string{
		"LEDGER_TABLE": table, "LEDGER_LOCAL": "", "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
		"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_FUNCTION_NAME": "ledger", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
		"LEDGER_EVENT_BUS": "events", // of the forwarder
	}
}

// with returns the environment with changes, which are pairs of name and value.
func with(environment map[string]string, changes ...string) map[string]string {
	environment = maps.Clone(environment)
	for i := 0; i < len(changes); i += 2 {
		environment[changes[i]] = changes[i+1]
	}
	return environment
}

// launch starts a process. It is killed when t ends.
func launch(t testing.TB, folder string, environment map[string]string) *function {
	t.Helper()
	f := &function{lambda: newLambda(t), t: t, output: &output{}, exited: make(chan struct{})}
	f.command = exec.Command(binary(t, folder))
	f.command.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + f.address} // not the environment of the tests
	for name, value := range environment {
		f.command.Env = append(f.command.Env, name+"="+value)
	}
	f.command.Dir = t.TempDir()
	f.command.Stdout, f.command.Stderr = f.output, f.output
	if err := f.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		f.command.Wait()
		close(f.exited)
	}()
	t.Cleanup(f.kill)
	return f
}

func (f *function) kill() {
	f.command.Process.Kill()
	<-f.exited
}

// waitForPoll waits until the process polls for an invocation.
func (f *function) waitForPoll() {
	f.t.Helper()
	select {
	case <-f.polls:
	case <-f.exited:
		f.t.Fatalf("exited before it polled for an invocation: %s", f.output)
	case <-time.After(timeout):
		f.t.Fatalf("did not poll for an invocation: %s", f.output)
	}
}

// waitForExit waits until the process exits, and returns its exit status.
func (f *function) waitForExit() int {
	f.t.Helper()
	select {
	case <-f.exited:
	case <-time.After(timeout):
		f.t.Fatalf("did not end: %s", f.output)
	}
	return f.command.ProcessState.ExitCode()
}

// signal sends a signal to the process.
func (f *function) signal(s os.Signal) {
	f.t.Helper()
	if err := f.command.Process.Signal(s); err != nil {
		f.t.Fatal(err)
	}
}

// await returns the answer to an invocation.
func (f *function) await(to <-chan answer) answer {
	f.t.Helper()
	select {
	case a := <-to:
		return a
	case <-f.exited:
		select {
		case a := <-to:
			return a
		default:
			f.t.Fatalf("ended without an answer: %s", f.output)
		}
	case <-time.After(timeout):
		f.t.Fatalf("no answer: %s", f.output)
	}
	panic("unreachable")
}

// invoke gives the process an event, and returns the answer.
func (f *function) invoke(event []byte, within time.Duration) answer {
	f.t.Helper()
	return f.await(f.startInvocation(event, time.Now().Add(within)))
}

// reply is an answer to an HTTP request.
type reply struct {
	Status int       `json:"statusCode"`
	Body   string    `json:"body"`
	Code   string    `json:"-"` // of a problem
	At     time.Time `json:"-"`
}

// replyOf decodes an answer as a gateway does.
func replyOf(t testing.TB, a answer) (r reply) {
	t.Helper()
	if a.failed {
		t.Fatalf("the invocation failed: %s", a.text)
	}
	d := json.NewDecoder(bytes.NewReader(a.text))
	if err := d.Decode(&r); err != nil || r.Status == 0 {
		t.Fatalf("answered %q: %v", a.text, err)
	}
	var problem struct {
		Code string `json:"code"`
	}
	if r.Status >= 400 {
		if err := json.Unmarshal([]byte(r.Body), &problem); err != nil || problem.Code == "" {
			t.Errorf("answered %d with %q: %v", r.Status, r.Body, err)
		}
	}
	r.Code, r.At = problem.Code, a.at
	return r
}

// send sends an HTTP request through the gateway.
func (f *function) send(method, path, body string) reply {
	f.t.Helper()
	return replyOf(f.t, f.invoke(request(method, path, body), defaultTime))
}

// must sends a request, and fails the test unless the answer has the status.
func (f *function) must(status int, method, path, body string) reply {
	f.t.Helper()
	r := f.send(method, path, body)
	if r.Status != status {
		f.t.Fatalf("%s %s answered %d %s, want %d: %s", method, path, r.Status, r.Body, status, f.output)
	}
	return r
}

// iamCaller is the IAM identity that sends the requests.
var iamCaller = &gateway.Identity{IAM: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
	UserARN: "arn:aws:iam::123456789012:user/jane",
}}

// request returns the event of an HTTP request by iamCaller, as an HTTP API sends it.
func request(method, path, body string) []byte { return requestBy(iamCaller, method, path, body) }

// requestBy is request by any identity. nil: not authenticated.
func requestBy(who *gateway.Identity, method, path, body string) []byte {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Content-Type", "application/json")
	event, err := gateway.Event(r, []byte(body), who)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	return text
}

// openBooks registers the asset USD, and opens the accounts bank, which is unlimited, jane and shop.
func openBooks(f *function) {
	f.t.Helper()
	f.must(http.StatusCreated, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	f.must(http.StatusCreated, "PUT", "/v1/accounts/bank", `{"name":"Bank","overdraft":"unlimited"}`)
	f.must(http.StatusCreated, "PUT", "/v1/accounts/jane", `{"name":"Jane"}`)
	f.must(http.StatusCreated, "PUT", "/v1/accounts/shop", `{"name":"Shop"}`)
}

// transfer returns the body of a transfer of one cent from the bank to jane.
func transfer(id string) string {
	return `{"id":"` + id + `","from":"bank","to":"jane","asset":"USD","quantity":"1"}`
}
