package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/books"
)

// formatLines is the format of our own JSON lines.
const formatLines = "jsonl"

// formatOfExtension are the formats by the extensions of files. Everything else holds JSON lines.
var formatOfExtension = map[string]string{
	".journal": "hledger", ".hledger": "hledger", ".j": "hledger",
	".ledger": "ledger", ".ldg": "ledger", ".dat": "ledger",
	".beancount": "beancount", ".bean": "beancount",
}

// formatOf is the format of a file, by --format or its extension.
func formatOf(name string, o importOptions) (string, error) {
	format := o.format
	if format == "" {
		format = formatOfExtension[filepath.Ext(name)]
	}
	switch {
	case format == "" || format == formatLines:
		if len(o.scales) > 0 {
			return "", wrongUse("--scale is for books of %s", books.Formats)
		}
		return formatLines, nil
	case !books.IsFormat(format):
		return "", wrongUse("--format %s: it is none of %s, %s", format, formatLines, books.Formats)
	case name == "-":
		return "", wrongUse("a book of %s must be a file: it may include others", format)
	}
	for commodity, scale := range o.scales {
		if scale < 0 || scale > events.ScaleMax {
			return "", wrongUse("--scale %s=%d: it must be 0 to %d", commodity, scale, events.ScaleMax)
		}
	}
	return format, nil
}

// openBook reads a book by its program, checks all of it, and returns it as lines to import. where is set to name a
// line's place in the book. Error: also when something in the book cannot be imported.
func (env *environment) openBook(
	ctx context.Context, api *client.Client, format, name string, o importOptions, where *func(line int) string,
) (io.ReadCloser, int64, error) {
	book, err := books.Read(ctx, format, name)
	if err != nil {
		return nil, 0, err
	}
	lines, problems, err := book.Lines(ctx, books.Options{Ledger: api, Scales: o.scales, Now: time.Now()})
	if err != nil {
		return nil, 0, err
	}
	for n, p := range problems {
		if o.maxErrors > 0 && n == o.maxErrors {
			_, _ = fmt.Fprintln(env.err, "…")
			break
		}
		_, _ = fmt.Fprintln(env.err, p)
	}
	if len(problems) > 0 {
		return nil, 0, fmt.Errorf("%s cannot be imported: nothing was sent",
			counted(int64(len(problems)), "place", "places"))
	}
	for _, note := range lines.Notes {
		_, _ = fmt.Fprintln(env.err, note)
	}
	*where = func(line int) string {
		if at := lines.Positions[line-1].String(); at != "" {
			return at
		}
		return name
	}
	return io.NopCloser(lines.Reader()), int64(len(lines.Text)), nil
}
