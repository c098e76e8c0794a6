package main

import (
	"runtime/debug"
	"testing"
)

// A build of a clone says its commit with the date, and whether files were changed. A build without a commit says the
// version alone.
func TestVersionNamesCommitAndDate(t *testing.T) {
	clone := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "65a4d61"},
		{Key: "vcs.time", Value: "2026-11-27T12:30:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for want, settings := range map[string][]debug.BuildSetting{
		"v1.2.0": nil,
		"v1.2.0, commit 65a4d61 of 2026-11-27T12:30:00Z":           clone[:3],
		"v1.2.0, commit 65a4d61 of 2026-11-27T12:30:00Z, modified": clone,
	} {
		info := &debug.BuildInfo{Settings: settings}
		info.Main.Version = "v1.2.0"
		if got := buildText(info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, command := range []string{"version", "--version"} {
		if _, out, _ := ledger(t, "http://127.0.0.1:1", command); out != "ledger "+buildText(buildInfo())+"\n" {
			t.Errorf("%s prints %q", command, out)
		}
	}
}
