// Package gatewaytest has sample events of an API Gateway HTTP API that AWS publishes, for tests.
package gatewaytest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// Published returns a sample event from the test data of the Lambda library.
func Published(t testing.TB, name string) (e lambdaevents.APIGatewayV2HTTPRequest) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "events", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}
