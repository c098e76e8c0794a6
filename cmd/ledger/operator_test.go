package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/ledger/wire"
)

// What is missing is named, at once.
func TestOperatorIsToldWhatToSet(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	absent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"x"}`))
	}))
	defer absent.Close()
	var usage usageError
	for _, c := range []struct {
		o     operator
		named []string
		use   bool
	}{
		{o: operator{}, named: []string{"--region", "AWS_REGION", "--dynamodb-endpoint"}},
		{o: operator{region: "eu-central-1"}, named: []string{"AWS_ACCESS_KEY_ID", "--profile", "--dynamodb-endpoint"}},
		{o: operator{profile: "nobody", region: "eu-central-1"}, named: []string{"nobody"}},
		{o: operator{region: "http://x/"}, named: []string{"--region"}, use: true},
		{o: operator{endpoint: "127.0.0.1:8000"}, named: []string{"--dynamodb-endpoint"}, use: true},
		{o: operator{endpoint: "http://127.0.0.1:8000", region: "x"}, named: []string{"--region"}, use: true},
		{o: operator{endpoint: "http://127.0.0.1:1"}, named: []string{"127.0.0.1:1"}},
		{o: operator{endpoint: absent.URL, table: "books"}, named: []string{wire.ErrNoTable.Error(), "books", "--table", "--dynamodb-endpoint", "--region"}},
	} {
		began := time.Now()
		_, err := c.o.open(t.Context())
		if err == nil || errors.As(err, &usage) != c.use {
			t.Errorf("%+v: error %v", c.o, err)
			continue
		}
		for _, name := range c.named {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%+v: %q does not name %s", c.o, err, name)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%+v: told after %v", c.o, took)
		}
	}
}

// An operator whose role may not describe the table goes on without.
func TestOperatorWhoMayNotDescribe(t *testing.T) {
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"x"}`))
	}))
	defer denied.Close()
	o := operator{endpoint: denied.URL, table: "books"}
	if client, err := o.open(t.Context()); err != nil || client == nil {
		t.Error(err)
	}
}

// A table that isn't the ledger's is refused, and nobody is told to delete it; one without a stream was restored.
func TestOperatorsTables(t *testing.T) {
	restored, err := local.TableFromTemplate(template.YAML)
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer server.Close()
	o := operator{endpoint: server.URL, table: "books"}
	answer = description(restored.GlobalSecondaryIndexes)
	if _, err := o.open(t.Context()); err != nil {
		t.Error(err)
	}
	answer = description(nil)
	if _, err := o.open(t.Context()); err == nil || strings.Contains(err.Error(), "delete") || !strings.Contains(err.Error(), "GSI1") {
		t.Errorf("a table without indexes: %v", err)
	}
}
