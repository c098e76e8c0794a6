package projections

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// rebuildTries is how often in a row a rebuild starts again because others came first: a hot balance is written every second
// or so, and the last of its attempts, which read little anew, need only some hundred milliseconds without.
const rebuildTries = 240

// Rebuilt is what a rebuild found. In a dry run it is what there would be to mend.
type Rebuilt struct {
	Postings    int64        // read
	Differences []Difference // mended, one for each item
	Strays      []Stray      // not to be mended
}

// Rebuild makes the balance of k and its segments what the postings make of them, whatever is stored and whoever wrote it: wrong,
// lost, too many, unreadable, or counting what isn't there. It deletes nothing. It may run beside projectors, commands, strong reads
// and other rebuilds; it may be broken off anywhere and done again. A dry run writes nothing and tells the same.
//
// It reads the balance and all its segments at one version, folds the postings of each stretch between two stored ends again, and
// compares the folds, not only the counts. Every write is a transaction on the version that was read:
//
//   - A segment that is missing makes the stretch of the next one longer (and it is split when it is twice as long as it need
//     be); one that should not be there splits the stretch that it lies in; one beyond the base moves the base. So the chain of
//     After and Through is whole whatever the ends are. An end that is not settled, or no KSUID, is a Stray: with a base there,
//     fresh postings would lie below the seal, where no strong read looks.
//   - As many wrong segments as one change carries are mended at once with base, seal, head and summary: one state is wrong, the
//     next is right.
//   - Of more, those at or below the stored seal are written first. If the stored base is the sum of what is stored of them, each
//     brings what it changes to base, seal and head, as a refold's corrections do; else the balance stays as it is but for its
//     version, as no figure of it was made from them. What is still wrong of base, seal and head comes with the last ones.
//   - Those above the stored seal (of a balance that was lost, most of all) are saved as a refold does that reads forwards: base and
//     seal move to the last one written, what is shown stays, and the balance is unfinished. The seal only moves on to what was
//     read after the version that the write compares.
//
// What is shown may go back by this, and the seal too. The seal never goes to where it doesn't count a posting that a strong
// read could be sure of before: it is made of postings that were read after the balance was, on whose version the write is.
// A posting that a command makes sure of lies above the seal then, and raises the version; or it is in a stretch whose
// count the command found right, and that is folded anew unless it still is what it was when its postings were read.
//
// By a wrong count a projector, or a command, may take a posting for counted that came after the rebuild read its stretch, and
// write nothing. So what was mended is looked at once more: by then the counts are right, and deceive nobody.
//
// The summary is moved by what the balance brought and brings to it, so it stays as far off as it was found: RebuildSummary
// afterwards counts it anew. Errors: those of Views; table.ErrConflict when others kept coming first.
func (p *Projector) Rebuild(ctx context.Context, k Key, dry bool) (Rebuilt, error) {
	r, err := p.rebuild(ctx, k, dry)
	return r.Rebuilt, err
}

// rebuilt is a Rebuilt with the balance as it became, or would become.
type rebuilt struct {
	Rebuilt
	balance Balance
}

func (p *Projector) rebuild(ctx context.Context, k Key, dry bool) (rebuilt, error) {
	w := &work{}
	r := &rebuild{
		refold: refold{Projector: p, views: &measured{Views: p.views, work: w}}, key: k, dry: dry, counted: make(map[events.KSUID]stretchCount),
	}
	attempt := func() (bool, error) {
		saves := r.saves
		err := r.attempt(ctx)
		return r.saves > saves, err
	}
	err := p.again(ctx, attempt)
	if r.mended && err == nil {
		err = p.again(ctx, attempt)
	}
	r.found.Postings = w.postings
	return rebuilt{r.found, r.balance}, err
}

