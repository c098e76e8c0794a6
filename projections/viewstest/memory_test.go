package viewstest_test

import (
	"testing"

	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestMemoryConforms(t *testing.T) {
	viewstest.Conform(t, func(*testing.T) (projections.Views, viewstest.Seed) {
		m := viewstest.NewMemory()
		m.Page = 7
		return m, m
	})
}
