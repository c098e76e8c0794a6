package main

import (
	"flag"
	"os"
	"testing"
)

// sideBySide is how many tests run at once, unless -parallel says how many: those that run beside others wait for
// servers that do not answer.
const sideBySide = "8"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", sideBySide)
	os.Exit(m.Run())
}
