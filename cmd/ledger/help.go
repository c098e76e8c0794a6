package main

import (
	"embed"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"ledger.example/internal/watch/audit"
)

// helpPages has the help of all commands. NAME.txt is the page of `ledger NAME`, and has a template for each of its
// subcommands. A page is one line, an empty line, the text, and the examples. shared.txt has the paragraphs of several
// commands.
//
//go:embed help/*.txt
var helpPages embed.FS

// explain sets the help of a command and of all below it.
func explain(root *cobra.Command) {
	pages := template.Must(template.New("").Funcs(template.FuncMap{"codes": codes}).ParseFS(helpPages, "help/*.txt"))
	var set func(cmd *cobra.Command)
	set = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		page := pages.Lookup(name)
		if page == nil {
			page = pages.Lookup(name + ".txt")
		}
		if page == nil {
			panic("help/" + strings.Fields(name)[0] + ".txt has no page of " + name)
		}
		var text strings.Builder
		if err := page.Execute(&text, nil); err != nil {
			panic(err) // the pages are part of this program
		}
		cmd.Short, cmd.Long, _ = strings.Cut(strings.TrimSpace(text.String()), "\n\n")
		cmd.Long, cmd.Example, _ = strings.Cut(cmd.Long, "\n\nExamples:\n")
		for _, below := range cmd.Commands() {
			set(below)
		}
	}
	set(root)
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
