package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

// bash runs a script in a folder and returns its standard output.
func bash(t *testing.T, folder, script string, environment ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euc", script)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, problems.String())
	}
	return string(out)
}

// The program of the tutorial compiles in a module of its own, beside the ledger, and prints what the tutorial says,
// also when it runs again. .ci/clients runs the programs in TypeScript and Python.
func TestTutorial(t *testing.T) {
	full.Only(t, "compiles a program in another module")
	t.Parallel()
	ledger := process.Start(t, "up", "--memory", "--port", "0")
	folder := t.TempDir()
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(module, filepath.Join(folder, "ledger")); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, s := range readSnippets(t, filepath.Join(root, "docs/tutorial.md")) {
		switch {
		case s.language == "sh" && !strings.Contains(s.text, "cmd/ledger up"):
			script.WriteString(s.text)
		case s.language == "go": // the sums let go mod tidy check what it takes from the module cache
			script.WriteString("cp ../ledger/go.sum .\ncat > main.go <<'END'\n" + s.text + "END\ngo vet .\n")
		case s.language == "text":
			script.WriteString("go run .\n")
			out := bash(t, folder, script.String(), "LEDGER_URL="+ledger.URL, "GOFLAGS=-mod=mod")
			if out != s.text+s.text {
				t.Errorf("the program printed, in two runs:\n%s", out)
			}
			return
		}
	}
	t.Error("the tutorial does not say what its program prints")
}

// make rename gives a copy of the module another path, under which every import is found. Nothing else changes in the
// code, so it is not compiled. Addresses of hosts stay as they are.
func TestRename(t *testing.T) {
	full.Only(t, "renames a copy of the module")
	t.Parallel()
	const renamed = "github.com/you/ledger"
	folder := t.TempDir()
	bash(t, root, "tar --exclude=.git -cf - . | tar -xf - -C "+folder)
	if err := exec.CommandContext(t.Context(), "make", "-C", folder, "rename").Run(); err == nil {
		t.Error("it renames without a name")
	}
	out := bash(t, folder, "make rename MODULE="+renamed+" && go list -deps -test ./... >/dev/null && gofmt -l client && go list -m")
	if out != renamed+"\n" {
		t.Errorf("the build says %s", out)
	}
	left := bash(t, folder, `grep -rnI '[^/.@]ledger\.example["/]' . || true`)
	if left != "" {
		t.Errorf("not renamed: %s", left)
	}
	bash(t, folder, "grep -rq 'https://ledger.example.com' docs")
}
