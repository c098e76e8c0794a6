// Package dynamolocaltest gives tests a DynamoDB Local.
//
// It ends with the test process, so no TestMain is needed to stop it.
package dynamolocaltest

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"ledger.example/internal/local/dynamolocal"
)

// startTimeout bounds the start, with a first download on a slow line.
const startTimeout = 5 * time.Minute

var shared = sync.OnceValues(start)

// Shared returns the one DynamoDB Local of this test process. The first call
// starts it, so packages that select no test with -run don't pay for it. Tests
// share it by giving each table a name of its own. If it cannot be started, t
// fails with what is missing. Safe for concurrent use.
func Shared(t testing.TB) *dynamolocal.Server {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal("this test needs DynamoDB Local, which could not be started: ", err)
	}
	return server
}

func start() (*dynamolocal.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return dynamolocal.Start(ctx, dynamolocal.Options{
		JVM: dynamolocal.ShortLived,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}
