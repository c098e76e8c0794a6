package main

import "testing"

// What is computed is in the files.
func TestFilesAreCurrent(t *testing.T) {
	t.Chdir("..")
	for file := range stale() {
		t.Errorf("docs/%s is stale: run go generate ./docs", file)
	}
}
