package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ledger.example/client"
	"ledger.example/internal/desk/books"
	"ledger.example/internal/desk/importer"
)

// wayOfExtension says how files of banks become books, by file extension.
var wayOfExtension = map[string]string{
	".csv": wayOfCSV, ".tsv": wayOfCSV, ".ssv": wayOfCSV,
	".ofx": wayOfOFX, ".qfx": wayOfOFX, ".xml": wayOfCAMT, ".camt": wayOfCAMT,
}

const (
	wayOfCSV  = "write hledger's rules for it into FILE.rules, and add --format hledger"
	wayOfOFX  = "convert it to a journal with hledger-autosync, and import that"
	wayOfCAMT = "convert CAMT to OFX with ofxstatement and its plugin ofxstatement-iso20022, that to a journal with " +
		"hledger-autosync, and import the journal"
)

// postedIn returns the function by which an import of a book finds a transaction whose id is used.
func postedIn(l books.Ledger) func(context.Context, client.Command) (isPosted, isOtherText bool, err error) {
	return func(ctx context.Context, c client.Command) (isPosted, isOtherText bool, err error) {
		var r client.TransactionRequest
		if err := json.Unmarshal(c.Body, &r); err != nil {
			return false, false, err
		}
		found, err := books.Compare(ctx, l, r)
		return found != books.Another, found == books.OtherText, err
	}
}

// otherText describes an entry that the ledger has with another text.
func otherText(e books.Again) string {
	return fmt.Sprintf("%s: transaction %q: same money, other text: the text in the ledger stays", e.Position, e.ID)
}

// sendTogether posts the entries of a book that are posted in parts, and counts the parts. Error: there was no answer.
func (env *environment) sendTogether(
	ctx context.Context, api *client.Client, in imported, counts *importer.Counts,
) error {
	if in.book == nil {
		return nil
	}
	for t, err := range in.book.Together() {
		if err != nil {
			return err
		}
		sent, err := t.Send(ctx, api)
		if _, isRefused := errors.AsType[*client.Error](err); err != nil && !isRefused {
			return err
		}
		if err != nil {
			counts.Failed += int64(len(t.Requests))
			fmt.Fprintf(env.err, "%s: its parts: %v\n", t.Position, withWay(err))
			in.setBad(t.Requests)
			continue
		}
		counts.New, counts.Replayed = counts.New+sent.New, counts.Replayed+sent.Replayed
		counts.Other += int64(len(sent.OtherText))
		for _, e := range sent.OtherText {
			fmt.Fprintln(env.err, otherText(e))
		}
	}
	return nil
}

// withWay returns an error with a way out of a refusal that is not about the line itself.
func withWay(err error) error {
	ways := map[string]string{
		"period_closed": "give it a later day, or let an administrator open the books again: " +
			"ledger close-books --before EARLIER --reason WHY",
		"account_frozen": "run ledger account unfreeze ACCOUNT",
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && ways[refused.Code] != "" {
		return fmt.Errorf("%w\n  %s. Then import the file again", err, ways[refused.Code])
	}
	return err
}

// setBad remembers that requests were refused.
func (in imported) setBad(requests []client.Request) {
	for _, r := range requests {
		if c, err := r.Command(); err == nil {
			in.bad[c.ID] = true
		}
	}
}

// gone returns what the ledger has of an earlier import of a book that the book no longer has, if the import was whole.
func (in imported) gone(ctx context.Context, runErr error) ([]books.Gone, error) {
	if in.book == nil || runErr != nil {
		return nil, nil
	}
	return in.book.Gone(ctx, func(id string) bool { return in.bad[id] })
}

// importFigures returns the figures of an import. Only the entries of a book are compared with the ledger.
func importFigures(n importer.Counts, book *books.Lines, gone []books.Gone) []any {
	if book == nil {
		return []any{"new", n.New, "replayed", n.Replayed, "failed", n.Failed, "not_tried", n.NotTried,
			"cut_off", n.CutOff}
	}
	return []any{"new", n.New, "replayed", n.Replayed + book.Replayed, "other_text",
		n.Other + int64(len(book.OtherText)), "failed", n.Failed, "not_tried", n.NotTried, "cut_off", n.CutOff,
		"gone", len(gone)}
}

// sayGone names the entries in the ledger that a book no longer has, and returns them as an error.
func (env *environment) sayGone(gone []books.Gone) error {
	if len(gone) == 0 {
		return nil
	}
	for _, e := range gone {
		if e.IsReversed {
			fmt.Fprintf(env.err, "transaction %q (%s) was reversed during the import: import the book again to post "+
				"it anew\n", e.ID, e.Description)
			continue
		}
		fmt.Fprintf(env.err, "transaction %q (%s) is in the ledger, but not in the book: if it was edited or "+
			"removed there, run\n  ledger reverse %s --effective-at %s%s\n", e.ID, e.Description, quoted(e.ID), e.At,
			env.connection())
	}
	n := int64(len(gone))
	return fmt.Errorf("the ledger and the book differ in %s of an earlier import", counted(n, "entry", "entries"))
}
