// The cases below are for a rule that rebuild and the audit implement independently. The rule decides
// whether a stored fold that differs from its postings is late, because the postings are recent, or wrong.
// docs/audit.md explains the rule to operators.
package tabletest

// Sums are the sums of some postings, each a credit or a debit.
type Sums struct{ Count, Credits, Debits, Expenditure int64 }

// Verdict is the judgement of a stored fold.
type Verdict string

// The verdicts. A Behind fold lacks postings that should have been counted by now, a Beyond one counts more postings
// than there are.
const (
	Right  Verdict = "right"
	Late   Verdict = "late"
	Behind Verdict = "behind"
	Wrong  Verdict = "wrong"
	Beyond Verdict = "beyond"
)

// Case is one case.
type Case struct {
	Name         string
	Stored       Sums
	Found        Sums // of the postings through where the stored fold ends
	Young        Sums // of those among them that may still be on their way
	ElsewhereEnd bool // the stored fold ends at another posting
	Want         Verdict
}

// Cases returns all of them.
func Cases() []Case {
	found := Sums{5, 30, 10, 4}
	return []Case{
		{"the same", found, found, Sums{}, false, Right},
		{"lacks a settled one", Sums{4, 25, 10, 4}, found, Sums{}, false, Behind},
		{"lacks a young one", Sums{4, 25, 10, 4}, found, Sums{1, 5, 0, 0}, false, Late},
		{"lacks a young one of two", Sums{4, 25, 10, 1}, found, Sums{2, 5, 3, 3}, false, Late},
		{"lacks all, and all are young", Sums{}, found, found, false, Late},
		{"lacks more than the young ones", Sums{3, 20, 10, 4}, found, Sums{1, 5, 0, 0}, false, Behind},
		{"lacks more than the young ones moved", Sums{4, 20, 10, 4}, found, Sums{1, 5, 0, 0}, false, Behind},
		{"lacks more than the young ones debited", Sums{4, 30, 5, 4}, found, Sums{2, 9, 4, 0}, false, Behind},
		{"one more", Sums{6, 31, 10, 4}, found, Sums{}, false, Beyond},
		{"one more, through another", Sums{6, 31, 10, 4}, found, Sums{}, true, Beyond},
		{"one more, young or not", Sums{6, 31, 10, 4}, found, found, false, Beyond},
		{"another amount", Sums{5, 31, 10, 4}, found, Sums{}, false, Wrong},
		{"another cost", Sums{5, 30, 10, 5}, found, found, false, Wrong},
		{"lacks a posting of nothing", Sums{4, 30, 10, 4}, found, found, false, Wrong},
		{"lacks one that is credit and debit", Sums{4, 29, 9, 4}, found, found, false, Wrong},
		{"lacks one of a cost alone", Sums{4, 30, 10, 1}, found, found, false, Late},
		{"fewer, and more debits", Sums{3, 20, 11, 4}, found, found, false, Wrong},
		{"another end", Sums{4, 25, 10, 4}, found, found, true, Wrong},
	}
}
