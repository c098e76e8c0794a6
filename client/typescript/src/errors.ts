/** The base of all errors of this client. */
export class LedgerError extends Error {
  override name = this.constructor.name;
}

/** A field of a request, and the rule that it breaks. */
export type FieldError = { field: string; rule: string };

/** A problem (RFC 9457), with all its members, such as `available` with insufficient_funds. */
export type Problem = Record<string, unknown> & { code: string; errors?: FieldError[] };

/** The ledger answered with a problem. If the status is 4xx or 503, the request wrote nothing. */
export class RefusedError extends LedgerError {
  readonly code: string; // stable, such as insufficient_funds

  constructor(readonly status: number, readonly problem: Problem, readonly fields = problem.errors ?? []) {
    super([`${problem.code}: ${problem["detail"]}`, ...fields.map((f) => `${f.field}: ${f.rule}`)].join("\n  "));
    this.code = problem.code;
  }
}

/** The outcome of a write is unknown. The same request can be sent again with the id, or read what is there. */
export class UnknownError extends LedgerError {
  constructor(readonly id: string, readonly attempts: number, options?: ErrorOptions) {
    const what = `it is not known whether "${id}" was written after ${attempts} attempts`;
    super(`${what}; look for it, or send the same request again with the same id`, options);
  }
}

/** No connection to the ledger can be made. Nothing was sent. */
export class UnreachableError extends LedgerError {}

/** A reply that is none of the ledger: a gateway or another program sent it. It wrote nothing. */
export class StatusError extends LedgerError {
  constructor(readonly status: number, text: string) {
    super(`status ${status} without a code of the ledger: ${text}; check the address and the credentials`);
  }
}
