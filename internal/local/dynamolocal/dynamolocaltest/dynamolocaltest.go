// Package dynamolocaltest starts a DynamoDB Local for tests. It ends with the test process, so tests need no TestMain
// to stop it.
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

// startTimeout bounds the start, including a first download over a slow line.
const startTimeout = 5 * time.Minute

var shared = sync.OnceValues(start)

// Shared returns the DynamoDB Local that all tests of this process share. Each test must use its own tables. The first
// call starts it. If it cannot be started, t fails with the cause. It is safe for concurrent use.
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
