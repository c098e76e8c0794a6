/* Periods: checks, of docs/design.md, "Closed periods".

   Two requests close the books, by the number 1 or 2: as late as the rules allow, or at a time that opens all again. A
   transaction with an effective date at 0 is sent again and again. Each command makes any number of attempts, over any
   time. Attempts to post and to close may be applied, applied without an answer, or applied later while they are young.
   Or, in place of that transaction, ordinary ones are posted, which do not look at the closings. Time goes from 2 to 5.

   Left out: batches, guards and funds (post.pml), dry runs, clocks that differ (by 5 seconds of the 5 minutes), a third
   closing, and figures: that reads say settled from final_at on follows from Final. A refusal is judged by the attempts
   of its own command: one of an earlier command may be stored while it is young, as docs/api.md says.
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
bool late, mine, denied;         /* an attempt in flight; of the command that runs? was that one refused meanwhile? */
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

proctype Command() { byte n, new; bool sent;                  /* and the same request again, any number of times */
begin: end: atomic { n = 0; t = 0; new = newest; sent = false; mine = false };
again:
  atomic { if :: goto begin :: true fi; t = now;              /* 503, or 504 if an attempt may still be applied */
#ifdef NO_ANEW
    if :: sent -> goto attempt :: else fi;
#endif
#ifdef NO_STRONG
    if :: n = newest :: n = 0 fi };
#else
    n = newest };
#endif
  atomic { if
  :: before[n] ->
#ifndef NO_REPLAY
     if :: header -> goto stop :: else fi;
#endif
#ifndef NO_PROOF
     if :: sent -> goto begin :: else fi;                     /* 504 outcome_unknown */
#endif
     assert(G4 || !header); denied = (late && mine); goto begin
  :: else
  fi };
attempt:
  atomic { if :: !t -> goto again :: else fi;
#ifdef NO_NUMBER
    if :: n > 0 -> n-- :: else fi;
#endif
    if
    :: header -> goto stop                                    /* answered with what is stored */
    :: !header -> post(n, new); if :: goto stop :: sent = true fi
    :: !late -> late = true; mine = true; lateN = n; lateAt = t; lateNew = new; sent = true
    fi; t = 0; goto again };
stop: goto begin }

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

inline drop() { late = false; mine = false; denied = false; lateN = 0; lateAt = 0; lateNew = 0 }
inline dropClosing() { lateNumber = 0; lateBefore = 0; lateDecided = 0 }
proctype Network() {
end: do
  :: atomic { late -> if :: !header -> assert(G4 || !denied); post(lateN, lateNew) :: else fi; drop() }
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
