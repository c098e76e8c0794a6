package main

import (
	"embed"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"ledger.example/internal/audit"
)

// helpPages has the help of commands that need more than a few lines: NAME.txt is that of `ledger NAME`, with its
// examples at the end. shared.txt has the paragraphs of several commands.
//
//go:embed help/*.txt
var helpPages embed.FS

// explain sets the help of the commands that have a page.
func explain(commands []*cobra.Command) {
	pages := template.Must(template.New("").Funcs(template.FuncMap{"codes": codes}).ParseFS(helpPages, "help/*.txt"))
	for _, cmd := range commands {
		page := pages.Lookup(cmd.Name() + ".txt")
		if page == nil {
			continue
		}
		var text strings.Builder
		if err := page.Execute(&text, nil); err != nil {
			panic(err) // the pages are part of this program
		}
		cmd.Long, cmd.Example, _ = strings.Cut(strings.TrimRight(text.String(), "\n"), "\n\nExamples:\n")
	}
}

// codes lists the codes of the findings of verify.
func codes() string {
	var list strings.Builder
	t := screen{out: &list, columns: columnsMax}.newList()
	for _, code := range audit.Codes() {
		t.row(string(code.Code), code.Meaning)
	}
	_ = t.flush() // a string can be written to
	return list.String()
}
