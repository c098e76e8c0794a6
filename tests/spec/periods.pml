/* Periods: checks, of docs/design.md, "Closed periods".

   Two requests close the books, by the number 1 or 2: as late as the rules allow, or at a time that opens all again. A
   transaction with an effective date at 0 is sent again and again. Each command reads the newest closing once, and then
   makes any number of attempts while what it read is young. A batch does the same for all its transactions. Attempts to
   post and to close may be applied, applied without an answer, or applied later while they are young. Or, in place of
   that transaction, ordinary ones are posted, which do not look at the closings. Time goes from 2 to 5.

   Left out: two transactions of a batch at once, guards and funds (post.pml), dry runs, clocks that differ (by 5 seconds
   of the 5 minutes), a third closing, and figures: that reads say settled from final_at on follows from Final. A refusal
   says nothing about attempts of earlier commands: they may be stored while they are young, as docs/api.md says.
   -D NO_RULE takes a rule away. docs/testing.md has a table of the rules, and of what goes wrong without each.

   Closed: a request that begins after a closing is stored obeys it, and an acknowledged closing counts. Final: from
   final_at on, nothing is stored by an earlier closing. */
#define AGE   1                  /* a write is applied at most so long after it was decided, or never */
#ifdef NO_OVER
#define OVER  0
#else
#define OVER  1                  /* a period is over for so long before it is closed */
#endif
#define FINAL 3                  /* from the closing to final_at: with 2, which is twice AGE, Final breaks */
bool G3, G4, Closed, Final;      /* false for ever: assert(G3 || ...) names the guarantee that breaks */

byte now = 2, newest;            /* the time of the store; the highest number that is stored */
byte at[3], before[3];           /* of each closing: when it was decided, 0 for none; it closes what is before */
bool header; byte young;         /* the transaction is stored; when the posting of now got its KSUIDs, 0 for none */
bool late;                       /* an attempt is in flight */
byte lateN, lateAt, lateNew;     /* its number, when it was decided, and the newest closing when its command began */
byte lateNumber, lateBefore, lateDecided; /* a closing in flight, 0 for none */
byte t, decided[2];              /* when the command and those who close decided what they send; 0 if that is too old */
#define OPEN(k) (k == 0 || at[k] && !before[k])                      /* by closing k, the effective date is open */
#define openSince(k) (OPEN(newest) || k <= 1 && OPEN(1) || k == 0)   /* by k or one after it that is stored */
#ifdef NO_FINAL
#define isFinal(k) (at[k] && now >= at[k])
#else
#define isFinal(k) (at[k] && now >= at[k] + FINAL)
#endif
#define isOld(t) (t && t + AGE < now)

/* The store puts the header, with the number n. The newest closing was new when its command began. */
inline post(n, new) {
  assert(Closed || openSince(new));
  assert(Final || OPEN(n) && (n >= 1 || !isFinal(1)) && (n == 2 || !isFinal(2))); header = true }

proctype Command() { byte n, new;                             /* and the same request again, any number of times */
begin: end: atomic { t = now; new = newest;
#ifdef NO_ANEW
    if :: goto decide :: true fi;                             /* by what an earlier command read */
#endif
#ifdef NO_STRONG
    if :: goto decide :: true fi;                             /* by 0: the read finds no closing yet */
#endif
    n = newest };
decide:
  atomic { if
  :: before[n] ->
#ifndef NO_REPLAY
     if :: header -> goto stop :: else fi;
#endif
     assert(G4 || !header); goto stop
  :: else
  fi };
attempt:
  atomic { if :: goto stop :: t fi;                           /* 503, or 504 if an attempt may still be applied */
#ifdef NO_NUMBER
    if :: n > 0 -> n-- :: else fi;
#endif
    if
    :: header -> goto stop                                    /* answered with what is stored */
    :: !header -> post(n, new)
    :: !late -> late = true; lateN = n; lateAt = t; lateNew = new
    fi; goto attempt };
stop: atomic { t = 0; new = 0;
#ifndef NO_ANEW
    n = 0;
#endif
    goto begin } }

/* The store puts a closing. */
inline put(n, b, t) {
  if
#ifndef NO_ABSENT
  :: at[n]
#endif
  :: else -> assert(G3 || !at[n]); assert(Closed || n > newest); at[n] = t; before[n] = b; newest = n
  fi }

proctype Closer(byte c, n) { byte b;
  atomic { if :: b = 0 :: b = (young -> now - OVER : 1) fi }; /* what the administrator asks for */
  atomic { if :: at[n] -> goto found :: else fi };
  atomic {
#ifndef NO_NEXT
    if :: n > newest + 1 -> goto stop :: else fi;
#endif
#ifdef NO_MEANWHILE
    if :: n <= newest -> assert(G4 || before[n] != b); goto stop :: else fi;
#endif
    decided[c] = now };
again:
  atomic { if :: decided[c] :: goto stop fi;
    if
    :: put(n, b, decided[c]); if :: goto found :: true fi
    :: c == 0 && !lateNumber -> lateNumber = n; lateBefore = b; lateDecided = decided[c]
    fi; goto again };
found:
#ifdef NO_SAME
  assert(Closed || before[n] == b);                           /* acknowledged; else 409 period_exists */
#endif
stop: atomic { b = 0; decided[c] = 0 } }

inline drop() { late = false; lateN = 0; lateAt = 0; lateNew = 0 }
inline dropClosing() { lateNumber = 0; lateBefore = 0; lateDecided = 0 }
proctype Network() {
end: do
  :: atomic { late -> if :: !header -> post(lateN, lateNew) :: else fi; drop() }
  :: atomic { lateNumber -> put(lateNumber, lateBefore, lateDecided); dropClosing() }
  od }

proctype Ordinary() {            /* posts without an effective date, and does not look at the closings */
end: do
  :: atomic { young != now -> young = now }
  :: atomic { young && now - young <= AGE -> assert(Closed || young >= before[newest]) }
  od }

proctype Clock() {
end: do
  :: atomic { now < 5 -> now++;
#ifndef NO_AGE
       if :: isOld(lateAt) -> drop() :: else fi; if :: isOld(lateDecided) -> dropClosing() :: else fi;
       if :: isOld(t) -> t = 0 :: else fi;
       if :: isOld(decided[0]) -> decided[0] = 0 :: else fi; if :: isOld(decided[1]) -> decided[1] = 0 :: else fi
#endif
     }
  od }

init { atomic { if :: young = now; run Ordinary() :: run Command() fi;
  run Closer(0, 1); if :: run Closer(1, 1) :: run Closer(1, 2) fi; run Network(); run Clock() } }
