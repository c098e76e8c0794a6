package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// each calls f for the root command and all subcommands.
func each(t *testing.T, f func(cmd *cobra.Command)) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		f(cmd)
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(rootCommand(&environment{}, func(string) string { return "" }))
}

func TestHelpFitsATerminal(t *testing.T) {
	each(t, func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" && cmd.Name() != "version" {
			t.Errorf("%s has no help", cmd.CommandPath())
		}
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if text.StringWidth(line) > columnsMax || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %d columns, or spaces at the end: %q", cmd.CommandPath(), text.StringWidth(line), line)
			}
		}
	})
}

func TestHelpOnUnknownCommands(t *testing.T) {
	for _, topic := range [][]string{{"nope"}, {"account", "nope"}} {
		code, out, problems := ledger(t, "", append([]string{"help"}, topic...)...)
		if code != exitUsage || out != "" || !strings.Contains(problems, `unknown command "nope"`) {
			t.Errorf("%v: exit %d: %s%s", topic, code, out, problems)
		}
	}
	if code, out, _ := ledger(t, "", "help", "account", "open"); code != exitDone || !strings.HasPrefix(out, "open opens") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// Commands that call the API have its flags, commands that print or log JSON have --json, and no others. Those that
// apiCommand makes have --minor, too.
func TestSharedFlags(t *testing.T) {
	calling := []string{"import", "export"}
	each(t, func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("minor") != nil {
			calling = append(calling, strings.TrimPrefix(cmd.CommandPath(), "ledger "))
		}
	})
	printing := append([]string{"verify", "restore", "rebuild", "redrive", "lanes", "digest", "up", "pump", "forward"}, calling...)
	printing = append(printing, "refusals")
	calling = append(calling, "console", "forward", "health", "mcp")
	each(t, func(cmd *cobra.Command) {
		for flag, commands := range map[string][]string{
			"url": append(slices.Clone(calling), "refusals"), "sign": calling, "token": calling,
			"user": append(slices.Clone(calling), "refusals"), "json": printing,
		} {
			has := cmd.Flags().Lookup(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil
			if has != slices.Contains(commands, strings.TrimPrefix(cmd.CommandPath(), "ledger ")) {
				t.Errorf("%s: --%s: %t", cmd.CommandPath(), flag, has)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no help", cmd.CommandPath(), f.Name)
			}
		})
	})
}
