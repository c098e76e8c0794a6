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

// formatLines is the format of JSON lines.
const formatLines = "jsonl"

// formatOfExtension has the formats of books by file extension. Files with other extensions have JSON lines.
var formatOfExtension = map[string]string{
	".journal": "hledger", ".hledger": "hledger", ".j": "hledger",
	".ledger": "ledger", ".ldg": "ledger", ".dat": "ledger",
	".beancount": "beancount", ".bean": "beancount",
}

// formatOf returns the format of a file: --format, or that of its extension.
func formatOf(name string, o importOptions) (string, error) {
	format := o.format
	if format == "" {
		format = formatOfExtension[filepath.Ext(name)]
	}
	switch {
	case format == "" || format == formatLines:
		if len(o.scales) > 0 {
			return "", usageErrorf("--scale is for books of %s", books.Formats)
		}
		return formatLines, nil
	case !books.IsFormat(format):
		return "", usageErrorf("--format %s: must be one of %s, %s", format, formatLines, books.Formats)
	case name == "-":
		return "", usageErrorf("a book of %s must be a file, because it may include other files", format)
	}
	for commodity, scale := range o.scales {
		if scale < 0 || scale > events.ScaleMax {
			return "", usageErrorf("--scale %s=%d: must be 0 to %d", commodity, scale, events.ScaleMax)
		}
	}
	return format, nil
}

// openBook reads a book with its program, validates all of it, and returns it as lines to import. It sets position to a
// function that returns the position of a line in the book. It is an error if any part of the book cannot be imported.
func (env *environment) openBook(
	ctx context.Context, api *client.Client, format, name string, o importOptions, position *func(line int) string,
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
		return nil, 0, fmt.Errorf("the book has %s: nothing was imported",
			counted(int64(len(problems)), "problem", "problems"))
	}
	for _, note := range lines.Notes {
		_, _ = fmt.Fprintln(env.err, note)
	}
	*position = func(line int) string {
		if at := lines.Positions[line-1].String(); at != "" {
			return at
		}
		return name
	}
	return io.NopCloser(lines.Reader()), int64(len(lines.Text)), nil
}
