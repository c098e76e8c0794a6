package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/cmd/ledger/client"
)

// Who is not let in need not ask a million times, and may run the import again.
func TestADeniedCallerEndsTheImport(t *testing.T) {
	var file strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&file, `{"account":{"id":"a-%d"}}`+"\n", n)
	}
	var sent atomic.Int64
	b := newBook()
	b.before = func(context.Context, client.Command) error {
		if sent.Add(1) > 100 {
			return &client.DeniedError{Status: 403, Advice: "ask the administrator"}
		}
		return nil
	}
	i := New(Config{Ledger: b, Clients: 2, Silence: time.Hour, OnFailure: func(Failure) {}})
	var denied *client.DeniedError
	if err := i.Run(t.Context(), strings.NewReader(file.String())); !errors.As(err, &denied) {
		t.Errorf("it ended with %v", err)
	}
	if c := i.Counts(); c.New != 100 || c.Failed < 1 || sent.Load() > 104 {
		t.Errorf("%d lines were tried, and %+v", sent.Load(), c)
	}
}
