package tests

import (
	"testing"

	"ledger.example/ledger"
	"ledger.example/projections"
)

// The write side makes sure of what may be settled already, by the read side's window: they don't import each other.
func TestSettleWindowIsOne(t *testing.T) {
	if ledger.SettleWindow != projections.SettleWindow {
		t.Errorf("the write side takes %v for settled, the read side %v", ledger.SettleWindow, projections.SettleWindow)
	}
}
