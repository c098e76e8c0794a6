package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
)

// Errors say what to set.
func TestOperatorErrors(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	refusing := func(code string) string { return dynamo(t, func(string) string { return code }) }
	// A role without the permission for DescribeTable skips the check of the table.
	denied := operator{endpoint: refusing("AccessDeniedException"), table: "books"}
	if client, _, err := denied.open(t.Context()); err != nil || client == nil {
		t.Error(err)
	}
	for _, c := range []struct {
		o    operator
		says []string
	}{
		{o: operator{}, says: []string{"--region", "AWS_REGION", "--dynamodb-endpoint"}},
		{o: operator{region: "eu-central-1"}, says: []string{"AWS_ACCESS_KEY_ID", "--profile", "--dynamodb-endpoint"}},
		{o: operator{profile: "nobody", region: "eu-central-1"}, says: []string{"nobody"}},
		{o: operator{endpoint: "http://127.0.0.1:1"}, says: []string{"127.0.0.1:1"}},
		{o: operator{endpoint: refusing("ResourceNotFoundException"), table: "books"}, says: []string{table.ErrNoTable.Error(), "books", "--table", "--dynamodb-endpoint", "--region"}},
	} {
		_, _, err := c.o.open(t.Context())
		if err == nil {
			t.Errorf("%+v: no error", c.o)
			continue
		}
		says(t, err.Error(), c.says...)
	}
}

// A table with another schema is refused, without the advice to delete it. A restored table, which has no stream, is
// accepted.
func TestOperatorTables(t *testing.T) {
	restored, err := dynamolocal.Table()
	if err != nil {
		t.Fatal(err)
	}
	description := func(indexes any) string {
		raw, err := json.Marshal(map[string]any{"Table": map[string]any{
			"TableName": "books", "KeySchema": restored.KeySchema, "AttributeDefinitions": restored.AttributeDefinitions,
			"GlobalSecondaryIndexes": indexes,
		}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	var answer string
	o := operator{endpoint: dynamo(t, func(string) string { return answer }), table: "books"}
	answer = description(restored.GlobalSecondaryIndexes)
	if _, _, err := o.open(t.Context()); err != nil {
		t.Error(err)
	}
	// AWS may serve a table for a while that is being deleted: an audit of it would say Sound.
	for _, status := range []string{"DELETING", "CREATING", "ARCHIVED", "INACCESSIBLE_ENCRYPTION_CREDENTIALS"} {
		answer = strings.Replace(description(restored.GlobalSecondaryIndexes), `{"Table":{`, `{"Table":{"TableStatus":"`+status+`",`, 1)
		if _, _, err := o.open(t.Context()); err == nil || !strings.Contains(err.Error(), "table books is "+status) {
			t.Errorf("a table that is %s: %v", status, err)
		}
	}
	for _, status := range []string{"ACTIVE", "UPDATING"} {
		answer = strings.Replace(description(restored.GlobalSecondaryIndexes), `{"Table":{`, `{"Table":{"TableStatus":"`+status+`",`, 1)
		if _, _, err := o.open(t.Context()); err != nil {
			t.Errorf("a table that is %s: %v", status, err)
		}
	}
	answer = description(nil)
	if _, _, err := o.open(t.Context()); err == nil || strings.Contains(err.Error(), "delete") || !strings.Contains(err.Error(), "GSI1") {
		t.Errorf("a table without indexes: %v", err)
	}
}

// A clock that is off the store's ends each operator's command before it concludes or writes anything.
func TestOperatorClock(t *testing.T) {
	var off time.Duration
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") { // nobody needs the permission for another one
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"AccessDeniedException"}`)
			return
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	o := operator{endpoint: server.URL, table: "books"}
	for _, off = range []time.Duration{2 * time.Hour, -2 * time.Hour, 20 * time.Second} {
		if _, _, err := o.open(t.Context()); err == nil {
			t.Errorf("%v: no error", off)
		} else {
			says(t, err.Error(), "clock", "Set the clock")
		}
	}
	off = 0
	if _, _, err := o.open(t.Context()); err != nil {
		t.Error(err)
	}
}
