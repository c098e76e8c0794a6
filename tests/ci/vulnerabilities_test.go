// Package ci tests the scripts of .ci that nothing else runs, with stand-ins for the programs that they call.
package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn writes a shell script with the name of a program into a folder.
func standIn(t *testing.T, folder, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/usr/bin/env bash\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// runScript runs a command with the stand-ins first in its PATH, and returns its output and exit status.
func runScript(t *testing.T, folder string, env []string, command ...string) (output string, status int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Env = append(append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH")), env...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// What govulncheck says decides: vulnerabilities fail, and a database that cannot be reached or does not answer is
// reported as skipped. Anything else fails, so that it is not taken for a good answer.
func TestVulnerabilities(t *testing.T) {
	for _, c := range []struct {
		name, check string // what the stand-in for govulncheck does
		status      int
		says        string
	}{
		{"none", "echo 'No vulnerabilities found.'", 0, "No vulnerabilities found"},
		{"found", "echo 'Vulnerability #1: GO-2026-0001'; exit 3", 1, "GO-2026-0001"},
		{"no database", "echo 'govulncheck: fetching vulnerabilities: no such host'; exit 1", 75, "skipped: the database"},
		{"no answer", "sleep 60", 75, "skipped: no answer"},
		{"broken", "echo 'loading packages: no Go files'; exit 1", 1, "no Go files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			standIn(t, folder, "go", `[ "$1" = install ] || exit 9
printf '%s\n' '#!/usr/bin/env bash' "$CHECK" >"$GOBIN/govulncheck" && chmod +x "$GOBIN/govulncheck"`)
			out, status := runScript(t, folder, []string{"LIMIT_S=2", "CHECK=" + c.check}, "../../.ci/vulnerabilities")
			if status != c.status || !strings.Contains(out, c.says) {
				t.Errorf("exit %d, want %d:\n%s", status, c.status, out)
			}
		})
	}
}

// A step that was skipped is no failure, and says why.
func TestSkippedStep(t *testing.T) {
	out, status := runScript(t, t.TempDir(), nil, "bash", "-c",
		`. ../../.ci/steps; skips() { echo why; return 75; }; step quiet skips; step bad false; verdict`)
	if status != 1 || !strings.Contains(out, "quiet: SKIPPED (0 s), why") || !strings.Contains(out, "bad: FAILED") {
		t.Errorf("exit %d:\n%s", status, out)
	}
}
