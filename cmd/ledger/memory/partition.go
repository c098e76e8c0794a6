package memory

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// A partition holds the entries of one partition key in order, in runs: one that comes between others moves those of its run,
// not all of a large account's. No run is empty.
type partition struct {
	hash uint64
	key  string
	runs [][]entry
}

// runMost is the most entries of a run: few enough to be moved quickly, enough that few runs are.
const runMost = 512

// A position is that of an entry in its partition: of all positions in order, it is one before an entry or the end.
type position struct{ run, index int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.run, q.run), cmp.Compare(p.index, q.index))
}

// end is the position behind all entries.
func (p *partition) end() position { return position{run: len(p.runs)} }

// first returns the position of the first entry that isn't below, which are those up to some.
func (p *partition) first(below func(entry) bool) position {
	run := sort.Search(len(p.runs), func(i int) bool { return !below(p.runs[i][len(p.runs[i])-1]) })
	if run == len(p.runs) {
		return p.end()
	}
	return position{run, sort.Search(len(p.runs[run]), func(i int) bool { return !below(p.runs[run][i]) })}
}

// place returns where the entry of a spot is or would be.
func (p *partition) place(s spot) (position, bool) {
	at := p.first(func(e entry) bool { return e.order(s) < 0 })
	return at, at.run < len(p.runs) && p.runs[at.run][at.index].order(s) == 0
}

// insert puts an entry in its place, unless it is there.
func (p *partition) insert(e entry) {
	at, there := p.place(e.spot())
	last := len(p.runs) - 1
	switch {
	case there:
		return
	case at.run <= last:
	case last < 0 || len(p.runs[last]) == runMost:
		p.runs = append(p.runs, []entry{e})
		return
	default: // new postings come last
		at = position{last, len(p.runs[last])}
	}
	run := slices.Insert(p.runs[at.run], at.index, e)
	if len(run) > runMost {
		half := len(run) / 2
		p.runs = slices.Insert(p.runs, at.run+1, slices.Clone(run[half:]))
		clear(run[half:]) // lets go of the rows
		run = run[:half]
	}
	p.runs[at.run] = run
}

// remove takes an entry out, if it is there.
func (p *partition) remove(e entry) {
	at, there := p.place(e.spot())
	if !there {
		return
	}
	p.runs[at.run] = slices.Delete(p.runs[at.run], at.index, at.index+1)
	if len(p.runs[at.run]) == 0 {
		p.runs = slices.Delete(p.runs, at.run, at.run+1)
	}
}

// between yields the entries from one position to before another, forward or backward.
func (p *partition) between(from, to position, forward bool) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for n := from.run; n <= min(to.run, len(p.runs)-1); n++ {
			i := n
			if !forward {
				i = from.run + min(to.run, len(p.runs)-1) - n
			}
			run := p.runs[i]
			if i == to.run {
				run = run[:to.index]
			}
			if i == from.run {
				run = run[min(from.index, len(run)):]
			}
			for k := range run {
				if !forward {
					k = len(run) - 1 - k
				}
				if !yield(run[k]) {
					return
				}
			}
		}
	}
}
