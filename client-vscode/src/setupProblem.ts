/** What a person can do about a problem; `again`: then the server is started anew. */
export interface Remedy {
  readonly label: string;
  readonly again: boolean;
  perform(): Promise<unknown>;
}

/** Why the server can't be started, in words for people, and what they can do about it. */
export class SetupProblem extends Error {
  constructor(
    message: string,
    readonly remedies: readonly Remedy[],
  ) {
    super(message);
  }
}
