package main

import (
	"flag"
	"os"
	"testing"
)

// parallel is the default of -parallel. It is high, because the parallel tests only wait for servers that do not
// answer.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", parallel)
	os.Exit(m.Run())
}
