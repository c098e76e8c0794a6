package main

import (
	"net"
	"strings"
	"testing"
)

// If DynamoDB refuses the connection or does not answer, the error has its address. The time until then is not tested,
// because it depends on the load of the machine.
func TestWrongEndpoint(t *testing.T) {
	swallows, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { swallows.Close() })
	for name, endpoint := range map[string]string{
		"refuses": nobody, "has no address": "http://ledger.invalid:8000", "swallows": "http://" + swallows.Addr().String(),
	} {
		for _, command := range [][]string{{"up", "--port", "0"}, {"pump"}} {
			t.Run(command[0]+" "+name, func(t *testing.T) {
				t.Parallel()
				code, out, problems := ledger(t, "", append(command, "--dynamodb-endpoint", endpoint)...)
				if code != exitFailed || out != "" || !strings.Contains(problems, endpoint) {
					t.Errorf("exit %d: %s%s", code, out, problems)
				}
			})
		}
	}
}

// A table with another schema is refused with all differences.
func TestWrongTable(t *testing.T) {
	described := `{"Table":{"TableName":"books","TableStatus":"ACTIVE",
		"AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"N"}],
		"KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}]}}`
	store := dynamo(t, func(operation string) string {
		if operation != "DescribeTable" {
			t.Errorf("asked for %s", operation)
		}
		return described
	})
	for _, command := range [][]string{{"up", "--port", "0"}, {"pump"}} {
		code, out, problems := ledger(t, "", append(command, "--dynamodb-endpoint", store, "--table", "books")...)
		if code != exitFailed || out != "" {
			t.Errorf("%v: exit %d, %q", command, code, out)
		}
		says(t, problems, "table books", "SK (N, RANGE)", "index GSI1: it has none", "index GSI2: it has none", "stream: it has none")
	}
}
