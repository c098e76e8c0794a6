package simulation

import "slices"

// defects has one defect for each rule that a guarantee depends on, and at least one for each guarantee.
// docs/testing.md lists them (TestDefectsAreListed).
//
// To plant a defect, add a row:
//
//	{"limit not checked", "G5", "ledger/limits.go", inHistories(10), "if isBelow(limit) «&& !planted »{"},
//
// It has a name, the guarantees that the defect breaks, a file of the product, the test that must fail, and a passage
// of the file. Without the text in «», the passage must occur in the file exactly once. The defect inserts the text in
// «» and removes the text in ‹›. In inserted text, the variable planted is true while the defect is switched on. With
// planted false, the code must work as before, because all defects are compiled into the same binary.
//
// Prefer inHistories(n) or inLifecycles(n): n is how many histories may run, from seed 0, before one fails. If random
// histories find a defect too rarely, name a directed test.
var defects = slices.Concat(backdatedDefects, closingDefects, batchDefects, endsInBatchesDefects, []defect{
	// G1: all or nothing.
	{"one posting left out", "G1", "ledger/commit.go", inHistories(10),
		"«if planted && len(c.limits) == 0 { c.postings = c.postings[1:] }; »all, maker := make("},
	{"posting without its cost", "G1", "ledger/commit.go", inHistories(10),
		"«if planted { c.postings[i].Cost = events.Amount{} }; »all = append(all, putAbsent(maker, &c"},
	// G2: sums are zero.
	{"cost on one side", "G2", "ledger/request.go", inHistories(10),
		"for i, leg := range legs {\n«if planted && leg.Cost.Sign() < 0 { leg.Cost = events.Amount{} }; »		t.Legs[i]"},
	// G3, G4: events are written once, a request has one effect.
	{"header without its condition", "G3, G4", "ledger/commit.go", inHistories(10),
		`all = append(all, putAbsent(maker, e))«
		if planted {
			all[len(all)-1].If = ""
		}»`},
	{"fingerprint ignored", "G4", "ledger/draft.go", inHistories(10),
		"return «planted || »fingerprint(d) == stored, nil"},
	{"effective date not compared", "G4", "ledger/draft.go", inHistories(30),
		"«if !planted { »effective = events.FormatTime(d.effective())« }»\n"},
	{"EnsureVisible called for a backdated transaction", "G6", "ledger/outcome.go",
		directed("ledger", "TestEffectiveDate"),
		"if !r.DryRun && «(planted || »!postings[0].Backdated«)» {"},
	{"unknown outcome reported as refused", "G4", "ledger/outcome.go", inHistories(30),
		"if «!planted && »a.unknown && !slices"},
	{"unknown end of a hold reported as refused", "G4", "ledger/post.go", directed("ledger", "TestOutcomes"),
		"a.unknown = true«; if a.pending[0].endsHold() && planted { a.unknown = false }»\n			a.ledger.log"},
	{"mixed cancellation treated as a refusal", "G4", "ledger/post.go",
		directed("ledger", "TestConflictOfTheHeaderIsNoRefusal"),
		"if !allAbsent «&& !planted »|| len(refused) == 0 {"},
	{"refused although the header exists", "G4", "ledger/post.go", directed("ledger", "TestNoRefusalOfAStoredTransaction"),
		`«	case short && planted:
		return false, a.fail(c, a.shortfallError())
»	case short:`},
	{"retried after the caller disconnected", "G4", "ledger/post.go",
		directed("ledger", "TestNoAttemptAfterTheCallerIsGone"),
		"if err := c.abandoned(); err != nil «&& !planted »{"},
	// G5: never below the limit.
	{"credits cached too high", "G5", "ledger/funding.go", inHistories(10),
		"«if planted { exact = addSaturating(exact, events.NewAmount(1<<46)) }; »a.ledger.credits.raise(l.pair, exact)"},
	{"cached credits never expire", "G5", "ledger/cache.go", directed("ledger", "TestCachedCreditsExpire"),
		"if !ok || !entry.readAt.within(creditsTTL, c.now) «&& !planted »{"},
	{"guard reduced by the transaction's credits", "G5", "ledger/commit.go", inHistories(10),
		`func (l *limit) spend(m *store.ItemEncoder) store.Write {
«	if planted {
		reduced := *l
		reduced.gross = addSaturating(l.gross, l.ownCredits.Neg())
		l = &reduced
	}
»`},
	{"debit without its guard", "G5", "ledger/limits.go", inHistories(10),
		"if a.Overdraft.Unlimited «|| planted && len(a.Overdraft.Limits) > 0 »||"},
	{"guard without its condition", "G5", "ledger/commit.go", inHistories(10),
		`spend(m *store.ItemEncoder) store.Write {
«	withinBound := withinBound
	if planted {
		withinBound += " OR #form = :form AND #change = :change AND attribute_exists(#spent)"
	}
»`},
	// G6: the fold of the postings.
	{"balance without its version", "G6", "projections/balance.go", inHistories(10),
		"«if planted { balance.If, balance.Names, balance.Values = \"\", nil, nil }; »if len(c.Segments) == 0 && c.Summary == nil {"},
	{"stretch not checked", "G6", "projections/refold.go", inHistories(10),
		"if «planted { } else if »err := r.check(ctx, dirty[:above]); err != nil {"},
	{"late postings below the base ignored", "G6", "projections/refold.go", inHistories(10),
		"if d.id <= checked «|| d.id <= r.balance.Base.Through && planted »{\n"},
	{"correction misses the segment", "G6", "projections/refold.go", inHistories(10),
		"«if !planted { »r.segments = append(r.segments, again)« }»"},
	{"correction misses the balance", "G6", "projections/balance.go", inHistories(10),
		"«if planted { return b, nil }; »if b.Seal, err = b.Seal.Plus(late); err != nil {"},
	{"segment and balance read separately", "G6", "projections/balance.go", inHistories(600),
		"«if planted { return found, nil }; »now, segment, err := v.BalanceWithSegment("},
	{"segment without the posting trusted", "G6", "projections/balance.go",
		directed("projections", "TestSegmentWithoutThePostingIsNotTrusted"),
		"case err != nil, «(»id <= found.After || id > found.Through«) && !planted»:"},
	{"postings read with eventual consistency", "G6", "projections/fold.go", inHistories(10),
		"«if planted { q.Consistency = store.Eventual }; »q.Limit, q.Attributes = postingsPage, figures"},
	{"partial refold not marked unfinished", "G6", "projections/refold.go", inHistories(10),
		"b.Unfinished = true« && !planted»"},
	{"a hundred segments in one write", "G6", "projections/refold.go", inHistories(10),
		"if len(r.segments) < r.projector.tuning.Segments «|| planted »{"},
	{"failure reported one record too late", "G6", "projections/batch.go", inHistories(30),
		"«if planted && j.first > 0 && j.first+1 < len(batch) { j.first++ }; »number := batch[j.first].SequenceNumber"},
	{"membership without its condition", "G6", "projections/view.go", inHistories(60),
		"«if planted { newer.If, newer.Names, newer.Values = \"\", nil, nil }; »_, err := v.table.Write(ctx, newer)"},
	{"newest grant read with eventual consistency", "G6", "projections/table.go", inHistories(60),
		"Partition: partition, Within: within, Descending: true, Consistency: ‹store.Strong›«store.Consistency(!planted)»,"},
	{"malformed record skipped silently", "G6", "projections/batch.go", inHistories(30),
		"«		case planted && !eachTarget(r, func(Target, int64) {}):\n»		case !eachTarget(r, touch):\n"},
	{"one balance blocks its shard", "G6", "projections/batch.go",
		directed("projections", "TestBatchSkipsRecordsThatNoRetryFixes"),
		"if j.isFinal() «&& !planted »{"},
	{"lost balance started from zero", "G6", "projections/refold.go",
		directed("projections/repair", "TestLostBalanceIsRebuiltCompletely"),
		"if p.repairer == nil || b.Seal.Count+b.Head.Count > 0 && !b.Unfinished «|| planted »{"},
	{"altered event treated as new", "G3", "projections/batch.go",
		directed("projections", "TestBatchRaisesAlarmsForAlteredAndDeletedItems"),
		"case r.Altered && store.IsEvent(r.SK)« && !planted»:"},
	// G6, G7: a projector's cache.
	{"stale cache entry used", "G6", "projections/cache.go", inHistories(10),
		"if entry == nil || entry.balance != b «&& !planted »{"},
	{"cache kept after a failed write", "G6", "projections/cache.go", inHistories(60),
		"«if !planted { »c.drop(b.Pair)« }»\n	if entry"},
	{"posting without figures skipped", "G6", "projections/cache.go", inHistories(30),
		` || «!planted && »slices.ContainsFunc(dirty, func(d dirtyPosting) bool { return d.figures == nil }) {
		return false
	}
	for _, d := range dirty {
«if d.figures == nil { continue }; »`},
	{"seal computed from the cache", "G7", "projections/refold.go", directed("projections", "TestSealMovesInSteps"),
		`«	if planted && !r.worthSealing() {
		return after, func(yield func(Posting, error) bool) {
			for _, p := range cached {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
»	if !r.worthSealing() {
`},
	// G6, G7: whatever any clock says.
	{"settle window 0", "G6, G7", "projections/projector.go",
		directed("tests/simulation", "TestSealStopsAtTheSettleWindow"),
		"«if planted { return trailingKSUID(begun, storeTime, 0) }; »return trailingKSUID(begun, storeTime, store.SettleWindow)"},
	{"settled by the process clock only", "G7", "projections/projector.go", inHistories(60),
		"if storeTime.Before(begun) «&& !planted »{"},
	{"settled at the end of the read", "G7", "projections/refold.go",
		directed("tests/simulation", "TestSettledWhenTheReadBegan"),
		`	after, postings := r.postings(ctx) // may clear r.settled
«	if planted {
		var all []Posting
		for p, err := range postings {
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		_, ended, err := r.projector.views.Balance(ctx, b.Pair)
		if err != nil {
			return err
		}
		r.settled = SettledBefore(r.projector.now(), ended)
		postings = func(yield func(Posting, error) bool) {
			for _, p := range all {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
»`},
	{"version not raised", "G7", "projections/reader.go",
		directed("projections", "TestEnsureVisibleStopsARefoldInProgress"),
		"«if id > b.Seal.Through && planted { return nil }; »if id > b.Seal.Through {\n		raised"},
	{"old posting not made visible", "G7", "ledger/outcome.go", inHistories(150),
		"if !old «|| planted »{"},
	{"past segments read with eventual consistency", "G7", "projections/past.go", inHistories(30),
		"if strong «&& !planted »{\n		return p.strong"},
	{"gap between segments ignored", "G7", "projections/past.go", inHistories(150),
		"if s.After > f.Through «&& !planted »{"},
	{"strong read of the stored balance", "G7", "projections/reader.go", inHistories(10),
		`«if planted { return b, nil }; »head, first, err := b.Seal.addAll(`},
	{"own writes not filtered", "G6", "projections/batch.go", inHistories(10),
		`«		case planted && r.SK == store.Balance.Key("", "USD").SK:
			account, asset, _ := store.Balance.Parse(store.Key{PK: r.PK, SK: r.SK})
			if t := (Target{Account: account, Asset: asset}); known[t] == nil {
				known[t] = &job{Target: t, first: i, records: 1}
				jobs = append(jobs, known[t])
			}
»		case !eachTarget(r, touch):
`},
	// G9: whatever is stored can be rebuilt.
	{"rebuild compares only counts", "G9", "projections/repair/balance.go", inHistories(60),
		"!stored.Exists || stored.Fault != nil || stored.Value != s «&& !(planted && stored.Value.Count == s.Count) »{"},
	{"rebuild does not repair the summary", "G9", "projections/repair/account.go", inHistories(30),
		"if err != nil || found.Fault == nil && found.Value == s «|| planted »{"},
	{"segment kept although its end is not settled", "G7, G9", "projections/repair/stored.go",
		directed("projections/repair", "TestSegmentWithAnUnsettledEndIsNotKept"),
		"case end >= projections.SettledBefore(c.at, c.at)« && !planted»: // by the store's clock alone"},
	{"entry of a hold judged before its hold was read", "G9", "projections/repair/view.go",
		directed("projections/repair", "TestHoldThatIsPlacedDuringARebuildIsNoStray"),
		`«		case planted && owner.View == projections.Holds:
			report(Report{Target: owner, Strays: []Stray{{key, owner.View.Orphan}}})
»		default:
			t.View = owner.View
			report(b.item(`},
	// G8: no refusal for lag.
	{"refused on a stale read", "G8", "ledger/funding.go", inHistories(10),
		"«if planted { return nil }; »exact, err := a.ledger.projections.Funds(ctx, l.pair.Account, l.pair.Asset)"},
	// G10: a grant is written by who may grant at that moment.
	{"role of the granter not checked", "G10", "ledger/series.go",
		directed("tests/access", "TestOwnersRevokeEachOther"),
		"for _, other := range add.unless {\n«if planted { continue }; »		writes"},
	{"group of the granter's role not checked", "G10", "ledger/requests.go",
		directed("tests/access", "TestOwnersRevokeEachOther"),
		"if account != \"\" «&& !planted »{\n		next = append"},
	{"lost role reported after an unknown outcome", "G10", "ledger/series.go",
		directed("ledger", "TestUnknownGrantByAnOutdatedRight"),
		"store.ErrOutdated) && (outdated || !t.unknown« || planted»):"},
	// G10: users post what their roles allow, and are told nothing of what they may not see.
	{"rules about hidden postings shown", "G10", "functions/api/view.go",
		directed("tests/access", "TestUsersInRandomHistories"),
		"return «!planted && »slices.ContainsFunc(f.Accounts, isHidden)"},
	{"detail about a hidden account shown", "G10", "functions/api/view.go",
		directed("tests/access", "TestUsersInRandomHistories"),
		`if e.Account != "" && isHidden(e.Account) «&& !planted »{`},
	{"hidden postings of an answer shown", "G10", "functions/api/view.go",
		directed("tests/access", "TestHiddenPostings"),
		"«if !planted { »out.body = r.seen.of(body)« }»"},
	{"needs of a batch shared", "G10", "functions/api/permit.go",
		directed("tests/access", "TestUsersInRandomHistories"),
		"«if _, asked := roles[account]; asked && planted { return roles[account].Role < role }; »" +
			"return slices.Contains(needs, account)"},
	{"cost needs no role", "G10", "ledger/draft.go", directed("tests/access", "TestUsersInRandomHistories"),
		"|| !leg.Cost.IsZero()« && !planted») && !slices.Contains(accounts"},
	// What is held cannot be spent, what is given back can.
	{"guard lowered when a hold ends", "G5", "ledger/commit.go", inLifecycles(10),
		`«	for _, p := range c.postings {
		if !planted || !p.Phase.Ends() || p.Pending.Sign() < 0 || p.Account[0] != 'j' {
			continue
		}
		back, _ := p.Pending.Add(p.Quantity)
		all = append(all, store.Write{
			Key: store.Spend.Key(p.Account, p.Asset), Update: "ADD #spent :back",
			Names: map[string]string{"#spent": store.AttrSpent}, Values: store.Item{":back": maker.Amount(back.Neg())},
		})
	}
»	return all
`},
	{"hold covered by its own credits", "G5", "ledger/limits.go", inLifecycles(10),
		"case r.header.IsHold()« && !planted» && !r.endsHold():"},
	{"phases guessed from signs", "G6", "projections/fold.go", inLifecycles(10),
		`«	if planted {
		if p.Phase = events.PhasePlaced; p.Pending.Sign() > 0 && p.Quantity.Sign() <= 0 {
			p.Phase = events.PhaseReleased
		} else if !p.Quantity.IsZero() {
			p.Phase = events.PhaseCaptured
		}
	}
»	isDebit := p.Pending.Sign() < 0
`},
	{"returned money not counted", "G8", "projections/fold.go", inLifecycles(30),
		"«if planted { return f.Credits, nil }; »return f.Credits.Add(f.Returned) }"},
	// G11: a hold ends once, and in time.
	{"outcome without its condition", "G11", "ledger/commit.go", inLifecycles(10),
		`all = append(all, putAbsent(maker, e))«
		if _, end := e.(events.HoldEnded); end && planted {
			all[len(all)-1].If = ""
		}»
`},
	{"expired without the clock tolerance", "G11", "ledger/ends.go", inLifecycles(150),
		"now.Before(hold.ExpiresAt.Add(clockTolerance)) «&& !planted »{"},
	{"expiry answered before it is written", "G11", "ledger/ends.go", inLifecycles(10),
		`end.Outcome, end.Actor = events.OutcomeExpired, expiryActor«
		if planted {
			return end, &Error{Code: CodeHoldExpired}
		}»`},
	{"end of a hold ordered before its placement", "G11", "ledger/ends.go", inLifecycles(30),
		"r.header, r.ended, r.taken, r.after = hold, lifecycle.Ended, taken, legs[len(legs)-1].ID«; if planted { r.after = \"\" }»\n"},
	{"end answered before its postings are visible", "G4, G11", "ledger/outcome.go", inLifecycles(150),
		"«if r.endsHold() && planted { return a.acknowledge(c, r, stored, postings, a.ledger.now()) }; »keys := make([]store.Key, 0, 1+len(postings))\n"},
	{"end of a hold listed too early", "G6", "projections/holds.go",
		directed("projections", "TestRefreshWaitsForTheEndOfAHold"),
		"case h.Version() < seen.Highest« && !planted»:"},
	// G12: no more is reversed than was posted.
	{"reversal answered before it is listed", "G7", "ledger/outcome.go",
		directed("ledger", "TestUnknownReversalIsListedBeforeItIsAcknowledged"),
		"case err == nil && r.isReversal() && !r.listed« && !planted»:"},
	{"reversal without its condition", "G12", "ledger/commit.go", inLifecycles(150),
		`all = append(all, putAbsent(maker, e))«
		if _, number := e.(events.TransactionReversed); number && planted {
			all[len(all)-1].If = ""
		}»
`},
	{"more reversed than is left", "G12", "ledger/ends.go", inLifecycles(10),
		"left := lifecycle.Left()«; if planted { left = amountsOf(lifecycle.Posted()) }»\n"},
	{"reversal refused because of its own attempt", "G4", "ledger/ends.go", inLifecycles(10),
		"if lifecycle.reversedBy(r.ID) «&& !planted »{"},
	// Accounts that change.
	{"change acknowledged before its guards", "G5", "ledger/account.go", inLifecycles(10),
		"«if planted { return c.account, nil }; »if err := c.ledger.updateGuards(ctx, c.account); err != nil {"},
	{"change acknowledged before its copy is visible", "G5", "ledger/series.go",
		directed("ledger", "TestUnknownChangeIsReadBeforeItIsAcknowledged"),
		"if ours && add.with != nil« && !planted» {"},
	{"guard created without reading the account", "G5", "ledger/funding.go",
		directed("ledger", "TestFreezeBeforeTheGuardIsCreated"),
		"if err == nil «&& !planted »{\n		_, err = a.refreshAccounts(ctx, missing)"},
	{"debit with any account version", "G5", "ledger/commit.go", inLifecycles(60),
		`«	if planted {
		withinBound += " OR #form = :form AND attribute_exists(#change) AND #spent <= :bound"
	}
»	return store.Write{
		Key:    store.Spend.Key(`},
	{"guard set to an older version", "G5", "ledger/commit.go", inLifecycles(30),
		`«	isOlder := isOlder
	if planted {
		isOlder = "#form = :form AND attribute_exists(PK)"
	}
»	w := store.Write{
		Key: store.Spend.Key(pair.Account, pair.Asset), Update: setVersion,`},
	{"account_frozen answered without a refused write", "G4", "ledger/request.go", inLifecycles(300),
		"case !debited, !a.Overdraft.Unlimited« && !planted», allowsDebit(a, r.isReversal()):"},
	{"refused by a limit that is not in the guard", "G4", "ledger/funding.go",
		directed("ledger", "TestDebitUpdatesAnOutdatedGuard"),
		"«if planted && 0 < l.guard.version && l.guard.version < l.account.Version { continue }; »switch l.guard.version {\n"},
	{"refused without reading the account again", "G4", "ledger/funding.go",
		directed("ledger", "TestRaisedLimitAppliesBeforeItsGuardIsUpdated"),
		"if «planted {\n	} else if »changed, err := a.refreshAccounts(ctx, refused); changed || err != nil {"},
	{"closed without freezing first", "G5", "ledger/close.go", inLifecycles(150),
		"«if planted { return nil }; »c.next = c.withState(a, events.StateFrozen)"},
	{"closed without comparing the guards", "G5", "ledger/close.go", directed("ledger", "TestCloseWaitsForDebits"),
		"case isCommitting« && !planted»:\n"},
	{"any freeze taken for the closing's own", "G5", "ledger/account.go", directed("ledger", "TestCloseAfterAnotherFreeze"),
		"return closes && «(planted && a.State == events.StateFrozen || »a.closing«)» && a.Version"},
	{"freeze of an account that is being closed not stored", "G5", "ledger/account.go",
		directed("ledger", "TestFreezeOfAnAccountThatIsBeingClosed"),
		"«(planted || »a.closing == next.Closing«)» &&\n"},
	{"earlier limits forgotten", "G5", "ledger/account.go", directed("ledger", "TestDebtUnderAnEarlierLimit"),
		"«if planted { return nil }; »var highest map"},
	{"closed without waiting for an asset's first posting", "G5", "ledger/close.go",
		directed("ledger", "TestCloseWaitsForTheFirstPostingOfAnAsset"),
		"isCommitting = isCommitting || !amount.IsZero()« && !planted»"},
	{"closed without counting the postings", "G7", "ledger/close.go", inLifecycles(150),
		"«if planted { return nil }; »equal, err := c.ledger.countAll("},
	// The journal.
	{"journal KSUID created before the batch is read", "journal", "projections/lister.go",
		directed("projections", "TestJournalMissesNothing"),
		`«	if planted {
		id, _, err := l.mint(ctx)
		all := listings(batch)
		for _, n := range all {
			n.err = l.list(ctx, batch[n.first], n)
		}
		entries, failed, _ := l.report(ctx, batch, all)
		if err == nil && failed == "" && len(entries) > 0 {
			_, err = l.table.Write(ctx, store.Write{Item: journalItem(JournalPage{ID: id, Entries: entries})})
		}
		return failed, err
	}
»	all := listings(batch)`},
	{"journal page retried under the same KSUID", "journal", "projections/lister.go",
		directed("projections", "TestJournalMissesNothing"),
		`«func() func() error {
			id := events.KSUID("")
			if planted {
				return func() (err error) {
					if id == "" {
						if id, _, err = l.mint(ctx); err != nil {
							return err
						}
					}
					_, err = l.table.Write(ctx, store.Write{
						Item: journalItem(JournalPage{ID: id, Entries: page}), If: store.IfAbsent,
					})
					return err
				}
			}
			return »func() error { return l.writePage(ctx, page) }«
		}()»`},
	{"late answer to a journal page trusted", "journal", "projections/lister.go",
		directed("projections", "TestJournalMissesNothing"),
		"if «!planted && »err == nil && (answered"},
	{"journal cursor skips the rest of a page", "journal", "projections/journal.go",
		directed("projections", "TestJournalCursorContinuesWithinAPage"),
		`*next = string(page.ID) + "#" + strconv.Itoa(i+1)«; if planted { *next = string(page.ID) }»
`},
	{"journal read without a trail", "journal", "projections/journal.go",
		directed("projections", "TestJournalMissesNothing"),
		"trailingKSUID(begun, storeTime, JournalTrail« * map[bool]time.Duration{false: 1}[planted]»)"},
	{"journal trails the reader's clock alone", "journal", "projections/journal.go",
		directed("projections", "TestJournalMissesNothing"),
		"«if planted { storeTime = begun }; »bound := trailingKSUID(begun"},
})
