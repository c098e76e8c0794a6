package simulation

// batchDefects each break a rule of requests that are written together.
var batchDefects = []defect{
	{"batch checked by its total only", "G5", "ledger/limits.go", directed("ledger", "TestAtomicBatchIsJudgedInOrder"),
		"first || after.Cmp(least) < 0 «|| planted »{"},
	{"joint refusal is answered", "G8", "ledger/post.go", inLifecycles(150),
		`	case short != nil && a.joint:
«		for _, r := range a.pending {
			one := a.only(r)
			for one.setLimits(); planted && len(one.limits) == 1 && one.limits[0].pair == short[0].limit.pair; {
				r.refused = one.shortfallError(short[:1])
				a.drop(r)
				break
			}
		}
»		return false, errTogether`},
	{"joint bound by the least prefix", "G4", "ledger/limits.go", directed("ledger", "TestLateJointWrite"),
		"if a.joint «&& !planted »{"},
	{"joint bound by net amounts", "G4", "ledger/limits.go", directed("ledger", "TestLateJointWrite"),
		"if d.net.Sign() < 0 «|| planted »{"},
	{"unknown outcome of a joint write forgotten", "G4", "ledger/joint.go", inLifecycles(300),
		"tries: tries{unknown: a.unknown« && !planted»}"},
}
