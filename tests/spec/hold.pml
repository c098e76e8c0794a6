/* Hold: checks, of docs/design.md, "Holds": ending, expiry, stored phases, and what a hold reserves and gives back.

   A limited account has 1 and receives 1 more. A hold takes 2 from it, and would give it 1 in return. Two requests end
   the hold: a capture of all or of 1, a release, or the sweeper, by processes whose clocks are fast or slow. Each
   makes any number of attempts, which may be applied, applied without an answer, or applied at any later time. The
   outcome is visible before its postings. Meanwhile a command debits 1, and its attempts may be late and lost, too.

   Left out: placing, which is a debit (post.pml), but for what the guard adds; replays of a placement; costs, batches,
   more accounts, their limits and states; captures of other parts; the list of due holds (the sweeper finds the hold at
   any time); how postings get into balances (refold.pml); and past balances. The last instant is when a clock that is
   fast may write the expiry, and one that is slow may not yet.
   -D NO_RULE takes a rule away. docs/testing.md has a table of the rules, and of what goes wrong without each. */
#define EXPIRES 2                /* the time of expiry; time goes from 1 to 3 */
#define MARGIN  1                /* the tolerance: how far a process's clock may be off the store's */
bool G4, G5, G8, G11;            /* false for ever: assert(G5 || ...) names the guarantee that breaks */
mtype = { CAPTURED, PART, RELEASED, EXPIRED };
#define TAKEN(end) (end == CAPTURED -> 2 : (end == PART -> 1 : 0))    /* of the 2 that are held */
#define GIVEN(end) (end == CAPTURED -> 1 : 0)                         /* of the credit of 1 */
#define isCapture(end) (end == CAPTURED || end == PART)

byte now = 1, ends;              /* the time of the store; how often the hold ended */
byte credits = 1, told = 1;      /* that are stored; and acknowledged funds: credits, and what ended holds gave back */
byte spent, debited;             /* the guard; the debit, once it is posted */
bool placed, whole, acked;       /* the hold; are the postings of its end visible; was the end acknowledged */
mtype outcome;                   /* how it ended, 0 while it is open */
bool expired;                    /* a caller was told hold_expired */
mtype lateEnd; byte lateOf; bool denied; /* an end in flight; whose; was its caller told that nothing is written */
bool lateDebit, refused; byte lateKnown; /* likewise a debit, and the funds that it knows */
#ifdef NO_RETURNED
#define BACK 0
#else
#define BACK ((2 - TAKEN(outcome)) * whole)
#endif
#ifdef NO_PHASE
#define PENDING placed           /* by signs alone, a placed credit looks like the end of a debit */
#else
#define PENDING 0
#endif
#ifdef NO_GUARD
#define FUNDS (credits + GIVEN(outcome) * whole)
#define GAIN GIVEN(outcome)
#else
#define FUNDS (credits + GIVEN(outcome) * whole + BACK + PENDING)     /* what a strong read adds up */
#define GAIN (GIVEN(outcome) + 2 - TAKEN(outcome))
#endif
#define QUANTITY (credits + GIVEN(outcome) - TAKEN(outcome) - debited)
#define clock (fast -> now + MARGIN : now - MARGIN)
#define isOpen (placed && !outcome)

/* One attempt to end the hold, decided by the store at one instant. */
inline finish(kind) {
  if
#ifndef NO_OUTCOME
  :: outcome
#endif
  :: else -> ends++; assert(G11 || ends == 1); assert(G11 || kind != EXPIRED || now >= EXPIRES);
     assert(G11 || !isCapture(kind) || !expired); outcome = kind;
#ifdef NO_GUARD
     spent = spent - 2 + TAKEN(kind)
#endif
  fi }

