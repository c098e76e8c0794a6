package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// A release is built with these flags: see package release.
var (
	extras     = flag.String("extras", "", "the `folder` for manual pages and completions, instead of one of the tests")
	manualDate = flag.String("date", "2006-01-02", "the `date` in the manual pages")
)

// extrasIn returns a folder of extras, and all commands.
func extrasIn(t *testing.T, name string) (folder string, root *cobra.Command) {
	t.Helper()
	if folder = *extras; folder == "" {
		folder = t.TempDir()
	}
	folder = filepath.Join(folder, name)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for everybody
		t.Fatal(err)
	}
	root = rootCommand(&environment{}, func(string) string { return "" })
	root.InitDefaultCompletionCmd()
	return folder, root
}

// Each command has a manual page with its help.
func TestManualPages(t *testing.T) {
	folder, root := extrasIn(t, "man")
	date, err := time.Parse(time.DateOnly, *manualDate)
	if err != nil {
		t.Fatal(err)
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "ledger", Manual: "Ledger"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		t.Fatal(err)
	}
	each(t, func(cmd *cobra.Command) {
		if cmd.IsAdditionalHelpTopicCommand() || cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(text), ".SH SYNOPSIS") || len(text) < len(cmd.Long) {
			t.Errorf("%s lacks the help of its command", name)
		}
	})
}

// Shells complete the commands: they ask the program.
func TestCompletions(t *testing.T) {
	folder, root := extrasIn(t, "completions")
	for name, write := range map[string]func(file string) error{
		"ledger.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_ledger":     root.GenZshCompletionFile,
		"ledger.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
	} {
		file := filepath.Join(folder, name)
		if err := write(file); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), cobra.ShellCompRequestCmd) {
			t.Errorf("%s does not ask the program: %v", name, err)
		}
	}
}
