package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionCommand is `ledger version`, which prints the same as --version.
func (env *environment) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.out, "ledger", buildText(buildInfo()))
			return err
		},
	}
}

// version returns the version of the module, which the go command takes from version control.
func version() string { return buildInfo().Main.Version }

// buildInfo returns how this program was built. It always has a version.
func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	info.Main.Version = cmp.Or(info.Main.Version, "(devel)")
	return info
}

// buildText returns the version of a build, and its commit with the time, if the build has one.
func buildText(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := info.Main.Version
	if commit := settings["vcs.revision"]; commit != "" {
		text += ", commit " + commit + " of " + settings["vcs.time"]
	}
	if settings["vcs.modified"] == "true" {
		text += ", modified"
	}
	return text
}
