package runtime

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/functions/api/gatewaytest"
)

// payloadBytes is the most that an invocation can bring or answer (AWS, Lambda quotas: 6 MB each).
const payloadBytes = 6 << 20

// memoryBytes is what a function may have at most while it refuses the largest request: template.yaml gives it 512 MB.
const memoryBytes = 200 << 20

// The largest request that Lambda hands on is refused politely, plain or in base64, and costs little.
func TestTheLargestRequest(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	f := launch(t, command, deployed(s.url, newTable(t, nil)))
	const around = 2 << 10 // what an event has beside its body
	plain := request("POST", "/v1/transactions", strings.Repeat("[", payloadBytes-around))
	encoded := request("POST", "/v1/transactions", "", func(e *lambdaevents.APIGatewayV2HTTPRequest) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(make([]byte, (payloadBytes-around)/4*3)), true
	})
	for range 3 {
		for _, event := range [][]byte{plain, encoded} {
			r := replyOf(t, f.invoke(event, usualTime))
			if r.Status != http.StatusRequestEntityTooLarge || r.Code != "body_too_large" || r.Headers["Content-Type"] != "application/problem+json" || len(event) > payloadBytes {
				t.Errorf("%d bytes answered %d %s %v", len(event), r.Status, r.Body, r.Headers)
			}
		}
	}
	f.must(http.StatusCreated, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	f.kill()
	if most := maxMemory(f.command.ProcessState); most > memoryBytes {
		t.Errorf("it used %d bytes of memory", most)
	} else {
		t.Logf("it used %d MB of memory", most>>20)
	}
}

// maxMemory is the most memory that a process had, in bytes.
func maxMemory(p *os.ProcessState) int64 {
	most := p.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "linux" { // elsewhere it is in bytes
		most <<= 10
	}
	return int64(most)
}

// Who sends a request is who the gateway's authorizer vouches for. Without one nobody is let in, whatever the headers say:
// a function reached past its gateway, or by one that is emulated without its authorizers, fails closed.
func TestCallers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	environment := deployed(s.url, newTable(t, nil))
	f := launch(t, command, environment)
	emulated := launch(t, command, with(environment, "LEDGER_LOCAL", "true"))
	for sample, c := range map[string]struct {
		change   func(*lambdaevents.APIGatewayV2HTTPRequest)
		actor    string // "": refused
		emulated string
	}{
		"apigw-v2-request-iam.json":           {nil, "arn:aws:iam::1234567890:user/Admin", "arn:aws:iam::1234567890:user/Admin"},
		"apigw-v2-request-no-authorizer.json": {nil, "", "local"},
		// A sample without a subject; a Lambda authorizer is none of ours.
		"apigw-v2-request-jwt-authorizer.json":    {nil, "", "local"},
		"apigw-v2-request-lambda-authorizer.json": {nil, "", "local"},
	} {
		e := gatewaytest.Published(t, sample)
		e.RawPath, e.RawQueryString, e.RequestContext.HTTP.Method = "/v1/assets/USD", "", "PUT"
		e.Headers["Content-Type"], e.Body = "application/json", `{"name":"US dollar","scale":2}`
		e.Headers["Authorization"], e.Headers["X-Amzn-Actor"] = "Bearer nonsense", "somebody"
		identified(t, sample, f, e, c.actor)
		identified(t, sample, emulated, e, c.emulated)
	}
	jwt := gatewaytest.Published(t, "apigw-v2-request-jwt-authorizer.json")
	jwt.RawPath, jwt.RawQueryString, jwt.RequestContext.HTTP.Method = "/v1/assets/USD", "", "PUT"
	jwt.Headers["Content-Type"], jwt.Body = "application/json", `{"name":"US dollar","scale":2}`
	jwt.RequestContext.Authorizer.JWT.Claims["sub"] = "user-17"
	identified(t, "a subject", f, jwt, "user-17")
}

// identified sends a request and checks whom the function takes for its sender.
func identified(t *testing.T, name string, f *function, e lambdaevents.APIGatewayV2HTTPRequest, actor string) {
	t.Helper()
	e.Headers["x-request-id"] = strings.Map(nameByte, name) + "-" + strings.Map(nameByte, actor)
	event, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	r := replyOf(t, f.invoke(event, usualTime))
	if actor == "" {
		if r.Status != http.StatusUnauthorized || r.Code != "unauthenticated" {
			t.Errorf("%s: answered %d %s", name, r.Status, r.Body)
		}
		return
	}
	if r.Status/100 != 2 || !f.output.has(`"actor":"`+actor+`"`, e.Headers["x-request-id"]) {
		t.Errorf("%s: answered %d %s, and %q is not in the log: %s", name, r.Status, r.Body, actor, f.output)
	}
}
