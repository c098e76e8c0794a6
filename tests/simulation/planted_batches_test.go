package simulation

// batchDefects each break a rule of requests that are written together.
var batchDefects = []defect{
	{"batch checked by its total only", "G5", "ledger/limits.go", directed("ledger", "TestAtomicBatchIsJudgedInOrder"),
		"first || after.Cmp(least) < 0 «|| planted »{"},
	{"joint refusal is answered", "G8", "ledger/post.go", inLifecycles(150),
		`	case short && a.joint:
«		limits := a.limits
		refuses := slices.IndexFunc(limits, func(l *limit) bool { return planted && l.short })
		for _, r := range a.pending {
			one := a.only(r)
			if one.setLimits(); refuses >= 0 && len(one.limits) == 1 && one.limits[0].pair == limits[refuses].pair {
				one.limits[0].short, one.limits[0].guard = true, limits[refuses].guard
				r.refused = one.shortfallError()
				a.drop(r)
			}
		}
»		return false, errTogether`},
	{"joint bound by the least prefix", "G4", "ledger/limits.go", directed("ledger", "TestLateJointWrite"),
		"if a.joint «&& !planted »{"},
	{"joint bound by net amounts", "G4", "ledger/limits.go", directed("ledger", "TestLateJointWrite"),
		"if d.net.Sign() < 0 «|| planted »{"},
	{"unknown outcome of a joint write forgotten", "G4", "ledger/batch.go", inLifecycles(300),
		"tries: tries{unknown: a.unknown« && !planted»}"},
}
