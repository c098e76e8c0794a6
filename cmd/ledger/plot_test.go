package main

import (
	"encoding/xml"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/internal/bench"
)

// plotted returns the text of a plot, which has all its values.
func plotted(t *testing.T, folder, name string) string {
	t.Helper()
	svg, err := os.ReadFile(filepath.Join(folder, name+".svg"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Figures string `xml:"desc"`
	}
	if err := xml.Unmarshal(svg, &p); err != nil {
		t.Fatal(err)
	}
	return p.Figures
}

// A folder that cannot be written to is reported before the run.
func TestPlotFolderErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"bench --url http://127.0.0.1:1", "verify --dynamodb-endpoint http://127.0.0.1:1"} {
		code, out, problems := ledger(t, "", append(strings.Fields(command), "--plot", file)...)
		if code != exitFailed || out != "" || !strings.Contains(problems, "--plot") || !strings.Contains(problems, file) {
			t.Errorf("%s: exit %d: %s%s", command, code, out, problems)
		}
	}
}

// If a plot cannot be written, the report is still printed.
func TestBenchWhosePlotFails(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "plots")
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = os.RemoveAll(folder)
			_ = os.WriteFile(folder, nil, 0o644)
			ledger.ServeHTTP(w, r)
		})
	})
	code, r, problems := runBench(t, url, "--count", "20", "--plot", folder, bench.Uniform)
	if code != exitFailed || len(r.Failed) != 0 || r.Workloads[0].Figures["succeeded"] != 20 || !strings.Contains(problems, "--plot") {
		t.Errorf("exit %d, %s\n%+v", code, problems, r)
	}
}