// again does what attempt does until it succeeds: from its beginning when others came first, when the outcome of a write
// is unknown, or when the store throttles. An attempt that tells that it went on is not counted.
func (p *Projector) again(ctx context.Context, attempt func() (wentOn bool, err error)) error {
	for try := 1; ; try++ {
		wentOn, err := attempt()
		if wentOn {
			try = 1
		}
		most := 0
		switch {
		case errors.Is(err, table.ErrConflict), errors.Is(err, table.ErrUnknownOutcome):
			most = rebuildTries
		case errors.Is(err, table.ErrThrottled):
			most = throttledTries
		}
		if try >= most {
			return err
		}
		if stopped := p.pause(ctx, try); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// rebuild is one rebuild over all its attempts; the refold in it is the attempt.
type rebuild struct {
	refold
	key     Key
	dry     bool
	counted map[events.KSUID]stretchCount // by where they end, as they were last read
	saves   int
	mended  bool // something was wrong, and is written
	found   Rebuilt

	mark    *Mark        // of the balance; nil once this attempt has written it
	pending []Difference // of what is to be written
	walked  int          // stretches beyond the seal since the last save
	nested  bool         // base, seal and head are made of the segments as they are stored
}

// attempt reads what is stored, and writes what is other than it is to be.
func (r *rebuild) attempt(ctx context.Context) error {
	begun := r.now()
	c, err := readChain(ctx, r.views, r.key, r.window)
	if err != nil {
		return err
	}
	stored := c.balance.Value
	if !c.balance.Versioned {
		stored.Version = leap(c.at)
	}
	r.stored, r.balance, r.segments, r.settled = stored, stored, nil, settledBefore(begun, c.at, r.window)
	r.mark, r.pending, r.walked, r.nested = &c.balance.Mark, nil, 0, c.nested()
	r.found.Strays = nil
	if r.dry {
		r.found.Differences = nil
	}
	saves := r.saves

	base, first, err := r.walk(ctx, c)
	if err != nil {
		return err
	}
	b := &r.balance
	b.Base, b.Seal, b.First = base, base, first
	seal, sealFirst, err := r.sealed(ctx, c, base)
	if err != nil {
		return err
	}
	if seal == stored.Seal && seal.Count-base.Count < 2*r.stretch { // else the stretch lost its ends, and gets new ones
		b.Seal, b.First = seal, earlier(first, sealFirst)
	}
	if err := r.forward(ctx, r.save); err != nil {
		return err
	}
	if c.balance.There && b.Head.Count == 0 {
		// One is only made for a posting that is there.
		key := table.BalanceKey(r.key.Account, r.key.Asset)
		r.found.Strays = append(r.found.Strays, Stray{key, "no posting belongs to this balance: it is made to show nothing, and stays"})
	}
	if seal == stored.Seal && b.Head == stored.Head && base == stored.Base && b.First == stored.First && !stored.Unfinished &&
		c.balance.Fault == nil && len(r.pending) == 0 && r.saves == saves {
		r.balance = stored // that the seal could follow is not worth a write
		return nil
	}
	if err := r.compare(ctx, c, base, seal); err != nil {
		return err
	}
	behind := len(r.pending) == 1 && r.pending[0].Behind
	if err := r.save(ctx); !behind || !errors.Is(err, table.ErrConflict) {
		return err
	}
	return nil // somebody else counts what came moments ago
}

// leap is a version for an item that has none. What was sent on a version of before it was lost may still arrive: so the new
// ones begin far above what counting up from one could have come to.
func leap(at time.Time) int64 { return at.UnixMilli() }

// walk folds every stretch that ends at a stored segment again, and returns the sum of all and the first of their postings.
func (r *rebuild) walk(ctx context.Context, c chain) (base Fold, first events.KSUID, err error) {
	found := make(map[events.KSUID]Found[Segment], len(c.segments))
	for _, s := range c.segments {
		found[s.Value.Through] = s
	}
	for _, s := range c.segments {
		end := s.Value.Through
		if why := strayEnd(end, c.settled); why != "" {
			r.found.Strays = append(r.found.Strays, Stray{table.SegmentKey(r.key.Account, r.key.Asset, string(end)), why})
			continue
		}
		counted, err := r.countedTo(ctx, base.Through, s, r.stored.Seal.Through)
		if err != nil {
			return Fold{}, "", err
		}
		first = earlier(first, counted.first)
		parts := []Segment{counted.Segment}
		if s.Value != counted.Segment && !r.nested {
			if parts, err = counted.split(r.stretch); err != nil {
				return Fold{}, "", err
			}
		}
		if r.nested && s.Value != counted.Segment {
			r.adjust(s.Value.Fold, counted)
		}
		for _, part := range parts {
			if base, err = base.plus(part.Fold); err != nil {
				return Fold{}, "", err
			}
			base.Through = part.Through
			if err := r.compareSegment(ctx, found[part.Through], part, base); err != nil {
				return Fold{}, "", err
			}
		}
	}
	return base, first, nil
}

// adjust takes what a recount found otherwise than stored into every fold over a stretch, as a refold's correction does.
func (r *rebuild) adjust(stored Fold, counted stretchCount) {
	change, err := counted.minus(stored)
	if err != nil {
		return
	}
	if b, err := r.balance.corrected(counted.Through, change, counted.first); err == nil {
		r.balance = b
	}
}

// strayEnd tells why a segment cannot end there.
func strayEnd(end, settled events.KSUID) string {
	switch {
	case !isKSUID(end):
		return "no posting could end this segment: its key holds no KSUID"
	case end >= settled:
		return "this segment ends in the future: no posting there is settled yet"
	}
	return ""
}

// countedTo folds the stretch after `after` that ends where s does. What was read before is good as long as what is stored of the
// segment is what was counted then, or what was stored of it then: nobody counted anything there since. And it must lie below the
// seal: above it, commands don't look at segments.
func (r *rebuild) countedTo(ctx context.Context, after events.KSUID, s Found[Segment], seal events.KSUID) (stretchCount, error) {
	end := s.Value.Through
	if known, ok := r.counted[end]; ok && known.After == after && end <= seal &&
		(s.Fault == nil && s.Value == known.Segment || s.Value == known.stored) {
		return known, nil
	}
	counted, err := countStretch(ctx, r.views, r.key, after, end, r.stretch)
	if err != nil {
		return stretchCount{}, err
	}
	counted.stored = s.Value
	r.counted[end] = counted
	return counted, nil
}

// compareSegment notes s to be written if it is stored otherwise, and saves the way when there is enough to write. base is the sum of
// all through s.
func (r *rebuild) compareSegment(ctx context.Context, stored Found[Segment], s Segment, base Fold) error {
	if !stored.There || stored.Fault != nil || stored.Value != s {
		if !stored.There {
			stored.Value = Segment{}
		}
		key := table.SegmentKey(s.Account, s.Asset, string(s.Through))
		r.pending = append(r.pending, differenceOf(key, stored, s, Segment.fields))
		r.segments = append(r.segments, s)
	}
	beyond := base.Through > r.stored.Seal.Through
	if beyond {
		r.walked++
	}
	switch {
	case len(r.segments) < r.Projector.segments && r.walked < r.Projector.segments:
		return nil
	case beyond:
		r.balance.Base, r.balance.Seal, r.balance.Unfinished = base, base, true
		fallthrough
	default:
		return r.save(ctx)
	}
}
