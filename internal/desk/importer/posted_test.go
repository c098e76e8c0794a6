package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ledger.example/client"
)

// A transaction whose id is used may be posted already: then its line is not bad.
func TestPostedLinesAreNotBad(t *testing.T) {
	reused := &client.Error{Status: 409, Code: client.CodeTransactionIDReused}
	l := &failing{book: newBook(), errs: map[string]error{"same": reused, "other": reused, "another": reused, "unread": reused}}
	var failed failures
	var other []string
	i := New(Config{
		Ledger: l, Clients: 2, Failures: 3, OnFailure: failed.add,
		Posted: func(_ context.Context, c client.Command) (isPosted, isOtherText bool, err error) {
			if c.ID == "unread" {
				err = errors.New("no answer")
			}
			return c.ID == "same" || c.ID == "other", c.ID == "other", err
		},
		OnOtherText: func(line int, id string) { other = append(other, fmt.Sprint(line, id)) },
	})
	file := opening
	for _, id := range []string{"new", "same", "other", "another", "unread"} {
		file += transfer(id, "bank", "jane", 1, "")
	}
	if err := i.Run(t.Context(), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	n := i.Counts()
	if n.New != 4 || n.Replayed != 1 || n.Other != 1 || n.Failed != 2 || n.Lines() != 8 || fmt.Sprint(other) != "[6other]" {
		t.Errorf("%+v, %v", n, other)
	}
	if got := failed.lines(); got[7] != "transaction_id_reused" || got[8] != "transaction_id_reused" {
		t.Error(got)
	}
}

// failing refuses some transactions.
type failing struct {
	*book
	errs map[string]error
}

func (f *failing) Send(ctx context.Context, c client.Command) (client.Written, error) {
	if err := f.errs[c.ID]; err != nil {
		return client.Written{}, err
	}
	return f.book.Send(ctx, c)
}