proctype Ender(byte i; mtype want) { mtype kind; bool fast, sent;             /* its clock is ahead, or behind */
  atomic { if :: fast = true :: true fi };
begin: end: atomic { placed; if :: outcome -> goto found :: goto giveUp :: true fi };   /* read strongly */
  atomic { kind = want;
#ifndef NO_LATE
    if :: isCapture(want) && clock >= EXPIRES -> kind = EXPIRED :: else fi;
#endif
    assert(G11 || !isCapture(kind) || now < EXPIRES + MARGIN);
#ifdef NO_SAID
    if :: kind == EXPIRED && want != EXPIRED -> expired = true; goto stop :: else fi;
#endif
    if :: kind == EXPIRED && clock < EXPIRES -> goto giveUp :: else fi;
#ifndef NO_MARGIN
    if :: kind == EXPIRED && clock < EXPIRES + MARGIN -> goto giveUp :: else fi;
#endif
    if
    :: finish(kind); if :: true :: kind = 0; sent = true; goto begin fi
    :: !lateEnd -> lateEnd = kind; lateOf = i; kind = 0; sent = true; goto begin
    fi; kind = 0 };
  whole; goto answer;
found:
#ifndef NO_WHOLE
  if :: whole :: goto giveUp fi;                       /* a read of all that the end wrote */
#endif
answer:
  atomic { if
    :: outcome == want -> skip
    :: isCapture(want) && outcome == EXPIRED -> expired = true
#ifdef NO_SAME
    :: else -> assert(G11 || outcome == want)          /* the same answer as if it were the requested end */
#else
    :: else -> goto stop                               /* hold_ended, with the stored outcome */
#endif
    fi;
    if :: !acked -> acked = true; told = told + GAIN :: else fi; goto stop };
giveUp:                          /* 504 if an attempt may still be applied, else 503: nothing was written */
#ifdef NO_UNKNOWN
  atomic { if :: sent && lateEnd && lateOf == i -> denied = true :: else fi };
#endif
stop: atomic { kind = 0; fast = 0; sent = 0 } }

/* The store decides a debit of 1. */
#define passes(known) (spent + 1 <= known)
inline post() { spent++; debited++; assert(G4 || debited == 1);
  assert(G5 || QUANTITY >= 0); assert(G11 || !isOpen || QUANTITY >= 2) }

proctype Debtor() { byte known, told0, gs;
  atomic { told0 = told; if :: known = FUNDS :: true fi };                    /* from a cache, of any age */
again:
  atomic { if :: goto stop :: true fi;
    if
    :: debited -> goto stop
    :: !debited && passes(known) -> post(); if :: true :: goto again fi; goto stop
    :: !debited && !passes(known) -> gs = spent
    :: !lateDebit -> lateDebit = true; lateKnown = known; goto again
    fi };
  atomic { if :: known < FUNDS -> known = FUNDS :: else fi;                   /* read strongly, after the refusal */
    if :: gs + 1 <= known -> goto again :: else fi };
  atomic { if :: debited -> goto stop :: else -> assert(G8 || gs + 1 > told0); refused = lateDebit fi };
stop: atomic { known = 0; told0 = 0; gs = 0 } }

proctype Placer() {
#ifdef NO_OWN
end: atomic { spent + 2 <= FUNDS + 1 -> placed = true;
#else
end: atomic { spent + 2 <= FUNDS -> placed = true;
#endif
#ifndef NO_RESERVE
    spent = spent + 2;
#endif
    assert(G5 || QUANTITY >= 2) } }
proctype Late() {                /* the network delivers it, or never does */
end: do
  :: atomic { lateEnd -> assert(G4 || !denied || outcome); finish(lateEnd); lateEnd = 0; lateOf = 0; denied = false }
  :: atomic { lateDebit -> if :: !debited && passes(lateKnown) -> assert(G4 || !refused); post() :: else fi;
       lateDebit = false; lateKnown = 0; refused = false }
  od }
proctype World() {
end: do
  :: now < 3 -> now++
  :: outcome && !whole -> whole = true
  :: credits == 1 -> atomic { credits = 2; told++ }
  od }
init { atomic { if :: run Ender(1, CAPTURED) :: run Ender(1, EXPIRED) fi;
  if :: run Ender(2, PART) :: run Ender(2, RELEASED) :: run Ender(2, EXPIRED) fi;
  run Late(); run Debtor(); run Placer(); run World() } }
