/** A constitution as it lies on the disk: its rules, and the prose that people read. */
export interface ConstitutionText {
  /** The name of the file of rules, for error messages. */
  readonly file: string;
  readonly rules: string;
  readonly prose: Uint8Array;
}
