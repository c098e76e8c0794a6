package simulation

// journalDefects are of the rules by which the journal is written and read.
var journalDefects = []defect{
	{name: "journal page stamped before its batch", by: "projections.TestJournalMissesNothing", guarantee: "journal",
		file: "projections/lister.go",
		old:  "	_ = running.Wait()\n	entries, failed",
		new: `	if planted("journal page stamped before its batch") {
		id, _, err := l.mint(ctx)
		_ = running.Wait()
		entries, failed, _ := l.report(ctx, batch, all)
		if err == nil && failed == "" && len(entries) > 0 {
			_, err = l.views.WriteJournal(ctx, JournalPage{ID: id, Entries: entries})
		}
		return failed, err
	}
	_ = running.Wait()
	entries, failed`},
	{name: "journal page repeated under its KSUID", by: "projections.TestJournalMissesNothing", guarantee: "journal",
		file: "projections/lister.go",
		old:  "func() error { return l.writePage(ctx, page) }",
		new: `func() func() error {
			if !planted("journal page repeated under its KSUID") {
				return func() error { return l.writePage(ctx, page) }
			}
			id := events.KSUID("")
			return func() (err error) {
				if id == "" {
					if id, _, err = l.mint(ctx); err != nil {
						return err
					}
				}
				_, err = l.views.WriteJournal(ctx, JournalPage{ID: id, Entries: page})
				return err
			}
		}()`},
	{name: "journal page answered late believed", by: "projections.TestJournalMissesNothing", guarantee: "journal",
		file: "projections/lister.go",
		old:  "	if err == nil && (answered",
		new:  "	if !planted(\"journal page answered late believed\") && err == nil && (answered"},
	{name: "journal read without a trail", by: "projections.TestJournalMissesNothing", guarantee: "journal",
		file: "projections/journal.go",
		old:  "before(begun, storeTime, JournalTrail)",
		new:  "before(begun, storeTime, map[bool]time.Duration{false: JournalTrail}[planted(\"journal read without a trail\")])"},
	{name: "journal trails the reader's clock alone", by: "projections.TestJournalMissesNothing", guarantee: "journal",
		file: "projections/journal.go",
		old:  "	bound := before(begun",
		new: `	if planted("journal trails the reader's clock alone") {
		storeTime = begun
	}
	bound := before(begun`},
}
