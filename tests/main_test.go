// Package tests holds what needs the real thing: DynamoDB Local, its stream, real HTTP and the real handlers. One
// DynamoDB Local serves the whole run, and each test has a table of its own.
package tests

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/tests/process"
)

// store is the one DynamoDB Local of the run.
var store *local.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	store, err = local.Start(ctx, local.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need DynamoDB Local, and it could not be started:", err)
		return 1
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := store.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "stopping DynamoDB Local:", err)
		}
	}()
	return process.Main(m)
}

// ofItsOwn gives t, which must not be parallel, a DynamoDB Local of its own.
func ofItsOwn(t *testing.T) {
	t.Helper()
	own, err := local.Start(t.Context(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shared := store
	store = own
	t.Cleanup(func() {
		store = shared
		if err := own.Stop(context.Background()); err != nil {
			t.Error("stopping DynamoDB Local:", err)
		}
	})
}

var tables atomic.Int64

// newTable makes a table of its own for t, from template.yaml, and returns its name and a plain client.
func newTable(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	client := local.DynamoDB(store.Endpoint)
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("t%d-%s", tables.Add(1), strings.Map(nameByte, t.Name()))
	name = name[:min(len(name), 100)]
	if _, err := local.CreateTable(t.Context(), client, in, name); err != nil {
		t.Fatal(err)
	}
	return client, name
}

// nameByte keeps what a table's name may hold.
func nameByte(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
