// The cases below are for a rule that rebuild and the audit implement independently. The rule decides
// whether a stored fold that differs from its postings is late, because the postings are recent, or wrong.
// docs/operations.md explains the rule to operators.
package storetest

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
		{Name: "the same", Stored: found, Found: found, Want: Right},
		{Name: "lacks a settled one", Stored: Sums{4, 25, 10, 4}, Found: found, Want: Behind},
		{Name: "lacks a young one", Stored: Sums{4, 25, 10, 4}, Found: found, Young: Sums{1, 5, 0, 0}, Want: Late},
		{Name: "lacks a young one of two", Stored: Sums{4, 25, 10, 1}, Found: found, Young: Sums{2, 5, 3, 3},
			Want: Late},
		{Name: "lacks all, and all are young", Found: found, Young: found, Want: Late},
		{Name: "lacks more than the young ones", Stored: Sums{3, 20, 10, 4}, Found: found, Young: Sums{1, 5, 0, 0},
			Want: Behind},
		{Name: "lacks more than the young ones moved", Stored: Sums{4, 20, 10, 4}, Found: found,
			Young: Sums{1, 5, 0, 0}, Want: Behind},
		{Name: "lacks more than the young ones debited", Stored: Sums{4, 30, 5, 4}, Found: found,
			Young: Sums{2, 9, 4, 0}, Want: Behind},
		{Name: "one more", Stored: Sums{6, 31, 10, 4}, Found: found, Want: Beyond},
		{Name: "one more, through another", Stored: Sums{6, 31, 10, 4}, Found: found, ElsewhereEnd: true,
			Want: Beyond},
		{Name: "one more, young or not", Stored: Sums{6, 31, 10, 4}, Found: found, Young: found, Want: Beyond},
		{Name: "another amount", Stored: Sums{5, 31, 10, 4}, Found: found, Want: Wrong},
		{Name: "another cost", Stored: Sums{5, 30, 10, 5}, Found: found, Young: found, Want: Wrong},
		{Name: "lacks a posting of nothing", Stored: Sums{4, 30, 10, 4}, Found: found, Young: found, Want: Wrong},
		{Name: "lacks one that is credit and debit", Stored: Sums{4, 29, 9, 4}, Found: found, Young: found,
			Want: Wrong},
		{Name: "lacks one of a cost alone", Stored: Sums{4, 30, 10, 1}, Found: found, Young: found, Want: Late},
		{Name: "fewer, and more debits", Stored: Sums{3, 20, 11, 4}, Found: found, Young: found, Want: Wrong},
		{Name: "another end", Stored: Sums{4, 25, 10, 4}, Found: found, Young: found, ElsewhereEnd: true, Want: Wrong},
	}
}
