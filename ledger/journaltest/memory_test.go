package journaltest_test

import (
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

func TestMemoryConforms(t *testing.T) {
	journaltest.Conform(t, func(t *testing.T) journaltest.Harness {
		m := journaltest.NewMemory(t, nil)
		return journaltest.Harness{
			Journal: m,
			Project: func(_ testing.TB, p ledger.Pair, credits events.Amount) { m.Project(p, credits) },
		}
	})
}
