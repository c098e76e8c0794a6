package simulation

// endsInBatchesDefects each break a rule of captures, releases and reversals in batches.
var endsInBatchesDefects = []defect{
	{"unknown end in a batch reported as refused", "G11", "ledger/outcome.go", inLifecycles(600),
		"«if !planted || !slices.ContainsFunc(a.pending, func(r *request) bool { return r.endsHold() && r.number > 0 }) { »" +
			"e = unknownError(id, err)«; }»"},
	{"late capture expires with all of its batch", "G1", "ledger/post.go",
		directed("ledger", "TestAtomicBatchWithALateCapture"),
		"if len(requests) > 1 && «!planted && »r.isLate("},
	{"reversal in a batch opens a closed account", "G5", "ledger/limits.go",
		directed("ledger", "TestReversalInABatchOpensNoClosedAccount"),
		"limits[at].isReversal = «planted || »limits[at].isReversal && r.isReversal()"},
	{"hidden transaction tells its size", "G10", "functions/api/permit.go",
		directed("tests/access", "TestUsersBatchOfEndsIsLimited"),
		"if left -= shown; «!planted && »shown == 0 {"},
}
