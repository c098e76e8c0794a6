package verify

import (
	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// ofEffectiveDates are seen in a transaction with an effective date.
func (b book) ofEffectiveDates() []corruption {
	paid := table.TransactionKey("e-1")
	return []corruption{
		wrong("recorded before its effective date", paid, "RecordedAt", ddb.String(events.FormatTime(events.Epoch())),
			audit.WrongValue),
		{"recorded at another time", set(paid, "RecordedAt", ddb.String("2100-01-01T00:00:00.000000Z")),
			ofChecksums(audit.ChecksumDiffers, paid)},
		wrong("effective date that was not asked for", paid, "Fingerprint", ddb.String("2:none"),
			audit.FingerprintDiffers),
		wrong("reversal at a date that was not asked for", table.TransactionKey("e-2"), "Fingerprint",
			ddb.String("2:none"), audit.FingerprintDiffers),
	}
}
