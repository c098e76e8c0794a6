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
	manual     = flag.String("manual", "", "the `folder` to which TestManualPages writes, instead of one of its own")
	manualDate = flag.String("date", "2006-01-02", "the `date` in the manual pages")
)

// Each command has a manual page with its help.
func TestManualPages(t *testing.T) {
	folder := *manual
	if folder == "" {
		folder = t.TempDir()
	}
	date, err := time.Parse(time.DateOnly, *manualDate)
	if err != nil {
		t.Fatal(err)
	}
	root := rootCommand(&environment{}, func(string) string { return "" })
	root.InitDefaultCompletionCmd()
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
